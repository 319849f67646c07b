package content_test

import (
	"errors"
	"flag"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
)

var hostile = flag.Int("hostile", 1, "the size of the pages that are made to take long, in MiB")

// hostilePages are made to take long or much memory, of about so many bytes.
var hostilePages = []struct {
	name string
	page func(size int) string
}{
	{"10,000 levels", func(size int) string { return strings.Repeat("<div>", 10_000) + fill("deep text, ", size) }},
	{"levels", filled("", "<div>")}, {"lists", filled("", "<ul><li>x ")}, {"quotes", filled("", "<blockquote>x ")}, {"spans", filled("", "<span>x ")},
	{"emphasis", filled("", "<b>x ")}, {"emphasis that ends", filled("", "<i>x</i>")}, {"NULs", filled("", "\x00")}, {"NULs in text", filled("<p>", "a\x00b ")},
	{"not UTF-8", filled("<p>", "\xff\xfe ")}, {"bytes that begin no character", filled("<p>", "\x80")}, {"binary", filled("\x7fELF\x02\x01\x01", "\x00\x8b<\xc3(\x01a\xa0\xa1\x1f>")},
	{"control characters", filled("<p>", "\x01\x02")}, {"one word", filled("<p>", "x")}, {"spaces", filled("<p>", " ")},
	{"paragraphs", filled("", "<p>some words, and more")}, {"breaks", filled("<p>", "x<br>")}, {"code", filled("<p>", "<code>x</code>")},
	{"backticks", filled("<p><code>", "`x")}, {"pre", filled("<pre>", "```\n")}, {"tables", filled("", "<table><tr><td>x<td>y</table>")},
	{"tables in tables", filled("", "<table><tr><td>x<td>")}, {"cells", filled("<table><tr>", "<td>x")}, {"rows", filled("<table>", "<tr><th>x<td>y")},
	{"spans of cells", func(size int) string {
		return "<table>" + fill("<tr><td rowspan=1000 colspan=100>x", size/16)
	}},
	{"wide tables", filled("", "<table><tr><td colspan=100>x</table>")}, {"links", filled("", "<a href=x>y</a> ")},
	{"fragments", filled("", "<a id=a href=#b>1</a><p id=b><a href=#a>back</a></p>")}, {"headings", filled("", "<h1>x</h1>")}, {"marks", filled("<p>", "*_[`<&")},
	{"classes", filled("", "<p class='comment article nav'>words, of a text")},
	{"long class", func(size int) string { return "<p class='" + fill("comment ", size) + "'>x" }},
	{"styles", func(size int) string { return "<p style='" + fill("a:b;", size) + "'>x" }}, {"images", filled("", "<img src=x alt='a b'>text ")},
	// These have one long part that each of many small ones would be written with, or compared with.
	{"long base", func(size int) string {
		return "<base href='http://a.test/" + fill("x", size/2) + "'>" + fill("<a href=?>y</a> ", size/2)
	}},
	{"base of 4 KB", func(size int) string {
		return "<base href='http://a.test/" + fill("x", 4000) + "/'>" + fill("<a href=x>y</a> <img src=z>", size)
	}},
	{"long class of code", func(size int) string {
		return "<div class='" + fill("a ", size/2) + "'>" + fill("<pre>x</pre>", size/2)
	}},
	{"long id of notes", func(size int) string {
		return "<p id='" + fill("a", size/2) + "'>" + fill("<a href=#n>x</a> ", size/2) + "<p id=n><a href=#a>back</a> a note"
	}},
	{"long heading", func(size int) string {
		return "<h1>" + fill("word ", size/2) + "</h1>" + fill("<p>some words</p>", size/2)
	}},
	{"deep quotes", func(size int) string {
		return strings.Repeat("<blockquote>", 190) + fill("<p>x</p>", size)
	}},
	{"deep terms", func(size int) string {
		return strings.Repeat("<dl><dt id=a>"+strings.Repeat("word ", 60)+"</dt><dd>", 190) + fill("<dl><dt id=b>some words of a term<dd>x</dl>", size)
	}},
	{"terms in terms", filled("", "<dl><dt id=a>x")}, {"terms", filled("<dl>", "<dt id=a>x<dd>y")}, {"numbers in numbers", filled("", "<div class=linenos>1 ")},
	{"numbers of lines", filled("<table>", "<tr><td class=linenos>1<td>x")}, {"permalinks", filled("<h1>", "<a href=#x class=headerlink>#</a>")},
	{"titles of permalinks", filled("", "<h1>x</h1><a class=anchor href=#x></a>")},
	{"deep lists", func(size int) string { return strings.Repeat("<ol start=99999999><li>", 190) + fill("<p>x</p>", size) }},
}

func fill(s string, size int) string { return strings.Repeat(s, max(size/len(s), 1)) }

func filled(begin, s string) func(int) string {
	return func(size int) string { return begin + fill(s, size) }
}

// cost is what reading a page has taken.
type cost struct {
	page, nodes    int
	made           uint64 // bytes that were allocated
	out            int    // bytes of text, Markdown and HTML
	counted        int    // bytes that the count of tokens was given
	chunks, chunky int    // and their bytes
}

// measured returns how many bytes were allocated in a deep check, and 0 otherwise.
func (c cost) measured() int {
	if !deep.Checks() {
		return 0
	}
	return int(c.made)
}

func read(t *testing.T, page string) (c cost, ok bool) {
	doc, err := html.Parse([]byte(page))
	if err != nil {
		t.Logf("the parser refuses it: %v", err)
		return c, false
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	a, err := content.Extract(doc, "http://localhost/")
	var refused *content.TooLargeError
	var none *content.NoTextError
	if err != nil {
		if !errors.As(err, &refused) && !errors.As(err, &none) {
			t.Error(err)
		}
		t.Log(err)
		return c, false
	}
	c.page, c.nodes = len(page), doc.Len()
	c.out = len(a.Text) + len(a.Markdown()) + len(a.HTML())
	for _, chunk := range a.Chunks(400, content.CountTokens(func(s string) int { c.counted += len(s); return content.Tokens(s) })) {
		c.chunks++
		c.chunky += len(chunk.Text)
		for _, h := range chunk.Headings {
			c.chunky += len(h)
		}
		if chunk.Start < 0 || chunk.End > len(doc.Source()) || chunk.Start > chunk.End || chunk.Tokens > 400 {
			t.Fatalf("a chunk of %d tokens from %d to %d", chunk.Tokens, chunk.Start, chunk.End)
		}
	}
	runtime.ReadMemStats(&after)
	c.made = after.TotalAlloc - before.TotalAlloc
	return c, true
}

// Pages that are made to take long or much memory are read in time and memory in proportion to their size, or refused: a page of twice
// the size makes at most about twice as much. What would take time in proportion to the square of the size would end at the limit of time
// for all tests.
func TestHostile(t *testing.T) {
	for _, test := range hostilePages {
		t.Run(test.name, func(t *testing.T) {
			small, ok := read(t, test.page(*hostile<<19))
			if !ok {
				return
			}
			begin := time.Now()
			large, ok := read(t, test.page(*hostile<<20))
			if !ok {
				return
			}
			t.Logf("%v, %+v", time.Since(begin), large)
			for _, of := range []struct {
				name         string
				small, large int
			}{
				{"bytes allocated", small.measured(), large.measured()}, {"bytes written", small.out, large.out}, {"bytes counted", small.counted, large.counted},
				{"bytes of chunks", small.chunky, large.chunky},
			} {
				if of.large > 3*of.small+1<<20 {
					t.Errorf("%s: %d for a page of %d, %d for one of %d", of.name, of.small, small.page, of.large, large.page)
				}
			}
			if deep.Checks() && large.made > uint64(700*large.page+1000*large.nodes+64<<20) {
				t.Errorf("%d MB were allocated", large.made>>20)
			}
			if large.out > 20*large.page+3<<20 || large.chunky > 10*large.page+2<<20 || large.counted > 32*large.chunky+4<<20 {
				t.Errorf("%d bytes were written, %d are in chunks, %d were counted", large.out, large.chunky, large.counted)
			}
		})
	}
}

// What is no page for readers is a typed error, and never a panic.
func TestNoText(t *testing.T) {
	for name, source := range map[string]string{"empty": "", "binary": "\x7fELF\x02\x01\x01\x00\x00", "script": "<script>x</script>", "frames": "<frameset><frame src=x></frameset>", "pictures": "<img src=x>"} {
		doc := whole(t, source)
		a, err := content.Extract(doc, "http://localhost/"+name)
		var none *content.NoTextError
		if name == "binary" {
			if err == nil && a.Text == "" {
				t.Errorf("%s: an article without text", name)
			}
			continue
		}
		if !errors.As(err, &none) || none.URL != "http://localhost/"+name {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	if _, err := content.Extract(nil, "x"); err == nil {
		t.Error("no document has an article")
	}
	xml, err := html.ParseXML([]byte("<a>text</a>"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := content.Extract(xml, "x"); err == nil {
		t.Error("XML has an article")
	}
	if s := content.Markdown(html.Node{}, "x"); s != "" {
		t.Error("no node is", s)
	}
}
