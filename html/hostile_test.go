package html_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// hostile makes pages that are built to make a parser go through the same things again and again.
// Each takes n, which its length grows with in proportion.
var hostile = []struct {
	name string
	page func(n int) string
}{
	{"nesting", func(n int) string { return strings.Repeat("<div>", n) }},
	{"nesting in button scope", func(n int) string { return "<p><button>" + strings.Repeat("<div>", n) }},
	{"nesting without end tags that match", func(n int) string { return strings.Repeat("<span>", n) + strings.Repeat("</b></x>", n) }},
	{"nesting of names of its own", func(n int) string {
		return strings.Repeat("<x-a>", n) + strings.Repeat("</x-b>", n) + strings.Repeat("</x-a>", n)
	}},
	{"lists in nested blocks", func(n int) string { return strings.Repeat("<div>", n) + strings.Repeat("<li></li><dd></dd>", n) }},
	{"foreign nesting", func(n int) string { return "<svg>" + strings.Repeat("<g>", n) + strings.Repeat("</x></p2>", n) }},
	{"foreign names of its own", func(n int) string { return "<math>" + strings.Repeat("<q>", n) + strings.Repeat("</r>", n) }},
	{"integration points", func(n int) string { return strings.Repeat("<svg><desc>", n) + strings.Repeat("</p>", n) }},
	{"forms", func(n int) string { return strings.Repeat("<form><div></form>", n) }},
	{"templates", func(n int) string { return strings.Repeat("<template><tr>", n) + strings.Repeat("</template>", n) }},
	{"selects", func(n int) string {
		return strings.Repeat("<div>", n) + strings.Repeat("<select><option><optgroup><hr></select>", n)
	}},
	{"headings", func(n int) string { return strings.Repeat("<div>", n) + strings.Repeat("</h1>", n) }},
	{"html and body again", func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<body a%d=1><html b%d=2>", i, i)
		}
		return b.String()
	}},

	{"attribute flood", func(n int) string {
		var b strings.Builder
		b.WriteString("<p")
		for i := range n {
			fmt.Fprintf(&b, " a%d", i)
		}
		return b.String() + ">"
	}},
	{"the same attribute", func(n int) string { return "<p" + strings.Repeat(" a", n) + ">" }},
	{"many attributes, many tags", func(n int) string { return strings.Repeat("<p"+strings.Repeat(" a b c d e", 8)+">", n) }},

	{"unclosed formatting", func(n int) string { return strings.Repeat("<b>", n) + strings.Repeat("</b>", n) }},
	{"unclosed formatting, all different", func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<b a=%d>", i)
		}
		return b.String() + strings.Repeat("</b>", n)
	}},
	{"unclosed formatting in paragraphs", func(n int) string { return strings.Repeat("<p><b><i><u>", n) }},
	{"unclosed formatting, two names", func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<i a=%d>", i)
		}
		for i := range n {
			fmt.Fprintf(&b, "<b a=%d>", i)
		}
		return b.String() + strings.Repeat("</i>", n)
	}},
	{"equal formatting far away", func(n int) string {
		var b strings.Builder
		for range 3 {
			for i := range n {
				fmt.Fprintf(&b, "<b a=%d>", i)
			}
		}
		return b.String()
	}},
	{"adoption through blocks", func(n int) string {
		return strings.Repeat("<b>", 3) + strings.Repeat("<div>", n) + strings.Repeat("</b>", n)
	}},
	{"adoption with much to move", func(n int) string {
		return "<b><div>" + strings.Repeat("<i>x</i>", n) + "</b>" + strings.Repeat("<b></div>x</b>", n)
	}},
	{"adoption with much between", func(n int) string {
		return strings.Repeat("<b a><span>", n) + strings.Repeat("<div>", n) + strings.Repeat("</b>", n)
	}},
	{"adoption with stale formatting", func(n int) string { return "<b x>" + strings.Repeat("<div><b>", n) + strings.Repeat("</b>", n) }},
	{"links in links", func(n int) string { return strings.Repeat("<a><div>", n) }},
	{"nobr", func(n int) string { return strings.Repeat("<nobr><div>", n) }},

	{"tables", func(n int) string { return strings.Repeat("<table>", n) }},
	{"tables in cells", func(n int) string { return strings.Repeat("<table><tr><td>", n) + strings.Repeat("</table>", n) }},
	{"rows", func(n int) string { return "<table>" + strings.Repeat("<tr><td>a", n) }},
	{"text out of a table", func(n int) string { return "<table>" + strings.Repeat("a<tr>", n) }},
	{"decoded text out of a table", func(n int) string { return "<table>" + strings.Repeat("a&amp;<tr><td>b&lt;", n) }},
	{"elements out of a table", func(n int) string { return "<table>" + strings.Repeat("<b>", n) + strings.Repeat("<tr>x", n) }},
	{"tables in deep cells", func(n int) string {
		return "<table><tr><td>" + strings.Repeat("<div>", n) + strings.Repeat("<table></table>", n)
	}},

	{"entities", func(n int) string { return strings.Repeat("&amp;&notin;&#x41;", n) }},
	{"no entities", func(n int) string {
		return strings.Repeat("&", n) + strings.Repeat("&x", n) + "<p a='" + strings.Repeat("&q", n) + "'>"
	}},
	{"long entity", func(n int) string {
		return strings.Repeat("&"+strings.Repeat("a", 40), n) + "&#" + strings.Repeat("9", n)
	}},

	{"open tags", func(n int) string { return strings.Repeat("<", n) + strings.Repeat("</", n) + strings.Repeat("<!", n) }},
	{"open comments", func(n int) string { return strings.Repeat("<!--", n) + strings.Repeat("-", n) }},
	{"scripts in scripts", func(n int) string { return "<script><!--" + strings.Repeat("<script></script", n) }},
	{"end tags in text", func(n int) string { return "<title>" + strings.Repeat("</titl", n) }},
}

// TestHostile counts the steps that parsing takes: they may not grow faster than the page and its
// tree. A page that makes too many nodes is refused.
func TestHostile(t *testing.T) {
	for _, shape := range hostile {
		t.Run(shape.name, func(t *testing.T) {
			for _, n := range []int{10, 20_000} {
				source := []byte(shape.page(n))
				var d html.Document
				err := d.Reset(source)
				var limit *html.LimitError
				if err != nil && !errors.As(err, &limit) {
					t.Fatal(err)
				}
				nodes := d.Len()
				if err != nil {
					nodes = limit.Limit
				}
				work := html.Work(&d)
				if limit := 40 * (len(source) + nodes); work > limit {
					t.Errorf("%d steps for %d bytes and %d nodes, more than %d", work, len(source), nodes, limit)
				}
				if work < nodes/2 {
					t.Errorf("%d steps for %d nodes: they are not counted", work, nodes)
				}
				if n < 1000 {
					if err := check(&d); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// TestDepth parses, walks and writes a tree that is deeper than any stack.
func TestDepth(t *testing.T) {
	const depth = 200_000
	d := parse(t, strings.Repeat("<i a=1>", depth)+"x")
	n, deep := find(d, html.AtomBody).FirstChild(), 0
	for ; n.IsElement(); n = n.FirstChild() {
		deep++
	}
	if deep != depth {
		t.Errorf("%d deep", deep)
	}
	body := find(d, html.AtomBody)
	if text := body.Text() + body.CollapsedText(); text != "xx" {
		t.Errorf("text is %q", text)
	}
	if size := len(body.InnerHTML()); size != depth*len(`<i a="1"></i>`)+1 {
		t.Errorf("markup has %d bytes", size)
	}
}

func TestLimits(t *testing.T) {
	t.Run("nodes", func(t *testing.T) {
		_, err := html.Parse([]byte("<p>1<p>2<p>3"), html.MaxNodes(8))
		var limit *html.LimitError
		if !errors.As(err, &limit) || *limit != (html.LimitError{What: "nodes", Limit: 8, Pos: 8}) {
			t.Errorf("got %v", err)
		}
		parse(t, "<p>1<p>2<p>3", html.MaxNodes(10))
	})
	t.Run("default", func(t *testing.T) {
		// Each paragraph opens all formatting elements again.
		page := strings.Repeat("<b><i><u><s>", 1) + strings.Repeat("<p>x", 1000)
		parse(t, page) // 4 formatting elements
		page = strings.Repeat("<b><i><u><s><tt><em><big><code><small><strike><strong>", 3) + strings.Repeat("<p>x</p>", 1000)
		_, err := html.Parse([]byte("<p>" + page))
		var limit *html.LimitError
		if !errors.As(err, &limit) || limit.Limit != 64+2*(len(page)+3) {
			t.Errorf("33 formatting elements: %v", err)
		}
	})
	t.Run("empty after an error", func(t *testing.T) {
		small := parse(t, "<p>", html.MaxNodes(6))
		if err := small.Reset([]byte("<p>1<p>2")); err == nil {
			t.Error("no error")
		}
		if small.Len() != 1 || !small.Root().FirstChild().IsZero() {
			t.Errorf("%d nodes after an error", small.Len())
		}
		if err := small.Reset([]byte("<p>")); err != nil || small.Len() != 5 {
			t.Errorf("afterwards: %v, %d nodes", err, small.Len())
		}
	})
}

// Text and values with nothing but signs that begin a character reference are read once. A decoder that copies what stands
// before each of them, reference or not, makes it run for many minutes.
func TestAmpersandsAreReadOnce(t *testing.T) {
	signs := bytes.Repeat([]byte("&"), 8<<20)
	doc, err := html.Parse(slices.Concat([]byte("<p a='"), signs, []byte("'>"), signs))
	if err != nil {
		t.Fatal(err)
	}
	p := doc.Element().LastChild().FirstChild()
	if value := p.Attr("a"); len(value) != len(signs) || len(p.Text()) != len(signs) {
		t.Errorf("the value has %d bytes and the text %d", len(value), len(p.Text()))
	}
	xml, err := html.ParseXML(slices.Concat([]byte("<p a='"), signs, []byte("'>"), signs, []byte("</p>")), html.Lenient())
	if err != nil {
		t.Fatal(err)
	}
	if text := xml.Root().Text(); len(text) != len(signs) {
		t.Errorf("the text of XML has %d bytes", len(text))
	}
}
