package enginetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
)

// harnessGates is a middleware that puts requests off, those for robots.txt too, up to twice for each attempt, and has a part of them pass
// gates with a limit. No model has to know of it: what was put off, or has waited, ends as if it had not.
type harnessGates struct {
	*Crawl
	gates   []*tegenaria.Gate
	limited []harnessGate

	mu     sync.Mutex
	put    map[string]int                // how often it was put off, by URL and attempt
	inside map[*tegenaria.Gate]int       // requests that are in a gate
	begun  map[*tegenaria.Context]string // URLs of those of which Released has not been called
	early  map[*tegenaria.Context]bool   // those of which it was called first, as of code that was given up when it was about to call ProcessRequest
}

type harnessGate struct {
	*tegenaria.Gate
	limit int
	apart bool
}

// newHarnessGates makes the middleware for a part of the plans, nil for the others.
func newHarnessGates(c *Crawl) *harnessGates {
	r := c.p.draw("gates", 0, 0)
	if r.IntN(3) > 0 {
		return nil
	}
	h := &harnessGates{Crawl: c, put: make(map[string]int), inside: make(map[*tegenaria.Gate]int),
		begun: make(map[*tegenaria.Context]string), early: make(map[*tegenaria.Context]bool)}
	for i := range 1 + r.IntN(3) {
		h.gates = append(h.gates, tegenaria.NewGate(fmt.Sprint("gate ", i)))
	}
	for i := range r.IntN(4) {
		limit := 1 + r.IntN(2)
		h.limited = append(h.limited, harnessGate{tegenaria.NewGateOf(fmt.Sprint("limit ", i), limit), limit, r.IntN(3) > 0})
	}
	return h
}

// gateOf returns the gate that a request has to pass; its Gate is nil for none.
func (h *harnessGates) gateOf(r *tegenaria.Request) harnessGate {
	if i := h.p.draw("limited "+r.Url, 0, 0).IntN(len(h.limited) + 2); i < len(h.limited) {
		return h.limited[i]
	}
	return harnessGate{}
}

// GateOf is that of a Gatekeeper.
func (h *harnessGates) GateOf(r *tegenaria.Request) (gate *tegenaria.Gate, apart bool) {
	g := h.gateOf(r)
	return g.Gate, g.apart
}

// enter notes that a request has begun.
func (h *harnessGates) enter(ctx *tegenaria.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, twice := h.begun[ctx]; twice {
		h.violation("ProcessRequest was called twice for %s", ctx.Request.Url)
	}
	if !h.early[ctx] {
		h.begun[ctx] = ctx.Request.Url
	}
}

// Released is that of a ReleaseListener.
func (h *harnessGates) Released(ctx *tegenaria.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, begun := h.begun[ctx]; begun {
		delete(h.begun, ctx)
		return
	}
	if h.early[ctx] {
		h.violation("a request was released twice")
	}
	h.early[ctx] = true
}

// download counts the downloads of a request's gate, until the func that it returns is called.
func (h *harnessGates) download(r *tegenaria.Request) (end func()) {
	if h == nil || harnessPageOf(r.Url) < 0 {
		return func() {}
	}
	g := h.gateOf(r)
	if g.Gate == nil {
		return func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inside[g.Gate]++; h.inside[g.Gate] > g.limit && !h.p.stuck {
		h.violation("%d downloads at once in %s, whose limit is %d", h.inside[g.Gate], g.Name(), g.limit)
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.inside[g.Gate]--
	}
}

// check finds attempts of which the middleware was not told that they have ended. The error is that of Run.
func (h *harnessGates) check(err error) {
	_, abandoned := errors.AsType[*tegenaria.AbandonedError](err)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, url := range h.begun {
		if abandoned && strings.HasSuffix(url, "/robots.txt") { // the code that asks for it may not have returned
			continue
		}
		h.violation("%s was never released", url)
	}
	if len(h.early) > 0 && !abandoned {
		h.violation("%d requests were released that no middleware had seen, or twice", len(h.early))
	}
}

func (h *harnessGates) GetName() string    { return "gates" }
func (h *harnessGates) GetPriority() int   { return 0 }
func (h *harnessGates) SeesInternal() bool { return h.p.seed%3 == 0 }

func (h *harnessGates) ProcessRequest(ctx *tegenaria.Context) error {
	h.touch()
	h.enter(ctx)
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
