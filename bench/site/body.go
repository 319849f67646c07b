package site

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Item is what a product page shows.
type Item struct {
	SKU         string   `json:"sku"`
	Title       string   `json:"title"`
	Price       string   `json:"price"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// HasItem reports whether a page is a product page: seven in ten are.
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

// mix makes a number of a page and what it is for.
func mix(page, what int) uint32 {
	v := uint64(page)*0x9e3779b97f4a7c15 + uint64(what)*0xd1342543de82ef95
	v ^= v >> 32
	v *= 0xd6e8feb86659fd93
	return uint32(v >> 33)
}

// mix64 spreads numbers over all of 64 bits: the finalizer of MurmurHash3, which is a bijection.
func mix64(v uint64) uint64 {
	v = (v ^ v>>33) * 0xff51afd7ed558ccd
	v = (v ^ v>>33) * 0xc4ceb9fe1a85ec53
	return v ^ v>>33
}

var vocabulary = strings.Fields(`amber basket candle desk engine fabric garden hammer island jacket kettle ladder mirror
	needle orange pencil quartz ribbon saddle table umbrella velvet window yarn zipper bright calm dark early fresh
	gentle heavy light narrow plain quiet rough smooth tall warm`)

// words makes n words.
func words(page, what, n int) string { return string(appendWords(nil, page, what, n)) }

func appendWords(b []byte, page, what, n int) []byte {
	for i := range n {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(b, vocabulary[mix(page, what*1000+i)%uint32(len(vocabulary))]...)
	}
	return b
}

// rows is the text that fills pages: rows of a table of contents, the same for all sites, so that serving a page is
// copying most of it.
var rows = sync.OnceValues(func() (text []byte, starts []int) {
	for i := range 1024 {
		starts = append(starts, len(text))
		text = fmt.Appendf(text, "<div class=\"row r%d\"><p>%s</p><span data-n=\"%d\">%s</span></div>\n", i%7, words(i, 200, 18), i, words(i, 400, 3))
	}
	return text, append(starts, len(text))
})

// fill appends whole rows until there are so many bytes.
func fill(b []byte, rows func() ([]byte, []int), page, size int) []byte {
	text, starts := rows()
	last := len(starts) - 1
	for row := int(mix(page, 200) % uint32(last)); len(b) < size; row = 0 {
		end := row
		for end < last && len(b)+starts[end]-starts[row] < size {
			end++
		}
		b = append(b, text[starts[row]:starts[end]]...)
	}
	return b
}

// Body is the HTML of a page, for a client that has asked at the port.
func (p Plan) Body(page int, port string) []byte {
	if p.Markup {
		return p.markupBody(page, port)
	}
	b := make([]byte, 0, p.Bytes+1000)
	b = append(b, "<!DOCTYPE html>\n<html><head><title>Page "...)
	b = strconv.AppendInt(b, int64(page), 10)
	b = append(b, "</title></head><body>\n<ul class=\"links\">\n"...)
	for i := range max(p.Links, p.FanOut) {
		b = p.appendLink(b, page, i, port)
	}
	b = append(b, "</ul>\n"...)
	if p.FanOut == 0 && HasItem(page) {
		b = appendItem(b, ItemOf(page))
	}
	return append(fill(b, rows, page, p.Bytes), "</body></html>\n"...)
}

// appendLink appends the i-th link of a page. One in ten has a fragment, which is not a part of what is asked for.
func (p Plan) appendLink(b []byte, page, i int, port string) []byte {
	target := p.target(page, i)
	b = append(b, "<li><a href=\""...)
	if p.Hosts > 1 {
		b = append(b, "http://"...)
		b = append(b, p.Host(target)...)
		b = append(b, ':')
		b = append(b, port...)
	}
	b = p.appendReference(b, target, mix(page, 300+i)%10 == 0)
	if p.FanOut == 0 && mix(page, 500+i)%10 == 0 {
		b = append(b, "#s"...)
		b = strconv.AppendInt(b, int64(i), 10)
	}
	b = append(b, "\">"...)
	b = appendWords(b, target, 7, 2)
	return append(b, "</a></li>\n"...)
}

func appendItem(b []byte, it Item) []byte {
	b = fmt.Appendf(b, "<div class=\"product\"><h1 class=\"title\">%s</h1><span class=\"sku\">%s</span><span class=\"price\">%s</span>\n<p class=\"description\">%s</p><ul class=\"tags\">",
		it.Title, it.SKU, it.Price, it.Description)
	for _, tag := range it.Tags {
		b = append(append(append(b, "<li>"...), tag...), "</li>"...)
	}
	return append(b, "</ul></div>\n"...)
}
