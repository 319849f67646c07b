package demosite

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// flakyFailures is how often each page under /flaky/ fails before it answers.
const flakyFailures = 2

// handler answers with pages rendered once, and computes the few answers that cannot be.
type handler struct {
	pages     map[string][]byte // HTML by path, all of them
	redirects map[string]redirect
	quotes    []quote
	books     []*book

	mu    sync.Mutex // guards all below
	flaky map[string]int
	asked int // how often the news were asked for
}

// redirect is where a path has moved to.
type redirect struct {
	status int
	to     string
}

// Handler returns the site as an [http.Handler], for a server of the caller's own. Each Handler
// counts for itself how often a flaky page was asked for; apart from that equal requests have equal
// answers, in every Handler.
func Handler() http.Handler {
	content := newContent()
	h := &handler{
		pages:  content.render(),
		quotes: content.Quotes,
		books:  content.Books,
		flaky:  map[string]int{},
		redirects: map[string]redirect{
			"/old/":           {http.StatusMovedPermanently, "/quotes/"},
			"/old/books/":     {http.StatusFound, "/books/"},
			"/old/hops/3":     {http.StatusFound, "/old/hops/2"},
			"/old/hops/2":     {http.StatusTemporaryRedirect, "/old/hops/1"},
			"/old/hops/1":     {http.StatusPermanentRedirect, "/quotes/"},
			"/old/loop/":      {http.StatusFound, "/old/loop/"},
			"/quotes/page/1/": {http.StatusMovedPermanently, "/quotes/"},
			"/books/page/1/":  {http.StatusMovedPermanently, "/books/"},
		},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /robots.txt", h.robots)
	mux.HandleFunc("GET /api/quotes", h.api)
	mux.HandleFunc("GET /flaky/{n}", h.flakyPage)
	mux.HandleFunc("POST /api/search", h.search)
	mux.HandleFunc("GET /sitemap.xml", h.sitemap)
	mux.HandleFunc("GET /covers/{name}", h.cover)
	mux.HandleFunc("GET /news.xml", h.news)
	mux.HandleFunc("GET /login/{$}", h.loginForm)
	mux.HandleFunc("POST /login/{$}", h.login)
	mux.HandleFunc("GET /account/{$}", h.account)
	mux.HandleFunc("GET /", h.page)
	return mux
}

// page answers from the rendered pages and the table of redirects.
func (h *handler) page(w http.ResponseWriter, r *http.Request) {
	if to, ok := h.redirects[r.URL.Path]; ok {
		http.Redirect(w, r, to.to, to.status)
		return
	}
	body, ok := h.pages[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	writeHTML(w, body)
}

// robots forbids /private/ to everybody.
func (h *handler) robots(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("User-agent: *\nDisallow: /private/\n"))
}

// flakyPage answers 503 the first times a path is asked for, then with its page.
func (h *handler) flakyPage(w http.ResponseWriter, r *http.Request) {
	body, ok := h.pages[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h.mu.Lock()
	h.flaky[r.URL.Path]++
	asked := h.flaky[r.URL.Path]
	h.mu.Unlock()
	if asked <= flakyFailures {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	writeHTML(w, body)
}

// The answer of /api/quotes.
type (
	apiPage struct {
		Page    int        `json:"page"`
		HasNext bool       `json:"has_next"`
		Quotes  []apiQuote `json:"quotes"`
	}
	apiQuote struct {
		Text   string    `json:"text"`
		Author apiAuthor `json:"author"`
		Tags   []string  `json:"tags"`
	}
	apiAuthor struct {
		Name string `json:"name"`
		Slug string `json:"slug"`
	}
)

// api answers with one page of quotes as JSON: page 1 without a number, 400 if the page is not a number,
// 404 beyond the last page.
func (h *handler) api(w http.ResponseWriter, r *http.Request) {
	number := 1
	if s := r.URL.Query().Get("page"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			http.Error(w, "page must be a number from 1", http.StatusBadRequest)
			return
		}
		number = n
	}
	writeQuotes(w, r, h.quotes, number)
}

// writeQuotes sends a page of these quotes: 404 beyond the last one.
func writeQuotes(w http.ResponseWriter, r *http.Request, quotes []quote, number int) {
	pages := split(quotes, quotesPerPage)
	if number > len(pages) {
		http.NotFound(w, r)
		return
	}
	answer := apiPage{Page: number, HasNext: number < len(pages)}
	for _, q := range pages[number-1] {
		answer.Quotes = append(answer.Quotes, apiQuote{q.Text, apiAuthor{q.Author.Name, q.Author.Slug}, q.Tags})
	}
	w.Header().Set("Content-Type", "application/json")
	// The status is sent: a client that went away cannot be told anything more.
	_ = json.NewEncoder(w).Encode(answer)
}

// writeHTML sends a page. A client that went away is no concern of the site's.
func writeHTML(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// split cuts a list into pages of n.
func split[T any](list []T, n int) [][]T {
	var pages [][]T
	for len(list) > n {
		pages = append(pages, list[:n:n])
		list = list[n:]
	}
	return append(pages, list)
}

// pagePath is the path of the n-th page, counted from 1, of a list: the list itself for the first.
func pagePath(list string, n int) string {
	if n == 1 {
		return list
	}
	return fmt.Sprintf("%spage/%d/", strings.TrimSuffix(list, "/")+"/", n)
}
