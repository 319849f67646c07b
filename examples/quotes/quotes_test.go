package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest"

	"go.uber.org/goleak"
)

var update = flag.Bool("update", false, "write the golden file anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Items pass the pipelines concurrently, so the lines of a page come in any order.
func TestQuotes(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout := os.Stdout
	os.Stdout = file
	main()
	os.Stdout = stdout

	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(slices.Sorted(strings.Lines(string(text))), "")
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
}

// The simplest program stays simple.
func TestLines(t *testing.T) {
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	if lines > 27 {
		t.Errorf("main.go has %d lines of code, want at most 27", lines)
	}
}

func TestParse(t *testing.T) {
	page := spidertest.HTML(`<div class="quote"><span class="text">Call me Ishmael</span> <small class="author">Melville</small></div>
		<li class="next"><a href="page/2/">next</a></li>`)
	quotes, requests := spidertest.Parse[quote](t, tegenaria.Handle(parse), page, "https://demo.example/quotes/")
	if len(quotes) != 1 || quotes[0] != (quote{"Call me Ishmael", "Melville"}) {
		t.Errorf("quotes: %v", quotes)
	}
	if len(requests) != 1 || requests[0].Url != "https://demo.example/quotes/page/2/" {
		t.Errorf("requests: %v", requests)
	}
}
