package page

import (
	"math"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/selector"
)

// Run is the share of a run's memory that a request has. Its methods may be called concurrently.
type Run interface {
	// Grow grants so many bytes for what is made of the page, and may wait until there are as many. Its error, if the request
	// ends before, refuses them. A negative number gives bytes back; its error does not count.
	Grow(bytes int64) error
	// Add counts so many bytes of a spooled body that was read into memory. It does not wait.
	Add(bytes int64)
	// Bounds returns how large a page may become. All requests of a run have the same.
	Bounds() *Bounds
	// Queries returns where the queries on the pages of the run are counted, nil for nowhere. All requests of a run have the same.
	Queries() *Queries
	// Extracted counts what became of the fields of a struct that was filled from the page, see [selector.FieldWatcher].
	Extracted(keys []string, counts []selector.FieldCount)
}

// Bounds are how large what is made of one page may be. They do not change, and may be shared by all pages.
type Bounds struct {
	nodes        int
	attributes   html.Option
	small, large selector.Option // of pages for which the default of html.MaxNodes is smaller than nodes, and others
	most         int64           // bytes
	value        int64           // bytes of what is decoded from JSON
}

// NewBounds returns the bounds that the limits of a run set: how many nodes and attributes a tree may have (Limits.Nodes,
// Limits.Attributes), how many bytes one body may have, and how many all bodies together (Limits.Body, Limits.BodiesInFlight).
// What is made of one page may take the larger of inFlight and twice body.
func NewBounds(nodes, attributes int, body, inFlight int64) Bounds {
	twice := min(body, math.MaxInt64/2) * 2
	b := Bounds{nodes: nodes, attributes: html.MaxAttributes(attributes), most: max(inFlight, twice), value: twice}
	b.small = selector.Bounds(b.attributes)
	b.large = selector.Bounds(b.attributes, html.MaxNodes(nodes))
	return b
}

// of returns the bounds of a document of so many bytes.
func (b *Bounds) of(size int) selector.Option {
	if html.DefaultNodes(size) > b.nodes {
		return b.large
	}
	return b.small
}

// tree returns the bounds of a tree that package links makes of so many bytes.
func (b *Bounds) tree(size int) []html.Option {
	return []html.Option{b.attributes, html.MaxNodes(min(b.nodes, html.DefaultNodes(size)))}
}

// Grow counts so many bytes that are made of the page, before they are taken; a negative number gives bytes back. The error
// is an [*html.LimitError] if one page takes too much, or that of [Run.Grow]; nothing is counted then. Without a run nothing
// is counted at all.
func (p *Page) Grow(h Host, bytes int64) error {
	run := h.Run()
	switch {
	case run == nil:
		return nil
	case bytes <= 0:
		p.made.Add(bytes)
		return run.Grow(bytes)
	}
	if most := run.Bounds().most; p.made.Add(bytes) > most {
		p.made.Add(-bytes)
		return &html.LimitError{What: "bytes of memory for one page (the larger of Limits.BodiesInFlight and twice Limits.Body)", Limit: int(most)}
	}
	if err := run.Grow(bytes); err != nil {
		p.made.Add(-bytes)
		return err
	}
	return nil
}

// growCopy is Grow for a copy of the page that is handed out, which grows from so many bytes to more. The error is a
// [*selector.ParseError].
func (p *Page) growCopy(h Host, from, to int64) error {
	if err := p.copies.grow(from, to, func(n int64) error { return p.Grow(h, n) }); err != nil {
		return &selector.ParseError{Err: err}
	}
	return nil
}

// copies counts copies of a page that are handed out: the largest one counts, the ones before it are garbage, for all that is
// known. The zero value has counted none. It may be used concurrently.
type copies struct{ largest atomic.Int64 }

// uncharged is the size in bytes up to which copies cost nothing.
const uncharged = 256 << 10

// grow counts a copy that grows from so many bytes to more. ask asks for memory, and may wait; a negative number gives it back.
// The error is that of ask.
func (c *copies) grow(from, to int64, ask func(bytes int64) error) error {
	if to <= uncharged {
		return nil
	}
	for {
		most := c.largest.Load()
		// Up to the size of the largest, the copy replaces others: their memory is given back and asked for again.
		again := max(min(to, most)-from, 0)
		if to > most && !c.largest.CompareAndSwap(most, to) {
			continue
		}
		if again > 0 {
			_ = ask(-again)
		}
		if err := ask(again + max(to-most, 0)); err != nil {
			c.largest.CompareAndSwap(max(to, most), most-again)
			return err
		}
		return nil
	}
}

// smallPage is the size in bytes of pages whose JSON and whose list of links are not worth being counted.
const smallPage = 64 << 10

// linkMemory grants the memory of one list of links.
type linkMemory struct {
	page *Page
	host Host
	sum  int64
	most int64 // that was asked for
}

// Grow is part of [html.Memory].
func (m *linkMemory) Grow(n int64) error {
	m.sum += n
	if m.sum <= m.most {
		return nil
	}
	err := m.page.growCopy(m.host, m.most, m.sum)
	if err != nil {
		m.sum -= n
		return err
	}
	m.most = m.sum
	return nil
}
