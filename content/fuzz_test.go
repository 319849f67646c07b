package content_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/yardstick"
)

var texts = flag.Uint64("texts", 0, "the seed of the texts that pandoc reads, 0 for 1, or another one each time with -deep")

// FuzzArticle reads any bytes as a page. It fails if the same page gives two articles, if a chunk has too many tokens, lies outside of the
// page or is not a part of the Markdown, or if text that is UTF-8 is none any more.
func FuzzArticle(f *testing.F) {
	f.Add([]byte(paperPage), uint16(20))
	f.Add([]byte("<a id=a href=#b>1</a><p id=b><a href=#a>back</a> a note</p>"), uint16(16))
	f.Add([]byte("<table><tr><th>a<th>b<tr><td rowspan=2>1<td><ul><li>x</ul><tr><td>2</table><pre class='brush: go'>x\n\n`y</pre>"), uint16(0))
	f.Add([]byte("<table><th><tr><td>0<td>"), uint16(93))
	f.Add([]byte("\x00\xff<p>\xc3(<blockquote><ol start=7><li><h2>x<br>y</h2>"), uint16(300))
	f.Fuzz(func(t *testing.T, source []byte, tokens uint16) {
		doc, err := html.Parse(source)
		if err != nil {
			return
		}
		const url = "http://a.test/b/c?d"
		a, err := content.Extract(doc, url)
		if err != nil {
			return
		}
		conserved(t, "page", doc, a)
		markdown := a.Markdown()
		again, err := content.Extract(doc, url)
		if err != nil || again.Text != a.Text || again.Title != a.Title || again.HTML() != a.HTML() || again.Markdown() != markdown {
			t.Fatalf("another article at the second time: %v", err)
		}
		if a.Text == "" || strings.TrimSpace(a.Text) != a.Text && strings.Trim(a.Text, "\n") != a.Text {
			t.Errorf("the text is %q", a.Text)
		}
		if utf8.Valid(source) && !(utf8.ValidString(a.Text) && utf8.ValidString(markdown) && utf8.ValidString(a.Excerpt)) {
			t.Error("what was UTF-8 is none")
		}
		most := max(int(tokens), 16)
		squeeze := func(s string) string { return strings.ReplaceAll(s, " ", "") } // pieces are not indented as lists are
		rest := squeeze(markdown)
		for _, c := range a.Chunks(int(tokens)) {
			if c.Tokens > most || c.Tokens != content.Tokens(c.Text) {
				t.Fatalf("%d tokens of at most %d: %q", c.Tokens, most, c.Text)
			}
			if c.Start < 0 || c.End > len(source) || c.Start > c.End {
				t.Fatalf("from %d to %d in a page of %d bytes", c.Start, c.End, len(source))
			}
			_, after, found := strings.Cut(rest, squeeze(c.Text[c.Overlap:]))
			if !found {
				t.Fatalf("no part of the Markdown, or in another order: %q", c.Text)
			}
			rest = after
		}
		for _, option := range []content.Option{content.WithoutLinks(), content.WithoutTables(), content.WithoutImages()} {
			a.Markdown(option)
		}
	})
}

// pageOf returns a page with a text in all places that Markdown has rules for.
func pageOf(text string) string {
	var b strings.Builder
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(line)
		if strings.TrimSpace(line) == "" {
			continue
		}
		fmt.Fprintf(&b, "<h2>%s</h2><p>%[1]s</p><p>word %[1]s word<br>%[1]s</p><ul><li>%[1]s<ol><li>%[1]s</ol></ul><blockquote><p>%[1]s</blockquote>", line)
		fmt.Fprintf(&b, "<p><a href='http://a.test/'>%s</a> <em>%[1]s</em> <strong>%[1]s</strong>%[1]s <code>%[1]s</code></p><pre>%[1]s</pre>", line)
		fmt.Fprintf(&b, "<table><tr><th>%s<th>x<tr><td>y<td>%[1]s <code>%[1]s</code></table>", line)
	}
	return b.String()
}

// FuzzMarkdown writes texts as Markdown in all places that Markdown has rules for. With -args -pandoc FILE pandoc reads it, and it fails
// if the words, headings, links, tables, lists or code are others. Without, it fails if the Markdown depends on what is around it.
func FuzzMarkdown(f *testing.F) {
	for _, text := range []string{
		"plain words", "1. one\n- two\n+ three\n# four\n> five\n=== \n---\n***", "*a* _b_ __c__ ~~d~~ `e` ``f`` [g](h) ![i](j) <k> &amp; \\l |m|",
		"http://a.test/x www.a.test me@a.test :smile: a_b_c a*b*c", "[^1]: note\n[a]: http://b.test\n[x] task", "a  b\tc", "100) x\n1) y\n12345. z", "$x$ ^y^ ~z~ {.a} ==b==", "\u00a0\u200b\ufeffä 網站 e\u0301",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		source := pageOf(text)
		doc, err := html.Parse([]byte(source))
		if err != nil || !utf8.ValidString(text) {
			return
		}
		markdown := content.Markdown(doc.Root(), "http://a.test/")
		if *pandoc == "" {
			inner := whole(t, "<div><section>"+source+"</section></div>")
			if other := content.Markdown(inner.Root(), "http://a.test/"); other != markdown {
				t.Errorf("%q in a section is %q", markdown, other)
			}
			return
		}
		rendered, err := yardstick.Pandoc(*pandoc, markdown)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range yardstick.RoundTrip(source, rendered) {
			t.Errorf("%v\n%s", d, markdown)
		}
	})
}

// TestPandocTexts has pandoc read random texts that are full of Markdown. It fails if the words, headings, links, tables, lists or code
// are others than those of the page.
func TestPandocTexts(t *testing.T) {
	if *pandoc == "" {
		t.Skip("pandoc reads the Markdown: run this with -args -pandoc FILE")
	}
	seed := *texts
	if seed == 0 {
		seed = deep.Seed()
	}
	t.Logf("seed %d: run this with -texts %[1]d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	parts := strings.Fields("word Word a 1 12 . , ; : ! ? ( ) [ ] { } < > & * ** _ __ ~ ~~ ` `` ``` # ## - + = | \\ / @ ^ $ % ' \" 1. 2) - [x] [^1] [^1]: [a]: http://a.test/ www.b.test " +
		"me@c.test :smile: &amp; &#35; <b> </b> <!-- --> <? \\( \\[ \u00e9 \u7db2 \u2014 \u201c e\u0301 --- === *** ::: +++ (@a) Term: : def")
	bad := 0
	for range 200 {
		var line strings.Builder
		for range 1 + random.IntN(7) {
			line.WriteString(parts[random.IntN(len(parts))])
			if random.IntN(2) == 0 {
				line.WriteByte(' ')
			}
		}
		source := pageOf(line.String())
		doc := whole(t, source)
		markdown := content.Markdown(doc.Root(), "http://a.test/")
		rendered, err := yardstick.Pandoc(*pandoc, markdown)
		if err != nil {
			t.Fatal(err)
		}
		if d := yardstick.RoundTrip(source, rendered); len(d) > 0 {
			bad++
			t.Errorf("%q: %v\n%s", line.String(), d, markdown)
		}
	}
	t.Logf("%d texts are read otherwise", bad)
}
