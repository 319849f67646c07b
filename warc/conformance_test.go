package warc_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/warc"
)

// Files that other programs have written, good and bad. Those of the older format ARC are no WARC, and are refused.
func TestWildFiles(t *testing.T) {
	for name, want := range map[string]string{
		"example.warc":                        "2 request, 1 response, 1 revisit, 2 warcinfo",
		"example.warc.gz":                     "2 request, 1 response, 1 revisit, 2 warcinfo",
		"example-bad-non-chunked.warc.gz":     "2 request, 1 response, 1 revisit, 2 warcinfo", // all packed together
		"example-bad.warc.gz.bad":             "2 request, 2 response, 1 revisit, 1 warcinfo",
		"example-digest.warc":                 "4 request",
		"example-iana.org-chunked.warc":       "1 request, 1 response, 1 warcinfo",
		"example-resource.warc.gz":            "1 resource, 2 warcinfo",
		"example-space-in-target-uri.warc.gz": "1 resource, 1 warcinfo",
		"example-trunc.warc":                  "1 request, 1 response, 2 warcinfo; at byte 2560",
		"example-wget-bad-target-uri.warc.gz": "1 metadata, 1 request, 2 resource, 1 response, 1 warcinfo",
		"example-wrong-chunks.warc.gz":        "1 response; at byte 0",
		"post-test.warc.gz":                   "3 request, 3 response",
		"example.arc":                         "; at byte 0",
		"example.arc.gz":                      "; at byte 0",
		"example-space-in-url.arc":            "; at byte 0",
		"bad.arc":                             "; at byte 0",
	} {
		kinds := make(map[string]int)
		var errs []string
		for r, err := range warc.Read(bytes.NewReader(conformance.Read(t, "warc", name))) {
			if err != nil {
				_, where, _ := strings.Cut(err.Error(), "the record ")
				where, _, _ = strings.Cut(where, ":")
				errs = append(errs, "; "+where)
				continue
			}
			kinds[r.Type()]++
			if _, err := io.Copy(io.Discard, r.Block); err != nil && len(errs) == 0 {
				t.Logf("%s: %v", name, err)
			}
		}
		var list []string
		for _, kind := range slices.Sorted(maps.Keys(kinds)) {
			list = append(list, fmt.Sprintf("%d %s", kinds[kind], kind))
		}
		if got := strings.Join(list, ", ") + strings.Join(errs, ""); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// The indexes of archives that other programs have written have as many lines as those of warcio 2.4.11, except for the files below.
func TestWildIndex(t *testing.T) {
	for name, want := range map[string]struct{ lines, skipped int }{
		"example.warc":                        {2, 0},
		"example.warc.gz":                     {2, 0},
		"example-bad-non-chunked.warc.gz":     {0, 6}, // warcio: 2 lines, with a place at which nothing is
		"example-bad.warc.gz.bad":             {0, 6}, // warcio: 3 lines, likewise
		"example-digest.warc":                 {0, 0},
		"example-iana.org-chunked.warc":       {1, 0},
		"example-resource.warc.gz":            {1, 0}, // warcio keeps the parameters of the media type of a resource
		"example-space-in-target-uri.warc.gz": {1, 0},
		"example-trunc.warc":                  {1, 1},
		"example-wget-bad-target-uri.warc.gz": {4, 0},
		"example-wrong-chunks.warc.gz":        {0, 1}, // a record goes over the ends of gzip members. warcio: 1 line, with a wrong length
		"post-test.warc.gz":                   {3, 0},
	} {
		var text bytes.Buffer
		skipped, err := warc.Index(&text, conformance.Path(t, "warc", name))
		if lines := bytes.Count(text.Bytes(), []byte("\n")); err != nil || lines != want.lines || skipped.Records != want.skipped {
			t.Errorf("%s: %d lines, %+v, %v; want %+v", name, lines, skipped, err, want)
		}
	}
}

// Archives that other programs have written are replayed, also one whose records are packed together.
func TestWildReplay(t *testing.T) {
	for _, name := range []string{"example.warc", "example.warc.gz", "example-bad-non-chunked.warc.gz", "example-iana.org-chunked.warc"} {
		replay := open(t, conformance.Path(t, "warc", name))
		url, title := "http://example.com/", "Example Domain"
		if strings.Contains(name, "iana") {
			url, title = "http://www.iana.org/", "Internet Assigned Numbers Authority"
		}
		for range 2 { // the second record is a revisit of the first
			if got := titleAt(t, replay, url); got != title {
				t.Errorf("%s: the title is %q", name, got)
			}
		}
	}
}
