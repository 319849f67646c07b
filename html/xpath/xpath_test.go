package xpath_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/xpath"
)

const tree = `<!DOCTYPE html><html id=html lang=en><head id=head><title id=title>T</title></head><body id=body>
<div id=d1 class="box red"><p id=p1 class=lead>One <b id=b1>bold</b> word</p><p id=p2>Two</p></div>
<div id=d2 class=box lang=de-CH><p id=p3>Three <i id=i1>slanted</i></p><!--note--><p id=p4 data-n=4></p></div>
<ul id=u1><li id=l1>1<li id=l2>2<li id=l3>3<li id=l4>10</ul>
<svg id=svg viewBox="0 0 1 1"><a id=sa xlink:href="/s"></a></svg></body></html>`

func parse(t testing.TB, page string) *html.Document {
	t.Helper()
	doc, err := html.Parse([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// show writes a value: a set as the ids or names of elements, the quoted values of other nodes.
func show(v xpath.Value) string {
	if v.Kind() != xpath.NodeSet {
		return v.String()
	}
	var list []string
	for _, r := range v.Nodes() {
		switch n := r.Node(); {
		case r.IsAttr():
			list = append(list, r.Attr().Name()+"="+r.Attr().Value())
		case n.Kind() == html.DocumentNode:
			list = append(list, "/")
		case !n.IsElement():
			list = append(list, fmt.Sprintf("%q", n.Data()))
		case n.Attr("id") != "":
			list = append(list, n.Attr("id"))
		default:
			list = append(list, n.Name())
		}
	}
	return strings.Join(list, " ")
}

func TestEvaluate(t *testing.T) {
	doc := parse(t, tree)
	for _, test := range []struct{ expr, want string }{
		// axes and tests
		{"/", "/"},
		{"/*", "html"},
		{"/html/body/div", "d1 d2"},
		{"//p", "p1 p2 p3 p4"},
		{"//P", ""},
		{"//div/*", "p1 p2 p3 p4"},
		{"//ul//text()[normalize-space()]", `"1" "2" "3" "10"`},
		{"//comment()", `"note"`},
		{"//div[2]/node()", `p3 "note" p4`},
		{"//processing-instruction()", ""},
		{"//i/ancestor::*", "html body d2 p3"},
		{"//i/ancestor-or-self::*[1]", "i1"},
		{"//i/ancestor::*[1]", "p3"},
		{"//b/parent::p/@class", "class=lead"},
		{"//b/..", "p1"},
		{"//p/..", "d1 d2"},
		{"//li[2]/following-sibling::li", "l3 l4"},
		{"//li[3]/preceding-sibling::li[1]", "l2"},
		{"//li/preceding-sibling::li", "l1 l2 l3"},
		{"//li/following-sibling::*[1]", "l2 l3 l4"},
		{"//b/following::p", "p2 p3 p4"},
		{"//p/following::li[1]", "l1"},
		{"//i/preceding::p", "p1 p2"},
		{"//i/preceding::*[1]", "p2"},
		{"//li/preceding::b", "b1"},
		{"//div/descendant::b | //div/descendant-or-self::div", "d1 b1 d2"},
		{"//@class", "class=box red class=lead class=box"},
		{"//p/@*", "id=p1 class=lead id=p2 id=p3 id=p4 data-n=4"},
		{"//@class/..", "d1 p1 d2"},
		{"//p/@class/following::i", "i1"},
		{"//p[@class]/@class/preceding::title", "title"},
		{"//div/@class/ancestor::body", "body"},
		{"//@class/self::node()", "class=box red class=lead class=box"},
		{"//@class/self::*", ""},
		{"//@class/child::node()", ""},
		{"//svg/a/@xlink:href", "xlink:href=/s"},
		{"//svg/@viewBox", "viewBox=0 0 1 1"},
		{"//@xlink:*", "xlink:href=/s"},
		{"//self::b", "b1"},
		{"//b/self::node()", "b1"},
		// predicates
		{"//p[1]", "p1 p3"},
		{"(//p)[1]", "p1"},
		{"(//p)[last()]/@data-n", "data-n=4"},
		{"//li[position() > 1 and position() < last()]", "l2 l3"},
		{"//li[last() - 1]", "l3"},
		{"//li[0]", ""},
		{"//li[1.5]", ""},
		{"//li[position() mod 2 = 0][1]", "l2"},
		{"//li[. > 2]", "l3 l4"},
		{"//li[. = '2']/@id", "id=l2"},
		{"//p[@class='lead']/b", "b1"},
		{"//p[b or i]", "p1 p3"},
		{"//p[not(b | i)]", "p2 p4"},
		{"//div[p[2][@data-n]]", "d2"},
		{"//p['x']", "p1 p2 p3 p4"},
		{"//p['']", ""},
		{"//p[count(*) = 0]", "p2 p4"},
		{"//*[@id = //b/@id]", "b1"},
		{"//div[contains(@class, 'red')]//b", "b1"},
		// operators
		{"1 + 2 * 3 - 4 div 2", "5"},
		{"7 mod -2", "1"},
		{"-7 mod 2", "-1"},
		{"- - 3", "3"},
		{"--3", "3"},
		{"1e2", "100"},
		{"0.1 + 0.2", "0.30000000000000004"},
		{"1 div 0", "Infinity"},
		{"-1 div 0", "-Infinity"},
		{"0 div 0", "NaN"},
		{"'a' = 'b'", "false"},
		{"'2' = 2", "true"},
		{"true() = 'x'", "true"},
		{"//li = 2", "true"},
		{"//li != 2", "true"},
		{"//li = //nosuch", "false"},
		{"//li < //li", "true"},
		{"//li > 9", "true"},
		{"//li >= 11", "false"},
		{"2 >= //li", "true"},
		{"//li = true()", "true"},
		{"//nosuch < true()", "true"},
		{"//li != //li[1]", "true"},
		{"//li[1] != //li[1]", "false"},
		{"//li[1] <= //li[1]", "true"},
		{"//div and not(//table)", "true"},
		{"//table or false()", "false"},
		{"//b | //i | //b", "b1 i1"},
		{"div", ""},
		{"div * 2", "NaN"},
		{"//ul/*", "l1 l2 l3 l4"},
		{"count(//ul/*)*2", "8"},
		// functions
		{"count(//li)", "4"},
		{"sum(//li)", "16"},
		{"sum(//p)", "NaN"},
		{"name(//svg/a)", "a"},
		{"name(//svg/a/@*[2])", "xlink:href"},
		{"local-name(//svg/a/@*[2])", "href"},
		{"namespace-uri(//svg)", "http://www.w3.org/2000/svg"},
		{"namespace-uri(//p)", "http://www.w3.org/1999/xhtml"},
		{"name(//nosuch)", ""},
		{"name()", ""},
		{"id('p2 b1')", "b1 p2"},
		{"id(//div/@id)/p[1]", "p1 p3"},
		{"id('P2')", ""},
		{"string(//p)", "One bold word"},
		{"string(//@class)", "box red"},
		{"string(//comment())", "note"},
		{"string(1.50)", "1.5"},
		{"string(-0)", "0"},
		{"string(true())", "true"},
		{"concat('a', 1, true(), //b)", "a1truebold"},
		{"starts-with(//b, 'bo')", "true"},
		{"starts-with(12, 1)", "true"},
		{"ends-with(//b, 'ld')", "true"},
		{"contains(//p, 'bold w')", "true"},
		{"substring-before('a=b=c', '=')", "a"},
		{"substring-after('a=b=c', '=')", "b=c"},
		{"substring-after('abc', 'x')", ""},
		{"substring('12345', 1.5, 2.6)", "234"},
		{"substring('häuser', 2, 3)", "äus"},
		{"substring('12345', 0 div 0)", ""},
		{"string-length('häuser')", "6"},
		{"normalize-space('  a \n b ')", "a b"},
		{"normalize-space('a\u00a0 b')", "a\u00a0 b"},
		{"normalize-space('a b c')", "a b c"},
		{"normalize-space('a b\tc')", "a b c"},
		{"normalize-space(' ')", ""},
		{"normalize-space('')", ""},
		{"translate('bar', 'abc', 'AB')", "BAr"},
		{"translate('--aaa--', 'abc-', 'ABC')", "AAA"},
		{"translate('aa', 'aa', 'bc')", "bb"},
		{"lower-case('ÄB')", "äb"},
		{"upper-case('äb')", "ÄB"},
		{"string-join(//li, '-')", "1-2-3-10"},
		{"boolean(//p)", "true"},
		{"boolean('')", "false"},
		{"boolean(0 div 0)", "false"},
		{"number('  -1.5 ')", "-1.5"},
		{"number('1e3')", "NaN"},
		{"number('+1')", "NaN"},
		{"number('-')", "NaN"},
		{"number('.')", "NaN"},
		{"number('.5')", "0.5"},
		{"number('5.')", "5"},
		{"number(true())", "1"},
		{"number()", "NaN"},
		{"floor(-1.5)", "-2"},
		{"ceiling(-1.5)", "-1"},
		{"round(-1.5)", "-1"},
		{"round(2.5)", "3"},
		{"1 div round(-0.2)", "-Infinity"},
		{"round(4503599627370497)", "4503599627370497"},
		{"//p[lang('de')]", "p3 p4"},
		{"//p[lang('EN')]", "p1 p2"},
		{"//p[lang('d')]", ""},
		{"//div[has-class('red', 'box')]", "d1"},
		{"//div[has-class('re')]", ""},
		{"//p[matches(@id, '^p[12]$')]", "p1 p2"},
		{"//p[re:test(., 'ONE', 'i')]", "p1"},
		{"replace('a-b-c', '(.)-', '$1+')", "a+b+c"},
		{"replace('a1', '(a)', '$1st')", "ast1"},
	} {
		t.Run(test.expr, func(t *testing.T) {
			e, err := xpath.Compile(test.expr)
			if err != nil {
				t.Fatal(err)
			}
			v, err := e.Evaluate(doc.Root().Ref())
			if err != nil {
				t.Fatal(err)
			}
			if got := show(v); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			if v.Kind() != e.Kind() || e.String() != test.expr {
				t.Errorf("kind %v, Kind says %v; String %q", v.Kind(), e.Kind(), e)
			}
		})
	}
}

func TestContext(t *testing.T) {
	doc := parse(t, tree)
	one := func(expr string) html.Ref {
		v, err := xpath.MustCompile(expr).Evaluate(doc.Root().Ref())
		if err != nil || len(v.Nodes()) == 0 {
			t.Fatalf("%s: %v, %v", expr, v, err)
		}
		return v.Nodes()[0]
	}
	for _, test := range []struct{ context, expr, want string }{
		{"//div", "p", "p1 p2"},
		{"//div", ".//b", "b1"},
		{"//div", ".", "d1"},
		{"//div", "//b/@id", "id=b1"},
		{"//div", "..//i", "i1"},
		{"//div/@class", ".", "class=box red"},
		{"//div/@class", "../p[2]", "p2"},
		{"//div/@class", "string()", "box red"},
		{"//div/@class", "string-length()", "7"},
		{"//div/@class", "name()", "class"},
		{"//div/@class", "has-class('box')", "false"},
		{"//b/text()", "string(..)", "bold"},
		{"//b/text()", "following::i", "i1"},
		{"//comment()", ".", `"note"`},
		{"//p", "position()", "1"},
		{"//p", "last()", "1"},
		{"//p", "self::p[1]", "p1"},
		{"//li[3]", "number()", "3"},
		{"//li[3]", "count(preceding-sibling::*)", "2"},
	} {
		v, err := xpath.MustCompile(test.expr).Evaluate(one(test.context))
		if got := show(v); got != test.want || err != nil {
			t.Errorf("%s in %s gives %s (%v), want %s", test.expr, test.context, got, err, test.want)
		}
	}
	for _, test := range []struct{ expr, want string }{{"//p", ""}, {"count(//p)", "NaN"}, {"'x'", ""}, {"true()", "false"}} {
		v, err := xpath.MustCompile(test.expr).Evaluate(html.Ref{})
		if got := show(v); got != test.want || err != nil {
			t.Errorf("%s without a node gives %s, %v", test.expr, got, err)
		}
	}
	if found, err := xpath.MustCompile("//b").Append([]html.Ref{one("//i")}, doc.Root().Ref()); err != nil || len(found) != 2 {
		t.Errorf("Append gives %v, %v", found, err)
	}
	if !xpath.MustCompile("//b/c").Absolute() || xpath.MustCompile("count(//b)").Absolute() || xpath.MustCompile(".//b").Absolute() {
		t.Error("Absolute is wrong")
	}
}

func TestXML(t *testing.T) {
	doc := parseXML(t, `<?xml version="1.0"?><rss xmlns:dc="urn:dc" xmlns="urn:feed" version="2.0">
<?style here?><item dc:id="1" id="a"><dc:title>One</dc:title><Link>x</Link></item><item xml:lang="fr"><title xmlns="urn:other">Two</title></item></rss>`)
	for _, test := range []struct {
		expr       string
		namespaces map[string]string
		want       string
	}{
		{"count(//item)", nil, "2"},
		{"string(//dc:title)", nil, "One"},
		{"string(//title)", nil, "Two"},
		{"string(//Link)", nil, "x"},
		{"count(//link)", nil, "0"},
		{"name(//*[3])", nil, ""},
		{"name(/*/*[1]/*[1])", nil, "dc:title"},
		{"local-name(/*/*[1]/*[1])", nil, "title"},
		{"namespace-uri(/*/*[1]/*[1])", nil, "urn:dc"},
		{"namespace-uri(/*)", nil, "urn:feed"},
		{"string(//d:title)", map[string]string{"d": "urn:dc"}, "One"},
		{"count(//d:*)", map[string]string{"d": "urn:dc"}, "1"},
		{"string(//o:title)", map[string]string{"o": "urn:other"}, "Two"},
		{"count(//f:item)", map[string]string{"f": "urn:feed"}, "2"},
		{"count(//f:item)", nil, "0"},
		{"count(//dc:*)", nil, "1"},
		{"string(//item/@dc:id)", nil, "1"},
		{"string(//item/@id)", nil, "a"},
		{"string(//item/@d:id)", map[string]string{"d": "urn:dc"}, "1"},
		{"count(/*/@*)", nil, "1"},
		{"name(//processing-instruction('style'))", nil, "style"},
		{"count(//processing-instruction('nosuch'))", nil, "0"},
		{"count(//*[lang('fr')])", nil, "2"},
		{"count(//text()[. = 'x'])", nil, "1"},
	} {
		e, err := xpath.Options{Namespaces: test.namespaces}.Compile(test.expr)
		if err != nil {
			t.Error(err)
			continue
		}
		v, err := e.Evaluate(doc.Root().Ref())
		if got := show(v); got != test.want || err != nil {
			t.Errorf("%s gives %s (%v), want %s", test.expr, got, err, test.want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		expr   string
		offset int
		words  string
	}{
		{"", 0, "expected an expression"},
		{"//", 2, "expected a name"},
		{"///a", 2, "expected a name"},
		{"a/", 2, "expected a name"},
		{"a b", 2, "expected an operator"},
		{"a]", 1, "expected an operator"},
		{"a)", 1, "expected an operator"},
		{"(a", 2, "expected )"},
		{"a[", 2, "expected an expression"},
		{"a[]", 2, "expected an expression"},
		{"a[1", 3, "expected ]"},
		{"1 2", 2, "expected an operator"},
		{"1 +", 3, "expected an expression"},
		{"1 = = 2", 4, "expected an expression"},
		{"@@a", 1, "expected a name"},
		{"@", 1, "expected a name"},
		{"'a", 0, "string is not closed"},
		{"$v", 0, "variable $v is not declared; give its value"},
		{"$", 0, "expected the name of a variable"},
		{"nosuch(1)", 0, "unknown function nosuch"},
		{"count()", 0, "wrong number of arguments"},
		{"count(1)", 6, "count wants a node-set, not a number"},
		{"contains('a')", 0, "wrong number of arguments"},
		{"true(1)", 0, "wrong number of arguments"},
		{"concat('a')", 0, "wrong number of arguments"},
		{"contains('a',)", 13, "expected an expression"},
		{"bogus::a", 0, "unknown axis bogus"},
		{"namespace::a", 0, "namespace axis is not supported"},
		{"child::", 7, "expected a name"},
		{"self::-name", 6, "expected a name"},
		{"1 | a", 0, "| joins node-sets, not a number"},
		{"a | 'x'", 4, "| joins node-sets, not a string"},
		{"1[2]", 0, "predicates are for node-sets"},
		{"'x'/a", 3, "steps start at a node-set"},
		{"text(", 5, "expected )"},
		{"a[#]", 2, "unexpected character '#'"},
		{"matches(a, b)", 0, "must be a string"},
		{"matches(a, '(')", 0, "missing closing )"},
		{"re:test(a, 'b', 'z')", 0, "flags"},
		{"string-join('a', 'b')", 0, "wants a node-set"},
		{"a[é!]", 4, "unexpected character '!'"},
		{strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300), 200, "nested too deeply"},
		{strings.Repeat("1+", 1<<19) + "1", 1 << 20, "too long"},
	} {
		_, err := xpath.Compile(test.expr)
		var syntax *xpath.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: error %v", test.expr, err)
			continue
		}
		if syntax.Expr != test.expr || syntax.Offset != test.offset || !strings.Contains(syntax.Message, test.words) {
			t.Errorf("%s: at byte %d: %s; want at byte %d: %s", test.expr, syntax.Offset, syntax.Message, test.offset, test.words)
		}
		if !strings.Contains(err.Error(), syntax.Message) {
			t.Errorf("%s: message %q", test.expr, err)
		}
	}
	defer func() {
		if _, ok := recover().(*xpath.SyntaxError); !ok {
			t.Error("no panic with a *SyntaxError")
		}
	}()
	xpath.MustCompile("//")
}

func TestValue(t *testing.T) {
	doc := parse(t, tree)
	for _, test := range []struct {
		expr, kind, text string
		number           float64
		truth            bool
	}{
		{"//li[3]", "node-set", "3", 3, true},
		{"//nosuch", "node-set", "", math.NaN(), false},
		{"//li[3]/@id", "node-set", "l3", math.NaN(), true},
		{"'1.50'", "string", "1.50", 1.5, true},
		{"''", "string", "", math.NaN(), false},
		{"0", "number", "0", 0, false},
		{"-0.5", "number", "-0.5", -0.5, true},
		{"0 div 0", "number", "NaN", math.NaN(), false},
		{"true()", "boolean", "true", 1, true},
		{"false()", "boolean", "false", 0, false},
	} {
		v, err := xpath.MustCompile(test.expr).Evaluate(doc.Root().Ref())
		if err != nil {
			t.Fatal(err)
		}
		number := v.Number() == test.number || math.IsNaN(v.Number()) && math.IsNaN(test.number)
		if v.Kind().String() != test.kind || v.String() != test.text || !number || v.Bool() != test.truth {
			t.Errorf("%s: %v %q %v %v", test.expr, v.Kind(), v.String(), v.Number(), v.Bool())
		}
	}
	if zero := (xpath.Value{}); zero.Kind() != xpath.NodeSet || zero.String() != "" || zero.Bool() || zero.Nodes() != nil {
		t.Error("the zero Value is no empty node-set")
	}
}

func TestConcurrentUse(t *testing.T) {
	doc := parse(t, tree)
	e := xpath.MustCompile("//div[p/b or contains(., 'slanted')]/p[position() = last()]/@id | //li[. = 10]/@id")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				v, err := e.Evaluate(doc.Root().Ref())
				if got := show(v); err != nil || got != "id=p2 id=p4 id=l4" {
					t.Errorf("%s, %v", got, err)
				}
			}
		})
	}
	wg.Wait()
}
