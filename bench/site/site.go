// Package site is a web site for benchmarks: as many pages as one likes, each made from its number alone, so that a
// judge knows what a crawler must have found.
//
// Page 0 is "/", page i is "/p/i". A page has 34 links of which about 31 lead to pages that other pages link to as well,
// all pages are reachable from page 0, and seven in ten are product pages with an item.
package site

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// Site serves pages. It is an http.Handler.
type Site struct {
	Pages int // how many there are
	Bytes int // about how many each has

	served []atomic.Int32 // by page
	other  atomic.Int32
}

// New makes a site of so many pages of about so many bytes.
func New(pages, bytes int) *Site {
	return &Site{Pages: pages, Bytes: bytes, served: make([]atomic.Int32, pages)}
}

// Links is how many links a page has.
const Links = 34

// children is how many of them lead to pages that are found there first.
const children = 3

// Item is what a product page shows.
type Item struct {
	SKU         string   `json:"sku"`
	Title       string   `json:"title"`
	Price       string   `json:"price"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// HasItem tells whether a page is a product page.
func HasItem(page int) bool { return mix(page, 1)%10 < 7 }

// ItemOf is the item of a product page.
func ItemOf(page int) Item {
	return Item{
		SKU:         fmt.Sprintf("SKU-%07d", page),
		Title:       words(page, 2, 5),
		Price:       fmt.Sprintf("%d.%02d", 1+mix(page, 3)%900, mix(page, 4)%100),
		Description: words(page, 5, 24),
		Tags:        strings.Fields(words(page, 6, 4)),
	}
}

// Path is that of a page.
func Path(page int) string {
	if page == 0 {
		return "/"
	}
	return "/p/" + strconv.Itoa(page)
}

// mix makes a number of a page and what it is for.
func mix(page, what int) uint32 {
	v := uint64(page)*0x9e3779b97f4a7c15 + uint64(what)*0xd1342543de82ef95
	v ^= v >> 32
	v *= 0xd6e8feb86659fd93
	return uint32(v >> 33)
}

var vocabulary = strings.Fields(`amber basket candle desk engine fabric garden hammer island jacket kettle ladder mirror
	needle orange pencil quartz ribbon saddle table umbrella velvet window yarn zipper bright calm dark early fresh
	gentle heavy light narrow plain quiet rough smooth tall warm`)

// words makes n words.
func words(page, what, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[mix(page, what*1000+i)%uint32(len(vocabulary))])
	}
	return b.String()
}

// Body is the HTML of a page.
func (s *Site) Body(page int) []byte {
	b := make([]byte, 0, s.Bytes+1000)
	b = fmt.Appendf(b, "<!DOCTYPE html>\n<html><head><title>Page %d</title></head><body>\n<ul class=\"links\">\n", page)
	for i := range Links {
		target := children*page + 1 + i
		if i >= children || target >= s.Pages {
			target = int(mix(page, 100+i) % uint32(s.Pages))
		}
		b = fmt.Appendf(b, "<li><a href=\"%s\">%s</a></li>\n", Path(target), words(target, 7, 2))
	}
	b = append(b, "</ul>\n"...)
	if HasItem(page) {
		it := ItemOf(page)
		b = fmt.Appendf(b, "<div class=\"product\"><h1 class=\"title\">%s</h1><span class=\"sku\">%s</span><span class=\"price\">%s</span>\n<p class=\"description\">%s</p><ul class=\"tags\">",
			it.Title, it.SKU, it.Price, it.Description)
		for _, tag := range it.Tags {
			b = fmt.Appendf(b, "<li>%s</li>", tag)
		}
		b = append(b, "</ul></div>\n"...)
	}
	for i := 0; len(b) < s.Bytes; i++ {
		b = fmt.Appendf(b, "<div class=\"row r%d\"><p>%s</p><span data-n=\"%d\">%s</span></div>\n", i%7, words(page, 200+i, 18), i, words(page, 400+i, 3))
	}
	return append(b, "</body></html>\n"...)
}

// ServeHTTP serves the pages and counts them.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	page, err := 0, error(nil)
	if r.URL.Path != "/" {
		page, err = strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/p/"))
	}
	if err != nil || page < 0 || page >= s.Pages {
		s.other.Add(1)
		http.NotFound(w, r)
		return
	}
	s.served[page].Add(1)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(s.Body(page))
}

// Reset forgets what was served.
func (s *Site) Reset() {
	for i := range s.served {
		s.served[i].Store(0)
	}
	s.other.Store(0)
}

// Served says how many pages were served, and how many responses were repeats.
func (s *Site) Served() (pages, repeats int) {
	for i := range s.served {
		if n := int(s.served[i].Load()); n > 0 {
			pages++
			repeats += n - 1
		}
	}
	return pages, repeats
}
