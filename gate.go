package tegenaria

import (
	"context"
	"slices"
	"sync"
)

// gate lets a number of parsers run at once. Those that come back from a Fetch go before new pages:
// they hold a page already.
type gate struct {
	mu    sync.Mutex // guards what follows
	free  int
	back  []chan struct{}
	fresh []chan struct{}
}

func newGate(n int) *gate { return &gate{free: n} }

// acquire waits for a place; the error is ctx's cause.
func (g *gate) acquire(ctx context.Context, comesBack bool) error {
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	ready := make(chan struct{})
	line := &g.fresh
	if comesBack {
		line = &g.back
	}
	*line = append(*line, ready)
	g.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	if i := slices.Index(*line, ready); i >= 0 {
		*line = slices.Delete(*line, i, i+1)
		g.mu.Unlock()
		return context.Cause(ctx)
	}
	g.mu.Unlock()
	g.release() // the place came at the same moment
	return context.Cause(ctx)
}

// release gives a place to whoever waits longest.
func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, line := range []*[]chan struct{}{&g.back, &g.fresh} {
		if len(*line) > 0 {
			close((*line)[0])
			*line = slices.Delete(*line, 0, 1)
			return
		}
	}
	g.free++
}
