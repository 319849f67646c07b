package report

import (
	"encoding/binary"
	"sync"
)

// Pages remembers the URLs of the last pages of a crawl by their ids, so that a failure can name the page that led to it: of 16,384
// pages at most, in 1 MiB of text. A page that comes to a place that is taken has it. The zero value remembers none. It may be
// used concurrently.
//
// Its memory holds no pointers but those to 16 parts of the text: with a string for each page, the garbage collector took 7 µs a page
// to look at them. A part is never moved, and a page takes 16 bytes, so that four of them share a line of the processor's cache.
type Pages struct {
	mu    sync.Mutex
	known []page
	texts [mostText / part][]byte // a ring: byte i of the crawl's texts is at i % mostText of it
	next  uint64                  // where the next text begins, in all texts of the crawl
}

type page struct {
	id   PageID
	text uint64 // where its URL begins, in all texts of the crawl, times 1 << lengthBits, plus the length of the URL
}

// PageID identifies a page to [Pages]; 0 is none.
type PageID uint64

// PageByKey returns the id of a page whose key begins with these bytes. Keys are hashes, so one page in 262,144 has the place and the
// id of another one.
func PageByKey(begin [4]byte) PageID {
	if begin == [4]byte{} {
		return 0
	}
	return 1<<63 | PageID(binary.LittleEndian.Uint32(begin[:]))
}

// PageByNumber returns the id of a page that a durable cache has given a number.
func PageByNumber(n uint64) PageID { return PageID(n) &^ (1 << 63) }

const (
	mostPages  = 1 << 14
	mostText   = 1 << 20 // bytes of all URLs
	part       = 1 << 16 // bytes of a part of the text
	longest    = 1 << 12 // bytes of a URL; longer ones are not remembered
	lengthBits = 13
)

// Add notes the URL of a page.
func (p *Pages) Add(id PageID, url string) {
	if id == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = make([]page, mostPages)
	}
	if len(url) > longest {
		p.known[id%mostPages] = page{}
		return
	}
	if left := part - p.next%part; left < uint64(len(url)) {
		p.next += left // a text lies in one part
	}
	to := &p.texts[p.next%mostText/part]
	if *to == nil {
		*to = make([]byte, part)
	}
	copy((*to)[p.next%part:], url)
	p.known[id%mostPages] = page{id, p.next<<lengthBits | uint64(len(url))}
	p.next += uint64(len(url))
}

// Of returns the URL of a page, "" if it is not remembered.
func (p *Pages) Of(id PageID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		return ""
	}
	page := p.known[id%mostPages]
	at, n := page.text>>lengthBits, page.text&(1<<lengthBits-1)
	if page.id != id || p.next > at+mostText { // another text may lie there
		return ""
	}
	return string(p.texts[at%mostText/part][at%part:][:n])
}
