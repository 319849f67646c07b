package module

import (
	"math"
	"strconv"
	"sync"
)

// SNGenerator hands out serial numbers one after the other and begins again when it has reached
// its maximum. It is safe for concurrent use. Make one with [NewSNGenerator].
type SNGenerator struct {
	start, max uint64

	mu     sync.Mutex // guards the fields below
	next   uint64
	cycles uint64
}

// NewSNGenerator returns a generator of the numbers start to max, both included. A max of 0 stands
// for the largest there is, [math.MaxUint64]. A start above max is an [*IllegalParameterError].
func NewSNGenerator(start, max uint64) (*SNGenerator, error) {
	if max == 0 {
		max = math.MaxUint64
	}
	if start > max {
		return nil, &IllegalParameterError{Name: "start", Value: strconv.FormatUint(start, 10),
			Why: "is above the maximum " + strconv.FormatUint(max, 10)}
	}
	return &SNGenerator{start: start, max: max, next: start}, nil
}

// Start returns the smallest number.
func (g *SNGenerator) Start() uint64 { return g.start }

// Max returns the largest number.
func (g *SNGenerator) Max() uint64 { return g.max }

// Next returns the number that Get will return next, and leaves it there.
func (g *SNGenerator) Next() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.next
}

// CycleCount returns how often the largest number was handed out, after which the generator began
// again.
func (g *SNGenerator) CycleCount() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cycles
}

// Get returns a number and prepares the next one.
func (g *SNGenerator) Get() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	sn := g.next
	if sn == g.max {
		g.next = g.start
		g.cycles++
	} else {
		g.next++
	}
	return sn
}
