package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// library is the site that is crawled, and the proxies that lead to it. It gives each client a card, a cookie, that is worth nothing at
// another address. With the card of a visitor six pages of the shelf can be read, with that of a reader the reader's loans.
type library struct {
	site    *httptest.Server
	proxies map[string]*forwarder // by name

	mu      sync.Mutex // guards the fields below
	cards   map[string]*card
	readers map[string]bool // that have logged in
	broken  string          // the proxy that has broken down
	log     []entry
}

// card is what the library knows of a client.
type card struct {
	holder  string // a reader, or visitor
	address string // the name of the proxy
	pages   int    // that it was shown
}

// entry is a request as the library has seen it.
type entry struct {
	card                  string // that the client has sent
	path, holder, address string
	status                int
}

const (
	visitor      = "visitor"
	visitorPages = 6
	loginForm    = `<h1>log in</h1><form method=post action=/login><input name=reader><input name=password type=password></form>`
)

var (
	passwords = map[string]string{"ann": "open sesame", "bob": "swordfish"}
	books     = []string{"Middlemarch", "Emma", "Walden", "Dracula", "Ulysses", "Candide", "Hamlet", "Faust", "Evelina", "Persuasion",
		"Villette", "Shirley", "Kim", "Nostromo", "Utopia", "Germinal", "Nana", "Pan", "Hunger", "Dubliners", "Cranford", "Ivanhoe", "Waverley", "Camilla",
		"Belinda", "Clarissa", "Pamela", "Romola", "Erewhon", "Cymbeline"}
	onLoan = map[string][]string{"ann": books[:7], "bob": books[7:12]}
)

// openLibrary starts the site, and the proxies north, east and south.
func openLibrary() *library {
	l := &library{proxies: make(map[string]*forwarder), cards: make(map[string]*card), readers: make(map[string]bool)}
	pages := http.NewServeMux()
	pages.Handle("GET /login", l.page(func(*card, *http.Request) (int, string) { return http.StatusOK, loginForm }))
	pages.Handle("POST /login", l.page(l.login))
	pages.Handle("GET /loans", l.page(l.loans))
	pages.Handle("GET /loans/{title}", l.page(l.loans))
	pages.Handle("GET /shelf", l.page(l.shelf))
	pages.Handle("GET /shelf/{title}", l.page(l.shelf))
	pages.Handle("/", l.page(func(*card, *http.Request) (int, string) { return http.StatusNotFound, "" }))
	l.site = httptest.NewServer(pages)
	for _, name := range []string{"north", "east", "south"} {
		l.proxies[name] = newForwarder(name)
	}
	return l
}

func (l *library) close() {
	for _, f := range l.proxies {
		f.close()
	}
	l.site.Close()
}

// reading is what a crawl of the library has to know.
func (l *library) reading() reading {
	names := make(map[string]string)
	for name, f := range l.proxies {
		names[f.server.URL] = name
	}
	return reading{l.site.URL, passwords, names}
}

// page makes a handler of a func that is called for a card, with mu held.
func (l *library) page(answer func(c *card, r *http.Request) (status int, text string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		defer l.mu.Unlock()
		e := entry{path: r.URL.Path, address: r.Header.Get("Via")}
		if cookie, err := r.Cookie("card"); err == nil {
			e.card = cookie.Value
		}
		c := l.cardOf(w, e)
		status, text := answer(c, r)
		e.holder, e.status = c.holder, status
		l.log = append(l.log, e)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	})
}

// cardOf returns the card of a client. One that has none for its address gets one.
func (l *library) cardOf(w http.ResponseWriter, e entry) *card {
	if c := l.cards[e.card]; c != nil && c.address == e.address {
		return c
	}
	number := strconv.Itoa(len(l.cards) + 1)
	http.SetCookie(w, &http.Cookie{Name: "card", Value: number, Path: "/"})
	c := &card{holder: visitor, address: e.address}
	l.cards[number] = c
	return c
}

func (l *library) login(c *card, r *http.Request) (status int, text string) {
	reader := r.PostFormValue("reader")
	if password, known := passwords[reader]; !known || r.PostFormValue("password") != password {
		return http.StatusOK, loginForm
	}
	c.holder = reader
	l.readers[reader] = true
	return http.StatusOK, "<h1>welcome</h1>"
}

// loans shows a reader what is on loan. The proxy of the first one who sees the fourth page after both have logged in breaks down.
func (l *library) loans(c *card, r *http.Request) (status int, text string) {
	if c.holder == visitor {
		return http.StatusOK, loginForm
	}
	c.pages++
	if c.pages == 4 && len(l.readers) == len(passwords) && l.broken == "" {
		l.broken = c.address
		l.proxies[c.address].broken.Store(true)
	}
	return show("/loans/", r.PathValue("title"), "on loan to "+c.holder, onLoan[c.holder])
}

func (l *library) shelf(c *card, r *http.Request) (status int, text string) {
	if c.pages == visitorPages {
		return http.StatusForbidden, "<h1>you have read enough</h1>"
	}
	c.pages++
	return show("/shelf/", r.PathValue("title"), "on the shelf", books)
}

// show returns the page of a book, or the list of all.
func show(path, title, where string, books []string) (status int, text string) {
	if title == "" {
		var links strings.Builder
		for _, book := range books {
			fmt.Fprintf(&links, "<li><a href=%q>%s</a>", path+book, book)
		}
		return http.StatusOK, "<h1>all that is " + where + "</h1>" + links.String()
	}
	if !slices.Contains(books, title) {
		return http.StatusNotFound, ""
	}
	return http.StatusOK, "<h1>" + title + ", " + where + "</h1>"
}

// forwarder is a proxy. It tells the site its name, as proxies may (RFC 9110, section 7.6.3).
type forwarder struct {
	server    *httptest.Server
	transport *http.Transport
	broken    atomic.Bool // it cuts each connection
}

func newForwarder(name string) *forwarder {
	f := &forwarder{transport: new(http.Transport)}
	onward := &httputil.ReverseProxy{Transport: f.transport, Rewrite: func(r *httputil.ProxyRequest) { r.Out.Header.Set("Via", name) }}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.broken.Load() {
			panic(http.ErrAbortHandler)
		}
		onward.ServeHTTP(w, r)
	}))
	return f
}

func (f *forwarder) close() {
	f.server.Close()
	f.transport.CloseIdleConnections()
}
