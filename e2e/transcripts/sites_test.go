package transcripts_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// sites are what the crawls ask. The log calls their addresses by names.
type sites struct {
	shop   string // answers all that serve knows
	strict string // its robots.txt forbids /private
	secure string // has a certificate that nobody has signed
	down   string // nothing listens there

	arrived chan struct{} // strict was asked for /slow, which it answers
	release chan struct{} // when it gets something here
}

func newSites(t *testing.T) *sites {
	s := &sites{arrived: make(chan struct{}), release: make(chan struct{})}
	shop := httptest.NewServer(http.HandlerFunc(serve))
	t.Cleanup(shop.Close)
	strict := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /private\n")
		case "/slow":
			s.arrived <- struct{}{}
			<-s.release
		default:
			serve(w, r)
		}
	}))
	t.Cleanup(strict.Close)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(serve))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.shop, s.strict, s.secure, s.down = shop.URL, strict.URL, secure.URL, "http://"+l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// names replaces the addresses of the sites.
func (s *sites) names() *strings.Replacer {
	host := func(url string) string { return url[strings.Index(url, "//")+2:] }
	return strings.NewReplacer(host(s.shop), "shop.example", host(s.strict), "strict.example", host(s.secure), "secure.example", host(s.down), "down.example")
}

// serve is a shop: a list of books on two pages, and pages that fail in one way each.
func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	book := func(n int) { fmt.Fprintf(w, `<a class="book" href="/books/%d">Book %d</a>`, n, n) }
	switch path := r.URL.Path; path {
	case "/":
		book(1)
		book(2)
		fmt.Fprint(w, `<a class="next" href="/2">next</a><a href="/">home</a><a href="http://elsewhere.example/">elsewhere</a>`)
	case "/2":
		book(2)
		book(3)
	case "/books/1", "/books/2", "/books/3":
		fmt.Fprintf(w, "<h1>Book %s</h1>", path[len(path)-1:])
	case "/links":
		for n := range 5 {
			fmt.Fprintf(w, `<a class="book" href="/gone/%d">Book %d</a>`, n, n)
		}
	case "/json":
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"title": "Book 1`)
	case "/large":
		fmt.Fprint(w, strings.Repeat("x", 10_000))
	case "/hang":
		<-r.Context().Done()
	case "/cut":
		panic(http.ErrAbortHandler)
	case "/circle":
		http.Redirect(w, r, "/circle", http.StatusFound)
	case "/forbidden":
		w.WriteHeader(http.StatusForbidden)
	case "/broken":
		w.WriteHeader(http.StatusServiceUnavailable)
	case "/busy":
		w.WriteHeader(http.StatusTooManyRequests)
	default:
		http.NotFound(w, r)
	}
}

type book struct{ Title string }

// parse is the parser of a shop: it follows the links to books and to the next page, and sends an item for each book.
func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
	if strings.Contains(page.URL, "/books/") {
		return out.Item(book{page.CSS("h1").Text()})
	}
	for _, href := range page.CSS("a").Attrs("href") {
		if err := out.Follow(href); err != nil {
			return err
		}
	}
	return nil
}
