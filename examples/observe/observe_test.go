package main

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

// The added page is crawled, with those that follow it, and the program says what it has done.
func TestObserve(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	var out strings.Builder
	if err := observe(t.Context(), site.URL(), 5*time.Millisecond, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`^watch it at http://127\.0\.0\.1:\d+/\?token=[\w-]{43}\n`,
		`\npaused; /metrics says tegenaria_run_paused 1\n`,
		`\nadded http://127\.0\.0\.1:\d+/books/: true; again: false\n`,
		`\n127\.0\.0\.1: a delay of 1ms instead of 5ms\n`,
		`\n14 pages, 148 items\n.* % of the .*downloads .*\n(.* %  .*\n)+$`, // ten of quotes and four of books
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("it does not print %s:\n%s", want, &out)
		}
	}
	asked := make(map[string]int)
	for _, e := range site.Log() {
		asked[e.URL]++
	}
	if asked["/books/"] != 1 || asked["/books/page/4/"] != 1 || asked["/quotes/page/10/"] != 1 {
		t.Errorf("the site was asked for %v", asked)
	}
}
