package css_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
)

// tree has few enough elements to see what each selector does; most have ids.
const tree = `<!DOCTYPE html><html id=html lang=en><head id=head><title id=title>T</title></head><body id=body class="page Big">
<div id=d1 class="box red" data-n=1><p id=p1 class=lead>One <b id=b1>bold</b> word</p><p id=p2>Two</p><span id=s1></span></div>
<div id=d2 class="box" data-n=2 lang=de-CH><p id=p3>Three <i id=i1>slanted</i></p><!--c--><p id=p4 class="lead x"></p><p id=p5> </p></div>
<ul id=u1><li id=l1 class=o>1<li id=l2>2<li id=l3 class=o>3<li id=l4>4<li id=l5 class=o>5</ul>
<form id=f1><input id=n1 type=TEXT required><input id=n2 type=checkbox checked disabled><fieldset id=fs disabled><legend id=lg><input id=n3></legend><input id=n4 type=hidden></fieldset><select id=sel><optgroup id=og disabled><option id=o1 selected>a</optgroup><option id=o2>b</select></form>
<a id=a1 href="/x?a=1&amp;b=2" rel="nofollow me" hreflang=EN>go</a><a id=a2>none</a><a id=a3 href="" title='a "quoted" title'>empty</a>
<svg id=svg viewBox="0 0 1 1"><a id=sa xlink:href="/s"><linearGradient id=lin /></a></svg>
</body></html>`

func TestSelect(t *testing.T) {
	doc := parse(t, tree)
	for _, test := range []struct{ selector, want string }{
		// types, ids, classes
		{"title", "title"},
		{"TITLE", "title"},
		{"b, i", "b1 i1"},
		{"#p1", "p1"},
		{"p#p2", "p2"},
		{"#p1#p2", ""},
		{".lead", "p1 p4"},
		{".lead.x", "p4"},
		{".big", ""},
		{".Big", "body"},
		{`#\70 1`, "p1"},
		{`#\000070\31`, "p1"},
		{"linearGradient", "lin"},
		{"lineargradient", ""},
		{"svg a", "sa"},
		{"nosuch", ""},
		{"nosuch p", ""},
		{".nosuch p, #nosuch p, nosuch ~ p", ""},
		// attributes
		{"[data-n]", "d1 d2"},
		{"[DATA-N]", "d1 d2"},
		{"[data-n='1']", "d1"},
		{`[data-n=\31]`, "d1"},
		{`[href="/x?a=1&b=2"]`, "a1"},
		{`[title='a "quoted" title']`, "a3"},
		{`[title="a \"quoted\" title"]`, "a3"},
		{"[rel~=me]", "a1"},
		{"[rel~='nofollow me']", ""},
		{"[rel~='']", ""},
		{"[lang|=de]", "d2"},
		{"[lang|=d]", ""},
		{"[class^=bo]", "d1 d2"},
		{"[class^='']", ""},
		{"[href^='/x?a=1&b']", "a1"},
		{"[href^='/x?a=1&c']", ""},
		{"[href^='/x?a=1&b=2']", "a1"},
		{"[href^='/x?a=1&b=2&']", ""},
		{"[class$=x]", "d2 p4"},
		{"[class*='x r']", "d1"},
		{"[class*='X R' i]", "d1"},
		{"[class*='X R']", ""},
		{"[class='BOX' i]", "d2"},
		{"[type=text]", "n1"},
		{"[type=text s]", ""},
		{"[type=TEXT s]", "n1"},
		{"[hreflang=en]", "a1"},
		{"[data-n!='1'][class~=box]", "d2"},
		{"p[class!=lead]", "p2 p3 p4 p5"},
		{"[href#=(a=\\d&)]", "a1"},
		{"[class#=^[bx]ox$]", "d2"},
		{"[viewBox]", "svg"},
		{"[viewbox]", ""},
		{`[xlink\:href]`, "sa"},
		{"[*|href]", "a1 a3 sa"},
		{"[|href]", "a1 a3"},
		{"*|a", "a1 a2 a3 sa"},
		{"|a", ""},
		// combinators
		{"div p", "p1 p2 p3 p4 p5"},
		{"body p b", "b1"},
		{"div > b", ""},
		{"p>b", "b1"},
		{"p + p", "p2 p4 p5"},
		{"p ~ p", "p2 p4 p5"},
		{"p ~ span", "s1"},
		{"div + div p + p", "p4 p5"},
		{"div ~ ul > li + .o", "l3 l5"},
		{".red ~ div > .lead", "p4"},
		{"html body div p", "p1 p2 p3 p4 p5"},
		{"#body #html p", ""},
		{"p b, div > p:first-child", "p1 b1 p3"},
		{"div/**/p", "error"},
		{"div /**/ > /**/ p.lead", "p1 p4"},
		// logic
		{":is(b, i)", "b1 i1"},
		{":where(.lead, #p2):not(.x)", "p1 p2"},
		{"p:not(div > .lead, #p5)", "p2 p3"},
		{":not(*)", ""},
		{"p:is(:not(.lead))", "p2 p3 p5"},
		{":is(div.red p, ul li):first-child", "p1 l1"},
		// has
		{"p:has(b)", "p1"},
		{"div:has(> p > i)", "d2"},
		{"div:has(> i)", ""},
		{"p:has(+ p)", "p1 p3 p4"},
		{"p:has(~ span)", "p1 p2"},
		{"li:has(~ .o + li)", "l1 l2"},
		{"div:has(p b)", "d1"},
		{"p:has(div b)", ""},
		{"body:has(p + p, nosuch)", "body"},
		{"div:not(:has(b))", "d2"},
		{"div:has(p:has(b))", "d1"},
		{"div:has(+ div:has(i)) b", "b1"},
		{":haschild(b)", "p1"},
		{":haschild(p > b)", "p1"},
		{"div:haschild(p > b)", ""},
		{"div:haschild(body p + span)", "d1"},
		{"body :has(i)", "d2 p3"},
		// children
		{"li:nth-child(2)", "l2"},
		{"li:nth-child(odd)", "l1 l3 l5"},
		{"li:nth-child(EVEN)", "l2 l4"},
		{"li:nth-child(-n+2)", "l1 l2"},
		{"li:nth-child( 2n - 1 )", "l1 l3 l5"},
		{"li:nth-child(n+4)", "l4 l5"},
		{"li:nth-child(0n+3)", "l3"},
		{"li:nth-child(+3)", "l3"},
		{"li:nth-child(99999999999)", ""},
		{"li:nth-last-child(-3n+4)", "l2 l5"},
		{"li:nth-child(2 of .o)", "l3"},
		{"li:nth-child(odd of :not(.o))", "l2"},
		{"li:nth-last-child(1 of .o)", "l5"},
		{"p:nth-of-type(2)", "p2 p4"},
		{"div > :nth-last-of-type(1)", "p2 s1 p5"},
		{"div > :first-of-type", "p1 s1 p3"},
		{"div > :last-child", "s1 p5"},
		{"div > :only-of-type", "s1"},
		{"p > :only-child", "b1 i1"},
		{":root", "html"},
		{"html:first-child:last-child", "html"},
		{"div > :empty", "s1 p4 p5"},
		{":scope", "html"},
		{":scope > body", "body"},
		// languages
		{"p:lang(de)", "p3 p4 p5"},
		{"p:lang(de-ch)", "p3 p4 p5"},
		{"p:lang('*-CH')", "p3 p4 p5"},
		{"p:lang(*-CH)", "p3 p4 p5"},
		{"p:lang(de-at, en)", "p1 p2"},
		{"p:lang('')", ""},
		{"div:lang('*')", "d1 d2"},
		// forms and links
		{":enabled", "n1 n3 sel o2"},
		{":disabled", "n2 fs n4 og o1"},
		{":checked", "n2 o1"},
		{":required", "n1"},
		{":optional", "n2 n3 n4 sel"},
		{":input", "n1 n2 n3 n4 sel"},
		{":any-link", "a1 a3"},
		{"a:link", "a1 a3"},
		{"a:visited, a:hover, a:focus, a:active, a:focus-within, a:focus-visible, :target", ""},
		// text
		{"p:contains(ONE)", "p1"},
		{`p:contains("bold word")`, "p1"},
		{`p:contains("one word")`, ""},
		{`p:containsOwn("word")`, "p1"},
		{`p:containsOwn("bold")`, ""},
		{`div:contains("")`, "d1 d2"},
		{"body > :contains(slanted)", "d2"},
		{"p:matches(^[OT]\\w+ )", "p1 p3"},
		{"p:matches(bold\\) )", ""},
		{"p:matchesOwn(^Three $)", "p3"},
		// parsel
		{"#p1::text", "'One ' ' word'"},
		{"#p1 ::text", "'One ' 'bold' ' word'"},
		{"#p1 *::text", "'One ' 'bold' ' word'"},
		{"#p1 > ::text", "'bold'"},
		{"a::attr(href)", "href=/x?a=1&b=2 href="},
		{"a::attr( HREF )", "href=/x?a=1&b=2 href="},
		{"svg ::attr(xlink:href)", "xlink:href=/s"},
		{"#d2 ::attr(lang)", "lang=de-CH"},
		{"#p1::text, #p1::attr(class), #p1, b", "p1 class=lead 'One ' b1 ' word'"},
		{"p + ::text", "'Two' ' '"},
		{`a[rel="x,y"], b::text`, "'bold'"},
		{`a[rel="::text"], b::text`, "'bold'"},
		{"p::before, p:first-line", ""},
	} {
		t.Run(test.selector, func(t *testing.T) {
			s, err := css.Compile(test.selector)
			if err != nil {
				if test.want != "error" {
					t.Fatal(err)
				}
				return
			}
			if got := strings.Join(names(s.Select(doc.Root())), " "); got != test.want {
				t.Errorf("selects %s, want %s", got, test.want)
			}
			if s.String() != test.selector {
				t.Errorf("String is %q", s.String())
			}
			checkOthers(t, s, doc)
		})
	}
}

// checkOthers compares the other methods with Select.
func checkOthers(t *testing.T, s *css.Selector, doc *html.Document) {
	t.Helper()
	all := s.Select(doc.Root())
	first, ok := s.First(doc.Root())
	if ok != (len(all) > 0) || ok && first != all[0] {
		t.Errorf("First gives %v, %v", names([]html.Ref{first}), ok)
	}
	checkWays(t, s, doc.Root())
	for id := range doc.Len() {
		n := doc.Node(uint32(id + 1))
		checkWays(t, s, n)
		if strings.Contains(s.String(), ":scope") {
			continue // means another element in each
		}
		if got, want := s.Match(n), n.IsElement() && slices.Contains(all, n.Ref()); got != want {
			t.Errorf("Match(%s %s) = %v", n.Name(), n.Attr("id"), got)
		}
		var inside []html.Ref
		for _, r := range all {
			if r.Node().ID() >= n.ID() && r.Node().ID() < n.EndID() {
				inside = append(inside, r)
			}
		}
		if !n.IsElement() {
			continue
		}
		if got := s.Select(n); !slices.Equal(got, inside) {
			t.Errorf("Select(%s %s) = %v, want %v", n.Name(), n.Attr("id"), names(got), names(inside))
		}
	}
}

func TestRoots(t *testing.T) {
	doc := parse(t, tree)
	byID := func(id string) html.Node {
		r, _ := css.MustCompile("#" + id).First(doc.Root())
		return r.Node()
	}
	for _, test := range []struct {
		name, selector string
		roots          []html.Node
		want           string
	}{
		{"root itself", "p", []html.Node{byID("p1")}, "p1"},
		{"left side outside", "div b", []html.Node{byID("p1")}, "b1"},
		{"scope", ":scope > p", []html.Node{byID("d2")}, "p3 p4 p5"},
		{"scope itself", ":scope", []html.Node{byID("d2")}, "d2"},
		{"several", "p", []html.Node{byID("d2"), byID("d1")}, "p3 p4 p5 p1 p2"},
		{"text node", "::text", []html.Node{byID("b1").FirstChild()}, "'bold'"},
		{"text node and elements", "p", []html.Node{byID("b1").FirstChild()}, ""},
		{"siblings of root", "p:nth-of-type(2)", []html.Node{byID("p2")}, "p2"},
		{"has outside of root", "div:has(i) p", []html.Node{byID("p4")}, "p4"},
		{"has next to root", "p:has(+ p)", []html.Node{byID("p4")}, "p4"},
		{"contains outside of root", "div:contains(three) p", []html.Node{byID("p4")}, "p4"},
		{"language outside of root", ":lang(de)", []html.Node{byID("i1")}, "i1"},
		{"no node", "p", []html.Node{{}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := strings.Join(names(css.MustCompile(test.selector).Append(nil, test.roots...)), " "); got != test.want {
				t.Errorf("%s selects %s, want %s", test.selector, got, test.want)
			}
		})
	}
	other := parse(t, "<p id=other>")
	got := css.MustCompile("#p1, #other").Append(nil, doc.Root(), other.Root(), doc.Root())
	if text := strings.Join(names(got), " "); text != "p1 other p1" {
		t.Errorf("roots of two documents give %s", text)
	}
}

// TestQuirks checks that ids and classes ignore case in quirks mode only.
func TestQuirks(t *testing.T) {
	const page = `<p id=One class="Red blue RED"><p id=one class=green>`
	for _, test := range []struct{ selector, standards, quirks string }{
		{".red", "", "One"},
		{".RED.Red", "One", "One"},
		{".Green", "", "one"},
		{"#ONE", "", "One one"},
		{"#one", "one", "One one"},
		{"p#one:not(.GREEN)", "one", "One"},
		{"[class~=red]", "", ""},
	} {
		s := css.MustCompile(test.selector)
		for mode, want := range map[string]string{"<!DOCTYPE html>": test.standards, "": test.quirks} {
			if got := strings.Join(names(s.Select(parse(t, mode+page).Root())), " "); got != want {
				t.Errorf("%s selects %q in a page that starts with %q, want %q", test.selector, got, mode, want)
			}
		}
	}
}

func TestNamespaces(t *testing.T) {
	doc := parse(t, tree)
	const svg, xhtml, xlink = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1999/xlink"
	for _, test := range []struct {
		name     string
		options  css.Options
		selector string
		want     string
	}{
		{"prefix", css.Options{Namespaces: map[string]string{"s": svg}}, "s|a", "sa"},
		{"any name", css.Options{Namespaces: map[string]string{"s": svg}}, "s|*", "svg sa lin"},
		{"default", css.Options{Namespaces: map[string]string{"": svg}}, "a", "sa"},
		{"default and star", css.Options{Namespaces: map[string]string{"": svg}}, "*", "svg sa lin"},
		{"default and no type", css.Options{Namespaces: map[string]string{"": svg}}, "[id^=s]", "svg sa"},
		{"default is not for attributes", css.Options{Namespaces: map[string]string{"": svg}}, "[id=sa]", "sa"},
		{"default overruled", css.Options{Namespaces: map[string]string{"": svg}}, "*|title", "title"},
		{"html", css.Options{Namespaces: map[string]string{"h": xhtml}}, "h|a", "a1 a2 a3"},
		{"attribute", css.Options{Namespaces: map[string]string{"x": xlink}}, "[x|href='/s']", "sa"},
		{"attribute of another", css.Options{Namespaces: map[string]string{"x": svg}}, "[x|href]", ""},
		{"inside not", css.Options{Namespaces: map[string]string{"s": svg}}, "a:not(s|a)", "a1 a2 a3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := test.options.Compile(test.selector)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(names(s.Select(doc.Root())), " "); got != test.want {
				t.Errorf("%s selects %s, want %s", test.selector, got, test.want)
			}
		})
	}
}

func TestSpecificity(t *testing.T) {
	for _, test := range []struct {
		selector string
		want     css.Specificity
	}{
		{"*", css.Specificity{}},
		{"li", css.Specificity{0, 0, 1}},
		{"ul ol+li", css.Specificity{0, 0, 3}},
		{"h1 + *[rel=up]", css.Specificity{0, 1, 1}},
		{"ul ol li.red", css.Specificity{0, 1, 3}},
		{"#x34y", css.Specificity{1, 0, 0}},
		{"#s12:not(foo, .bar)", css.Specificity{1, 1, 0}},
		{":is(em, #foo)", css.Specificity{1, 0, 0}},
		{".qux:where(em, #foo#bar#baz)", css.Specificity{0, 1, 0}},
		{":nth-child(even of li, .item)", css.Specificity{0, 2, 0}},
		{"a:has(b.c)", css.Specificity{0, 1, 2}},
		{"p::text", css.Specificity{0, 0, 2}},
		{"p, #a, .b", css.Specificity{1, 0, 0}},
	} {
		if got := css.MustCompile(test.selector).Specificity(); got != test.want {
			t.Errorf("specificity of %s is %v, want %v", test.selector, got, test.want)
		}
	}
}

func TestSet(t *testing.T) {
	doc := parse(t, tree)
	set := css.NewSet(css.MustCompile("p::text"), css.MustCompile("#d1 *"), css.MustCompile("p"))
	var got []string
	for i, r := range set.All(doc.Root()) {
		got = append(got, string(rune('0'+i))+":"+names([]html.Ref{r})[0])
	}
	want := "1:p1 2:p1 0:'One ' 1:b1 0:' word' 1:p2 2:p2 0:'Two' 1:s1 2:p3 0:'Three ' 2:p4 2:p5 0:' '"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	for range set.All(doc.Root()) {
		break
	}
}

func TestConcurrentUse(t *testing.T) {
	doc := parse(t, tree)
	s := css.MustCompile("div:has(b) p:nth-of-type(2), li:contains('3'), .box > .lead:lang(de)")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := strings.Join(names(s.Select(doc.Root())), " "); got != "p2 p4 l3" {
					t.Errorf("selects %s", got)
				}
			}
		})
	}
	wg.Wait()
}

// TestCopies checks that elements that the parser copied with their attributes are found by these.
func TestCopies(t *testing.T) {
	doc := parse(t, "<p><b id=x class=c title=t>1<p>2<p>3")
	for _, selector := range []string{"[title]", "#x", ".c", "b[title=t]"} {
		if n := len(css.MustCompile(selector).Select(doc.Root())); n != 3 {
			t.Errorf("%s selects %d elements, want 3", selector, n)
		}
	}
}

// TestReset checks that a selector forgets what it knew of a document that was used again.
func TestReset(t *testing.T) {
	doc := parse(t, "<x-a></x-a><p class=a>")
	s := css.MustCompile(".a, x-b")
	if n := len(s.Select(doc.Root())); n != 1 {
		t.Fatalf("%d results", n)
	}
	if err := doc.Reset([]byte("<x-b class=b></x-b><p class=b><p class=a>")); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Select(doc.Root())); n != 2 {
		t.Errorf("%d results after Reset, want 2", n)
	}
}
