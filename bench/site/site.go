// Package site is a web site for benchmarks: as many pages as one likes, each made from its number alone, so that a
// judge knows what a crawler must have found.
//
// Page 0 is "/", page i is "/p/i". Three links of a page lead to pages that are found there first, the others to pages
// that other pages link to as well; all pages are reachable from page 0, and seven in ten are product pages with an
// item. A [Plan] says how many there are, and what else is special about the site.
package site

import (
	"compress/gzip"
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Site serves the pages of a plan and keeps a log of it. It is an http.Handler. Its methods may be called concurrently.
type Site struct {
	Plan

	gate gate

	mu     sync.Mutex // guards the fields below
	served map[int]int
	other  int
}

// New makes a site of so many pages of about so many bytes, with DefaultLinks links each.
func New(pages, bytes int) *Site {
	return FromPlan(Plan{Pages: pages, Bytes: bytes, Links: DefaultLinks})
}

// FromPlan makes the site of a plan that passes its Check.
func FromPlan(p Plan) *Site { return &Site{Plan: p, served: make(map[int]int)} }

// ServeHTTP serves the pages and counts them.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	page, ok := s.pageOf(host, r.URL)
	if !ok || r.Method != http.MethodGet {
		s.mu.Lock()
		s.other++
		s.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	if s.gate.pass(r.Context()) != nil || sleep(r.Context(), s.Latency) != nil {
		return // the client is gone
	}
	s.mu.Lock()
	s.served[page]++
	s.mu.Unlock()
	s.answer(w, r, s.Body(page, port))
}

// sleep waits that long.
func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var zippers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // that level exists
	return w
}}

// answer writes a body. Where writing fails the client is gone, and misses the page: the judge sees it.
func (s *Site) answer(w http.ResponseWriter, r *http.Request, body []byte) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if !s.Gzip || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := zippers.Get().(*gzip.Writer)
	defer zippers.Put(z)
	z.Reset(w)
	_, _ = z.Write(body)
	_ = z.Close()
}

// HoldAt lets so many requests for pages pass, in all since the site was made, and holds later ones back; 0 releases all.
func (s *Site) HoldAt(requests int) { s.gate.holdAt(requests) }

// Reached waits until so many requests for pages have passed.
func (s *Site) Reached(ctx context.Context, requests int) error { return s.gate.reached(ctx, requests) }

// Reset forgets what was served.
func (s *Site) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.served)
	s.other = 0
}

// Served says how many pages were served, and how many responses were repeats.
func (s *Site) Served() (pages, repeats int) {
	log := s.Log()
	return log.Pages, log.Repeats
}

// Log is what a site remembers of its requests.
type Log struct {
	Pages   int `json:"pages"`   // that were served
	Repeats int `json:"repeats"` // responses with a page that was served before
	Others  int `json:"others"`  // requests for what does not exist
}

// Log is what was served since the site was made, or reset.
func (s *Site) Log() Log {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := Log{Pages: len(s.served), Others: s.other}
	for _, n := range s.served {
		log.Repeats += n - 1
	}
	return log
}
