package selector_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/selector"
)

// audience is a host that notes what it is told of queries.
type audience struct{ told []string }

func (*audience) Resolve(ref string) (string, error) { return ref, nil }

func (a *audience) Queried(language selector.Language, query string, found bool) {
	a.told = append(a.told, fmt.Sprint(language, " ", query, " ", found))
}

// A host that is a Watcher is told of each query that is run, with its text and whether there was anything, and of none on an empty
// Selection.
func TestWatcher(t *testing.T) {
	var a audience
	doc := selector.Parse([]byte(`<div class="card"><b>7 €</b></div><div class="card"></div><script>{"n": [1]}</script>`), selector.For(&a))
	cards := doc.CSS(".card")
	for _, card := range cards.All() {
		card.CSS("b::text").Re(`\d+`)
	}
	doc.CSS(".crad").CSS("b").XPath("//b").Re("x")
	doc.XPath("//i")
	doc.XPath("string(//i)")
	doc.XPath("count(//i)")
	cards.ReFirst("€")
	cards.ReFirst("£")
	script := doc.CSS("script::text")
	script.JSON("n")
	script.JSON("m")
	compiled, err := selector.CompileXPath("//b")
	if err != nil {
		t.Fatal(err)
	}
	cards.Select(compiled)
	want := []string{
		"CSS selector .card true", "CSS selector b::text true", `regular expression \d+ true`, "CSS selector b::text false", "CSS selector .crad false",
		"XPath expression //i false", "XPath expression string(//i) false", "XPath expression count(//i) true",
		"regular expression € true", "regular expression £ false", "CSS selector script::text true", "JSON path n true", "JSON path m false",
		"XPath expression //b true",
	}
	if !slices.Equal(a.told, want) {
		t.Errorf("told\n%q, want\n%q", a.told, want)
	}
	if got := selector.Language(0).String(); got != "query" {
		t.Errorf("the zero Language is called %q", got)
	}
}
