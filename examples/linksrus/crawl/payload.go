package crawl

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/html/charset"
)

// payload is a page on its way through the pipeline. It belongs to one stage at a time. Payloads go back to a pool
// when they are settled, so what is kept beyond that must be copied; strings are.
type payload struct {
	visit *visit

	// Of the source; of the fetcher, if there was a redirect.
	url string

	// Of the fetcher. The body is UTF-8; encoding is what it was in.
	body     bytes.Buffer
	encoding charset.Encoding

	// Of the link extractor.
	links, noFollow []string

	// Of the text extractor.
	title, text string

	stored bool // it has arrived at the sink
}

var payloads = sync.Pool{New: func() any { return new(payload) }}

// newPayload makes the first payload of a visit.
func newPayload(v *visit, link *graph.Link) *payload {
	p := payloads.Get().(*payload)
	p.visit, p.url = v, link.URL
	v.payloads.Add(1)
	return p
}

// Clone implements stage.Cloner: it copies everything and leaves p as it is.
func (p *payload) Clone() *payload {
	c := payloads.Get().(*payload)
	c.visit, c.url = p.visit, p.url
	c.body.Write(p.body.Bytes())
	c.encoding = p.encoding
	c.links, c.noFollow = append(c.links, p.links...), append(c.noFollow, p.noFollow...)
	c.title, c.text, c.stored = p.title, p.text, p.stored
	p.visit.payloads.Add(1)
	return c
}

// MarkAsProcessed implements stage.Payload: the payload goes back to the pool, empty but for its memory.
func (p *payload) MarkAsProcessed() {
	v, stored := p.visit, p.stored
	p.body.Reset()
	*p = payload{body: p.body, links: emptied(p.links), noFollow: emptied(p.noFollow)}
	payloads.Put(p)
	v.settle(stored)
}

// emptied keeps the memory of a list, not what it points to.
func emptied(list []string) []string {
	clear(list)
	return list[:0]
}

// visit is one page in one crawl, however many payloads it has in the pipeline.
type visit struct {
	began    time.Time
	scope    Scope        // of redirects; nil: everything
	payloads atomic.Int32 // not settled yet
	lost     atomic.Bool  // one of them did not arrive
	end      func(v *visit)
}

func (v *visit) settle(stored bool) {
	if !stored {
		v.lost.Store(true)
	}
	if v.payloads.Add(-1) == 0 {
		v.end(v)
	}
}
