package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// All books are found, each page is asked for once, and none but those that the rules are for.
func TestRules(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	var out bytes.Buffer
	if err := run(t.Context(), site.URL(), &out); err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(out.String()))
	asked := make(map[string]int)
	lists := 0
	for _, e := range site.Log() {
		asked[e.URL]++
		switch {
		case e.URL == "/robots.txt" || strings.Count(e.URL, "/") == 3 && strings.HasPrefix(e.URL, "/books/"):
		case e.URL == "/books/" || strings.HasPrefix(e.URL, "/books/page/"):
			lists++
		default:
			t.Errorf("%s was asked for", e.URL)
		}
		if asked[e.URL] > 1 {
			t.Errorf("%s was asked for %d times", e.URL, asked[e.URL])
		}
	}
	if len(lines) != 48 || lists != 4 || len(asked) != 1+48+4 {
		t.Errorf("%d books on %d lists, %d pages", len(lines), lists, len(asked))
	}
	if !strings.Contains(out.String(), "£") {
		t.Errorf("no prices:\n%s", &out)
	}
}
