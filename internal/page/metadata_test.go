package page_test

import (
	"reflect"
	"testing"

	"github.com/tegenaria/tegenaria/metadata"
)

// The metadata know the encoding of the page, its URL and its base.
func TestMetadata(t *testing.T) {
	const body = "<base href=/b/><title>caf\xe9</title><link rel=canonical href='x?\xe9'>"
	r := of("text/html; charset=windows-1252", body)
	if p := r.page.Metadata(r); p.Title != "café" || p.Canonical != "http://a.test/b/x?%E9" {
		t.Errorf("%+v", p)
	}
	for _, r := range []*response{of("text/xml", "<html><title>x</title></html>"), of("", ""), of("image/png", "\x89PNG")} {
		if p := r.page.Metadata(r); !reflect.DeepEqual(p, new(metadata.Page)) {
			t.Errorf("%+v", p)
		}
	}
}
