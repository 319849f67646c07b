package content_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// outlineOf writes chunks as lines: the path, the anchor, the text.
func outlineOf(chunks []content.Chunk) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "%s #%s: %s\n", strings.Join(c.Headings, "/"), c.Anchor, strings.ReplaceAll(c.Text, "\n", "~"))
	}
	return b.String()
}

// It fails if a term with an id begins no piece, if what follows a list is below its last term, or if an anchor leads elsewhere.
func TestChunkTerms(t *testing.T) {
	long := strings.Repeat("Some words of it. ", 4)
	page := `<div class=body><section id=os><h1>os<a class=headerlink href="#os">¶</a></h1><p>About it.</p><h2><a name=files></a>Files</h2>
<dl class="py class"><dt id=os.A>class A<a class=headerlink href="#os.A">¶</a></dt><dd><p>` + long + `</p><h3>Notes</h3><p>` + long + `</p>
<dl><dt id=os.A.f>f()</dt><dd>` + long + `</dd><dt id=os.A.g>g()</dt><dt id=os.A.h>h()</dt><dd>` + long + `</dd></dl><p>After the methods.</p></dd><dt>no id</dt><dd>Its text.</dd></dl>
<p>After the class.</p><div><h2>Beside<a class=anchor href="#user-%C3%A4"></a></h2></div><dl><dt id=a>a</dt><dd>One.</dd><dt id=b>b</dt><dd>Two.</dd><dt id=c>c</dt><dd>` + long + `</dd><dt id=d>d</dt><dd>Three.</dd></dl></section></div>`
	const want = `os #os: # os~~About it.
os/Files #files: ## Files
os/Files/class A #os.A: **class A**~~- LONG
os/Files/class A/Notes #os.A: ### Notes~~LONG
os/Files/class A/Notes/f() #os.A.f: **f()**~~- LONG
os/Files/class A/Notes/g() #os.A.g: **g()**~~**h()**~~- LONG
os/Files/class A/Notes #os.A: After the methods.
os/Files #files: **no id**~~- Its text.~~After the class.
os/Beside #user-ä: ## Beside
os/Beside #a: **a**~~- One.~~**b**~~- Two.
os/Beside/c #c: **c**~~- LONG
os/Beside/d #d: **d**~~- Three.
`
	doc := whole(t, page)
	got := strings.ReplaceAll(outlineOf(content.Chunks(doc.Root(), "http://a.test/", 40)), strings.TrimSpace(long), "LONG")
	if got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

// crawled returns the IDs of the chunks of a page by their text, and fails if two are the same.
func crawled(t *testing.T, chunks []content.Chunk) map[string]string {
	ids, seen := map[string]string{}, map[string]bool{}
	for _, c := range chunks {
		if seen[c.ID] || len(c.ID) != 32 {
			t.Fatalf("the id %q of %q", c.ID, c.Text)
		}
		seen[c.ID] = true
		ids[strings.Join(c.Headings, "/")+" "+c.Text] += c.ID
	}
	return ids
}

// It fails if what is around a text changes the ids of its pieces, if an edit changes that of a piece of another section, or if pieces that
// differ in URL, path, text or number have one id.
func TestChunkIDs(t *testing.T) {
	section := func(i int, more string) string {
		return fmt.Sprintf(`<h2 id=s%d>Section %[1]d</h2><p>%s<p>%[3]s %[1]d.%[4]s<dl><dt id=t%[1]d>term %[1]d<dd>%[5]s</dl>`, i, someText, strings.Repeat("Words of a section, ", 30), more, strings.Repeat("words of a term, ", 20))
	}
	page := func(token, ad string, edited int, edit string) string {
		var b strings.Builder
		fmt.Fprintf(&b, `<head><meta name=csrf content=%s></head><body data-token=%[1]s><form><input type=hidden value=%[1]s></form><div class=ad>%s</div><article><h1>Title</h1>`, token, ad)
		for i := range 5 {
			if i == edited {
				b.WriteString(section(i, edit))
			} else {
				b.WriteString(section(i, ""))
			}
		}
		fmt.Fprintf(&b, `</article><div class=related><a href=/x?%s>%s</a></div><script>var t = "%[1]s"</script>`, token, ad)
		return b.String()
	}
	chunks := func(source, url string) []content.Chunk {
		a, err := content.Extract(whole(t, source), url)
		if err != nil {
			t.Fatal(err)
		}
		return a.Chunks(100)
	}
	first := crawled(t, chunks(page("one", "Buy this", -1, ""), "http://a.test/"))
	if again := crawled(t, chunks(page("two-and-more", "Buy that, it is new, and cheap", -1, ""), "http://a.test/#place")); fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("other ids: %v, before %v", again, first)
	}
	edited := crawled(t, chunks(page("one", "Buy this", 2, ` An edit<sup id=r><a href="#n">1</a></sup>.<ol><li id=n>Note. <a href="#r">back</a></ol>`), "http://a.test/"))
	changed := 0
	for text, id := range first {
		if edited[text] != id {
			changed++
			if !strings.Contains(text, "Section 2") {
				t.Errorf("the id of %q has changed", text)
			}
		}
	}
	if changed == 0 || changed > 2 {
		t.Errorf("%d of %d ids have changed", changed, len(first))
	}
	seen := map[string]string{}
	for _, p := range []struct{ url, source string }{
		{"http://a.test/", "<h1>a</h1><p>b"}, {"http://b.test/", "<h1>a</h1><p>b"}, {"http://a.test/", "<h1>a</h1><p>c"}, {"http://a.test/", "<h2>a</h2><p>b"}, {"http://a.test/", "<h1>b</h1><h2>a</h2><p>b"},
		{"http://a.test/2", "<p>b<h1>a</h1><p>b<h1>a</h1><p>b"},
	} {
		for i, c := range content.Chunks(whole(t, p.source).Root(), p.url, 100) {
			name := fmt.Sprint(p, i)
			if other := seen[c.ID]; other != "" {
				t.Errorf("%s and %s have one id", name, other)
			}
			seen[c.ID] = name
		}
	}
	// The number of a footnote is that in the page.
	notes := `<h2>Two</h2><p>b<sup id=q><a href="#m">2</a></sup><ol><li id=m>c <a href="#q">back</a></ol>`
	before := content.Chunks(whole(t, "<h2>One</h2><p>a"+notes).Root(), "http://a.test/", 100)
	after := content.Chunks(whole(t, `<h2>One</h2><p>a<sup id=r><a href="#n">1</a></sup><ol><li id=n>d <a href="#r">back</a></ol>`+notes).Root(), "http://a.test/", 100)
	if before[1].ID != after[1].ID || before[1].Text == after[1].Text || before[0].ID == after[0].ID {
		t.Errorf("%+v, %+v", before, after)
	}
}

// It fails if an edit of one of many small terms changes more than the pieces around it.
func TestSharedPieces(t *testing.T) {
	page := func(edit string) string {
		var b strings.Builder
		b.WriteString("<h1>Options</h1><dl>")
		for i := range 400 {
			fmt.Fprintf(&b, "<dt id=o%d>option %[1]d<dd>%s of it.", i, strings.Repeat("Words ", 3+i*7%5))
			if i == 100 {
				b.WriteString(edit)
			}
		}
		return b.String() + "</dl>"
	}
	first := crawled(t, content.Chunks(whole(t, page("")).Root(), "http://a.test/", 100))
	after := crawled(t, content.Chunks(whole(t, page(" An edit makes it longer.")).Root(), "http://a.test/", 100))
	changed := 0
	for text, id := range after {
		if first[text] != id {
			changed++
		}
	}
	if changed == 0 || changed > 12 || len(first) < 40 || len(first) > 200 {
		t.Errorf("%d of %d pieces have changed", changed, len(first))
	}
}

// It fails if a piece does not begin with whole sentences of the one before it, has too many tokens, or another id than without.
func TestOverlap(t *testing.T) {
	sentences := ""
	for i := range 60 {
		sentences += fmt.Sprintf("This is sentence %d of them. ", i)
	}
	page := "<h1>One</h1><p>" + sentences + "<p>" + sentences[:28*7] + "<pre>code. code.</pre><p>" + sentences + "<h1>Two</h1><p>Short. <table><tr><th>a<th>b" + strings.Repeat("<tr><td>A cell.<td>Another.", 30) + "</table>"
	doc := whole(t, page)
	chunks := content.Chunks(doc.Root(), "http://a.test/", 60, content.Overlap(20))
	own := content.Chunks(doc.Root(), "http://a.test/", 40)
	if len(chunks) != len(own) {
		t.Fatalf("%d pieces, without overlap %d", len(chunks), len(own))
	}
	overlaps, tables := 0, 0
	const header = "| a | b |\n| --- | --- |\n"
	for i, c := range chunks {
		if c.Text[c.Overlap:] != own[i].Text[own[i].Overlap:] || c.ID != own[i].ID || c.Start != own[i].Start || c.Tokens > 60 || c.Tokens != content.Tokens(c.Text) {
			t.Errorf("%+v, without overlap %+v", c, own[i])
		}
		if c.Overlap == 0 {
			continue
		}
		if strings.HasPrefix(c.Text, "|") {
			if c.Text[:c.Overlap] != header {
				t.Errorf("%q begins with another header than %q", c.Text, header)
			}
			tables++
			continue
		}
		overlaps++
		repeated := strings.TrimRight(c.Text[:c.Overlap], " \n")
		if !strings.HasSuffix(own[i-1].Text, repeated) || content.Tokens(repeated) > 20 || !regexp.MustCompile(`^This is sentence .*\.$`).MatchString(repeated) || c.Headings[0] != "One" {
			t.Errorf("%q repeats %q of %q", c.Text, repeated, own[i-1].Text)
		}
	}
	if overlaps < 10 || tables < 4 {
		t.Errorf("%d overlaps, %d pieces of a table with its header", overlaps, tables)
	}
	if again := content.Chunks(doc.Root(), "http://a.test/", 40, content.Overlap(-1)); !slices.EqualFunc(again, own, func(a, b content.Chunk) bool { return a.ID == b.ID && a.Overlap == b.Overlap }) {
		t.Error("an overlap of less than nothing is one")
	}
}

// treeOf returns a random page, in which each word has a number of its own.
func treeOf(random *rand.Rand) string {
	var b strings.Builder
	words := 0
	text := func() {
		for range 1 + random.IntN(4) {
			fmt.Fprintf(&b, "w%dw%s", words, []string{" ", " ", "\n", ". ", ", "}[random.IntN(5)])
			words++
		}
	}
	blocks := strings.Fields("div div section p p p h1 h2 h3 ul ol li dl dl dt dt dd dd table tr td td th thead caption pre blockquote figure figcaption details summary article aside center address form hr")
	inline := strings.Fields("a em strong b i code span sub br del label small q")
	var element func(depth int)
	element = func(depth int) {
		name := blocks[random.IntN(len(blocks))]
		if random.IntN(3) == 0 {
			name = inline[random.IntN(len(inline))]
		}
		b.WriteString("<" + name)
		if random.IntN(3) == 0 {
			fmt.Fprintf(&b, " id=i%d", random.IntN(20))
		}
		if name == "a" && random.IntN(2) == 0 {
			fmt.Fprintf(&b, " href='#i%d'", random.IntN(20))
		}
		if random.IntN(6) == 0 {
			fmt.Fprintf(&b, " class='%s'", []string{"highlighttable", "linenos", "language-go", "headerlink", "note", "lineno"}[random.IntN(6)])
		}
		if name == "td" && random.IntN(4) == 0 {
			fmt.Fprintf(&b, " data-line-number=1 colspan=%d>%[1]d</td><td", 1+random.IntN(3))
		}
		b.WriteString(">")
		for range random.IntN(5) {
			if depth > 8 || random.IntN(2) == 0 {
				text()
			} else {
				element(depth + 1)
			}
		}
		if random.IntN(8) > 0 {
			b.WriteString("</" + name + ">")
		}
	}
	for range 1 + random.IntN(8) {
		element(0)
		if random.IntN(3) == 0 {
			text()
		}
	}
	return b.String()
}

var numberedWord = regexp.MustCompile(`w[0-9]+w`)

// It fails if a word of a random tree is in no piece or in two, or if the pieces together are not the Markdown.
func TestChunksOfRandomTrees(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 48))
	squeeze := strings.NewReplacer(" ", "", "\n", "", ">", "")
	for round := range deep.Rounds(500, 10_000) {
		source := treeOf(random)
		doc := whole(t, source)
		var want []string
		for n := range doc.Root().Descendants() {
			if n.Kind() == html.TextNode && !inPermalink(n) {
				want = append(want, numberedWord.FindAllString(string(n.Data()), -1)...)
			}
		}
		all := ""
		most := 16 + random.IntN(100)
		for _, c := range content.Chunks(doc.Root(), "http://a.test/", most) {
			all += c.Text[c.Overlap:] + "\n"
			if c.Tokens > most || c.Overlap != 0 && !strings.HasSuffix(c.Text[:c.Overlap], "--- |\n") {
				t.Errorf("tree %d: %d tokens of %d", round, c.Tokens, most)
			}
		}
		got := numberedWord.FindAllString(all, -1)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("tree %d of seed %d: %q\nhas the words %v\nin pieces: %v", round, seed, source, want, got)
		}
		if union, markdown := squeeze.Replace(all), squeeze.Replace(content.Markdown(doc.Root(), "http://a.test/")); union != markdown {
			t.Fatalf("tree %d of seed %d: %q\n%s\nthe pieces are\n%s", round, seed, source, markdown, union)
		}
	}
}

// inPermalink reports whether a text is in a link that a tool has put beside a title.
func inPermalink(n html.Node) bool {
	for ; !n.IsZero(); n = n.Parent() {
		if n.Is(html.AtomA) && n.Attr("class") == "headerlink" && n.Attr("href") != "" {
			return true
		}
	}
	return false
}
