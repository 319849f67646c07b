package site

import (
	"context"
	"sync"
)

// gate counts requests in and holds them back above a number.
type gate struct {
	mu      sync.Mutex // guards the fields below
	passed  int
	limit   int           // none while it is 0
	changed chan struct{} // closed and replaced when passed or limit changes and somebody waits; nil: nobody does
}

// pass waits until a request may go on.
func (g *gate) pass(ctx context.Context) error {
	return g.wait(ctx, func() bool {
		if g.limit > 0 && g.passed >= g.limit {
			return false
		}
		g.passed++
		g.wake()
		return true
	})
}

// holdAt lets so many requests pass in all; 0: any number.
func (g *gate) holdAt(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
	g.wake()
}

// reached waits until so many requests have passed.
func (g *gate) reached(ctx context.Context, n int) error {
	return g.wait(ctx, func() bool { return g.passed >= n })
}

// wake wakes all who wait. The caller holds mu.
func (g *gate) wake() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// wait calls try under mu after each change until it is true.
func (g *gate) wait(ctx context.Context, try func() bool) error {
	for {
		g.mu.Lock()
		if try() {
			g.mu.Unlock()
			return nil
		}
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
