package tegenaria

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/report"
)

// Gate holds back the requests that a middleware cannot let through for now, by answering them with [NotNow]: while it is closed
// they wait in their queues, in memory or in the store of a durable job like all that wait there, and hold no worker. The middleware
// opens it when they may come again.
//
// A request that is held back closes its slot: nothing of that slot is taken until the gate opens. So a million of them cost nothing
// while they wait.
//
// A Gate is open when it is made. Its methods may be called concurrently, and by the middleware's methods.
type Gate struct {
	name string

	mu      sync.Mutex
	closed  bool
	why     string              // see Because
	call    uint64              // numbers the calls of Close, CloseFor and Open
	timer   *time.Timer         // of CloseFor; nil: none
	runs    map[*gates]struct{} // whose requests wait
	changed chan struct{}       // closed when the gate opens; nil: nobody waits for that
}

// NewGate makes an open Gate. The log and [SlotStatus] show the name where requests wait: say what they wait for, as
// "proxies" or "the login of alice". Two gates of a crawl with one name count as one.
func NewGate(name string) *Gate { return &Gate{name: name, runs: make(map[*gates]struct{})} }

// Name returns the name that the gate was made with.
func (g *Gate) Name() string { return g.name }

// Because says why the gate is closed, for the log, which names each gate at which requests begin to wait. It holds until the next call.
func (g *Gate) Because(why string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.why = why
}

// Close closes the gate until Open is called.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut()
}

// CloseFor closes the gate until Open is called, or d has passed. It replaces the time of an earlier call.
func (g *Gate) CloseFor(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut()
	mine := g.call
	g.timer = time.AfterFunc(d, func() { g.open(mine) })
}

// shut closes the gate for no certain time. The caller holds mu.
func (g *Gate) shut() {
	g.closed = true
	g.call++
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
}

// Open lets the requests that wait come again. Each passes the middlewares anew, and may be held back once more.
func (g *Gate) Open() { g.open(0) }

// open is Open, or for the timer of a call of CloseFor that was the last one.
func (g *Gate) open(by uint64) {
	g.mu.Lock()
	if by > 0 && by != g.call {
		g.mu.Unlock()
		return
	}
	g.shut()
	g.closed = false
	runs := g.runs
	for run := range runs {
		run.held.note(g, false)
	}
	g.runs = make(map[*gates]struct{})
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
	g.mu.Unlock()
	for run := range runs { // without mu, which join takes while a frontier is locked
		run.frontier.OpenGate(g.name)
	}
}

// IsClosed reports whether requests that are held back have to wait.
func (g *Gate) IsClosed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// join reports whether the gate is closed. Then it tells the frontier of the run when it opens.
func (g *Gate) join(run *gates) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		g.runs[run] = struct{}{}
		run.held.note(g, true)
	}
	return g.closed
}

// leave ends what join has begun.
func (g *Gate) leave(run *gates) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, run)
}

// wait returns nil when the gate is open, or else the cause of ctx's end.
func (g *Gate) wait(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.changed == nil {
			g.changed = make(chan struct{})
		}
		changed, closed := g.changed, g.closed
		g.mu.Unlock()
		if !closed {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

type notNowError struct{ gate *Gate }

func (e *notNowError) Error() string { return errtext.Module + e.WithoutURL("") }

func (e *notNowError) WithoutURL(string) string {
	if e.gate == nil {
		return "not now"
	}
	return "not now: it waits for " + e.gate.name
}

// wait returns nil when the request may come again, or else the cause of ctx's end.
func (e *notNowError) wait(ctx context.Context) error {
	if e.gate == nil {
		return nil
	}
	return e.gate.wait(ctx)
}

// NotNow returns an error with which a middleware puts a request off: it goes back into its queue as it was accepted, with its
// attempts unchanged and at no cost to any limit, and nothing of its slot is taken until the gate opens. A caller of Fetch
// waits for the gate itself; a request for robots.txt, see [InternalMiddleware], makes the page's request wait that needs it. It is
// no failure: neither ErrorMiddlewares nor ErrorHandlers are called.
//
// If the gate is open, or nil, the request comes again at once, behind others of its priority: whoever does not
// close it has to make sure that the next try ends otherwise.
//
// ProcessRequest, ProcessResponse and ProcessError may return it, and parsers as well: what they have sent before counts as with [Retry].
func NotNow(gate *Gate) error { return &notNowError{gate} }

func asNotNow(err error) *notNowError {
	e, _ := errors.AsType[*notNowError](err)
	return e
}

// heldGates are the closed gates at which requests of a run wait.
type heldGates struct {
	mu    sync.Mutex
	list  map[*Gate]struct{}
	fresh []heldGate        // of which the log has not said that requests wait there
	told  map[string]string // what it has said, by name
}

type heldGate struct{ name, why string }

// mostHeldTold is how many gates the log names.
const mostHeldTold = 50

// untold returns the gates that the log is to name: those that are new, or closed for another reason.
func (h *heldGates) untold() (list []heldGate) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.fresh {
		if why, known := h.told[g.name]; known && why == g.why || !known && len(h.told) >= mostHeldTold {
			continue
		}
		if h.told == nil {
			h.told = make(map[string]string)
		}
		h.told[g.name] = g.why
		list = append(list, g)
	}
	h.fresh = nil
	return list
}

// note adds a gate or takes it away. The caller holds its mu.
func (h *heldGates) note(g *Gate, held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !held {
		delete(h.list, g)
		return
	}
	if h.list == nil {
		h.list = make(map[*Gate]struct{})
	}
	if _, known := h.list[g]; !known {
		h.list[g] = struct{}{}
		h.fresh = append(h.fresh, heldGate{g.name, g.why})
	}
}

// hold puts a request that was stored into its queue again, and closes its slot while the gate is closed.
func (g *gates) hold(stored frontier.Stored, at *Gate) {
	if at == nil {
		g.frontier.Added(stored)
		return
	}
	g.frontier.AddedAt(stored, at.name, func() (closed bool) { return at.join(g) })
	for _, one := range g.held.untold() {
		text := "requests wait for " + one.name
		if one.why != "" {
			text += ": " + one.why
		}
		g.flights.log.Lines([]report.Line{{Warn: true, Text: text}})
	}
}

// leaveAll ends the run for the gates at which its requests wait: they may open much later.
func (g *gates) leaveAll() {
	g.held.mu.Lock()
	list := g.held.list
	g.held.list = nil
	g.held.mu.Unlock()
	for at := range list {
		at.leave(g)
	}
}
