package html_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// TestResetKinds uses one document for HTML and XML in turn: nothing of one stays in the other.
func TestResetKinds(t *testing.T) {
	var d html.Document
	for _, test := range []struct {
		name, source string
		xml          bool
		want         string // the markup; "" is an error
	}{
		{"HTML", "<!doctype html><p CLASS=a>x&amp;y", false, `<!DOCTYPE html><html><head></head><body><p class="a">x&amp;y</p></body></html>`},
		{"XML", `<r xmlns:n="u"><Item n:a="1">x&amp;y</Item></r>`, true, `<r xmlns:n="u"><Item n:a="1">x&amp;y</Item></r>`},
		{"XHTML knows entities", `<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN" ""><r>&eacute;</r>`, true,
			`<!DOCTYPE html><r>é</r>`},
		{"other XML does not", "<r>&eacute;</r>", true, ""},
		{"after an error", "<i>x", false, `<html><head></head><body><i>x</i></body></html>`},
		{"XML that is not well-formed", "<r>", true, ""},
		{"XML again", "<R/>", true, "<R/>"},
		{"quirks", "<P><TABLE>", false, `<html><head></head><body><p><table></table></p></body></html>`},
		{"no quirks", "<!doctype html><P><TABLE>", false, `<!DOCTYPE html><html><head></head><body><p></p><table></table></body></html>`},
	} {
		t.Run(test.name, func(t *testing.T) {
			reset := d.Reset
			if test.xml {
				reset = d.ResetXML
			}
			err := reset([]byte(test.source))
			if (err != nil) != (test.want == "") {
				t.Fatal(err)
			}
			if err != nil {
				if d.Len() != 1 {
					t.Errorf("%d nodes after an error", d.Len())
				}
				return
			}
			if got := d.Root().HTML(); got != test.want || d.IsXML() != test.xml {
				t.Errorf("XML: %v; got %s\nwant %s", d.IsXML(), got, test.want)
			}
			if inner := string(d.Element().AppendInnerHTML([]byte("+"))); inner != "+"+d.Element().InnerHTML() {
				t.Errorf("inner markup %s", inner)
			}
		})
	}
}

// TestZeroDocument: a document that was never parsed into has nothing and breaks nothing.
func TestZeroDocument(t *testing.T) {
	var d html.Document
	if !d.Root().IsZero() || !d.Element().IsZero() || d.Len() != 0 || d.Source() != nil || d.IsXML() || d.Root().HTML() != "" {
		t.Error("the zero Document is not empty")
	}
	if _, ok := d.Doctype(); ok || len(d.Index().Elements()) != 1 || d.LookupAtom("x-y") != 0 {
		t.Error("the zero Document has a document type, elements or names")
	}
}

// TestDocumentsShareNothing parses pages of all sizes and keeps their documents: what is parsed later
// may not show in them.
func TestDocumentsShareNothing(t *testing.T) {
	var sources [][]byte
	for _, size := range []int{2 << 10, 20 << 10, 60 << 10, 100 << 10} {
		sources = append(sources, page(size))
	}
	for _, source := range []string{
		"", "&amp;", "<body>a</body>b&lt;</html>\n<!--\r\n-->", "<p a-b=1 c-d=2 e-f=3 g-h=4 i-j=5><x-y>",
		strings.Repeat("a&amp;b<br>", 20), strings.Repeat("<br>", 5_000), strings.Repeat("<br a=1 b=2>", 3_000),
	} {
		sources = append(sources, []byte(source))
	}
	for _, maxNodes := range []int{3, 0} { // with 3 all end in an error, and the next ones get their memory
		var documents []*html.Document
		var trees []string
		for _, source := range sources {
			d, err := html.Parse(source, html.MaxNodes(maxNodes))
			if err != nil {
				continue
			}
			documents, trees = append(documents, d), append(trees, dump(d))
		}
		for i, d := range documents {
			if err := check(d); err != nil || dump(d) != trees[i] {
				t.Errorf("document %d has changed (%v)", i, err)
			}
			// A document with memory of its own is used again.
			if err := d.Reset(sources[0]); err != nil && maxNodes == 0 {
				t.Error(err)
			}
		}
		if maxNodes == 0 && len(documents) != len(sources) {
			t.Errorf("%d documents of %d sources", len(documents), len(sources))
		}
		for i, d := range documents {
			if maxNodes == 0 && dump(d) != trees[0] {
				t.Errorf("document %d, used again, has another tree", i)
			}
		}
	}
}
