package css_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
)

// hostile are pages that make a matcher without memory take a time that grows with the square of
// their size or worse.
var hostile = []struct{ name, page string }{
	{"deep", strings.Repeat("<div class=a>", 3000) + "x"},
	{"wide", "<body>" + strings.Repeat("<p class=a></p><i></i>", 1500)},
	{"comb", strings.Repeat("<p></p><div class=a>", 1500)},
	{"deep, then wide", strings.Repeat("<div class=a>", 1000) + strings.Repeat("<p></p><b></b>", 1000)},
	{"wide and deep", "<div>" + strings.Repeat("<p><b><i><u>x</u></i></b></p>", 700)},
	{"many names", "<body>" + func() string {
		var b strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&b, "<x-%d class=a></x-%d>", i, i)
		}
		return b.String()
	}()},
	{"fieldsets", strings.Repeat("<fieldset><div>", 1000) + strings.Repeat("<input>", 1000)},
}

// hostileSelectors are selectors that do the same.
var hostileSelectors = []string{
	"div div div div div div div nosuch, div div div div div div :not(div)",
	".a .a .a .a .a .a .a .a .a > b",
	":not(nosuch) > :not(nosuch) :not(nosuch) > b",
	"p ~ p ~ p ~ p ~ p ~ i",
	"* ~ * ~ * ~ * ~ nosuch2, * + * ~ * + * ~ :not(*)",
	"p ~ div p ~ div p ~ div p ~ :not(div)",
	":is(div div div :not(p ~ div)) :not(div div)",
	":has(:has(:has(nosuch)))",
	":has(b):has(> * b):has(+ *):has(~ * ~ *)",
	"div:has(div:has(div:has(p))) p",
	":has(* * * * :not(*))",
	":not(:has(* ~ *)) :has(> p + *)",
	"p:nth-of-type(2n+1), i:last-of-type, :only-of-type, :nth-last-of-type(7)",
	":nth-child(7 of .a), :nth-last-child(2 of :not(p))",
	":lang(de), :lang(en)",
	":disabled, :enabled",
	":contains(x), :contains(nosuch)",
	":empty, :root, :scope *",
	"[class=a][class^=a][class*=a]",
}

// TestWork checks that the work of a query grows with the elements and the parts of the selector, not
// with their product or powers, whatever the page. Work is counted in tests and steps, for :contains
// in bytes of text too.
func TestWork(t *testing.T) {
	for _, page := range hostile {
		doc := parse(t, page.page)
		elements := len(doc.Index().Elements())
		for _, selector := range hostileSelectors {
			s := css.MustCompile(selector)
			parts := strings.Count(selector, " ") + strings.Count(selector, ":") + strings.Count(selector, ".") + strings.Count(selector, "[") + 1
			work := s.Work(doc.Root())
			if limit := 4 * parts * (elements + len(page.page)/100); work > limit {
				t.Errorf("%s: %s: work %d on %d elements is more than %d", page.name, selector, work, elements, limit)
			}
		}
	}
}

// TestMatchesWork: elements inside each other have the same text, which :matches does not search for each.
func TestMatchesWork(t *testing.T) {
	words := strings.Repeat("word ", 2000)
	for _, page := range []struct{ name, text string }{
		{"nothing to find", strings.Repeat("<div>", 2000) + words},
		{"at the end", strings.Repeat("<div>", 2000) + words + "17"},
		{"behind each", strings.Repeat("<div>", 2000) + words + strings.Repeat("17</div>", 2000)},
		{"before each", strings.Repeat("<div>17", 2000) + words},
		{"beside each", strings.Repeat("<div><p>word</p>", 2000) + words + "17"},
	} {
		doc := parse(t, page.text)
		for _, selector := range []string{":matches([0-9]+)", "div:matches(1.)", "p:matches(7), div:not(:matches(7))"} {
			if work := css.MustCompile(selector).Work(doc.Root()); work > 20*len(page.text) {
				t.Errorf("%s: %s: work %d on %d bytes", page.name, selector, work, len(page.text))
			}
		}
	}
}

// TestMatchesInside compares :matches with a search in the text of each element by itself.
func TestMatchesInside(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b strings.Builder
		for range 30 {
			b.WriteString([]string{"<div>", "<b>", "</div>", "</b>", "a", "ab", "17", " ", "<p>"}[r.IntN(9)])
		}
		doc := parse(t, b.String())
		for _, expr := range []string{"17", "a+", "x*", "a.*7", "7|ab", "[0-9] *a", "^a", "7$", `\b17`, "(a)(b)?1", "b.?.?a"} {
			re := regexp.MustCompile(expr)
			var want []html.Ref
			for n := range doc.Root().Descendants() {
				if n.IsElement() && re.MatchString(n.Text()) {
					want = append(want, n.Ref())
				}
			}
			if got := css.MustCompile(":matches(" + expr + ")").Select(doc.Root()); !slices.Equal(got, want) {
				t.Fatalf("%s in %s: %v, want %v", expr, b.String(), names(got), names(want))
			}
			// From the right to the left elements are asked about in another order.
			for _, ref := range css.MustCompile(":matches(" + expr + ") b").Select(doc.Root()) {
				if !slices.ContainsFunc(slices.Collect(ref.Node().Ancestors()), func(n html.Node) bool { return n.IsElement() && re.MatchString(n.Text()) }) {
					t.Fatalf("%s in %s: %v has no such ancestor", expr, b.String(), ref.Node().HTML())
				}
			}
		}
	}
}
