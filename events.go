package tegenaria

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
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

// ErrorChan returns a channel of the errors of the current run, or else of the next one: every [HandleError], and
// panics in Events. Each call returns a new channel, which is closed when that run is over.
// It buffers 1,024 errors. Errors that come while it is full are counted, and a [*MissedErrorsError] reports their number as
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
	failures report.Failures
	noPages  noPages
	refused  report.Failures // seeds for which no failure was reported, and bodies that are not JSON
	hosts    report.Hosts    // that have answered
	pages    report.Pages
	fields   fieldcount.Totals // of items of requests that have settled
	events   Events

	door    *guard.Door             // calls of Events are inside; none begins once it is closed
	crowded sync.Map                // slots whose requests are refused, and whose warning is in the log
	job     atomic.Pointer[settler] // of the crawl, for callers during its opening; nil before
}

func newTeller(c *crawl) *teller {
	return &teller{
		crawl: c, log: newLog(&c.cfg, c.spider.GetName()), events: c.cfg.events,
		door: guard.NewDoor(),
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
		t.log.Failure(saying(herr, ""), herr.Stack, report.Fields{Stage: string(StageEvent)})
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
	if t.isEmpty() {
		t.noPages.failed(herr)
	}
	fields := t.fieldsOf(herr)
	cause, text := causeOf(herr)
	if t.failures.Add(report.Failure{Stage: fields.Stage, Cause: cause, Text: text, URL: fields.URL, Referrer: fields.Referrer}) {
		t.log.Failure(saying(herr, fields.URL), herr.Stack, fields)
	}
	if f := t.events.Error; f != nil {
		t.call(func() { f(herr) })
	}
	t.crawl.engine.errs.Publish(herr)
	if limit := int64(t.crawl.limits.Errors); limit > 0 && errs >= limit {
		t.crawl.requestStop("limit: errors", nil)
	}
}

// isEmpty reports whether no page has come yet in this run.
func (t *teller) isEmpty() bool { return t.counters.Read.Load() == 0 }

// tellsSettled reports whether the log or an event needs the end of a request.
func (t *teller) tellsSettled() bool {
	return t.log.HasDebug() || t.events.RequestSettled != nil || t.isEmpty()
}

// settled reports the end of a request that has no response.
func (t *teller) settled(r *Request, outcome Outcome, reason string) {
	t.settledAs(r, nil, outcome, reason)
}

// settledAs reports the end of a request. f is what the log says of it; nil: there is no response.
func (t *teller) settledAs(r *Request, f *report.Fields, outcome Outcome, reason string) {
	if !t.tellsSettled() || !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	if t.isEmpty() {
		t.noPages.settled(r, outcome, reason, t.wired)
	}
	if r != nil && t.log.HasDebug() {
		if f == nil {
			fields := t.about(r, nil)
			f = &fields
		}
		f.Depth = r.Depth
		t.log.Settled(outcome.String(), reason, *f)
	}
	if f := t.events.RequestSettled; f != nil {
		t.call(func() { f(r, outcome, reason) })
	}
}

// seedRefused warns of a seed that is not crawled although nothing has failed: the user wants it, after all.
func (t *teller) seedRefused(r *Request, outcome Outcome, reason string) {
	kind := outcome.String() + ": " + reason
	if r == nil || !t.refused.Add(report.Failure{Cause: kind}) || !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	seed := SeedError{Outcome: outcome, Reason: reason, Remedy: report.Remedy(outcome.String(), reason)}
	t.log.Lines([]report.Line{{Warn: true, Text: "this seed was not crawled: " + seed.Error(), URL: urlOf(r)}})
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

// blocked reports slots that were blocked meanwhile. The caller holds no locks.
func (t *teller) blocked() {
	c := t.crawl
	if !c.frontier.HasBlocks() {
		return
	}
	list, log, last := c.frontier.TakeBlocks()
	for i, b := range list {
		block := SlotBlock{b.Slot, blockCauses[b.Cause], b.Until}
		if i < log {
			t.log.Blocked(block.Slot, string(block.Cause), block.Until, last && i == log-1)
		}
		if f := c.cfg.events.SlotBlocked; f != nil {
			t.event(func() { f(block) })
		}
	}
}

// refusedBy warns, once for each slot, that the cache refuses its requests.
func (t *teller) refusedBy(slot string, limit int64) {
	if _, warned := t.crowded.LoadOrStore(slot, true); !warned {
		t.log.Crowded(slot, limit, queueShare)
	}
}

// handleOutside tells the ErrorHandlers about a panic that is not a request's failure.
func (t *teller) handleOutside(herr *HandleError) {
	refused := new(refusals)
	t.handleApart(nil, &failedRequest{refused: refused}, herr)
	refused.runAll()
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

// MissedErrorsError is sent on an ErrorChan whose reader was too slow: Count errors were not
// delivered before the next one.
type MissedErrorsError struct{ Count int64 }

// Error says how many.
func (e *MissedErrorsError) Error() string {
	return fmt.Sprintf("tegenaria: %s not delivered: the reader of ErrorChan was too slow", report.Count(e.Count, "error"))
}

// urlOf names a request in the log.
func urlOf(r *Request) string {
	if r == nil {
		return ""
	}
	return urlx.Redact(r.Url)
}
