package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

var update = flag.Bool("update", false, "write the golden file anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Quotes pass the pipelines concurrently, so the lines of a page come in any order.
func TestTyped(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	var out bytes.Buffer
	if err := run(t.Context(), site.URL(), &out); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(slices.Sorted(strings.Lines(out.String())), "")
	golden := filepath.Join("testdata", "quotes.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}

	asked := make(map[string]int)
	authors := 0
	for _, e := range site.Log() {
		if asked[e.URL]++; asked[e.URL] > 1 {
			t.Errorf("%s was asked for %d times", e.URL, asked[e.URL])
		}
		if strings.HasPrefix(e.URL, "/author/") {
			authors++
		}
	}
	if authors != 24 || len(asked) != 1+10+authors {
		t.Errorf("%d authors and %d pages were asked for", authors, len(asked))
	}
}

// broken fails at the first line, which ends the loop and with it the crawl.
type broken struct{}

var errBroken = errors.New("broken pipe")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestTypedStops(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	if err := run(t.Context(), site.URL(), broken{}); !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, site.URL(), &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v of a crawl that was cancelled before", err)
	}
}

// The life of an author is fetched once.
func TestLife(t *testing.T) {
	r := &reader{lives: make(map[string]string)}
	one := `<div class="quote"><span class="text">%s</span> <small class="author">Melville</small> <a href="/author/melville/">about</a></div>`
	page := spidertest.HTML(strings.ReplaceAll(one, "%s", "first") + strings.ReplaceAll(one, "%s", "second"))
	author := spidertest.HTML(`<p class="author-life">1819-1891</p>`)
	quotes, _ := spidertest.Parse[Quote](t, tegenaria.Handle(r.quotes), page, "https://demo.example/quotes/",
		spidertest.ParseWithPage("https://demo.example/author/melville/", author))
	if want := []Quote{{"first", "Melville", "1819-1891"}, {"second", "Melville", "1819-1891"}}; !slices.Equal(quotes, want) {
		t.Errorf("quotes: %v, want %v", quotes, want)
	}
}

// A page whose author cannot be fetched fails.
func TestNoLife(t *testing.T) {
	r := &reader{lives: make(map[string]string)}
	var err error
	page := spidertest.HTML(`<div class="quote"><a href="/author/nobody/">about</a></div>`)
	spidertest.Parse[Quote](t, tegenaria.Handle(r.quotes), page, "https://demo.example/quotes/", spidertest.ParseWithError(&err))
	if err == nil {
		t.Error("no error")
	}
}
