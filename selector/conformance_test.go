package selector_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/selector"
)

// TestCascadiaSelectors runs the selectors of the W3C suite that come with cascadia.
func TestCascadiaSelectors(t *testing.T) {
	doc := selector.Parse(conformance.Read(t, "cascadia", "content.xhtml"))

	const namespaces = "the page that comes with the cases has no such element; HTML pages cannot declare namespaces"
	deviations := map[string]string{
		":target":              "needs the fragment of the page's URL, which a Document does not know",
		"#any-namespace *|div": namespaces,
		"#no-namespace |div":   namespaces,
		"#no-namespace |*":     namespaces,
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
		var got []string
		q, err := selector.Compile(test.Selector)
		if err == nil {
			// Attrs would hide elements without an id.
			for _, s := range doc.Select(q).All() {
				got = append(got, s.Attr("id"))
			}
		}
		slices.Sort(got)
		slices.Sort(test.Expect)
		ok := err == nil && slices.Equal(got, test.Expect)
		if ok {
			passed++
		}
		reason, known := deviations[test.Selector]
		switch {
		case ok && known:
			t.Errorf("%s passes now: take it off the list of deviations", test.Selector)
		case known:
			t.Logf("deviation: %s: %s", test.Selector, reason)
		case !ok:
			t.Errorf("%s: %s selects %q (error %v), want %q", test.Name, test.Selector, got, err, test.Expect)
		}
	}
	t.Logf("valid selectors: %d of %d as expected", passed, len(valid))

	var invalid []struct{ Name, Selector string }
	if err := json.Unmarshal(conformance.Read(t, "cascadia", "invalid_selectors.json"), &invalid); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, test := range invalid {
		_, err := selector.Compile(test.Selector)
		if test.Name == "Undeclared namespace" { // a prefix means the elements that are written with it, and needs no declaration
			if err != nil {
				t.Errorf("%q: %v", test.Selector, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: %q was accepted", test.Name, test.Selector)
			continue
		}
		refused++
	}
	t.Logf("invalid selectors: %d of %d refused", refused, len(invalid))
}
