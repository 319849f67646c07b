package enginetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
)

// harnessGates is a middleware that puts requests off, those for robots.txt too, up to twice for each attempt. No model has to know of
// it: what was put off ends as if it had not been.
type harnessGates struct {
	*Crawl
	gates []*tegenaria.Gate

	mu  sync.Mutex
	put map[string]int // how often it was put off, by URL and attempt
}

// newHarnessGates makes the middleware for a part of the plans, nil for the others.
func newHarnessGates(c *Crawl) *harnessGates {
	r := c.p.draw("gates", 0, 0)
	if r.IntN(3) > 0 {
		return nil
	}
	h := &harnessGates{Crawl: c, put: make(map[string]int)}
	for i := range 1 + r.IntN(3) {
		h.gates = append(h.gates, tegenaria.NewGate(fmt.Sprint("gate ", i)))
	}
	return h
}

func (h *harnessGates) GetName() string    { return "gates" }
func (h *harnessGates) GetPriority() int   { return 0 }
func (h *harnessGates) SeesInternal() bool { return h.p.seed%3 == 0 }

func (h *harnessGates) ProcessRequest(ctx *tegenaria.Context) error {
	h.touch()
	key := fmt.Sprint(ctx.Request.Url, " ", ctx.Request.Attempt)
	h.mu.Lock()
	n := h.put[key]
	h.put[key]++
	h.mu.Unlock()
	r := h.p.draw("gate "+key, 0, n)
	if n > 1 || r.IntN(3) > 0 {
		return nil
	}
	if r.IntN(4) == 0 {
		return tegenaria.NotNow(nil)
	}
	gate := h.gates[r.IntN(len(h.gates))]
	if r.IntN(4) > 0 { // it may be closed, by another request
		gate.CloseFor(time.Duration(r.Float64() * float64(2*time.Second)))
	}
	return tegenaria.NotNow(gate)
}

func (h *harnessGates) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error {
	return nil
}
