// Package web is the page of Links 'R' Us: a search field, the results, best pages first, with the words marked, and
// a form to submit a link.
//
//	http.Serve(listener, web.New(web.Config{Index: idx, Submit: submit}))
//
// The pages are HTML of html/template and one style sheet; there is no script, and none would run:
//
//   - Content-Security-Policy allows this server's style sheet and forms to this server, nothing else. Nobody
//     can put the page into a frame.
//   - What other sites wrote (titles, texts, URLs) is escaped where it stands. Links lead to http and https only.
//   - Requests that another site makes a browser send are refused (http.CrossOriginProtection). On a loopback address
//     so is every request under another name than that address or localhost, which is how a site that points its
//     own name at 127.0.0.1 would read the page (DNS rebinding).
//   - What comes in is bounded: the form, a URL of 2,048 bytes, a query of 500, the hundredth page of results.
//   - What goes out is, too: a title or a URL is shown up to 200 bytes, an excerpt up to 2,000.
package web

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/examples/linksrus/index"
	"github.com/tegenaria/tegenaria/internal/webguard"
)

// The bounds of what comes in.
const (
	MaxURL   = 2048 // bytes of a submitted URL
	MaxQuery = 500  // bytes of a query
	MaxPage  = 100  // pages of results
)

const (
	excerptWords = 40
	maxForm      = 16 << 10 // bytes; a URL may be percent-encoded
	maxTitle     = 200      // bytes of a title that are shown, and of a URL
	maxExcerpt   = 2000     // bytes of an excerpt, whose words may be long
)

// Searcher is what the page needs of the text index.
type Searcher interface {
	Search(ctx context.Context, q index.Query) (*index.Result, error)
}

// Config says what the page works with.
type Config struct {
	// Index is searched.
	Index Searcher
	// Submit takes a link that somebody wants crawled. An error that wraps ErrRefused is the submitter's to see,
	// every other one is the server's fault.
	Submit func(ctx context.Context, url string) error
	// PerPage is the number of results on a page; 0 means 10.
	PerPage int
	// Fault, unless nil, is told what is answered with status 500. It may be called concurrently.
	Fault func(error)
}

// ErrRefused is wrapped by errors of Config.Submit about a link that is not taken. The text of the error is shown.
var ErrRefused = errors.New("link refused")

//go:embed assets
var assets embed.FS

// New returns the handler of the page. It panics without Index or Submit.
func New(c Config) http.Handler {
	if c.Index == nil || c.Submit == nil {
		panic("web: Config needs an Index and a Submit")
	}
	if c.PerPage == 0 {
		c.PerPage = 10
	}
	if c.Fault == nil {
		c.Fault = func(error) {}
	}
	site := &site{Config: c, pages: template.Must(template.ParseFS(assets, "assets/*.html"))}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", site.search)
	mux.HandleFunc("GET /submit", site.form)
	mux.HandleFunc("POST /submit", site.submit)
	mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFileFS(w, r, assets, "assets/style.css")
	})
	return webguard.Handler(mux, webguard.StyleOnly)
}

// site answers the requests.
type site struct {
	Config
	pages *template.Template
}

// results is what search.html shows.
type results struct {
	Query      string // as it was typed; "" shows the search field alone
	Total      int
	Hits       []hit
	First      int // number of the first hit, from 1
	Page       int
	Prev, Next string // addresses, "" if there is none
}

// hit is one result.
type hit struct {
	URL, Shown     string // Shown is for people
	Title, Excerpt []index.Fragment
}

func (s *site) search(w http.ResponseWriter, r *http.Request) {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	page := 1
	if p := r.URL.Query().Get("page"); p != "" {
		var err error
		if page, err = strconv.Atoi(p); err != nil || page < 1 || page > MaxPage {
			s.refuse(w, fmt.Sprintf("There are pages 1 to %d.", MaxPage))
			return
		}
	}
	if len(text) > MaxQuery {
		s.refuse(w, fmt.Sprintf("That is too long; a query may have %d bytes.", MaxQuery))
		return
	}
	view := results{Query: text, Page: page, First: (page-1)*s.PerPage + 1}
	if text != "" {
		query := index.ParseQuery(text)
		query.Offset, query.Limit = (page-1)*s.PerPage, s.PerPage
		found, err := s.Index.Search(r.Context(), query)
		if err != nil {
			s.fail(w, fmt.Errorf("web: searching for %q: %w", text, err))
			return
		}
		view.Total = found.Total
		for _, doc := range found.Documents {
			view.Hits = append(view.Hits, newHit(doc, query))
		}
		if page > 1 {
			view.Prev = address(text, page-1)
		}
		if page*s.PerPage < found.Total && page < MaxPage {
			view.Next = address(text, page+1)
		}
	}
	s.show(w, http.StatusOK, "search.html", view)
}

func newHit(doc *index.Document, query index.Query) hit {
	h := hit{URL: doc.URL, Shown: doc.URL, Excerpt: index.Excerpt(doc.Content, query, excerptWords)}
	if readable, err := url.PathUnescape(doc.URL); err == nil && !strings.ContainsFunc(readable, func(r rune) bool { return !strconv.IsPrint(r) }) {
		h.Shown = readable
	}
	if h.Title = index.Highlight(doc.Title, query); len(h.Title) == 0 {
		h.Title = []index.Fragment{{Text: h.Shown}}
	}
	h.Title, h.Excerpt = shortened(h.Title, maxTitle), shortened(h.Excerpt, maxExcerpt)
	h.Shown = shortened([]index.Fragment{{Text: h.Shown}}, maxTitle)[0].Text
	return h
}

// shortened returns the fragments up to so many bytes, with an ellipsis if something is left out. Other sites say how
// long titles and words are, and no page of ours grows by that.
func shortened(text []index.Fragment, most int) []index.Fragment {
	for i := range text {
		if len(text[i].Text) <= most {
			most -= len(text[i].Text)
			continue
		}
		for most > 0 && !utf8.RuneStart(text[i].Text[most]) {
			most--
		}
		text[i].Text = text[i].Text[:most] + "…"
		return text[:i+1]
	}
	return text
}

// address is where a page of results is.
func address(query string, page int) string {
	v := url.Values{"q": {query}}
	if page > 1 {
		v.Set("page", strconv.Itoa(page))
	}
	return "/?" + v.Encode()
}

// submission is what submit.html shows.
type submission struct {
	URL     string // as it was typed
	Problem string // why it was not taken
	Taken   bool
}

func (s *site) form(w http.ResponseWriter, r *http.Request) {
	s.show(w, http.StatusOK, "submit.html", submission{Taken: r.URL.Query().Has("taken")})
}

func (s *site) submit(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		s.show(w, http.StatusBadRequest, "submit.html", submission{Problem: "That form cannot be read."})
		return
	}
	link := strings.TrimSpace(r.PostForm.Get("url"))
	problem := ""
	switch {
	case link == "":
		problem = "There is no link."
	case len(link) > MaxURL:
		link, problem = "", fmt.Sprintf("That is too long; a link may have %d bytes.", MaxURL)
	default:
		err := s.Submit(r.Context(), link)
		if err != nil && !errors.Is(err, ErrRefused) {
			s.fail(w, fmt.Errorf("web: taking %q: %w", link, err))
			return
		}
		if err != nil {
			problem = err.Error()
		}
	}
	if problem != "" {
		s.show(w, http.StatusUnprocessableEntity, "submit.html", submission{URL: link, Problem: problem})
		return
	}
	// So that reloading the page sends nothing again.
	http.Redirect(w, r, "/submit?taken", http.StatusSeeOther)
}

func (s *site) refuse(w http.ResponseWriter, why string) {
	s.show(w, http.StatusBadRequest, "problem.html", why)
}

func (s *site) fail(w http.ResponseWriter, err error) {
	s.Fault(err)
	s.show(w, http.StatusInternalServerError, "problem.html", "Something went wrong here. Please try again later.")
}

// show writes a page, or none of it.
func (s *site) show(w http.ResponseWriter, status int, name string, view any) {
	var page bytes.Buffer
	if err := s.pages.ExecuteTemplate(&page, name, view); err != nil {
		s.Fault(fmt.Errorf("web: %w", err))
		http.Error(w, "Something went wrong here.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // the reader may have gone
}
