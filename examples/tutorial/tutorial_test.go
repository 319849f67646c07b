package main

import (
	"bytes"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

var update = flag.Bool("update", false, "write the golden file anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Books pass the pipelines concurrently, so their lines come in any order.
func TestTutorial(t *testing.T) {
	var mu sync.Mutex
	asked := make(map[string]int)
	site := demosite.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		// The engine's own request for robots.txt passes no middleware.
		if r.URL.Path != "/robots.txt" && r.Header.Get("Accept-Language") != "en" {
			t.Errorf("%s was asked for without the middleware's header", r.URL.Path)
		}
		site.ServeHTTP(w, r)
	}))
	defer server.Close()
	var out, info bytes.Buffer
	if err := run(server.URL, &out, &info); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(slices.Sorted(strings.Lines(out.String())), "")
	golden := filepath.Join("testdata", "books.golden")
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
	if want := "55 pages read, 46 books in stock, 2 sold out, 6 failures overcome\n"; info.String() != want {
		t.Errorf("got  %swant %s", &info, want)
	}
	// 4 pages of the list, 48 books, 3 flaky pages that answer at the third attempt.
	for path, n := range asked {
		if strings.HasPrefix(path, "/flaky/") != (n == 3) || n != 1 && n != 3 {
			t.Errorf("%s was asked for %d times", path, n)
		}
	}
	if len(asked) != 1+4+48+3 {
		t.Errorf("%d different pages were asked for, want 56", len(asked))
	}
}
