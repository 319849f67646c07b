package links_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/links"
)

func FuzzExtract(f *testing.F) {
	f.Add([]byte(page))
	f.Add([]byte(repeated))
	f.Add([]byte(`<base href="/b/"><svg><title/><a href=x></svg><meta http-equiv=refresh content="1;url='x">`))
	f.Add([]byte("<a href=\x00\xff>\x00<noscript><template><area href='//\t[::1]/#\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		const base = "http://example.com/dir/page"
		before := bytes.Clone(body)
		all := links.Extract(body, base, links.Unique(false))
		if walked := each(body, base); !slices.Equal(walked, urls(all)) {
			t.Errorf("Each gave %q, Extract %q", walked, urls(all))
		}
		seen := map[string]bool{}
		for _, l := range links.Extract(body, base) {
			if seen[l.URL] {
				t.Errorf("%q twice", l.URL)
			}
			seen[l.URL] = true
		}
		for _, l := range all {
			if !strings.HasPrefix(l.URL, "http://") && !strings.HasPrefix(l.URL, "https://") || strings.Contains(l.URL, "#") {
				t.Errorf("URL %q", l.URL)
			}
			if l.Text != strings.Join(strings.Fields(l.Text), " ") {
				t.Errorf("text %q", l.Text)
			}
			if !seen[l.URL] {
				t.Errorf("%q is missing from the unique links", l.URL)
			}
		}
		if url, _, ok := links.Refresh(body, base); ok && !strings.HasPrefix(url, "http") {
			t.Errorf("Refresh gave %q", url)
		}
		if !bytes.Equal(body, before) {
			t.Error("the body was changed")
		}
	})
}
