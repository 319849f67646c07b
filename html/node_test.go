package html_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

func parse(t testing.TB, source string, options ...html.Option) *html.Document {
	t.Helper()
	d, err := html.Parse([]byte(source), options...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func parseXML(t testing.TB, source string, options ...html.Option) *html.Document {
	t.Helper()
	d, err := html.ParseXML([]byte(source), options...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func parseFragment(t testing.TB, source string) *html.Document {
	t.Helper()
	d, err := html.ParseFragment([]byte(source), html.Context{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// find returns the first element of HTML with a name.
func find(d *html.Document, name html.Atom) html.Node {
	for n := range d.Root().Descendants() {
		if n.Is(name) {
			return n
		}
	}
	return html.Node{}
}

func TestNavigation(t *testing.T) {
	d := parse(t, `<!doctype html><title>T</title><body><ul id=u><li>one<li class="a b">two<!--c--></ul>`)
	ul := find(d, html.AtomUl)
	first, last := ul.FirstChild(), ul.LastChild()
	for _, test := range []struct {
		name      string
		got, want html.Node
	}{
		{"next", first.NextSibling(), last},
		{"previous", last.PrevSibling(), first},
		{"parent", last.Parent(), ul},
		{"before the first", first.PrevSibling(), html.Node{}},
		{"after the last", last.NextSibling(), html.Node{}},
		{"chained beyond the end", last.NextSibling().NextSibling().FirstChild().Parent().LastChild().PrevSibling(), html.Node{}},
		{"child of a text", first.FirstChild().FirstChild(), html.Node{}},
		{"parent of the document", d.Root().Parent(), html.Node{}},
		{"element of the document", d.Element(), ul.Parent().Parent()},
		{"by number", d.Node(ul.ID()), ul},
		{"number 0", d.Node(0), html.Node{}},
		{"number too large", d.Node(uint32(d.Len()) + 1), html.Node{}},
		{"last number", d.Node(uint32(d.Len())), last.LastChild()},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %v %q, want %v %q", test.name, test.got.Kind(), test.got.Name(), test.want.Kind(), test.want.Name())
		}
	}
	var names []string
	for n := range ul.Ancestors() {
		names = append(names, n.Name()+n.Kind().String())
	}
	if want := []string{"bodyelement", "htmlelement", "document"}; !slices.Equal(names, want) {
		t.Errorf("ancestors: %q, want %q", names, want)
	}
	names = nil
	for n := range ul.Descendants() {
		names = append(names, n.Kind().String())
	}
	if want := []string{"element", "text", "element", "text", "comment"}; !slices.Equal(names, want) {
		t.Errorf("descendants: %q, want %q", names, want)
	}
	for range ul.Children() {
		names = append(names, "")
		break
	}
	if len(names) != 6 {
		t.Error("breaking out of a loop over children goes on")
	}
}

func TestZeroNode(t *testing.T) {
	var n html.Node
	if n.Kind() != html.NoNode || !n.IsZero() || n.IsElement() || n.Is(html.AtomA) || n.Implied() || n.Atom() != 0 ||
		n.Name() != "" || n.LocalName() != "" || n.NamespaceURI() != "" || n.Data() != nil || n.Pos() != 0 || n.ID() != 0 ||
		n.EndID() != 0 || n.Document() != nil || n.Text() != "" || n.CollapsedText() != "" || n.HTML() != "" ||
		n.InnerHTML() != "" || n.Attr("a") != "" || !n.FirstAttr().IsZero() || !n.FindAttr(html.AtomId).IsZero() {
		t.Error("the zero node is something")
	}
	for range n.Descendants() {
		t.Error("it has descendants")
	}
	for range n.Children() {
		t.Error("it has children")
	}
	for range n.Attrs() {
		t.Error("it has attributes")
	}
	var a html.Attr
	if a.Name() != "" || a.Value() != "" || a.Bytes() != nil || a.Atom() != 0 || !a.Next().IsZero() || a.NamespaceURI() != "" {
		t.Error("the zero attribute is something")
	}
}

func TestAttributes(t *testing.T) {
	d := parse(t, `<body data-X="1" a='&lt;&notin;&not' hidden A=2 href="?a=1&copy=2&amp;b"  x&y=z><svg viewbox="0" xlink:href="#a" xml:lang=en></svg><math definitionurl=u>`)
	body := find(d, html.AtomBody)
	var got []string
	for a := range body.Attrs() {
		got = append(got, a.Name()+"="+a.Value())
	}
	want := []string{"data-x=1", "a=<∉¬", "hidden=", "href=?a=1&copy=2&b", "x&y=z"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if v, ok := body.LookupAttr("hidden"); v != "" || !ok {
		t.Errorf("hidden: %q, %v", v, ok)
	}
	if v, ok := body.LookupAttr("nothing"); v != "" || ok {
		t.Errorf("nothing: %q, %v", v, ok)
	}
	if v := string(body.FindAttr(html.AtomHref).Raw()); v != "?a=1&copy=2&amp;b" {
		t.Errorf("raw href: %q", v)
	}
	if v := string(body.FindAttr(html.AtomHref).AppendTo([]byte("x"))); v != "x?a=1&copy=2&b" {
		t.Errorf("appended href: %q", v)
	}
	got = nil
	for n := range body.Children() {
		for a := n.FirstAttr(); !a.IsZero(); a = a.Next() {
			got = append(got, a.NamespaceURI()+" "+a.LocalName())
		}
	}
	want = []string{" viewBox", "http://www.w3.org/1999/xlink href", "http://www.w3.org/XML/1998/namespace lang", " definitionURL"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAtoms(t *testing.T) {
	d := parse(t, `<p><x-card data-y=1>`)
	if a := html.LookupAtom("foreignObject"); a != html.AtomForeignObject || a.String() != "foreignObject" {
		t.Errorf("foreignObject is %d %q", a, a)
	}
	if a := html.LookupAtom("x-card"); a != 0 {
		t.Errorf("x-card is %d", a)
	}
	if a := html.LookupAtom("contenteditabl"); a != 0 {
		t.Errorf("contenteditabl is %d", a)
	}
	for _, name := range []string{"x-card", "data-y", "p", "contenteditable"} {
		a := d.LookupAtom(name)
		if a == 0 || d.AtomName(a) != name || int(a) >= d.Atoms() {
			t.Errorf("%s is %d, which is %q, of %d", name, a, d.AtomName(a), d.Atoms())
		}
	}
	if a := d.LookupAtom("y-card"); a != 0 {
		t.Errorf("y-card is %d", a)
	}
	for _, a := range []html.Atom{0, html.Atom(d.Atoms())} {
		if d.AtomName(a) != "" || a.String() != "" || d.AtomBytes(a) != nil {
			t.Errorf("atom %d has a name", a)
		}
	}
}

func TestPositions(t *testing.T) {
	const source = "<!doctype html>\n<p class=x>a&amp;b</p><!--c--><?d?></ e>\r\nf<!g\x00h><table>i"
	d := parse(t, source)
	var got []string
	for n := range d.Root().Descendants() {
		s := source[n.Pos():]
		if n.Implied() {
			s = "implied " + s
		}
		got = append(got, n.Kind().String()+" "+s[:min(12, len(s))])
	}
	want := []string{
		"doctype <!doctype ht", "element implied <p c", "element implied <p c", "element implied <p c", "element <p class=x>a",
		"text a&amp;b</p><", "comment <!--c--><?d?", "comment <?d?></ e>\r\n", "comment </ e>\r\nf<!g\x00", "text \r\nf<!g\x00h><ta",
		"comment <!g\x00h><table", "text i", "element <table>i",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestText(t *testing.T) {
	const page = `<body> <h1>A  title</h1><p>One&nbsp;<b>bold</b>er<br>next<script>x()</script><template>t</template>
		<table><tr><td>1<td>2</table><noscript>no</noscript><select><option>a<option>b</select>e` + "\u2003" + `f&#x0;</body>`
	body := find(parse(t, page), html.AtomBody)
	if got, want := body.CollapsedText(), "A title One bolder next 1 2 no a b e f\uFFFD"; got != want {
		t.Errorf("collapsed: got %q, want %q", got, want)
	}
	if got, want := find(body.Document(), html.AtomH1).Text(), "A  title"; got != want {
		t.Errorf("text: got %q, want %q", got, want)
	}
	if got := body.Text(); !strings.Contains(got, "One\u00A0bolder") || !strings.Contains(got, "x()t\n") {
		t.Errorf("text: got %q", got)
	}
	if got, want := find(body.Document(), html.AtomScript).CollapsedText(), "x()"; got != want {
		t.Errorf("of a script itself: got %q, want %q", got, want)
	}
	if got, want := body.FirstChild().Text(), " "; got != want {
		t.Errorf("of a text node: got %q, want %q", got, want)
	}
	if got, want := string(find(body.Document(), html.AtomH1).AppendCollapsed([]byte("x"))), "xA title"; got != want {
		t.Errorf("appended: got %q, want %q", got, want)
	}
}

// Scripts and styles of drawings and formulas are no text of what is around them, in HTML and in XML.
func TestTextOfDrawings(t *testing.T) {
	const spaces = ` xmlns="http://www.w3.org/1999/xhtml"`
	for _, test := range []struct{ name, page, want string }{
		{"style in SVG", `a<svg xmlns="http://www.w3.org/2000/svg"><style>.b{}</style><text>c</text></svg>d`, "acd"},
		{"script in SVG", `a<svg xmlns="http://www.w3.org/2000/svg"><script>b()</script><text>c</text></svg>d`, "acd"},
		{"a section", `a<svg xmlns="http://www.w3.org/2000/svg"><style><![CDATA[ .b > c {} ]]></style></svg>d`, "ad"},
		{"with elements in it", `a<svg xmlns="http://www.w3.org/2000/svg"><style>.b<g>c</g>e</style></svg>d`, "ad"},
		{"deeper", `a<svg xmlns="http://www.w3.org/2000/svg"><defs><g><style>.b{}</style></g></defs><g><text>c</text></g></svg>d`, "acd"},
		{"empty", `a<svg xmlns="http://www.w3.org/2000/svg"><style/><text>c</text></svg>d`, "acd"},
		{"in MathML", `a<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>b</mi><style>c</style></math>d`, "abd"},
		{"HTML in SVG", `a<svg xmlns="http://www.w3.org/2000/svg"><foreignObject><style` + spaces + `>b</style>c</foreignObject></svg>d`, "acd"},
		{"a title of SVG", `a<svg xmlns="http://www.w3.org/2000/svg"><title>b</title><desc>c</desc></svg>d`, "a b c d"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := find(parse(t, "<body><p>"+test.page), html.AtomP).CollapsedText(); got != test.want {
				t.Errorf("in HTML: %q, want %q", got, test.want)
			}
			doc := parseXML(t, "<p"+spaces+">"+test.page+"</p>")
			if got := find(doc, html.AtomP).CollapsedText(); got != test.want {
				t.Errorf("in XML: %q, want %q", got, test.want)
			}
		})
	}
}

// TestMergedText has text that comes in pieces, of which some had to be decoded.
func TestMergedText(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"around an ignored tag", "a</b>b</i>c", "abc"},
		{"decoded around an ignored tag", "a&amp;</b>b</i>&lt;c", "a&b<c"},
		{"decoded later", "a</b>b&amp;</i>c", "ab&c"},
		{"out of a table", "<table>a<tr>b&amp;<td>&lt;</td>c<tr>d", "ab&cd"},
		{"out of a table, much", "<table>" + strings.Repeat("a&amp;<tr><td>x&lt;</td>", 50), strings.Repeat("a&", 50)},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := parse(t, test.page)
			if err := check(d); err != nil {
				t.Error(err)
			}
			if got := string(find(d, html.AtomBody).FirstChild().Data()); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestHTML(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"attributes", `<a title='"&lt;>&amp;&nbsp;' href=x hidden>y</a>`, `<a title="&quot;&lt;&gt;&amp;&nbsp;" href="x" hidden="">y</a>`},
		{"text", "a &lt; b &gt; c &amp; d\u00A0e \"\u00C2", "a &lt; b &gt; c &amp; d&nbsp;e \"\u00C2"},
		{"literal text", `<style>a>b</style><script>a<b</script><xmp>&amp;</xmp><textarea>&lt;</textarea>`, `<style>a>b</style><script>a<b</script><xmp>&amp;</xmp><textarea>&lt;</textarea>`},
		{"void elements", `<br><img src=a><hr><wbr>`, `<br><img src="a"><hr><wbr>`},
		{"comment", `<p><!-- a --><?b></p>`, `<p><!-- a --><!--?b--></p>`},
		{"foreign", `<svg viewbox=0><lineargradient/><a xlink:href=b><style><c/></style></svg>`, `<svg viewBox="0"><linearGradient></linearGradient><a xlink:href="b"><style><c></c></style></a></svg>`},
		{"template", `<template><td>a</template>`, `<template><td>a</td></template>`},
		{"own names", `<x-y data-z=1>a`, `<x-y data-z="1">a</x-y>`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := parse(t, "<body>"+test.page)
			body := find(d, html.AtomBody)
			if got := body.InnerHTML(); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
			if got, want := body.HTML(), "<body>"+test.want+"</body>"; got != want {
				t.Errorf("got %s\nwant %s", got, want)
			}
		})
	}
	d := parse(t, "<!DOCTYPE html PUBLIC x><p>")
	if got, want := d.Root().HTML(), "<!DOCTYPE html><html><head></head><body><p></p></body></html>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := d.Root().FirstChild().HTML() + find(d, html.AtomP).InnerHTML(); got != "<!DOCTYPE html>" {
		t.Errorf("got %s", got)
	}
}

func TestQuirks(t *testing.T) {
	for _, test := range []struct {
		doctype string
		want    html.QuirksMode
	}{
		{"", html.Quirks},
		{"<!doctype html>", html.NoQuirks},
		{"<!DOCTYPE html SYSTEM 'about:legacy-compat'>", html.NoQuirks},
		{"<!doctype>", html.Quirks},
		{"<!doctype xml>", html.Quirks},
		{`<!doctype html public "-//W3C//DTD HTML 3.2 Final//EN">`, html.Quirks},
		{`<!doctype html public "-//W3C//DTD HTML 4.01 Transitional//EN">`, html.Quirks},
		{`<!doctype html public "-//W3C//DTD HTML 4.01 Transitional//EN" "">`, html.LimitedQuirks},
		{`<!doctype html public "-//W3C//DTD XHTML 1.0 Frameset//EN">`, html.LimitedQuirks},
		{`<!doctype html public "-//W3C//DTD HTML 4.01//EN">`, html.NoQuirks},
		{`<!doctype html public "HTML">`, html.Quirks},
		{`<!doctype html system "http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd">`, html.Quirks},
	} {
		if got := parse(t, test.doctype+"<p>").QuirksMode(); got != test.want {
			t.Errorf("%s: got %d, want %d", test.doctype, got, test.want)
		}
	}
}
