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

	"github.com/tegenaria/tegenaria/spidertest"

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
		if strings.HasPrefix(r.URL.Path, "/flaky/") {
			w.Header().Set("Retry-After", "1") // or else the pauses are doubled
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

func TestParser(t *testing.T) {
	page := spidertest.HTML(`<article class="product_pod"><h2><a href="moby-dick/">Moby-Dick</a></h2></article> <li class="next"><a href="page/2/">next</a></li>`)
	books, requests := spidertest.Parse[*Book](t, newBookSpider("").Parser, page, "https://demo.example/books/")
	if len(books) != 0 || len(requests) != 2 || requests[0].Url != "https://demo.example/books/moby-dick/" || requests[1].Url != "https://demo.example/books/page/2/" {
		t.Errorf("books: %v, requests: %v", books, requests)
	}
}

func TestParseBook(t *testing.T) {
	book := func(year, stock string) spidertest.Page {
		return spidertest.HTML(`<h1>Moby-Dick</h1><article class="product_page"><p class="author">Melville</p><p class="year">` + year +
			`</p><p class="price_color">£12.99</p><p class="star-rating">Rated Three</p><p class="availability">` + stock + `</p></article>`)
	}
	const url = "https://demo.example/books/moby-dick/"
	parse := newBookSpider("").ParseBook
	for stock, want := range map[string]int{"In stock (7 available)": 7, "Out of stock": 0} {
		books, _ := spidertest.Parse[*Book](t, parse, book("1851", stock), url)
		if len(books) != 1 || *books[0] != (Book{Title: "Moby-Dick", Author: "Melville", Year: 1851, Price: "£12.99", Rating: "Rated Three", Stock: want}) {
			t.Errorf("%s: %+v", stock, books)
		}
	}
	for _, broken := range []spidertest.Page{book("long ago", "Out of stock"), book("1851", "In stock (many available)")} {
		var err error
		if books, _ := spidertest.Parse[*Book](t, parse, broken, url, spidertest.ParseWithError(&err)); err == nil || len(books) > 0 {
			t.Errorf("books %v, error %v of a page that makes no sense", books, err)
		}
	}
}
