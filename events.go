package tegenaria

import (
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/report"
)

// Events are funcs that the engine calls when something happens; nil ones cost nothing. They run in
// the goroutine of the event, may be called concurrently, and must not block. A panic in one
// is recovered and reported on ErrorChan, and has no other effect.
//
// RequestStarted is called once for each download, before the slot's delay begins: a slow func postpones the download, and
// the delay after it is kept in full. If the slot is blocked when the func returns, the request is queued again; RequestStarted
// is not called a second time, and the request counts once in Politeness.MaxPages. A request that ends between the call and
// the download, such as a Fetch whose caller is abandoned, is not downloaded and not counted. RequestStarted is not called for
// a response without a download, from a middleware or from the engine's own robots.txt.
//
// SlowCallback and Abandoned, and RequestSettled for a callback that had not returned when the run ended, are called with a copy of the
// request as it was accepted; that of a Fetch has only its URL and ResponseWriter. Closed is called last: Run waits up to a second for calls that abandoned callbacks have begun, and makes
// none after it.
type Events struct {
	Started func(spider SpiderInterface)
	Paused  func()
	Resumed func()
	Closed  func(reason string) // the run is over; reason is "finished", or that of StoppedError

	RequestAccepted func(r *Request)                                  // the request was queued; not called for duplicates and filtered requests
	RequestStarted  func(r *Request)                                  // the download is about to start
	Downloaded      func(r *Request, resp *Response)                  // the response has arrived, before ProcessResponse
	RequestRetried  func(r *Request, after time.Duration, why error)  // the request has failed and is queued again
	RequestSettled  func(r *Request, outcome Outcome, reason string)  // the request has ended; called exactly once
	ItemScraped     func(item *ItemMeta)                              // the item has passed all pipelines
	ItemDropped     func(err *HandleError)                            // a pipeline has returned DropItem
	Error           func(err *HandleError)                            // a failure, before the ErrorHandlers are called
	SlowCallback    func(stage Stage, r *Request, took time.Duration) // a callback has been running for 60 s
	Abandoned       func(stage Stage, r *Request)                     // a callback did not return and is no longer waited for
	SlotBlocked     func(block SlotBlock)                             // no request of a slot starts for more than a minute; once for each block
}

// and returns events that call the funcs of both, e's first. Those that are nil in both stay nil, and cost nothing.
func (e Events) and(more Events) Events {
	return Events{
		Started: both(e.Started, more.Started), Closed: both(e.Closed, more.Closed),
		Paused: bothPlain(e.Paused, more.Paused), Resumed: bothPlain(e.Resumed, more.Resumed),
		RequestAccepted: both(e.RequestAccepted, more.RequestAccepted), RequestStarted: both(e.RequestStarted, more.RequestStarted),
		Downloaded: bothOfTwo(e.Downloaded, more.Downloaded), RequestRetried: bothOfThree(e.RequestRetried, more.RequestRetried),
		RequestSettled: bothOfThree(e.RequestSettled, more.RequestSettled),
		ItemScraped:    both(e.ItemScraped, more.ItemScraped), ItemDropped: both(e.ItemDropped, more.ItemDropped), Error: both(e.Error, more.Error),
		SlowCallback: bothOfThree(e.SlowCallback, more.SlowCallback), Abandoned: bothOfTwo(e.Abandoned, more.Abandoned),
		SlotBlocked: both(e.SlotBlocked, more.SlotBlocked),
	}
}

// both and its kin join two funcs. The second is deferred, so that it is called if the first panics.
func both[A any](f, g func(A)) func(A) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(a A) { defer g(a); f(a) }
}

func bothOfTwo[A, B any](f, g func(A, B)) func(A, B) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(a A, b B) { defer g(a, b); f(a, b) }
}

func bothOfThree[A, B, C any](f, g func(A, B, C)) func(A, B, C) {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func(a A, b B, c C) { defer g(a, b, c); f(a, b, c) }
}

func bothPlain(f, g func()) func() {
	switch {
	case f == nil:
		return g
	case g == nil:
		return f
	}
	return func() { defer g(); f() }
}

// MissedErrorsError is sent on an ErrorChan whose reader was too slow: Count errors were not
// delivered before the next one.
type MissedErrorsError struct{ Count int64 }

// Error says how many.
func (e *MissedErrorsError) Error() string {
	return fmt.Sprintf("tegenaria: %s not delivered: the reader of ErrorChan was too slow", report.Count(e.Count, "error"))
}
