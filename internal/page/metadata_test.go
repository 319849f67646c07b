package page_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/metadata"
	"github.com/tegenaria/tegenaria/selector"
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

// Memory is asked for before the metadata of a large page are read, beside that of its tree.
func TestMemoryOfMetadata(t *testing.T) {
	run := newRun()
	r := in(run, "text/html", "<title>x</title>"+strings.Repeat("y", mib))
	r.page.Document(r)
	before := run.held
	for range 2 {
		r.page.Metadata(r)
	}
	if got := run.held - before; got < mib || got > 2*mib {
		t.Errorf("%d bytes are held for metadata", got)
	}
	full := errors.New("full")
	r = in(run, "text/html", "<title>x</title>"+strings.Repeat("y", mib))
	r.page.Document(r)
	run.refuse = full
	err := panicOf(func() { r.page.Metadata(r) })
	if refused := (*selector.ParseError)(nil); !errors.As(err, &refused) || !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
}
