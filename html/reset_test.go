package html_test

import (
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
