package css_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
	"github.com/tegenaria/tegenaria/internal/conformance"
)

// TestConformance runs the selectors of the W3C suite that come with cascadia.
func TestConformance(t *testing.T) {
	doc := parse(t, string(conformance.Read(t, "cascadia", "content.xhtml")))
	const missing = "the page that comes with the cases has no such element; the selector compiles and selects nothing"
	deviations := map[string]string{
		"#any-namespace *|div": missing,
		"#no-namespace |div":   missing,
		"#no-namespace |*":     missing,
	}
	var valid []struct {
		Name, Selector string
		Expect         []string
	}
	if err := json.Unmarshal(conformance.Read(t, "cascadia", "valid_selectors.json"), &valid); err != nil {
		t.Fatal(err)
	}
	passed := 0
	for _, test := range valid {
		s, err := css.Options{Fragment: "target"}.Compile(test.Selector)
		if err != nil {
			t.Errorf("%s: %v", test.Name, err)
			continue
		}
		var got []string
		for _, r := range s.Select(doc.Root()) {
			got = append(got, r.Node().Attr("id"))
		}
		slices.Sort(got)
		slices.Sort(test.Expect)
		if reason, known := deviations[test.Selector]; known {
			if len(got) != 0 {
				t.Errorf("%s selects %q, want nothing: %s", test.Selector, got, reason)
			}
			t.Logf("%s: %s", test.Selector, reason)
			continue
		}
		if !slices.Equal(got, test.Expect) {
			t.Errorf("%s: %s selects %q, want %q", test.Name, test.Selector, got, test.Expect)
			continue
		}
		passed++
	}
	t.Logf("valid selectors: %d of %d compile, %d select what is expected", len(valid), len(valid), passed)

	var invalid []struct{ Name, Selector string }
	if err := json.Unmarshal(conformance.Read(t, "cascadia", "invalid_selectors.json"), &invalid); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, test := range invalid {
		if _, err := css.Compile(test.Selector); err == nil {
			t.Errorf("%s: %q was accepted", test.Name, test.Selector)
			continue
		}
		refused++
	}
	t.Logf("invalid selectors: %d of %d refused", refused, len(invalid))
}

// parse parses a page that must not fail.
func parse(t testing.TB, page string) *html.Document {
	t.Helper()
	doc, err := html.Parse([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}
