package frontier

import (
	"context"
	"slices"
	"sync"
)

// ParsePermits bound how many parsers run: a page needs a permit for the time of its parser. One that waits may yield its
// permit to another page. Those that want theirs back go before new pages: they hold a page already. Its methods may be
// called concurrently.
//
// The way of one page:
//
//	Acquire     it has a permit
//	Yield       a call of its parser waits; another page has the permit meanwhile
//	Reacquire   the wait is over: when that of the last such call is, it has a permit again
//	Release     its parser is over
type ParsePermits struct {
	yielding int // the most permits that may be yielded at a time

	mu      sync.Mutex // guards the fields below, and each ParsePermit
	free    int
	yielded int
	again   []*ParsePermit // wait for the permit that they have yielded
	fresh   []*ParsePermit
}

// ParsePermit is what a page has of the [ParsePermits]: a permit, one that it has yielded, or none, as its zero value says.
// It lies in what stands for the page, and must not be copied.
type ParsePermit struct {
	held    bool          // by the page
	yielded bool          // it was the page's, and will be
	waits   int           // calls that have yielded it and have not come to Reacquire
	ready   chan struct{} // closed when its waiting is over; nil while it does not wait in a line
}

// NewParsePermits makes permits. At most yielding of them may be yielded at a time.
func NewParsePermits(permits, yielding int) *ParsePermits {
	return &ParsePermits{free: permits, yielding: yielding}
}

// Acquire waits for a permit for a page that has none. The error is ctx's cause.
func (p *ParsePermits) Acquire(ctx context.Context, page *ParsePermit) error {
	p.mu.Lock()
	return p.await(ctx, page, &p.fresh)
}

// TryAcquire gives a permit to a page that has none if that takes no waiting, and reports whether it did.
func (p *ParsePermits) TryAcquire(page *ParsePermit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free <= 0 {
		return false
	}
	p.free--
	page.held = true
	return true
}

// await gives a page a permit, or has it wait in a line. It is called with mu held, and returns with mu released.
func (p *ParsePermits) await(ctx context.Context, page *ParsePermit, line *[]*ParsePermit) error {
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
	if page.ready != ready { // the permit came at the same moment
		p.release(page)
	} else {
		p.leave(line, page)
	}
	return context.Cause(ctx)
}

// leave ends the waiting of a page in a line. It returns false if the page did not wait there. The caller holds mu.
func (p *ParsePermits) leave(line *[]*ParsePermit, page *ParsePermit) bool {
	i := slices.Index(*line, page)
	if i < 0 {
		return false
	}
	*line = slices.Delete(*line, i, i+1)
	close(page.ready)
	page.ready = nil
	return true
}

// release gives the permit that a page holds, if it does, to the page that waits longest. The caller holds mu.
func (p *ParsePermits) release(page *ParsePermit) {
	if !page.held {
		return
	}
	page.held = false
	for _, line := range []*[]*ParsePermit{&p.again, &p.fresh} {
		if len(*line) > 0 {
			next := (*line)[0]
			p.leave(line, next)
			next.held = true
			return
		}
	}
	p.free++
}

// Release ends what a page has: it holds no permit any more, has yielded none, and waits for none that it had yielded.
func (p *ParsePermits) Release(page *ParsePermit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if page.yielded {
		page.yielded = false
		p.yielded--
	}
	p.release(page)
	p.leave(&p.again, page)
}

// Yield lets another page have a page's permit while a call of its parser waits, until that call comes to Reacquire. It
// returns false, and the page keeps what it has, if too many permits are yielded, or if it has none.
func (p *ParsePermits) Yield(page *ParsePermit) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	page.waits++
	switch {
	case page.yielded:
		return true
	case p.yielded >= p.yielding:
		return false
	case page.held:
		p.release(page)
	case !p.leave(&p.again, page): // or else another call waits for the permit, and need not any longer
		return false
	}
	page.yielded = true
	p.yielded++
	return true
}

// Reacquire follows each Yield, whatever that returned. For the last of the calls that have yielded a page's permit it waits until the
// page has one again. The error is ctx's cause; then the page has none.
func (p *ParsePermits) Reacquire(ctx context.Context, page *ParsePermit) error {
	p.mu.Lock()
	page.waits--
	if !page.yielded || page.waits > 0 {
		p.mu.Unlock()
		return nil
	}
	page.yielded = false
	p.yielded--
	return p.await(ctx, page, &p.again)
}

// Count returns how many permits are free, and how many are yielded.
func (p *ParsePermits) Count() (free, yielded int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free, p.yielded
}
