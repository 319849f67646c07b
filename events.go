package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Events are funcs that the engine calls when something happens; nil ones cost nothing. They run in
// the goroutine in which it happened, may be called concurrently, and must not block. A panic in one
// is recovered and reported on ErrorChan, without further effect.
//
// RequestStarted is called once for each download, before the slot is stamped: so a func that takes its time holds the
// download up, and not the delay that follows it. If the slot is blocked when the func returns, the request waits in line
// again, is not announced a second time, and keeps its page of Politeness.MaxPages. A request that is announced and has its
// end meanwhile, such as a Fetch that is given up with its caller, is not downloaded any more, and its page is free for
// another. An answer without a download, of a middleware or of the engine's own robots.txt, is not announced.
//
// For a callback that was given up, or may be, RequestSettled, SlowCallback and Abandoned are called with a copy of the request
// as it was accepted. Closed is called last: Run waits up to a second for calls of Events that callbacks which were given up
// have begun, and makes none after it.
type Events struct {
	Started func(spider SpiderInterface)
	Paused  func()
	Resumed func()
	Closed  func(reason string) // the run is over; "finished", or StoppedError's reason

	RequestAccepted func(r *Request)                                  // New or Later; not for duplicates and filtered ones
	RequestStarted  func(r *Request)                                  // its download is about to start
	Downloaded      func(r *Request, resp *Response)                  // a response arrived, before ProcessResponse
	RequestRetried  func(r *Request, after time.Duration, why error)  // it waits again
	RequestSettled  func(r *Request, outcome Outcome, reason string)  // its one end
	ItemScraped     func(item *ItemMeta)                              // it passed all pipelines
	ItemDropped     func(err *HandleError)                            // DropItem
	Error           func(err *HandleError)                            // each failure, before the ErrorHandlers
	SlowCallback    func(stage Stage, r *Request, took time.Duration) // a callback runs for 60 s already
	Abandoned       func(stage Stage, r *Request)                     // a callback was given up
	SlotBlocked     func(block SlotBlock)                             // for more than a minute nothing will be asked of a slot; once for each block
}

// ErrorChan subscribes to the errors of the run that is on, or of the next one: every [HandleError], and
// panics in Events. Each call is a subscription of its own; its channel is closed when that run is over.
// It holds 1,024 errors: those that come while it is full are counted, and a [*MissedErrorsError] reports their number as
// soon as there is room again. A slow reader never holds up the crawl.
func (e *SpiderEngine) ErrorChan() <-chan error {
	return e.errs.Subscribe(func(n int64) error { return &MissedErrorsError{Count: n} })
}

// teller reports the events of a crawl: it has the log, the counters and the user's Events, and calls the ErrorHandlers, which
// may answer a failure with requests. All methods may be called concurrently, also by callbacks that were given up.
type teller struct {
	crawl    *crawl
	log      report.Log
	counters report.Counters
	events   Events

	door     *guard.Door // calls of Events are inside; none begins once it is closed
	handlers *guard.Door // of the goroutines in which ErrorHandlers are told of callbacks that were given up
	crowded  sync.Map    // slots that the log was told about: their requests are refused
}

func newTeller(c *crawl) *teller {
	return &teller{
		crawl: c, log: report.NewLog(c.cfg.logger, c.spider.GetName()), events: c.cfg.events,
		door: guard.NewDoor(), handlers: guard.NewDoor(),
	}
}

// event calls a func of Events, unless the run is over.
func (t *teller) event(f func()) {
	if !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	t.call(f)
}

// call calls a func of Events, whose panics are reported and have no other effect.
func (t *teller) call(f func()) {
	if stack, err := guard.Protect(func() error { f(); return nil }); err != nil {
		herr := &HandleError{Err: err, Stage: StageEvent, Stack: stack}
		t.counters.Errors.Add(1)
		t.log.Failure(herr, herr.Stack)
		t.crawl.engine.errs.Publish(herr)
	}
}

// failed counts, logs and publishes a failure, unless the run is over.
func (t *teller) failed(herr *HandleError) {
	if !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	errs := t.counters.Errors.Add(1)
	t.log.Failure(herr, herr.Stack)
	if f := t.events.Error; f != nil {
		t.call(func() { f(herr) })
	}
	t.crawl.engine.errs.Publish(herr)
	if limit := int64(t.crawl.limits.Errors); limit > 0 && errs >= limit {
		t.crawl.requestStop("limit: errors", nil)
	}
}

// tellsSettled reports whether the log or an event needs the end of a request.
func (t *teller) tellsSettled() bool { return t.log.HasDebug() || t.events.RequestSettled != nil }

// settled reports the end of a request.
func (t *teller) settled(r *Request, outcome Outcome, reason string) {
	if !t.tellsSettled() || !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	if r != nil && t.log.HasDebug() {
		t.log.Settled(urlOf(r), outcome.String(), reason)
	}
	if f := t.events.RequestSettled; f != nil {
		t.call(func() { f(r, outcome, reason) })
	}
}

// slow reports a callback that has been running for a minute.
func (t *teller) slow(at Stage, r *Request, took time.Duration) {
	if !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	t.log.Slow(string(at), urlOf(r), took)
	if f := t.events.SlowCallback; f != nil {
		t.call(func() { f(at, r, took) })
	}
}

// abandoned reports a callback that was given up.
func (t *teller) abandoned(at Stage, r *Request) {
	t.log.Abandoned(string(at), urlOf(r))
	if f := t.events.Abandoned; f != nil {
		t.event(func() { f(at, r) })
	}
}

// refusedBy warns, once for each slot, that the cache refuses its requests.
func (t *teller) refusedBy(slot string, limit int64) {
	if _, warned := t.crowded.LoadOrStore(slot, true); !warned {
		t.log.Crowded(slot, limit, queueShare)
	}
}

// handleOutside tells the ErrorHandlers about a panic that is no request's failure.
func (t *teller) handleOutside(herr *HandleError) {
	j := &job{crawl: t.crawl, ctx: &Context{Ctx: context.Background()}, failures: &failures{}}
	t.handleAlone(j, herr)
	j.failures.runAll()
}

// notice writes the Notice of an error, if it has that method, to the log. The part that returns the error gives each notice once.
func (t *teller) notice(err error) {
	var told interface{ Notice() string }
	if errors.As(err, &told) {
		t.log.Warn(told.Notice())
	}
}

// close ends the calls of Events, and waits for those that callbacks which were given up have begun. A func of Events that does
// not return is left behind with its callback.
func (t *teller) close() { guard.Await(t.door.Close()) }

// MissedErrorsError arrives on an ErrorChan whose reader was too slow: that many errors were not
// delivered before the next one.
type MissedErrorsError struct{ Count int64 }

// Error says how many.
func (e *MissedErrorsError) Error() string {
	return fmt.Sprintf("tegenaria: %d errors were not delivered: the reader of ErrorChan was too slow", e.Count)
}

// urlOf names a request in the log.
func urlOf(r *Request) string {
	if r == nil {
		return ""
	}
	return urlx.Redact(r.Url)
}
