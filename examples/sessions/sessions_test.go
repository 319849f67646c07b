package main

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// By the log of the library each page was shown once, to whom it belongs, and every request came through the proxy of its session.
func TestSessions(t *testing.T) {
	l := openLibrary()
	var out strings.Builder
	err := l.reading().crawl(t.Context(), &out)
	l.close()
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]int)
	add := func(holder, path string, books []string) {
		want[holder+" "+path] = 1
		for _, book := range books {
			want[holder+" "+path+"/"+book] = 1
		}
	}
	add(visitor, "/shelf", books)
	add("ann", "/loans", onLoan["ann"])
	add("bob", "/loans", onLoan["bob"])
	shown := make(map[string]int)
	for _, e := range l.log {
		c := l.cards[e.card]
		switch {
		case l.proxies[e.address] == nil:
			t.Errorf("%s was asked for directly", e.path)
		case c != nil && c.address != e.address:
			t.Errorf("%s was asked for through %s with the card that was given to %s", e.path, e.address, c.address)
		case e.status == http.StatusNotFound && e.path != "/robots.txt":
			t.Errorf("%s asked for %s", e.holder, e.path)
		case e.status == http.StatusOK && e.path != "/login":
			shown[e.holder+" "+e.path]++
		}
	}
	if !maps.Equal(shown, want) {
		t.Errorf("the library has shown %v, want %v", shown, want)
	}

	lines := slices.Collect(strings.Lines(out.String()))
	if wantLines := len(want) + len(l.proxies) + 1; len(lines) != wantLines {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), wantLines, &out)
	}
	through := make(map[string]bool) // proxies of readers
	for _, line := range lines {
		if fields := strings.Fields(line); passwords[fields[0]] != "" {
			through[fields[0]+" "+fields[2]] = true
		}
	}
	if len(through) < 3 {
		t.Errorf("the readers went through %v; one of them should have had a second proxy:\n%s", through, &out)
	}
	for name := range l.proxies {
		i := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, name+": ") })
		if i < 0 || strings.HasSuffix(lines[i], " 0 failed\n") == (name == l.broken) {
			t.Errorf("the line of %s is wrong, the proxy that broke is %s:\n%s", name, l.broken, &out)
		}
	}
	last, visitors := lines[len(lines)-1], 0
	if _, err := fmt.Sscanf(last, "2 readers, %d visitors; thrown away: map[", &visitors); err != nil {
		t.Errorf("the last line is %q: %v", last, err)
	}
	if visitors < len(books)/visitorPages || !strings.Contains(last, "blocked: status 403") {
		t.Errorf("no visitors were banned, or they were not replaced: %q", last)
	}
}
