package css_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/andybalholm/cascadia"
	xhtml "golang.org/x/net/html"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
)

// FuzzCompile compiles any text. A wrong selector is a *SyntaxError that points into it; a right one
// can be run, and gives the same by all methods.
func FuzzCompile(f *testing.F) {
	for _, text := range []string{
		"div.quote > a::attr(href), p *::text", `a[title="x,y" i]:not(.a, .b)::text`, `#\63 /* , */ ::text`, "a[", "::attr(",
		"p:has(> b + i):nth-child(2n + 1 of .x, :is(a, b))", "*|div |p :lang(en, '*-de') ~ :contains('x')",
		":nth-last-of-type(-3n+4):disabled:matches(a(b|[c)]))", "[a#=^x[[:alpha:]]]", "a b c d > e ~ f + g",
	} {
		f.Add(text)
	}
	doc := parse(f, tree)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := css.Compile(text)
		if err != nil {
			var syntax *css.SyntaxError
			if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(text) {
				t.Fatalf("error %v", err)
			}
			return
		}
		found := s.Select(doc.Root())
		if !slices.IsSortedFunc(found, html.Ref.Compare) || len(slices.Compact(slices.Clone(found))) != len(found) {
			t.Errorf("results out of order or twice: %v", names(found))
		}
		checkOthers(t, s, doc)
	})
}

// FuzzSelect runs simple selectors, which mean the same to cascadia, on any page that both parsers
// see in the same way. Selectors for sweeps select the same by the index on any page.
func FuzzSelect(f *testing.F) {
	for _, page := range []string{
		tree, "<p class='a b'>x<p id=a>y<b>z", "<div><div class=a><p></div><ul><li><li class=b></ul>",
		"<table><tr><td class=a><b>1</table>", "<!DOCTYPE html><p class=A id=B>",
	} {
		f.Add(page, uint16(7))
	}
	selectors := []string{"*", "p", ".a", "#a", "div p", "p > b", "li + li", "p ~ p", "li:nth-child(2n)", "p:first-of-type",
		":not(p):last-child", "div:has(p)", ".a .b, p.a", "[class~=a]", "[id]", "body > * b", ":only-child", "p:nth-last-of-type(1)"}
	var swept []*css.Selector
	for _, text := range sweptSelectors {
		swept = append(swept, css.MustCompile(text))
	}
	f.Fuzz(func(t *testing.T, page string, which uint16) {
		quirky := parse(t, page)
		for i := range 10 {
			checkWays(t, swept[(int(which)+i)%len(swept)], quirky.Root())
		}
		// Ids and classes ignore case in quirks mode, which cascadia does not know.
		page = "<!DOCTYPE html>" + page
		doc := parse(t, page)
		root, err := xhtml.ParseWithOptions(strings.NewReader(page), xhtml.ParseOptionEnableScripting(false))
		if err != nil {
			t.Skip(err) // x/net refuses deep pages
		}
		numbers := number(root)
		if !sameElements(doc, numbers) {
			t.Skip("the parsers differ")
		}
		text := selectors[int(which)%len(selectors)]
		ours := css.MustCompile(text).Select(doc.Root())
		theirs := cascadia.QueryAll(root, cascadia.MustCompile(text))
		if len(ours) != len(theirs) {
			t.Fatalf("%s: %d results, cascadia %d", text, len(ours), len(theirs))
		}
		for i, r := range ours {
			if int(doc.Index().Position(r.Node())) != numbers[theirs[i]] {
				t.Fatalf("%s: result %d is element %d, for cascadia %d", text, i, doc.Index().Position(r.Node()), numbers[theirs[i]])
			}
		}
	})
}

// sameElements reports whether two trees have the same elements in the same places.
func sameElements(doc *html.Document, numbers map[*xhtml.Node]int) bool {
	elements := doc.Index().Elements()
	if len(numbers) != len(elements)-1 {
		return false
	}
	for n, k := range numbers {
		ours := doc.Index().Node(int32(k))
		if ours.Name() != n.Data || int(elements[k].Parent) != numbers[n.Parent] {
			return false
		}
		for _, a := range n.Attr {
			if a.Namespace == "" && (ours.Attr(a.Key) != a.Val) {
				return false
			}
		}
	}
	return true
}
