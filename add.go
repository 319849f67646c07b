package tegenaria

import (
	"context"
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Add gives a request to the crawl that is running, as one more start request: it has no parent and depth 0, and passes
// the same filters. But it never makes a loopback address accessible, whatever its URL names: see
// Politeness.AllowPrivate. Once it was added, the request belongs to the engine.
//
// added is true if the request is new. It is false, without an error, if an equal one was accepted before: the request
// ends as a duplicate then. A request with [RequestWithDoNotFilter] is always new. In both cases the request is counted
// as discovered, and settled once, unless the crawl is stopped before. If the request is refused or no crawl takes
// requests, the error is an [*AddError], and nothing is counted. In a durable job Add returns once the request is
// stored: the next run has it even if the process is killed. In a cluster a request for another worker's host is handed
// on: added is true, and that worker finds out whether the request is new.
//
// The crawl does not end between the beginning and the end of a successful Add. With nothing left to do it ends, unless
// it has [EngineWithKeepAlive]. Requests can be added from the event Started on; a paused crawl takes them too.
//
// While Limits.Pending requests wait, Add waits until there is room, or ctx or the crawl ends; it does not look at ctx
// afterwards. The crawl may be waiting for a callback, so Add must not wait in one: a callback passes the context that it
// was given, or one derived from it, and Add then accepts the request at once. Add may be called concurrently.
func (e *SpiderEngine) Add(ctx context.Context, r *Request) (added bool, err error) {
	if r == nil {
		return false, &AddError{Reason: "request", Err: errors.New("the request is nil"), Remedy: "make it with NewRequest"}
	}
	url := r.Url
	refused := func(err error) (bool, error) {
		no, ok := err.(*AddError)
		if !ok {
			no = &AddError{Reason: "cancelled", Err: err}
		}
		no.URL = url
		return false, no
	}
	c := e.current()
	if c == nil {
		return refused(e.noCrawl())
	}
	a := c.adder.Load()
	if a == nil {
		return refused(&AddError{Reason: "not running", Err: errors.New("the crawl has not begun yet"),
			Remedy: "call Add from the event Started on"})
	}
	if err := a.awaitRoom(ctx); err != nil {
		return refused(err)
	}
	if added, err = a.add(r); err != nil {
		return refused(err)
	}
	return added, nil
}

// noCrawl is why nothing can be added to an engine that runs no crawl.
func (e *SpiderEngine) noCrawl() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last == nil {
		return &AddError{Reason: "not running", Err: errNotRunning, Remedy: "call Run, and Add from the event Started on"}
	}
	return overFor(e.last.Reason)
}

// overFor is why nothing can be added to a crawl that is over.
func overFor(reason string) error {
	return &AddError{Reason: "ended", Err: fmt.Errorf("the crawl has ended (%s)", reason),
		Remedy: "run it again, with " + keepAliveOption + " if it is to wait for requests; a durable job that has finished " +
			"needs a new directory"}
}

const keepAliveOption = "EngineWithKeepAlive"

// AddError is the error of [SpiderEngine.Add]: the request was not accepted.
type AddError struct {
	URL string // of the request

	// Reason is why: "not running", "stopping" or "ended" for a crawl that takes no requests; "cancelled" if ctx ended
	// while Add waited; "queue full" or "store" if the request could not be stored; otherwise it is the reason for which
	// such a request is filtered: "offsite", "url", "scheme", "url-length", "page-budget", "queue-share", that of a
	// [RequestFilter], or "accept" for a request that was made the wrong way.
	Reason string
	Err    error  // the cause; nil if Reason says it all
	Remedy string // what to do; "" if nothing is known
}

// Error names the URL, the cause and the remedy.
func (e *AddError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is part of errtext.Shorter.
func (e *AddError) WithoutURL(shown string) string {
	reason := e.Reason
	if e.Err != nil {
		reason = errtext.Beside(urlx.Cause(e.Err), urlx.Redact(e.URL))
	}
	text := "not added" + errtext.At(": ", e.URL, shown) + ": " + reason
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Unwrap returns the cause.
func (e *AddError) Unwrap() error { return e.Err }

// adder takes the requests of [SpiderEngine.Add] into the crawl. It is made when the crawl can accept requests.
type adder struct {
	pending  int64 // Limits.Pending
	ledger   *frontier.Ledger
	acceptor *acceptor
	stop     *stop
}

// inCallback is the key of a value that the contexts of callbacks have: they must not wait for room.
type inCallback struct{}

// awaitRoom waits until a request may be added.
func (a *adder) awaitRoom(ctx context.Context) error {
	if ctx.Value(inCallback{}) != nil {
		return nil
	}
	finished, _ := a.ledger.Over()
	for {
		room := a.ledger.Room(a.pending)
		if room == nil {
			return nil
		}
		select {
		case <-room:
		case <-finished:
			return nil
		case <-a.stop.ending.Asked():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// add accepts a request, unless the crawl takes none any more.
func (a *adder) add(r *Request) (added bool, err error) {
	if !a.acceptor.entries.Enter() {
		return false, a.over()
	}
	defer a.acceptor.entries.Leave()
	if a.stop.refusing.Load() || !a.ledger.Enter() {
		return false, a.over()
	}
	defer a.ledger.Leave()
	return a.acceptor.add(r)
}

// over is why a crawl takes no requests any more.
func (a *adder) over() error {
	reason, _, _ := a.stop.ending.Why()
	if reason == "" {
		return overFor("finished")
	}
	return &AddError{Reason: "stopping", Err: fmt.Errorf("the crawl is being stopped (%s)", reason),
		Remedy: "add it to the next run"}
}

// add is accept for a request of Add, whose caller is told what has become of it. Called within an entry, and with the
// ledger kept open.
func (a *acceptor) add(r *Request) (added bool, err error) {
	s := a.scratch.Get().(*scratch)
	defer a.scratch.Put(s)
	defer s.reset()
	from := emission{added: true}
	rec, no := a.record(s, from, &Context{Request: r})
	switch {
	case no == nil:
	case no.outcome == Duplicate && no.err == nil:
		a.ledger.Discover(1)
		a.report.settled(r, Duplicate, no.reason)
		a.ledger.Refuse(1, uint8(Duplicate), no.reason)
		return false, nil
	default:
		return false, notAdded(no)
	}
	s.records = append(s.records, rec)
	a.ledger.Discover(1)
	verdicts, err := a.cache.Accept(a.stop.storing, s.records)
	switch {
	case isA[*QueueFullError](err): // the crawl goes on, and there will be room
		a.ledger.Forget(1)
		return false, &AddError{Reason: "queue full", Err: err}
	case err != nil:
		a.ledger.Forget(1)
		a.stop.storeFailed(err)
		return false, &AddError{Reason: "store", Err: err}
	case verdicts[0] == VerdictRefused:
		a.ledger.Forget(1)
		return false, notAdded(refuse(Filtered, queueShare))
	}
	if added = verdicts[0] != VerdictKnown; !added {
		a.report.settled(r, Duplicate, "")
	} else if f := a.cfg.events.RequestAccepted; f != nil && verdicts[0] != VerdictHandedOn {
		a.report.event(func() { f(r) })
	}
	a.accepted(from, s, verdicts, r.extras().MaxConns)
	if a.codec.durable { // a known one may have been accepted a moment ago
		if err := a.settler.sync(); err != nil {
			a.stop.storeFailed(err)
			return false, &AddError{Reason: "store", Err: err}
		}
	}
	return added, nil
}

// notAdded is the error of a request that was refused.
func notAdded(no *refusal) error {
	return &AddError{Reason: no.reason, Err: no.err, Remedy: report.Remedy(no.outcome.String(), no.reason)}
}
