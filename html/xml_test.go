package html_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// dumpXML writes the tree of an XML document, an element as {namespace}name.
func dumpXML(d *html.Document) string {
	var b strings.Builder
	var walk func(n html.Node)
	walk = func(n html.Node) {
		switch n.Kind() {
		case html.DoctypeNode:
			t, _ := d.Doctype()
			fmt.Fprintf(&b, "!%s %q %q;", t.Name, t.Public, t.System)
		case html.TextNode:
			fmt.Fprintf(&b, "%q", n.Data())
		case html.CommentNode:
			fmt.Fprintf(&b, "#%q", n.Data())
		case html.InstructionNode:
			fmt.Fprintf(&b, "?%s %q;", n.Name(), n.Data())
		case html.ElementNode:
			if uri := n.NamespaceURI(); uri != "" {
				b.WriteString("{" + uri + "}")
			}
			b.WriteString(n.Name())
			for a := range n.Attrs() {
				uri := a.NamespaceURI()
				if uri != "" && a.Namespace() != html.XMLNS {
					uri = "{" + uri + "}"
				} else {
					uri = ""
				}
				fmt.Fprintf(&b, " %s%s=%q", uri, a.Name(), a.Value())
			}
			b.WriteString("(")
		}
		for c := range n.Children() {
			walk(c)
		}
		if n.IsElement() {
			b.WriteString(")")
		}
	}
	walk(d.Root())
	return b.String()
}

func TestXML(t *testing.T) {
	for _, test := range []struct{ name, source, want string }{
		{"case and empty elements", `<A><b/><B></B></A>`, `A(b()B())`},
		{"declaration and byte order mark", "\uFEFF<?xml version='1.0' encoding='utf-8'?>\n<a/>\n", `a()`},
		{"sections", `<a>1<![CDATA[<&]]>2<![CDATA[]]></a>`, `a("1<&2")`},
		{"references", `<a b="&lt;&#65;&#x42;&quot;">&amp;&apos;&gt;&#x1F600;</a>`, `a b="<AB\""("&'>😀")`},
		{"line ends", "<a b='1\r\n2\t3\n4'>5\r\n6\r7\n8</a>", `a b="1 2 3 4"("5\n6\n7\n8")`},
		{"references to white space stay", "<a b='&#10;&#13;'>&#13;</a>", `a b="\n\r"("\r")`},
		{"comments and instructions", `<?p d ?><!--c--><a><?q?></a><!--e-->`, `?p "d ";#"c"a(?q "";)#"e"`},
		{"document type", `<!DOCTYPE a PUBLIC "p" 's' [<!ENTITY x "]>"><!-- ]> --><?p ]>?>]><a/>`, `!a "p" "s";a()`},
		{"namespaces", `<a xmlns="u" xmlns:p="v"><p:b c="1" p:d="2"><e xmlns=""/></p:b></a>`,
			`{u}a xmlns="u" xmlns:p="v"({v}p:b c="1" {v}p:d="2"(e xmlns=""()))`},
		{"prefix bound anew", `<p:a xmlns:p="u"><p:b xmlns:p="v"/><p:c/></p:a>`, `{u}p:a xmlns:p="u"({v}p:b xmlns:p="v"(){u}p:c())`},
		{"prefix xml", `<a xml:lang="en"/>`, `a {http://www.w3.org/XML/1998/namespace}xml:lang="en"()`},
		{"entities of XHTML", `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" ""><html a="&nbsp;">&eacute;</html>`,
			`!html "-//W3C//DTD XHTML 1.0 Strict//EN" "";html a="` + "\u00a0" + `"("é")`},
		{"names beyond ASCII", `<é ö-1.2="ü"/>`, `é ö-1.2="ü"()`},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := parseXML(t, test.source)
			want := strings.ReplaceAll(test.want, "\u00a0", `\u00a0`)
			if got := dumpXML(d); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if err := check(d); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestXMLNames(t *testing.T) {
	d := parseXML(t, `<h:html xmlns:h="http://www.w3.org/1999/xhtml" xmlns:o="urn:o"><body xmlns="http://www.w3.org/1999/xhtml"><p o:x="1">a</p></body><o:p/><p/></h:html>`)
	if !d.IsXML() || d.QuirksMode() != html.NoQuirks {
		t.Error("not XML without quirks")
	}
	var got []string
	for n := range d.Root().Descendants() {
		if n.IsElement() {
			got = append(got, fmt.Sprint(n.LocalName(), " ", n.Namespace() == html.HTML, n.Is(html.AtomP)))
		}
	}
	if want := "[html true false body true false p true true p false false p false false]"; fmt.Sprint(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	p := find(d, html.AtomP)
	if v, ok := p.LookupAttr("o:x"); v != "1" || !ok || p.FirstAttr().LocalName() != "x" {
		t.Errorf("o:x is %q, %v", v, ok)
	}
	if other := d.Element().LastChild().PrevSibling(); other.Atom() == p.Atom() || other.NamespaceURI() != "urn:o" {
		t.Error("names in different namespaces have the same atom")
	}
}

// TestXMLErrors has what is not well-formed, and what is made of it where that is allowed.
func TestXMLErrors(t *testing.T) {
	for _, test := range []struct {
		name, source string
		pos          int
		lenient      string
	}{
		{"nothing", ``, 0, ``},
		{"text alone", `a`, 0, ``},
		{"end tag without start tag", `<a></b></a>`, 3, `a()`},
		{"misnested", `<a><b><c></b></a>`, 9, `a(b(c()))`},
		{"open at the end", `<a><b>`, 6, `a(b())`},
		{"two roots", `<a/><b/>`, 4, `a()b()`},
		{"text outside", `<a/>b`, 4, `a()`},
		{"bare &", `<a>b & c</a>`, 5, `a("b & c")`},
		{"bare & in a value", `<a b="c&d=e"/>`, 7, `a b="c&d=e"()`},
		{"bare <", `<a>b < c</a>`, 5, `a("b < c")`},
		{"value without quotes", `<a b=c/>`, 5, `a b="c/"()`},
		{"attribute without value", `<a b/>`, 4, `a b=""()`},
		{"attribute twice", `<a b="1" b="2"/>`, 9, `a b="1"()`},
		{"attribute twice by namespace", `<a xmlns:p="u" xmlns:q="u" p:b="1" q:b="2"/>`, 35, `a xmlns:p="u" xmlns:q="u" {u}p:b="1"()`},
		{"prefix not declared", `<p:a/>`, 1, `p:a()`},
		{"prefix of an attribute not declared", `<a p:b="1"/>`, 3, `a p:b="1"()`},
		{"reserved prefix", `<a xmlns:xmlns="u"/>`, 16, `a xmlns:xmlns="u"()`},
		{"prefix for no namespace", `<a xmlns:p=""/>`, 12, `a xmlns:p=""()`},
		{"no white space", `<a b="1"c="2"/>`, 8, `a b="1" c="2"()`},
		{"< in a value", `<a b="<"/>`, 6, `a b="<"()`},
		{"]]> in text", `<a>]]></a>`, 3, `a("]]>")`},
		{"-- in a comment", `<a><!-- -- --></a>`, 8, `a(#" -- ")`},
		{"comment without end", `<a><!-- `, 7, `a(#" ")`},
		{"section without end", `<a><![CDATA[x`, 12, `a("x")`},
		{"late declaration", ` <?xml version="1.0"?><a/>`, 1, `?xml "version=\"1.0\"";a()`},
		{"document type without space", `<!DOCTYPEa><a/>`, 9, `!a "" "";a()`},
		{"document type without name", `<!DOCTYPE 0<0><a/>`, 9, `! "" "";a()`},
		{"document type with more", `<!DOCTYPE a b><a/>`, 12, `!a "" "";a()`},
		{"late document type", `<a/><!DOCTYPE a>`, 4, `a()`},
		{"control character", "<a>\x01</a>", 3, `a("\x01")`},
		{"not UTF-8", "<a>\xff</a>", 3, `a("\xff")`},
		{"reference to no character", "<a>&#0;</a>", 3, `a("&#0;")`},
		{"tag without end", `<a b="1"`, 8, ``},
		{"value without end", `<a b="1`, 6, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := html.ParseXML([]byte(test.source))
			var wrong *html.XMLError
			if !errors.As(err, &wrong) || wrong.Pos != test.pos {
				t.Errorf("got %v, want an XMLError at byte %d", err, test.pos)
			}
			d := parseXML(t, test.source, html.Lenient())
			if got := dumpXML(d); got != test.lenient {
				t.Errorf("lenient: got %s, want %s", got, test.lenient)
			}
			if err := check(d); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestXMLBombs has documents that grow when their entities are expanded. Nothing of them may grow.
func TestXMLBombs(t *testing.T) {
	laughs := `<!DOCTYPE a [<!ENTITY l0 "lol">`
	for i := range 20 {
		laughs += fmt.Sprintf(`<!ENTITY l%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&l%d;", i), 10))
	}
	for _, test := range []struct{ name, source, entity string }{
		{"billion laughs", laughs + `]><a>&l20;</a>`, "l20"},
		{"quadratic", `<!DOCTYPE a [<!ENTITY x "` + strings.Repeat("x", 10000) + `">]><a>` + strings.Repeat("&x;", 1000) + `</a>`, "x"},
		{"in an attribute", laughs + `]><a b="&l20;"/>`, "l20"},
		{"file", `<!DOCTYPE a [<!ENTITY f SYSTEM "file:///etc/passwd">]><a>&f;</a>`, "f"},
		{"not declared", `<a>&nbsp;</a>`, "nbsp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := html.ParseXML([]byte(test.source))
			var entity *html.EntityError
			if !errors.As(err, &entity) || entity.Name != test.entity || !strings.HasPrefix(test.source[entity.Pos:], "&"+test.entity+";") {
				t.Fatalf("got %v, want an EntityError for %s", err, test.entity)
			}
			d := parseXML(t, test.source, html.Lenient())
			if text := d.Root().Text() + d.Element().Attr("b"); !strings.HasPrefix(text, "&"+test.entity+";") || len(text) > len(test.source) {
				t.Errorf("lenient: %d bytes of text, %.20q", len(text), text)
			}
		})
	}
	t.Run("too many nodes", func(t *testing.T) {
		for _, options := range [][]html.Option{{html.MaxNodes(10)}, {html.MaxNodes(10), html.Lenient()}} {
			_, err := html.ParseXML([]byte("<a>"+strings.Repeat("<b/>", 10)+"</a>"), options...)
			var limit *html.LimitError
			if !errors.As(err, &limit) || limit.What != "nodes" || limit.Limit != 10 {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestXMLSerialization(t *testing.T) {
	const source = `<a xmlns:p="u" b="&quot;&lt;&#10;&#9;&#13;"><p:b></p:b>&amp;&#13;<![CDATA[<]]><br/><?p d?><!--c--></a>`
	const want = `<a xmlns:p="u" b="&quot;&lt;&#10;&#9;&#13;"><p:b/>&amp;&#13;&lt;<br/><?p d?><!--c--></a>`
	d := parseXML(t, source)
	if got := d.Root().HTML(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzXML: a document that is well-formed to us and to encoding/xml gives both the same elements,
// attributes and texts; written and parsed again it is the same.
func FuzzXML(f *testing.F) {
	f.Add([]byte(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a/?b&amp;c</loc></url></urlset>`))
	f.Add([]byte("<a xmlns:p='u' p:b=' \t1'>\r\n<![CDATA[&]]><p:c/><!-- d --><?e f?>&#x41;</a>"))
	f.Add([]byte(`<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`))
	f.Fuzz(func(t *testing.T, source []byte) {
		lenient, err := html.ParseXML(source, html.Lenient())
		if err != nil {
			isLimit(t, err)
		} else if err := check(lenient); err != nil {
			t.Fatal(err)
		}
		d, err := html.ParseXML(source)
		if err != nil {
			return
		}
		if err := check(d); err != nil {
			t.Fatal(err)
		}
		if work := html.Work(d); work > 40*(len(source)+d.Len()) {
			t.Errorf("%d steps for %d bytes", work, len(source))
		}
		tree := dumpXML(d)
		if got := dumpXML(lenient); got != tree {
			t.Errorf("lenient parsing differs\ngot  %s\nwant %s", got, tree)
		}
		again, err := html.ParseXML([]byte(d.Root().HTML()))
		if err != nil {
			t.Fatalf("what was written does not parse: %v\n%s", err, d.Root().HTML())
		}
		// A document type is written without its identifiers.
		if _, ok := d.Doctype(); !ok && dumpXML(again) != tree {
			t.Errorf("written and parsed again\ngot  %s\nwant %s", dumpXML(again), tree)
		}
		if theirs, err := witnessXML(source); err == nil && theirs != flatXML(d) {
			t.Errorf("encoding/xml differs\nours   %s\ntheirs %s", flatXML(d), theirs)
		}
	})
}

// flatXML writes elements, attributes and text as witnessXML does.
func flatXML(d *html.Document) string {
	var b strings.Builder
	var walk func(n html.Node)
	walk = func(n html.Node) {
		switch n.Kind() {
		case html.TextNode:
			b.Write(n.Data())
		case html.ElementNode:
			b.WriteString("<" + n.Name())
			for a := range n.Attrs() {
				// encoding/xml leaves white space in values as it is.
				fmt.Fprintf(&b, " %s=%q", a.Name(), strings.Map(spaceToBlank, a.Value()))
			}
			b.WriteString(">")
			for c := range n.Children() {
				walk(c)
			}
			b.WriteString("</" + n.Name() + ">")
		case html.DocumentNode:
			for c := range n.Children() {
				walk(c)
			}
		}
	}
	walk(d.Root())
	return b.String()
}

func spaceToBlank(r rune) rune {
	if r == '\n' || r == '\t' || r == '\r' {
		return ' '
	}
	return r
}

// witnessXML reads XML by encoding/xml.
func witnessXML(source []byte) (string, error) {
	var b strings.Builder
	name := func(n xml.Name) string {
		if n.Space != "" {
			return n.Space + ":" + n.Local
		}
		return n.Local
	}
	z := xml.NewDecoder(bytes.NewReader(source))
	z.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("another charset") }
	depth := 0
	for {
		token, err := z.RawToken()
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			b.WriteString("<" + name(token.Name))
			for _, a := range token.Attr {
				fmt.Fprintf(&b, " %s=%q", name(a.Name), strings.Map(spaceToBlank, a.Value))
			}
			b.WriteString(">")
		case xml.EndElement:
			depth--
			b.WriteString("</" + name(token.Name) + ">")
		case xml.CharData:
			if depth > 0 {
				b.Write(token)
			}
		}
	}
}

// TestHostileXML is TestHostile for XML that is not well-formed.
func TestHostileXML(t *testing.T) {
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, shape := range []struct {
		name string
		page func(n int) string
	}{
		{"nesting", func(n int) string { return strings.Repeat("<a>", n) }},
		{"end tags that match nothing", func(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</b>", n) }},
		{"end tags that match the outermost", func(n int) string { return strings.Repeat("<b>"+strings.Repeat("<a>", 9)+"</b></c>", n/9) }},
		{"attributes", func(n int) string { return "<a" + many(n, " b%d='1'") + ">" }},
		{"the same attribute", func(n int) string { return "<a" + strings.Repeat(" b='1'", n) + ">" }},
		{"namespaces", func(n int) string { return "<a" + many(n, " xmlns:p%d='u'") + many(n, " p%d:b='1'") + ">" }},
		{"namespaces in each other", func(n int) string { return many(n, "<a xmlns='u%d'>") + strings.Repeat("</a>", n) }},
		{"roots", func(n int) string { return strings.Repeat("<?p?><!--c-->", n) + strings.Repeat("<a/>", n) }},
		{"document types", func(n int) string {
			return "<!DOCTYPE a [" + strings.Repeat("<!ENTITY b 'c'>", n) + strings.Repeat("]", n)
		}},
		{"references", func(n int) string { return "<a>" + strings.Repeat("&b;&&amp;", n) }},
	} {
		t.Run(shape.name, func(t *testing.T) {
			for _, n := range []int{10, 20_000} {
				source := []byte(shape.page(n))
				d := parseXML(t, string(source), html.Lenient())
				if work := html.Work(d); work > 40*(len(source)+d.Len()) {
					t.Errorf("%d steps for %d bytes and %d nodes", work, len(source), d.Len())
				}
				if n < 1000 {
					if err := check(d); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}
