package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria/internal/guard"
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

// errorChanDepth is how many errors wait for the reader of an ErrorChan.
const errorChanDepth = 1024

// subscription is one ErrorChan.
type subscription struct {
	ch     chan error
	missed int64
}

// ErrorChan subscribes to the errors of the run that is on, or of the next one: every [HandleError], and
// panics in Events. Each call is a subscription of its own; its channel is closed when that run is over.
// It holds 1,024 errors: those that come while it is full are counted, and a [*MissedErrorsError] reports their number as
// soon as there is room again. A slow reader never holds up the crawl.
func (e *SpiderEngine) ErrorChan() <-chan error {
	s := &subscription{ch: make(chan error, errorChanDepth+1)}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.errs = append(e.errs, s)
	return s.ch
}

// publish sends an error to all subscriptions.
func (e *SpiderEngine) publish(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.errs {
		s.publish(err)
	}
}

func (s *subscription) publish(err error) {
	room := cap(s.ch) - len(s.ch) - 1 // the last place is for the MissedErrorsError at the end
	if err == nil {
		room++
	}
	if s.missed > 0 && (room >= 2 || err == nil && room >= 1) {
		s.ch <- &MissedErrorsError{Count: s.missed}
		s.missed = 0
		room--
	}
	switch {
	case err == nil:
	case room > 0 && s.missed == 0:
		s.ch <- err
	default:
		s.missed++
	}
}

// closeErrors ends all subscriptions.
func (e *SpiderEngine) closeErrors() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.errs {
		s.publish(nil)
		close(s.ch)
	}
	e.errs = nil
}

// teller reports the events of a crawl: it has the log, the counters and the user's Events, and calls the ErrorHandlers, which
// may answer a failure with requests. All methods may be called concurrently, also by callbacks that were given up.
type teller struct {
	crawl    *crawl
	log      logger
	counters *counters
	events   Events

	door     *guard.Door // calls of Events are inside; none begins once it is closed
	handlers *guard.Door // of the goroutines in which ErrorHandlers are told of callbacks that were given up
	crowded  sync.Map    // slots that the log was told about: their requests are refused
}

func newTeller(c *crawl) *teller {
	return &teller{
		crawl: c, log: newLogger(c.cfg.logger, c.spider.GetName()), counters: newCounters(), events: c.cfg.events,
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
		t.counters.errors.Add(1)
		t.log.failure(herr)
		t.crawl.engine.publish(herr)
	}
}

// failed counts, logs and publishes a failure, unless the run is over.
func (t *teller) failed(herr *HandleError) {
	if !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	errs := t.counters.errors.Add(1)
	t.log.failure(herr)
	if f := t.events.Error; f != nil {
		t.call(func() { f(herr) })
	}
	t.crawl.engine.publish(herr)
	if limit := int64(t.crawl.limits.Errors); limit > 0 && errs >= limit {
		t.crawl.requestStop("limit: errors", nil)
	}
}

// tellsSettled reports whether the log or an event needs the end of a request.
func (t *teller) tellsSettled() bool { return t.log.debug || t.events.RequestSettled != nil }

// settled reports the end of a request.
func (t *teller) settled(r *Request, outcome Outcome, reason string) {
	if !t.tellsSettled() || !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	if r != nil {
		t.log.settled(r, outcome, reason)
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
	t.log.slow(at, r, took)
	if f := t.events.SlowCallback; f != nil {
		t.call(func() { f(at, r, took) })
	}
}

// abandoned reports a callback that was given up.
func (t *teller) abandoned(at Stage, r *Request) {
	t.log.abandoned(at, r)
	if f := t.events.Abandoned; f != nil {
		t.event(func() { f(at, r) })
	}
}

// refusedBy warns, once for each slot, that the cache refuses its requests.
func (t *teller) refusedBy(slot string, limit int64) {
	if _, warned := t.crowded.LoadOrStore(slot, true); !warned {
		t.log.crowded(slot, limit)
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
		t.log.entry.Warn(told.Notice())
	}
}

// close ends the calls of Events, and waits for those that callbacks which were given up have begun. A func of Events that does
// not return is left behind with its callback.
func (t *teller) close() {
	bye := time.NewTimer(farewell)
	defer bye.Stop()
	select {
	case <-t.door.Close():
	case <-bye.C:
	}
}

// MissedErrorsError arrives on an ErrorChan whose reader was too slow: that many errors were not
// delivered before the next one.
type MissedErrorsError struct{ Count int64 }

// Error says how many.
func (e *MissedErrorsError) Error() string {
	return fmt.Sprintf("tegenaria: %d errors were not delivered: the reader of ErrorChan was too slow", e.Count)
}

// logger writes the log of a crawl. Every method checks the level before it does anything.
type logger struct {
	entry *logrus.Entry
	debug bool
}

// newLogger wraps the user's logger; nil logs warnings and errors to stderr.
func newLogger(l *logrus.Logger, spider string) logger {
	if l == nil {
		l = logrus.New()
		l.SetOutput(os.Stderr)
		l.SetLevel(logrus.WarnLevel)
	}
	return logger{entry: l.WithField("spider", spider), debug: l.IsLevelEnabled(logrus.DebugLevel)}
}

// logLength bounds what one message may hold of an error: a server can make it long.
const logLength = 2048

// failure logs a HandleError: a panic of user code as an error with its stack, any other as a warning.
func (l logger) failure(herr *HandleError) {
	level := logrus.WarnLevel
	if herr.Stack != nil {
		level = logrus.ErrorLevel
	}
	if !l.entry.Logger.IsLevelEnabled(level) {
		return
	}
	message := herr.Error()
	if len(message) > logLength {
		message = message[:logLength] + "…"
	}
	entry := l.entry
	if herr.Stack != nil {
		entry = entry.WithField("stack", string(herr.Stack))
	}
	entry.Log(level, message)
}

func (l logger) settled(r *Request, outcome Outcome, reason string) {
	if !l.debug {
		return
	}
	l.entry.WithFields(logrus.Fields{"url": urlx.Redact(r.Url), "outcome": outcome.String(), "reason": reason}).Debug("request settled")
}

func (l logger) crowded(slot string, limit int64) {
	l.entry.WithField("host", slot).Warnf("%s holds more than half of the waiting requests, and they need 7/8 of Limits.QueueBytes = %d bytes: "+
		"its further requests are filtered (%s), so that the other hosts live; bound it with Politeness.MaxPages, "+
		"or keep the queue on disk with cache/disk", slot, limit, queueShare)
}

func (l logger) slow(at Stage, r *Request, took time.Duration) {
	l.entry.WithFields(logrus.Fields{"stage": string(at), "url": urlOf(r)}).
		Warnf("a callback is running for %s already", took.Round(time.Second))
}

func (l logger) abandoned(at Stage, r *Request) {
	l.entry.WithFields(logrus.Fields{"stage": string(at), "url": urlOf(r)}).
		Error("a callback did not return and was abandoned")
}

// blocked logs that no request of a slot will start for a while. last says that it is the last such line in this minute.
func (l logger) blocked(b SlotBlock, last bool) {
	entry := l.entry.WithFields(logrus.Fields{"slot": b.Slot, "cause": string(b.Cause), "until": b.Until.UTC().Format(time.RFC3339)})
	entry.Warn("nothing is asked of this slot for more than a minute")
	if last {
		l.entry.Warn("further blocked slots are not logged in this minute; the event SlotBlocked and SpiderEngine.Slots tell all")
	}
}

func urlOf(r *Request) string {
	if r == nil {
		return ""
	}
	return urlx.Redact(r.Url)
}

// countsByStage prints counts in the order of their stages' names.
func countsByStage(counts map[Stage]int) string {
	parts := make([]string, 0, len(counts))
	for s, n := range counts {
		parts = append(parts, fmt.Sprintf("%s %d", s, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
