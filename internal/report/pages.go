package report

import (
	"encoding/binary"
	"sync"
)

// Pages remembers the URLs of the last pages of a crawl by their ids, so that a failure can name the page that led to it: of 16,384
// pages at most, in 1 MiB of text. A page that comes to a place that is taken has it. The zero value remembers none. It may be
// used concurrently.
//
// Its memory holds no pointers: with a string for each page, the garbage collector took 7 µs a page to look at them.
type Pages struct {
	mu    sync.Mutex
	known []page
	texts []byte // a ring: text i of the crawl's is at i % mostText
	next  uint64 // where the next text begins, in all texts of the crawl
}

type page struct {
	id PageID
	at uint64 // where its URL begins, in all texts of the crawl
	n  uint32 // bytes of it
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
	mostPages = 1 << 14
	mostText  = 1 << 20 // bytes of all URLs
	longest   = 1 << 12 // bytes of a URL; longer ones are not remembered
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
	at := p.next
	if left := mostText - at%mostText; left < uint64(len(url)) {
		at += left // a text does not go round the end
	}
	p.next = at + uint64(len(url))
	begin := int(at % mostText)
	if end := begin + len(url); end > len(p.texts) {
		p.texts = append(p.texts, make([]byte, end-len(p.texts))...)
	}
	copy(p.texts[begin:], url)
	p.known[id%mostPages] = page{id, at, uint32(len(url))}
}

// Of returns the URL of a page, "" if it is not remembered.
func (p *Pages) Of(id PageID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		return ""
	}
	page := p.known[id%mostPages]
	if page.id != id || p.next > page.at+mostText { // another text may lie there
		return ""
	}
	begin := int(page.at % mostText)
	return string(p.texts[begin : begin+int(page.n)])
}
