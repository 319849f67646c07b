package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// shop is a small web shop. It answers with an ETag, and remembers how many pages it has sent.
type shop struct {
	mu     sync.Mutex
	day    int
	sent   int // pages since the day has begun
	same   int // answers that a page has not changed
	prices [3]map[string]string
}

func newShop() *shop {
	return &shop{prices: [3]map[string]string{
		{"apple": "1.00", "bread": "2.50", "cheese": "7.00", "dates": "4.00"},
		{"apple": "1.10", "bread": "2.50", "cheese": "7.00", "dates": "4.00", "eggs": "3.00"}, // dearer apples, and eggs
		{"apple": "1.10", "bread": "2.50", "cheese": "6.50", "eggs": "3.00"},                  // cheaper cheese, and no dates
	}}
}

// open begins a day, from 0.
func (s *shop) open(day int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.day, s.sent, s.same = day, 0, 0
}

// answers returns how many pages the shop has sent today, and how often it has said that a page has not changed.
func (s *shop) answers() (sent, same int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent, s.same
}

// ServeHTTP is part of http.Handler.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var page strings.Builder
	name := strings.TrimPrefix(r.URL.Path, "/")
	price, sold := s.prices[s.day][name]
	switch {
	case name == "":
		for _, name := range []string{"apple", "bread", "cheese", "dates", "eggs"} {
			if _, sold := s.prices[s.day][name]; sold {
				fmt.Fprintf(&page, "<li><a href=%q>%[1]s</a></li>", name)
			}
		}
	case sold:
		fmt.Fprintf(&page, "<h1>%s</h1><p class=price>%s</p>", name, price)
	default:
		http.NotFound(w, r)
		return
	}
	tag := fmt.Sprintf(`"%x"`, page.String())
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		s.same++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	s.sent++
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write([]byte(page.String())) // a client that has gone needs no answer
}
