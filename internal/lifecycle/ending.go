package lifecycle

import (
	"context"
	"sync"
	"time"
)

// Reasons for which an [Ending] ends a run by itself.
const (
	Finished  = "finished"    // nothing was left to do
	Requested = "stopped"     // it was asked for
	Cancelled = "cancelled"   // the context of the run has ended
	TimeLimit = "limit: time" // Steps.Limit is over
	Broken    = "failed"      // see [Ending.Break]
)

// Steps are what an [Ending] does and when. All funcs but Told are needed; they must not wait for the run's end.
type Steps struct {
	Limit       time.Duration    // the run is asked to stop after it (0: no limit)
	Grace       time.Duration    // how long a run that was asked to stop may go on with the work in hand
	CancelGrace time.Duration    // how long code may take at most to return after its context is cancelled; a quarter of Grace if that is less
	Now         func() time.Time // of a clock that never jumps
	Over        error            // the cause of the work's end when Grace is over

	Told    func(reason string, insisted bool) // hears each reason that becomes that of the run, and whether it came from Insist; nil: nobody does
	Stop    func()                             // begin nothing new; called once, whoever asks first
	Cancel  func(cause error) bool             // cancel the work in hand; false if it was cancelled before
	Leave   func()                             // leave behind the code that has not returned
	Abandon func()                             // cancel what still stores the work that was done
}

// Ending takes a run to its end. A run that is asked to stop begins nothing new. When its grace is over, or it is asked to
// hurry, its work is cancelled; a cancel grace later, code that has not returned is left behind; another one later storing is
// cancelled too. Then the parts are closed, and then the run is gone.
//
// All methods may be called concurrently, except [Ending.Supervise], [Ending.Over], [Ending.Close] and [Ending.Gone], which are
// the run's own, each called once and in this order.
type Ending struct {
	steps   Steps
	asked   chan struct{} // closed when the run is to stop
	hurry   chan struct{} // one token says that it is to stop at once
	over    chan struct{} // closed when everything has ended but the parts
	closing chan struct{} // closed when the parts are about to be closed
	gone    chan struct{} // closed when the run is gone
	parts   int           // to be closed; set before closing is closed

	mu      sync.Mutex // guards the fields below
	leaveBy time.Time  // code that has not returned by then is left behind: the earliest moment that was asked for
	reason  string     // why it was asked to stop; the first wins
	cause   error
	insists bool  // the run ends for reason even if nothing was left to do
	broken  error // the error that the run ends with
}

// NewEnding returns the ending of a run that has just begun.
func NewEnding(steps Steps) *Ending {
	return &Ending{
		steps: steps, hurry: make(chan struct{}, 1), asked: make(chan struct{}),
		over: make(chan struct{}), closing: make(chan struct{}), gone: make(chan struct{}),
	}
}

// Ask asks the run to end gracefully, for a reason and perhaps an error that is its cause. The first reason counts. It returns
// when nothing new begins any more.
func (e *Ending) Ask(reason string, cause error) { e.ask(reason, cause, false) }

// Insist asks the run to end gracefully, as Ask does, for a reason that stays the run's even if nothing was left to do. It takes
// the place of a reason that nobody has insisted on, unless that is [Cancelled] or [Broken].
func (e *Ending) Insist(reason string) { e.ask(reason, nil, true) }

func (e *Ending) ask(reason string, cause error, insists bool) {
	e.mu.Lock()
	if e.reason != "" {
		if insists && !e.insists && e.reason != Cancelled && e.reason != Broken {
			e.reason, e.cause, e.insists = reason, cause, true
			e.mu.Unlock()
			e.tell(reason, insists)
			return
		}
		e.mu.Unlock()
		return
	}
	e.reason, e.cause, e.insists = reason, cause, insists
	e.mu.Unlock()
	e.tell(reason, insists)
	e.steps.Stop()
	close(e.asked)
}

// tell has the reason of the run heard.
func (e *Ending) tell(reason string, insisted bool) {
	if e.steps.Told != nil {
		e.steps.Told(reason, insisted)
	}
}

// Asked returns a channel that is closed once the run is to stop.
func (e *Ending) Asked() <-chan struct{} { return e.asked }

// Break ends the run with an error; the first one counts.
func (e *Ending) Break(err error) {
	e.mu.Lock()
	if e.broken == nil {
		e.broken = err
	}
	e.mu.Unlock()
	e.Ask(Broken, err)
}

// Hurry ends the grace of the run; code that has not returned within bye is left behind. Further calls can only bring that moment
// forward. Once the parts are being closed it cuts that short.
func (e *Ending) Hurry(bye time.Duration) {
	at := e.steps.Now().Add(bye)
	e.mu.Lock()
	if e.leaveBy.IsZero() || at.Before(e.leaveBy) {
		e.leaveBy = at
	}
	e.mu.Unlock()
	select {
	case e.hurry <- struct{}{}:
	default: // it has been hurried
	}
}

// Hurried returns a channel that yields once for calls of Hurry, to whoever closes the parts.
func (e *Ending) Hurried() <-chan struct{} { return e.hurry }

// Why returns why the run was asked to stop, and the error it was broken by; all are zero for a run that was not.
func (e *Ending) Why() (reason string, cause, broken error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reason, e.cause, e.broken
}

// Insisted reports whether somebody has insisted on the reason.
func (e *Ending) Insisted() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.insists
}

// Finish notes that nothing was left to do: that is how the run has ended, whoever asked it to stop, unless it was broken or
// somebody has insisted on another reason. It reports whether the run has ended so.
func (e *Ending) Finish(reason string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.broken != nil || e.insists {
		return false
	}
	e.reason = reason
	return true
}

// Supervise waits for what ends a run - the end of ctx, the limit of time, Ask and its grace, Hurry - and takes the steps. It
// returns after Over.
func (e *Ending) Supervise(ctx context.Context) {
	s := supervisor{Ending: e, bye: min(e.steps.Grace/4, e.steps.CancelGrace), asked: e.asked}
	defer s.end()
	var limit, grace, storing <-chan time.Time
	if e.steps.Limit > 0 {
		limit = s.after(e.steps.Limit)
	}
	done := ctx.Done()
	for {
		select {
		case <-e.over:
			return
		case <-limit:
			limit = nil
			e.Ask(TimeLimit, nil)
		case <-done:
			done = nil
			e.Ask(Cancelled, context.Cause(ctx))
			s.cancel(context.Cause(ctx))
			grace = nil
		case <-s.asked:
			s.asked = nil
			grace = s.after(e.steps.Grace - s.bye)
		case <-grace:
			s.cancel(e.steps.Over)
			grace = nil
		case <-e.hurry:
			e.Ask(Requested, nil)
			s.cancel(e.steps.Over)
			grace = nil
			e.mu.Lock()
			at := e.leaveBy
			e.mu.Unlock()
			s.leaveAt(at)
		case <-s.last:
			s.last = nil
			e.steps.Leave()
			storing = s.after(e.steps.CancelGrace)
		case <-storing:
			storing = nil
			e.steps.Abandon()
		}
	}
}

// supervisor is the state of Supervise.
type supervisor struct {
	*Ending
	timers []*time.Timer
	bye    time.Duration // how long cancelled code may take to return
	asked  <-chan struct{}
	leave  time.Time        // when last fires, or has fired; zero before
	last   <-chan time.Time // fires when code is left behind; nil before that is decided, and afterwards
}

func (s *supervisor) end() {
	for _, t := range s.timers {
		t.Stop()
	}
}

func (s *supervisor) after(d time.Duration) <-chan time.Time {
	t := time.NewTimer(d)
	s.timers = append(s.timers, t)
	return t.C
}

// cancel cancels the work; there is no grace any more.
func (s *supervisor) cancel(cause error) {
	s.asked = nil
	if s.steps.Cancel(cause) {
		s.leaveAt(s.steps.Now().Add(s.bye))
	}
}

// leaveAt has code left behind at a moment, unless that happens sooner or has happened.
func (s *supervisor) leaveAt(at time.Time) {
	if s.leave.IsZero() || at.Before(s.leave) && s.last != nil {
		s.leave, s.last = at, s.after(at.Sub(s.steps.Now()))
	}
}

// Over lets Supervise return: all work has ended or was left behind.
func (e *Ending) Over() { close(e.over) }

// Close notes that this many parts are about to be closed. A Hurry that has come before does not cut the closing short.
func (e *Ending) Close(parts int) {
	e.parts = parts
	close(e.closing)
	select {
	case <-e.hurry:
	default:
	}
}

// Gone notes that the run is gone.
func (e *Ending) Gone() { close(e.gone) }

// Await waits until the run is gone. over is false if ctx ended first. late says that it is not gone although its work has to
// be over after that time, and then each part has had its time to be closed.
func (e *Ending) Await(ctx context.Context, work time.Duration) (over, late bool) {
	bye := e.steps.CancelGrace
	bound := time.NewTimer(work + bye + bye/2) // a batch that is being stored has a cancel grace too
	defer bound.Stop()
	closing := e.closing
	for {
		select {
		case <-e.gone:
			return true, false
		case <-ctx.Done():
			return false, false
		case <-closing:
			closing = nil
			bound.Reset(e.steps.Grace + time.Duration(e.parts+1)*bye)
		case <-bound.C:
			return false, true
		}
	}
}
