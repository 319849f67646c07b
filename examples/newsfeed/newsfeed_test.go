package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each entry is there once, with the stock of its book, though the feed is asked for again and again.
func TestNewsfeed(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	var out bytes.Buffer
	if err := run(t.Context(), site, &out); err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(out.String()))
	if len(lines) != 9 {
		t.Fatalf("%d lines:\n%s", len(lines), &out)
	}
	entries := lines[:8]
	slices.Sort(entries)
	for i, line := range entries {
		if !strings.HasPrefix(line, fmt.Sprintf("2024-01-%02d  ", i+1)) || !strings.Contains(line, "stock") {
			t.Errorf("line %d: %s", i, line)
		}
	}
	books, feeds := make(map[string]int), 0
	for _, e := range site.Log() {
		switch {
		case e.URL == "/news.xml":
			feeds++
		case strings.HasPrefix(e.URL, "/books/"):
			books[e.URL]++
		}
	}
	for url, n := range books {
		if n != 1 {
			t.Errorf("%s was asked for %d times", url, n)
		}
	}
	if feeds < 11 || !strings.HasPrefix(lines[8], "the feed was asked for ") {
		t.Errorf("the feed was asked for %d times; %s", feeds, lines[8])
	}
}
