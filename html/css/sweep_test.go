package css_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// checkWays compares what a selector selects by a sweep and by the index. It reports whether there is a
// sweep for it.
func checkWays(t *testing.T, s *css.Selector, root html.Node) bool {
	t.Helper()
	swept, _, ok := s.Swept(root, math.MaxInt)
	if !ok {
		return false
	}
	if indexed := s.Indexed(root); !slices.Equal(swept, indexed) {
		t.Fatalf("%s in %s %s: a sweep selects %v, the index %v", s, root.Name(), root.Attr("id"), names(swept), names(indexed))
	}
	return true
}

// sweptSelectors are selectors for sweeps, of all kinds that there are.
var sweptSelectors = []string{
	"*", "p", "P", "linearGradient", "x-own", "#a", "#A", ".a", ".A", ".a.b", "p.a", "p#a", "#a.b", "*.a", ".a#a", "#a#b",
	"[id]", "[title]", "[class~=a]", "[title!=b]", "[title*='&'], [title^=a i]", "[x-own]", "[viewBox]", "[ID]", "*|*[*|href]", "p[id].a",
	"div p", "div > p", "div div p", "div > div p", "div p > b", "p + p", "p ~ p", "p + b ~ i", "div p + p", ".a .b", ".a > .b", "#a .b p",
	".a .a .a", "* > *", "* *", "* + *", "div .a ~ .b > *", "svg a", "svg *", "nosuch p", "p nosuch", ".nosuch .a", ".a .nosuch",
	":first-child", ":last-child", ":only-child", ":first-of-type", ":nth-child(2)", ":nth-child(2n+1)", "p:nth-child(-n+2)",
	":nth-last-child(2)", ":nth-last-child(-2n+3)", "p:nth-of-type(2)", ":nth-last-of-type(2n)", ":only-of-type", ":nth-child(0)",
	":nth-child(2 of .a)", ":nth-last-child(odd of p, b)", ":nth-child(n of :not(.a))", ":nth-child(n-3)", ":nth-child(-3)",
	":root", ":scope", ":scope > *", ":scope p", ":empty", ":target", "p:empty", ":link", ":input", ":checked", ":required", ":optional",
	":not(p)", ":not(.a):not(.b)", ":is(p, .a) b", "p:is(.a, #a)", ":not(div p)", ":not(:is(.a .b, div > p))", "p:hover", "::before",
	"p, b", ".a, p, #a", "div p, p b", "p::text", "::text", "p ::text", "div::text, .a ::text", "::attr(id)", ".a::attr(class)", "p ::attr(title)",
	"p, p::text, p::attr(id)", "svg ::attr(xlink:href)",
}

// soup makes a page of tags in any order, with names, ids, classes and attributes that the selectors ask
// for.
func soup(r *rand.Rand, pieces int) string {
	words := []string{"a", "b", "A", "a b", " b\ta", "ab", "aa a", "&#97;", "b&amp;a", "a&b", "&a b", "a\rb", "a\x00 b", "long-word a", "a-much-longer-word b", "", "c"}
	var b strings.Builder
	if r.IntN(2) == 0 {
		b.WriteString("<!DOCTYPE html>")
	}
	for range pieces {
		switch tag := []string{"div", "p", "b", "i", "table", "td", "svg", "a", "x-own", "linearGradient", "input", "option", "select"}[r.IntN(13)]; r.IntN(5) {
		case 0:
			b.WriteString("</" + tag + ">")
		case 1:
			b.WriteString([]string{"text", " ", "<!--c-->", "&amp;"}[r.IntN(4)])
		default:
			b.WriteString("<" + tag)
			for _, name := range []string{"class", "id", "title", "href", "xlink:href", "x-own", "viewBox", "type", "checked", "required"} {
				if r.IntN(4) == 0 {
					fmt.Fprintf(&b, " %s='%s'", name, words[r.IntN(len(words))])
				}
			}
			b.WriteString(">")
		}
	}
	return b.String()
}

// TestSweep compares sweeps with the index, in the whole page and inside of each element.
func TestSweep(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	pages := []string{tree, strings.TrimPrefix(tree, "<!DOCTYPE html>"), "", "<p class=a><p class='a b' id=a>", shop(4000)}
	for range 40 {
		pages = append(pages, soup(r, 5+r.IntN(60)))
	}
	var selectors []*css.Selector
	for _, text := range sweptSelectors {
		s, err := css.Options{Fragment: "a"}.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		selectors = append(selectors, s)
	}
	found := make([]int, len(selectors))
	for _, page := range pages {
		doc := parse(t, page)
		for i, s := range selectors {
			if !checkWays(t, s, doc.Root()) {
				t.Fatalf("there is no sweep for %s", s)
			}
			found[i] += len(s.Indexed(doc.Root()))
			for id := range min(doc.Len(), 20) {
				checkWays(t, s, doc.Node(uint32(id+1)))
			}
		}
	}
	for i, text := range sweptSelectors {
		never := strings.Contains(text, "nosuch") || slices.Contains([]string{":nth-child(0)", ":nth-child(-3)", "p:hover", "::before", "#a#b"}, text)
		if (found[i] == 0) != never {
			t.Errorf("%s selects %d elements on all pages", text, found[i])
		}
	}
}

// TestSweepOfManyAncestors compares them where the way up is long and shared.
func TestSweepOfManyAncestors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for range 400 {
		var b strings.Builder
		b.WriteString("<!DOCTYPE html>")
		for range 40 {
			b.WriteString([]string{"<div>", "<div class=a>", "<div class=b>", "<div id=a>", "<i></i>", "<i class=a></i>", "</div>", "</div>"}[r.IntN(8)])
		}
		doc := parse(t, b.String())
		for _, text := range []string{".a i", ".a > i", ".a .b i", ".a > .b i", ".a .b > i", "#a div div", ".b > .a > *", ".a + .b i", ".a ~ div .b, .a i", "div .a"} {
			s := css.MustCompile(text)
			for _, root := range []html.Node{doc.Root(), doc.Node(uint32(1 + r.IntN(doc.Len())))} {
				if !checkWays(t, s, root) {
					t.Fatalf("there is no sweep for %s", text)
				}
			}
		}
	}
}

// TestNoSweep: what a sweep cannot answer, or not in proportion, is left to the index.
func TestNoSweep(t *testing.T) {
	doc := parse(t, tree)
	for _, text := range []string{
		"p:has(b)", ":not(:has(b))", ":nth-child(1 of :has(b))", ":lang(de)", ":disabled", ":contains(x)", ":containsOwn(x)", ":matches(x)", ":matchesOwn(x)",
		`.a\&b`, `#a\ b`, "h1, h2, h3, h4, h5, h6, a, b, i, p, ul, li, ol, td, tr, th, em",
	} {
		if _, _, ok := css.MustCompile(text).Swept(doc.Root(), math.MaxInt); ok {
			t.Errorf("%s is swept", text)
		}
	}
}

// TestSweepsEnd checks that a document is swept until that has cost what its index costs, and that
// nobody sees a difference.
func TestSweepsEnd(t *testing.T) {
	doc := parse(t, shop(20_000))
	s := css.MustCompile(".product .price")
	want := s.Indexed(parse(t, shop(20_000)).Root())
	left, queries := doc.SweepLimit(), 0
	for ; doc.SweepLimit() > 0; queries++ {
		if now := doc.SweepLimit(); now > left || queries > 0 && now == left {
			t.Fatalf("%d steps are left after %d queries, %d before", now, queries, left)
		}
		left = doc.SweepLimit()
		if got := s.Select(doc.Root()); len(got) != len(want) {
			t.Fatalf("query %d selects %d elements, want %d", queries, len(got), len(want))
		}
	}
	if queries < 2 || queries > 10 {
		t.Errorf("%d queries were sweeps", queries)
	}
	if got := s.Select(doc.Root()); len(got) != len(want) {
		t.Errorf("the index selects %d elements, want %d", len(got), len(want))
	}
	if err := doc.Reset([]byte("<p class=price>")); err != nil {
		t.Fatal(err)
	}
	if doc.SweepLimit() == 0 || len(css.MustCompile(".price").Select(doc.Root())) != 1 {
		t.Error("the document was not swept after Reset")
	}
}

// TestSweepWork checks that a query that takes long by a sweep is given up soon, whatever the page.
func TestSweepWork(t *testing.T) {
	givenUp := 0
	for _, page := range hostile {
		size := parse(t, page.page).Len() + strings.Count(page.page, "=")
		for _, text := range append(slices.Clone(hostileSelectors), ".a .a .b", "p:nth-child(3n+1)", "* ~ i", "b::text, p") {
			s := css.MustCompile(text)
			doc := parse(t, page.page)
			limit := doc.SweepLimit()
			_, steps, ok := s.Swept(doc.Root(), limit)
			if steps > limit+20*size || ok && steps > limit {
				t.Errorf("%s: %s: %d steps of %d, complete %v", page.name, text, steps, limit, ok)
			}
			if ok {
				continue
			}
			givenUp++ // and the index answers
			if got, want := len(s.Select(doc.Root())), len(s.Indexed(doc.Root())); got != want {
				t.Errorf("%s: %s selects %d elements, want %d", page.name, text, got, want)
			}
		}
	}
	if givenUp < 20 {
		t.Errorf("%d queries were given up", givenUp)
	}
}

// TestSweepsTogether queries a new document from several goroutines, of which some sweep it and some
// make the index.
func TestSweepsTogether(t *testing.T) {
	page := shop(4000)
	selectors := []*css.Selector{css.MustCompile(".product .price"), css.MustCompile("article > h3 a"), css.MustCompile("h3 ~ p em")}
	want := len(selectors[0].Select(parse(t, page).Root()))
	for range 20 {
		doc := parse(t, page)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 12 {
					s := selectors[i%len(selectors)]
					if got := len(s.Select(doc.Root())); got != want {
						t.Errorf("%s selects %d elements, want %d", s, got, want)
					}
				}
			})
		}
		wg.Wait()
		if doc.SweepLimit() != 0 {
			t.Error("there is no index")
		}
	}
}

// TestSweepAllocates: a sweep needs no memory but for its results.
func TestSweepAllocates(t *testing.T) {
	for _, text := range []string{
		"article", ".price", "#menu", "article.product", "#menu > ul a", "p.text", "a[href]", "a[href*='/p/']:not(.buy)", "div.row span::text", "a.buy::attr(href)",
		"li:first-child, h3 + p em", "footer > :nth-child(1)",
	} {
		doc := parse(t, shop(20_000))
		var roots []html.Node
		for _, root := range []string{"nav", "article", "footer"} {
			found, ok := css.MustCompile(root).First(doc.Root())
			if !ok {
				t.Fatal("no", root)
			}
			roots = append(roots, found.Node())
		}
		s, space, found := css.MustCompile(text), make([]html.Ref, 0, 300), 0
		allocs := testing.AllocsPerRun(10, func() { found += len(s.Append(space, roots...)) })
		if deep.Checks() && allocs != 0 || found == 0 || doc.SweepLimit() == 0 {
			t.Errorf("%s allocates %v times for %d results; %d steps are left", text, allocs, found, doc.SweepLimit())
		}
	}
}
