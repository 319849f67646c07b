package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// Gate holds back the requests that a middleware cannot let through for now, by answering them with [NotNow]: while it is closed
// they wait in their queues, in memory or in the store of a durable job like all that wait there, and hold no worker. The middleware
// opens it when they may come again.
//
// A request that is held back closes its slot: nothing of that slot is taken until the gate opens. So a million of them cost nothing
// while they wait. If it waits apart from the slot's other requests, see [Gatekeeper], those go on.
//
// A Gate is open when it is made. Its methods may be called concurrently, and by the middleware's methods.
type Gate struct {
	name  string
	limit int // of requests inside; 0: none

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
func NewGate(name string) *Gate {
	return &Gate{name: strings.ReplaceAll(name, "\x00", ""), runs: make(map[*gates]struct{})}
}

// NewGateOf is NewGate for a gate that at most limit requests are inside of at once, at least one: those that a [Gatekeeper] has pass it.
func NewGateOf(name string, limit int) *Gate {
	g := NewGate(name)
	g.limit = max(limit, 1)
	return g
}

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

// Gatekeeper is an optional interface of middlewares: it says which gate a request has to pass before it is downloaded. The engine counts
// those that are inside, from before ProcessRequest until the response has passed the ProcessResponse of all middlewares, or the attempt
// has ended otherwise. While a request waits for a response of Fetch, or has to wait in line once more because its slot has a pause now,
// it is outside. What finds the gate full waits in its queue, and no middleware is asked.
type Gatekeeper interface {
	// GateOf returns the gate that a request has to pass, nil for none. With apart its requests wait in a queue of their own in each slot:
	// while the gate is closed or full the other requests of the slot go on. Otherwise the whole slot waits, which is right for a
	// gate that nearly all requests have to pass. It is asked when the request is accepted, and when it is to begin; in a job of several
	// programs ([SharedCache]) no request waits apart. It must not block, and is called concurrently. The first Gatekeeper
	// that returns a gate decides.
	GateOf(r *Request) (gate *Gate, apart bool)
}

// ReleaseListener is an optional interface of middlewares that keep something for a request from ProcessRequest on, as an identity that one
// request uses at a time. Released is called once for each attempt at which any ProcessRequest was called, with the same Context,
// when its answer has passed all middlewares or it has ended otherwise: it has failed, was put off, given up or left undone. Its
// parser runs after that. It must not look at what the Context holds, which may belong to code that was given up: a ProcessRequest of it
// may still run, or be about to, and has to see by ctx.Ctx that it came too late. It must not block, and is called concurrently. With
// [InternalMiddleware] that holds for requests for robots.txt too; of one that was given up it is called when the code has returned.
type ReleaseListener interface {
	Released(ctx *Context)
}

// gatekeepers are the middlewares that say which gate a request has to pass.
type gatekeepers []Gatekeeper

func (k gatekeepers) of(r *Request) (gate *Gate, apart bool) {
	for _, one := range k {
		_ = guard.Protect(func() error { gate, apart = one.GateOf(r); return nil })
		if gate != nil {
			return gate, apart
		}
	}
	return nil, false
}

// queueOf returns the queue that a request of a slot waits in.
func (k gatekeepers) queueOf(slot string, r *Request) string {
	if gate, apart := k.of(r); apart && gate != nil {
		return slots.Lane(slot, gate.name)
	}
	return slot
}

// ownGate returns the gate that a job's request has to pass.
func (g *gates) ownGate(j *job) (frontier.Gate, bool) {
	gate, apart := g.keepers.of(j.ctx.Request)
	if gate == nil {
		return frontier.Gate{}, false
	}
	apart = apart && !g.together
	return frontier.Gate{Gate: slots.Gate{Name: gate.name, Limit: cmp.Or(gate.limit, math.MaxInt), Stays: !apart, Apart: apart, Kept: true}, Own: true}, true
}

// begun notes that middlewares process a job's request.
func (g *gates) begun(j *job) {
	if len(g.listeners) > 0 {
		j.mu.Lock()
		j.begun = true
		j.mu.Unlock()
	}
}

// ended tells the middlewares that the attempt is over which begun has noted.
func (g *gates) ended(j *job) {
	if len(g.listeners) == 0 {
		return
	}
	j.mu.Lock()
	was := j.begun
	j.begun = false
	j.mu.Unlock()
	if was {
		g.released(g.listeners, j.ctx)
	}
}

func (g *gates) released(listeners []ReleaseListener, ctx *Context) {
	for _, l := range listeners {
		_ = guard.Protect(func() error { l.Released(ctx); return nil })
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
