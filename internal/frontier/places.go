package frontier

import (
	"context"
	"slices"
	"sync"
)

// Places lets a number of parsers run at once. Those that come back from a Fetch go before new pages:
// they hold a page already.
type Places struct {
	mu    sync.Mutex // guards what follows
	free  int
	back  []chan struct{}
	fresh []chan struct{}
}

// NewPlaces returns n free places.
func NewPlaces(n int) *Places { return &Places{free: n} }

// Acquire waits for a place. The error is the cause of ctx, if that ends first: then the caller has no place. comesBack tells
// that the parser has had a place before and gave it up to wait for a Fetch.
func (p *Places) Acquire(ctx context.Context, comesBack bool) error {
	p.mu.Lock()
	if p.free > 0 {
		p.free--
		p.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	line := &p.fresh
	if comesBack {
		line = &p.back
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

// Release gives a place to whoever waits longest.
func (p *Places) Release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range []*[]chan struct{}{&p.back, &p.fresh} {
		if len(*line) > 0 {
			close((*line)[0])
			*line = slices.Delete(*line, 0, 1)
			return
		}
	}
	p.free++
}

// Free returns how many places nobody has.
func (p *Places) Free() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free
}
