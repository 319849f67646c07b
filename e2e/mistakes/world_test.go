package mistakes_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tegenaria/tegenaria"
)

// world is what the programs crawl. It ends with the process.
type world struct {
	site   string // a web site on loopback
	strict string // one whose robots.txt forbids everything
	secure string // one with a certificate that nobody has signed
	nobody string // host and port where nothing answers
	dir    string // a folder
}

func newWorld(dir string) *world {
	w := &world{dir: dir}
	w.site = httptest.NewServer(http.HandlerFunc(w.serve)).URL
	w.strict = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		fmt.Fprint(rw, "User-agent: *\nDisallow: /\n")
	})).URL
	secure := httptest.NewUnstartedServer(http.HandlerFunc(w.serve))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	w.secure = secure.URL
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	w.nobody = l.Addr().String()
	if err := l.Close(); err != nil {
		log.Fatal(err)
	}
	return w
}

// serve is a shop.
func (w *world) serve(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/html")
	switch path := r.URL.Path; path {
	case "/":
		fmt.Fprint(rw, `<h1 class="name">Shop</h1><a href="/item/1">1</a>`)
	case "/item/1":
		fmt.Fprint(rw, `<h1 class="name">One</h1>`)
	case "/links":
		fmt.Fprint(rw, `<a href="/item/1">1</a><a href="/gone">gone</a>`)
	case "/broken.json":
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, `{"name": "one`)
	case "/hang":
		<-r.Context().Done()
	case "/circle":
		http.Redirect(rw, r, "/circle", http.StatusFound)
	case "/away":
		http.Redirect(rw, r, "http://elsewhere.example/", http.StatusFound)
	case "/large":
		fmt.Fprint(rw, strings.Repeat("x", 1<<20))
	case "/forbidden":
		http.Error(rw, "no", http.StatusForbidden)
	case "/login":
		http.Error(rw, "who are you?", http.StatusUnauthorized)
	case "/broken":
		http.Error(rw, "oh", http.StatusInternalServerError)
	case "/busy":
		http.Error(rw, "later", http.StatusTooManyRequests)
	default:
		http.NotFound(rw, r)
	}
}

// product is an item.
type product struct {
	Name string
}

// parse is the parser of a program without a mistake.
func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	return out.Item(product{page.CSS("h1").Text()})
}

// shop is a spider without a mistake.
func shop(urls ...string) tegenaria.SpiderInterface {
	return tegenaria.NewSpider("shop", tegenaria.Handle(parse), urls...)
}

// handler is a spider with this handler.
func handler(url string, h func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error) tegenaria.SpiderInterface {
	return tegenaria.NewSpider("shop", tegenaria.Handle(h), url)
}

// sender is a spider that sends requests of its own.
type sender struct {
	*tegenaria.BaseSpider
	first []*tegenaria.Request
}

func sending(requests ...*tegenaria.Request) *sender {
	return &sender{&tegenaria.BaseSpider{Name: "shop"}, requests}
}

func (s *sender) StartRequest(req chan<- *tegenaria.Context) {
	for _, r := range s.first {
		req <- tegenaria.NewContext(r)
	}
}

func (s *sender) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}
