package css_test

import (
	"fmt"
	"strings"
	"testing"

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

// TestWork checks that the work of a query grows with the elements and the parts of the selector, not
// with their product or powers, whatever the page. Work is counted in tests and steps, for :contains
// in bytes of text too.
func TestWork(t *testing.T) {
	for _, page := range hostile {
		doc := parse(t, page.page)
		elements := len(doc.Index().Elements())
		for _, selector := range []string{
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
		} {
			s := css.MustCompile(selector)
			parts := strings.Count(selector, " ") + strings.Count(selector, ":") + strings.Count(selector, ".") + strings.Count(selector, "[") + 1
			work := s.Work(doc.Root())
			if limit := 4 * parts * (elements + len(page.page)/100); work > limit {
				t.Errorf("%s: %s: work %d on %d elements is more than %d", page.name, selector, work, elements, limit)
			}
		}
	}
}
