package frontier

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Parsers are the places of parsers: so many may run at once. One that waits may lend its place to another page. Those that
// come from a wait go before new pages: they hold a page already. Its methods may be called concurrently.
type Parsers struct {
	lent    atomic.Int64 // places
	lending int64        // the most of them

	mu     sync.Mutex // guards the fields below
	free   int
	backed []chan struct{} // wait for the place that they had lent
	fresh  []chan struct{}
}

// NewParsers makes places, of which at most lending may be lent at a time.
func NewParsers(places, lending int) *Parsers {
	return &Parsers{free: places, lending: int64(lending)}
}

// Acquire waits for a place; again says that the parser has lent its own. The error is ctx's cause.
func (p *Parsers) Acquire(ctx context.Context, again bool) error {
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	line := &p.fresh
	if again {
		line = &p.backed
	}
	*line = append(*line, ready)
	p.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	if i := slices.Index(*line, ready); i >= 0 {
		*line = slices.Delete(*line, i, i+1)
		p.mu.Unlock()
		return context.Cause(ctx)
	}
	p.mu.Unlock()
	p.Release() // the place came at the same moment
	return context.Cause(ctx)
}

// Release gives a place to the parser that waits longest.
func (p *Parsers) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range []*[]chan struct{}{&p.backed, &p.fresh} {
		if len(*line) > 0 {
			close((*line)[0])
			*line = slices.Delete(*line, 0, 1)
			return
		}
	}
	p.free++
}

// Lend releases a place for as long as its parser waits. It returns false, and the parser keeps its place, if too many
// are lent.
func (p *Parsers) Lend() bool {
	if p.lent.Add(1) > p.lending {
		p.lent.Add(-1)
		return false
	}
	p.Release()
	return true
}

// Reclaim waits for the place of a parser that has lent its own. The error is ctx's cause; then the parser has none.
func (p *Parsers) Reclaim(ctx context.Context) error {
	p.Forgo()
	return p.Acquire(ctx, true)
}

// Forgo ends the lending of a place that will not be wanted again.
func (p *Parsers) Forgo() { p.lent.Add(-1) }

// Count returns how many places are free, and how many are lent.
func (p *Parsers) Count() (free, lent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free, int(p.lent.Load())
}
