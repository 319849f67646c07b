package css_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	xhtml "golang.org/x/net/html"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
)

var (
	pythonDocs = flag.String("pythondoc", "", "a folder of HTML pages, such as Debian's python3.11-doc, /usr/share/doc/python3.11/html")
	docPages   = flag.Int("docpages", 100, "how many of these pages to compare, 0 for all")
)

// selectorsForDocs are selectors that mean the same to cascadia and to the standard. Of :empty that is
// not true: cascadia takes no-break spaces for white space.
func selectorsForDocs() []string {
	list := strings.FieldsFunc(`* ¦ html ¦ a ¦ A ¦ h1, h2, h3 ¦ code.xref ¦ a.reference.internal ¦ #id1 ¦ [id] ¦ [title]
[href^="../"] ¦ [href$=".html"] ¦ [href*="#"] ¦ [href*="PYTHON" i] ¦ a[href="index.html"]
[class~="reference"] ¦ [lang|="en"] ¦ [title="Permalink to this heading"] ¦ div:not([class])
a:not(.reference) ¦ a:not(.internal, .external) ¦ li:first-child ¦ li:last-child ¦ li:nth-child(odd)
li:nth-child(3n+1) ¦ li:nth-last-child(2) ¦ p:first-of-type ¦ p:last-of-type ¦ p:only-child
p:nth-of-type(2n) ¦ dl > dd:nth-last-of-type(-n+2) ¦ :only-of-type ¦ div:has(p) ¦ li:has(ul)
dl:has(dt code) ¦ section:has(h2) ¦ ul:haschild(li) ¦ :root ¦ :root > body
p:contains("python") ¦ p:containsOwn("the") ¦ code:matches(^[a-z]+\.[a-z]+$)
span:matchesOwn([0-9]) ¦ :input ¦ input[type=text] ¦ [href!="#"] ¦ a[href#=(library/[a-e])]
div div div p ¦ body div.body section > p ¦ body > div > div a ¦ ul li ul li a ¦ dt + dd ¦ dt ~ dd
h1 + p ¦ h2 ~ p ¦ p + p + p ¦ p ~ dl ~ p ¦ table tr:nth-child(2) td ¦ table tr > td:first-child
section section > h3 ¦ section > :not(p) ¦ *:not(a):not(p) > code
section .highlight pre span.k, section .highlight pre span.n ¦ dl.function > dt
dl[class] dd dl dt ¦ .related li ¦ nav a, footer a ¦ head > link[rel=next] ¦ meta[name]
script[src] ¦ div.highlight-python3 ~ p ¦ a:link ¦ li > p:only-child ¦ p:contains("\41 ")
span.pre:contains('()') ¦ h2 > a.headerlink ¦ div > * ¦ * > * ¦ * + * ¦ div * ¦ .no-such-class a`, func(r rune) bool { return r == '¦' || r == '\n' })
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	contexts := []string{"div ", "body > div ", "section > * ", "li ", "p ~ * ", "dt + dd ", ".body ", "div:not([role]) ", "body dl > "}
	subjects := []string{"a", "a.reference", "code", "span.pre", "p:first-child", "[class]", "em, strong", "dt", "li p",
		"pre span", ":last-child", "*", "ul", "p a[href]", "span + span"}
	for _, context := range contexts {
		for _, subject := range subjects {
			list = append(list, context+subject)
		}
	}
	return list
}

// pages returns the pages of the folder named by the flag.
func pages(t *testing.T) []string {
	t.Helper()
	if *pythonDocs == "" {
		t.Skip("no pages to compare: run this test with -args -pythondoc DIR")
	}
	var files []string
	err := filepath.WalkDir(*pythonDocs, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".html") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no pages in %s", *pythonDocs)
	}
	if *docPages <= 0 || *docPages >= len(files) {
		return files
	}
	var sample []string
	for i := range *docPages {
		sample = append(sample, files[i*len(files) / *docPages])
	}
	return sample
}

// TestAgainstCascadia compares the elements that selectors select on real pages with those that
// cascadia selects in the tree of x/net. Elements are compared by their number in document order.
func TestAgainstCascadia(t *testing.T) {
	files := pages(t)
	type pair struct {
		ours   *css.Selector
		theirs cascadia.SelectorGroup
	}
	var pairs []pair
	for _, text := range selectorsForDocs() {
		ours, err := css.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := cascadia.ParseGroup(text)
		if err != nil {
			t.Fatalf("cascadia: %q: %v", text, err)
		}
		pairs = append(pairs, pair{ours, theirs})
	}
	found, swept, fruitful := 0, 0, make([]bool, len(pairs))
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		doc := parse(t, string(page))
		root, numbers := parseX(t, page)
		for i, p := range pairs {
			var ours, theirs []int
			for _, r := range p.ours.Select(doc.Root()) {
				ours = append(ours, int(doc.Index().Position(r.Node())))
			}
			for _, n := range cascadia.QueryAll(root, p.theirs) {
				theirs = append(theirs, numbers[n])
			}
			if !slices.Equal(ours, theirs) {
				t.Errorf("%s: %s selects %d elements, cascadia %d: %v", file, p.ours, len(ours), len(theirs), firstDifference(ours, theirs))
			}
			if checkWays(t, p.ours, doc.Root()) {
				swept++
			}
			found += len(ours)
			fruitful[i] = fruitful[i] || len(ours) > 0
		}
	}
	used := 0
	for i, f := range fruitful {
		if f {
			used++
		} else {
			t.Logf("selects nothing: %s", pairs[i].ours)
		}
	}
	t.Logf("%d selectors (%d of them select something) on %d pages: %d elements; %d queries are the same by a sweep", len(pairs), used, len(files), found, swept)
}

func firstDifference(a, b []int) []int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return a[i:min(i+3, len(a))]
		}
	}
	return b[len(a):min(len(a)+3, len(b))]
}

// parseX parses with x/net, scripting off, and numbers the elements in document order from 1.
func parseX(t testing.TB, page []byte) (*xhtml.Node, map[*xhtml.Node]int) {
	t.Helper()
	root, err := xhtml.ParseWithOptions(strings.NewReader(string(page)), xhtml.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	return root, number(root)
}

// number numbers the elements in document order from 1.
func number(root *xhtml.Node) map[*xhtml.Node]int {
	numbers := make(map[*xhtml.Node]int)
	for n := range root.Descendants() {
		if n.Type == xhtml.ElementNode {
			numbers[n] = len(numbers) + 1
		}
	}
	return numbers
}

// names returns what was found as short texts: the id of an element or else its name, the text of a
// text node in quotes, an attribute with an equals sign.
func names(found []html.Ref) []string {
	var list []string
	for _, r := range found {
		switch {
		case r.IsAttr():
			list = append(list, r.Attr().Name()+"="+r.Attr().Value())
		case r.Node().Kind() == html.TextNode:
			list = append(list, "'"+string(r.Node().Data())+"'")
		case r.Node().Attr("id") != "":
			list = append(list, r.Node().Attr("id"))
		default:
			list = append(list, r.Node().Name())
		}
	}
	return list
}
