package frontier

import (
	"context"
	"slices"
	"sync"
)

// Parsers are the places of parsers: one runs in each. One that waits may lend its place to another page. Those that
// come from a wait go before new pages: they hold a page already. Its methods may be called concurrently.
//
// The way of one page:
//
//	Acquire   it has a place
//	Lend      a call of its parser waits; another page has the place meanwhile
//	Reclaim   the wait is over: when that of the last such call is, it has a place again
//	Release   its parser is over
type Parsers struct {
	lending int // the most places that may be lent at a time

	mu    sync.Mutex // guards the fields below, and all Places
	free  int
	lent  int
	again []*Place // wait for the place that they had lent
	fresh []*Place
}

// Place is what a page has of the [Parsers]: a place, one that it has lent, or none, as its zero value says. It lies in what
// stands for the page, and must not be copied.
type Place struct {
	held  bool          // it is the page's
	lent  bool          // it was the page's, and will be
	waits int           // calls that have lent it and have not come to reclaim it
	ready chan struct{} // closed when its waiting is over; nil while it does not wait in a line
}

// NewParsers makes places. At most lending of them may be lent at a time.
func NewParsers(places, lending int) *Parsers {
	return &Parsers{free: places, lending: lending}
}

// Acquire waits for a place for a page that has none. The error is ctx's cause.
func (p *Parsers) Acquire(ctx context.Context, page *Place) error {
	p.mu.Lock()
	return p.await(ctx, page, &p.fresh)
}

// await gives a page a place, or has it wait in a line. It is called with mu held, and returns with mu released.
func (p *Parsers) await(ctx context.Context, page *Place, line *[]*Place) error {
	if p.free > 0 {
		p.free--
		page.held = true
		p.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	page.ready = ready
	*line = append(*line, page)
	p.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if page.ready != ready { // the place came at the same moment
		p.release(page)
	} else {
		p.leave(line, page)
	}
	return context.Cause(ctx)
}

// leave ends the waiting of a page in a line. It returns false if the page did not wait there. The caller holds mu.
func (p *Parsers) leave(line *[]*Place, page *Place) bool {
	i := slices.Index(*line, page)
	if i < 0 {
		return false
	}
	*line = slices.Delete(*line, i, i+1)
	close(page.ready)
	page.ready = nil
	return true
}

// release gives the place that a page holds, if it does, to the page that waits longest. The caller holds mu.
func (p *Parsers) release(page *Place) {
	if !page.held {
		return
	}
	page.held = false
	for _, line := range []*[]*Place{&p.again, &p.fresh} {
		if len(*line) > 0 {
			next := (*line)[0]
			p.leave(line, next)
			next.held = true
			return
		}
	}
	p.free++
}

// Release ends what a page has: it holds no place any more, has lent none, and waits for none that it had lent.
func (p *Parsers) Release(page *Place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if page.lent {
		page.lent = false
		p.lent--
	}
	p.release(page)
	p.leave(&p.again, page)
}

// Lend lets another page have a page's place while a call of its parser waits, until that call comes to Reclaim. It
// returns false, and the page keeps what it has, if too many places are lent, or if it has none.
func (p *Parsers) Lend(page *Place) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	page.waits++
	switch {
	case page.lent:
		return true
	case p.lent >= p.lending:
		return false
	case page.held:
		p.release(page)
	case !p.leave(&p.again, page): // or else another call waits for the place, and need not any longer
		return false
	}
	page.lent = true
	p.lent++
	return true
}

// Reclaim follows each Lend, whatever that returned. For the last of the calls that have lent a page's place it waits until the
// page has one again. The error is ctx's cause; then the page has none.
func (p *Parsers) Reclaim(ctx context.Context, page *Place) error {
	p.mu.Lock()
	page.waits--
	if !page.lent || page.waits > 0 {
		p.mu.Unlock()
		return nil
	}
	page.lent = false
	p.lent--
	return p.await(ctx, page, &p.again)
}

// Count returns how many places are free, and how many are lent.
func (p *Parsers) Count() (free, lent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free, p.lent
}
