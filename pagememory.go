package tegenaria

import (
	"math"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/selector"
)

// What is made of a page (its tree and the index of that, its text, its list of links, the results of queries) counts in
// Limits.BodiesInFlight with the page's body, and is given back with it. A parser waits for room as a download does. It
// lends its place among the parsers meanwhile: so the one request that may go over the bound always finds a place to
// be parsed, and no two wait for each other. Code that another part may wait for does not wait itself: a parser
// whose page has items in the pipelines or a Fetch under way, and all code that is no parser.

// pageHost is a Response as package selector needs it.
type pageHost Response

// Resolve makes a reference found in the page an absolute URL.
func (p *pageHost) Resolve(ref string) (string, error) { return (*Response)(p).resolve(ref) }

// Grow grants memory for results made of the page.
func (p *pageHost) Grow(bytes int64) error { return (*Response)(p).grow(bytes) }

// uncharged is the size in bytes of copies that no memory is asked for.
const uncharged = 256 << 10

// grow adds n bytes to the memory that is made of the page, and waits until there is room. A negative number gives bytes back. The error is
// an [*html.LimitError] if one page takes too much, or else the cause of the end of the request's context.
func (r *Response) grow(n int64) error {
	j := r.job()
	switch {
	case j == nil:
		return nil
	case n <= 0:
		r.made.Add(n)
		j.crawl.fetcher.bodies.Shrink(&j.root().hold, -n)
		return nil
	}
	if limit := j.crawl.limits.page(); r.made.Add(n) > limit {
		r.made.Add(-n)
		return &html.LimitError{What: "bytes of memory for one page (the larger of Limits.BodiesInFlight and twice Limits.Body)", Limit: int(limit)}
	}
	if err := growPage(j, n); err != nil {
		r.made.Add(-n)
		return err
	}
	return nil
}

// growCopy is grow for a copy of the page that is handed out, which grows from so many bytes to more. The largest one
// counts; the ones before it are garbage, for all that is known. The error is a [*selector.ParseError].
func (r *Response) growCopy(from, to int64) error {
	if to <= uncharged {
		return nil
	}
	for {
		most := r.copies.Load()
		// Up to the size of the largest, the copy replaces others: their memory is given back and asked for again.
		again := max(min(to, most)-from, 0)
		if to > most && !r.copies.CompareAndSwap(most, to) {
			continue
		}
		if again > 0 {
			_ = r.grow(-again)
		}
		if err := r.grow(again + max(to-most, 0)); err != nil {
			r.copies.CompareAndSwap(max(to, most), most-again)
			return &selector.ParseError{Err: err}
		}
		return nil
	}
}

// job returns the job that the response belongs to, nil outside a run.
func (r *Response) job() *job {
	if r.ctx == nil || r.ctx.job == nil || r.ctx.job.crawl == nil {
		return nil
	}
	return r.ctx.job
}

// growPage adds n bytes to the share of the request. A parser waits for them.
func growPage(j *job, n int64) error {
	c, root := j.crawl, j.root()
	hold := &root.hold
	if c.fetcher.bodies.TryGrow(hold, n) {
		return nil
	}
	if j != root || !c.reader.lendToWait(j) {
		c.fetcher.bodies.Add(hold, n)
		return nil
	}
	c.watch.Pause(&j.call)
	err := c.fetcher.bodies.GrowUnless(j.ctx, hold, n, func() bool { return mustGetMemory(j) })
	back := c.reader.takeBack(j)
	c.watch.Resume(&j.call)
	if err == nil {
		err = back
	}
	return err
}

// mustGetMemory reports whether somebody may wait for the parser while it waits for memory, since an item of the page is in the
// pipelines or a Fetch of it is under way. Another goroutine of the parser may have begun that; tryOpen ends the waiting.
func mustGetMemory(j *job) bool { return j.open.Load() > 1 }

// page returns the largest number of bytes that may be made of one page.
func (l Limits) page() int64 {
	return max(l.BodiesInFlight, min(l.Body, math.MaxInt64/2)*2)
}

// parserOptions are the bounds of the trees of a crawl, made once.
type parserOptions struct {
	nodes        int
	small, large selector.Option // of pages for which the default of html.MaxNodes is smaller than nodes, and others
}

func newParserOptions(l Limits) parserOptions {
	attributes := html.MaxAttributes(l.Attributes)
	return parserOptions{
		nodes: l.Nodes,
		small: selector.Bounds(attributes),
		large: selector.Bounds(attributes, html.MaxNodes(l.Nodes)),
	}
}

// of returns the bounds for a page.
func (o *parserOptions) of(text []byte) selector.Option {
	if html.DefaultNodes(len(text)) > o.nodes {
		return o.large
	}
	return o.small
}
