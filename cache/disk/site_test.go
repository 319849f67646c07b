package disk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

// site is a web site of which everything is known: what is asked of it, and what a crawl has to find.
type site struct {
	*httptest.Server
	pages int

	mu     sync.Mutex
	asked  map[string]int // by path
	unique int            // pages of those
	on     func(unique int)
}

func newSite(t *testing.T, pages int) *site {
	t.Helper()
	s := &site{pages: pages, asked: make(map[string]int)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// reset forgets what was asked. on is called from every request for a page, with the number of pages that were asked
// for.
func (s *site) reset(on func(unique int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.asked)
	s.unique, s.on = 0, on
}

// log returns what was asked since reset, robots.txt aside.
func (s *site) log() (asked map[string]int, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked = make(map[string]int)
	for path, n := range s.asked {
		asked[path] = n
		total += n
	}
	return asked, total
}

// ServeHTTP takes a millisecond, so that requests are in flight.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	kind, rest, _ := strings.Cut(r.URL.Path[1:], "/")
	var i int
	_, _ = fmt.Sscan(rest, &i)
	s.mu.Lock()
	if s.asked[r.URL.Path]++; s.asked[r.URL.Path] == 1 && kind == "p" {
		s.unique++
	}
	on, unique := s.on, s.unique
	s.mu.Unlock()
	if on != nil && kind == "p" {
		on(unique)
	}
	timer := time.NewTimer(time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	switch kind {
	case "p":
		for _, link := range s.links(i) {
			fmt.Fprintf(w, "<a href=%q>x</a> ", link)
		}
	case "r":
		http.Redirect(w, r, fmt.Sprint("/t/", i), http.StatusFound)
	case "missing":
		http.NotFound(w, r)
	}
}

// links are those of page i: a tree of all pages, links back and across, redirects and dead ends.
func (s *site) links(i int) (links []string) {
	for child := 4*i + 1; child <= 4*i+4 && child < s.pages; child++ {
		links = append(links, fmt.Sprint("/p/", child))
	}
	links = append(links, fmt.Sprint("/p/", (i*7+3)%s.pages), fmt.Sprint("/p/", i/4), "/p/0#top")
	if i%10 == 2 {
		links = append(links, fmt.Sprint("/r/", i), fmt.Sprint("/r/", i/10*10)) // the second leads there from several pages
	}
	if i%50 == 9 {
		links = append(links, fmt.Sprint("/missing/", i))
	}
	return links
}

// Which pages do what besides.
func fetches(i int) bool    { return i%7 == 0 }
func retries(i int) bool    { return i%40 == 5 }
func unfiltered(i int) bool { return i%25 == 3 }

const unfilteredSeeds = 3

// item is what is found.
type item struct {
	Kind string `json:"kind"`
	N    int    `json:"n"`
	K    int    `json:"k"`
}

// want is what a crawl has to ask for at least, and the items it finds, each once.
func (s *site) want() (asked map[string]int, items map[item]bool) {
	asked, items = make(map[string]int), make(map[item]bool)
	for i := range s.pages {
		asked[fmt.Sprint("/p/", i)]++
		for k := range 1 + i%3 {
			items[item{"page", i, k}] = true
		}
		for _, link := range s.links(i) {
			if n, ok := strings.CutPrefix(link, "/r/"); ok {
				asked[link], asked["/t/"+n] = 1, 1
				var target int
				_, _ = fmt.Sscan(n, &target)
				items[item{"target", target, 0}] = true
			}
			if strings.HasPrefix(link, "/missing/") {
				asked[link] = 1
			}
		}
		if fetches(i) {
			asked[fmt.Sprint("/f/", i)]++
			items[item{"fetched", i, 0}] = true
		}
		if retries(i) {
			asked[fmt.Sprint("/p/", i)]++
			if fetches(i) {
				asked[fmt.Sprint("/f/", i)]++
			}
		}
		if unfiltered(i) {
			asked[fmt.Sprint("/u/", i%5)] += 2
			for k := range 2 {
				items[item{"unfiltered", i, k}] = true
			}
		}
	}
	asked["/u/7"] += unfilteredSeeds
	for k := range unfilteredSeeds {
		items[item{"unfiltered", -1, k}] = true
	}
	return asked, items
}

// spider crawls a site.
type spider struct {
	base string
	// pause is called between the first seeds and the others, if it is not nil.
	pause func(ctx context.Context)
	// parsed is called with the number of each page that is parsed.
	parsed func(i int)
	// sent is called when all that a page sends is sent.
	sent func()
}

var _ tegenaria.Starter = (*spider)(nil)

func (s *spider) GetName() string { return "site" }

func (s *spider) ErrorHandler(*tegenaria.HandleError, chan<- *tegenaria.Context) {}

func (s *spider) StartRequest(chan<- *tegenaria.Context) {}

func (s *spider) Start(ctx context.Context, req chan<- *tegenaria.Context) error {
	send := func(path string, opts ...tegenaria.RequestOption) {
		req <- tegenaria.NewContext(tegenaria.NewRequest(s.base+path, tegenaria.GET, nil, opts...))
	}
	send("/p/0")
	send("/p/0")
	if s.pause != nil {
		s.pause(ctx)
	}
	for k := range unfilteredSeeds {
		send("/u/7", tegenaria.RequestWithDoNotFilter(true), tegenaria.RequestWithRequestMeta(map[string]any{"parent": -1, "k": k}))
	}
	send("/p/1")
	return nil
}

func (s *spider) Parser(resp *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return tegenaria.Handle(s.parse)(resp, items, req)
}

func (s *spider) parse(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[item]) error {
	r := resp.Request()
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.Url, s.base+"/"), "/")
	var i int
	if _, err := fmt.Sscan(rest, &i); err != nil {
		return err
	}
	if s.parsed != nil {
		s.parsed(i)
	}
	switch kind {
	case "t":
		return out.Item(item{"target", i, 0})
	case "u":
		return out.Item(item{"unfiltered", r.Meta["parent"].(int), r.Meta["k"].(int)})
	}
	for k := range 1 + i%3 {
		if err := out.Item(item{"page", i, k}); err != nil {
			return err
		}
	}
	if fetches(i) {
		found, err := out.Fetch(tegenaria.NewRequest(fmt.Sprint(s.base, "/f/", i), tegenaria.GET, nil))
		if err != nil {
			return err
		}
		if err := out.Item(item{"fetched", i, found.Status - 200}); err != nil {
			return err
		}
	}
	if unfiltered(i) {
		for k := range 2 {
			u := tegenaria.NewRequest(fmt.Sprint(s.base, "/u/", i%5), tegenaria.GET, nil,
				tegenaria.RequestWithDoNotFilter(true), tegenaria.RequestWithRequestMeta(map[string]any{"parent": i, "k": k}))
			if err := out.Request(u); err != nil {
				return err
			}
		}
	}
	if err := out.FollowLinks(); err != nil {
		return err
	}
	if s.sent != nil && !unfiltered(i) { // each attempt sends again what is not filtered
		s.sent()
	}
	if retries(i) && r.Attempt == 0 {
		return tegenaria.Retry(0, errors.New("once more, though there are items"))
	}
	return nil
}
