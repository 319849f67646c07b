package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/spidertest"
)

// Both crawls, in virtual time: the first one waits between its pages, the second one asks for nothing.
func TestDevelop(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		web := spidertest.NewWeb(demosite.Handler())
		defer web.Close()
		var out strings.Builder
		if err := develop(t.Context(), "http://demo.test", folder, &out, tegenaria.EngineWithHTTPClient(web.Client())); err != nil {
			t.Fatal(err)
		}
		first, second, _ := strings.Cut(out.String(), "\n")
		if !strings.HasPrefix(first, "1st crawl: 100 quotes, 0 authors in 1") || !strings.Contains(first, "; asked the site for 11 pages, ") {
			t.Error(first)
		}
		if !strings.HasPrefix(second, "2nd crawl: 100 quotes, 100 authors in 0s; asked the site for 0 pages, and saved 11 pages, ") {
			t.Error(second)
		}
	})
}
