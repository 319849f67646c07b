package guard

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

// Call is user code that one goroutine runs, one piece after the other, such as all callbacks of one page. A [Watch] runs it.
// Whoever makes a Call sets the exported fields before its first piece. It must not be copied.
type Call struct {
	Owner  Owner      // its methods are called when the code is slow or given up
	Worker stage.Call // the pool worker that runs it, replaced when the code is given up; zero where the caller waits by itself
	Caller *Call      // the code that this call is made by and for, and that waits for its end; nil: none waits
	Life   Context    // is cancelled when the code has run too long; without a Parent nothing is cancelled

	slot   *poolSlot    // where the watch finds it if it has joined; nil: in the ring
	joined bool         // the watch knows it; belongs to the goroutine that runs it
	state  atomic.Int32 // written by the holder of mu

	mu      sync.Mutex // guards the fields below
	at      string     // the stage of the present piece, or of the last one
	untimed bool       // it has no limit, or that of Bound
	start   time.Time
	waits   int           // how many Pauses are open: while there are any, its clock stands
	since   time.Time     // when the clock stopped, while it stands
	limit   time.Duration // see Bound; 0: none
	tooLate error         // the error when that is over; nil: the bounded makes it
	late    Late          // not started yet, or nil
	bounded BoundedCall   // nil: none
	left    chan struct{} // closed when it was given up and its owner has been told; nil before

	prev, next *Call // guarded by the watch
}

// The states of a call, in this order. A piece that begins makes it running, its end makes it idle; a call that is gone stays
// gone.
const (
	idle    int32 = iota // no piece is running
	running              // a piece is
	slow                 // the piece has been reported as slow
	overdue              // the piece is over its limit, and its context was cancelled
	gone                 // given up: what the code still does has no effect, and no other piece begins
)

// GivenUp reports whether the code was given up. It may be called concurrently.
func (c *Call) GivenUp() bool { return c.state.Load() == gone }

// Overdue reports whether the code is over its limit or was given up: requests that it sends must not be held back. It may be called
// concurrently.
func (c *Call) Overdue() bool { return c.state.Load() >= overdue }

// Joined reports whether a watch knows the call. Only the goroutine that runs it may ask.
func (c *Call) Joined() bool { return c.joined }

// whenLeft returns the channel that is closed when the call was given up and its owner has been told.
func (c *Call) whenLeft() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == nil {
		c.left = make(chan struct{})
	}
	return c.left
}

// runs reports whether a piece is running. The caller holds mu.
func (c *Call) runs() bool {
	state := c.state.Load()
	return state != idle && state != gone
}

// Owner learns what becomes of its user code: its methods are called when the code takes long, and once when it is given up, in
// any goroutine.
type Owner interface {
	// Slow is called when the code has been running for a minute.
	Slow(at string, took time.Duration)
	// Abandon is called when the code is given up. It reports the loss and gives back all that the owner holds. Until it has
	// returned, Run, Exit and Apart do not return for the code.
	Abandon(Loss)
}

// Loss is a call that was given up.
type Loss struct {
	At      string // the stage of the piece that was running
	TooLate error  // of Bound or Limited, where that limit was over; else nil
}

// BoundedCall is code that a piece runs with a life of its own, as a download is.
type BoundedCall interface {
	// TooLate makes the error of a limit that is over.
	TooLate(limit time.Duration) error
	// Cancel has the code return. It must not wait.
	Cancel(cause error)
	// Abandoned is called when the code was given up.
	Abandoned()
}

// Late is started only for code that does not return at once: a receiver, say, for code that seldom sends.
type Late interface {
	// Start must not wait, and may be called more than once.
	Start()
}

// poolSlot is where the watch finds the call of one worker of a pool. It fills a cache line, so that processors do not take it
// away from each other.
type poolSlot struct {
	call atomic.Pointer[Call]
	_    [56]byte
}

const (
	// SlowCallback is when a callback is reported as slow.
	SlowCallback = time.Minute
	// QuickCallback is how long a callback runs before its Late is started.
	QuickCallback = time.Millisecond
	// CancelGrace is how long a callback whose context was cancelled may take to return.
	CancelGrace = time.Second
)

// Run runs a piece of a call that has joined, and returns its error. late is started when the code does not return soon, and
// may be nil. The error is [ErrGivenUp] if the code was given up, or must not run because the watch is closed: then nothing that
// the code has made may be looked at. Code that ends its goroutine (runtime.Goexit, which FailNow of a test calls) is given up.
func (w *Watch) Run(c *Call, at string, late Late, code func() error) error {
	if !w.begin(c, at, late) {
		return ErrGivenUp
	}
	returned := false
	defer func() {
		if !returned {
			w.goexit(c)
		}
	}()
	err := code()
	returned = true
	if !w.end(c) {
		return ErrGivenUp
	}
	return err
}

// Enter joins for a single piece, and begins it. It returns false if the code must not run because the watch is closed.
func (w *Watch) Enter(c *Call, at string) bool {
	w.Join(c)
	if w.begin(c, at, nil) {
		return true
	}
	w.Leave(c)
	return false
}

// Exit ends a call that Enter began. It returns false if the code was given up.
func (w *Watch) Exit(c *Call) (alive bool) {
	alive = w.end(c)
	w.Leave(c)
	return alive
}

// begin notes that a piece of user code begins. It returns false if the watch is closed: then the code must not run.
func (w *Watch) begin(c *Call, at string, late Late) bool {
	c.mu.Lock()
	if c.state.Load() == gone || w.closed.Load() {
		c.mu.Unlock()
		return false
	}
	c.at, c.untimed, c.late, c.start = at, slices.Contains(w.cfg.Untimed, at), late, w.now()
	c.since = c.start // if a piece that has ended left something behind that waits
	c.limit, c.tooLate, c.bounded = 0, nil, nil
	c.state.Store(running)
	due, ok := w.due(c)
	c.mu.Unlock()
	if ok {
		w.await(due)
	}
	return true
}

// end notes that the piece has returned. If the piece was given up meanwhile, it returns false, once the owner has been told.
func (w *Watch) end(c *Call) bool {
	c.mu.Lock()
	left := c.left
	if c.state.Load() != gone {
		c.state.Store(idle)
		left = nil
	}
	c.mu.Unlock()
	if left == nil {
		return true
	}
	<-left
	w.unreturned.Add(-1)
	return false
}

// goexit gives up a call whose goroutine ends.
func (w *Watch) goexit(c *Call) {
	w.mu.Lock()
	lost := w.dropRunning(c)
	w.mu.Unlock()
	if lost {
		w.notify(c)
	}
	<-c.whenLeft()
	w.unreturned.Add(-1)
}

// Bound gives a running bounded a limit, from started on, 0 for none: then it is cancelled. A call that does not return
// soon after that is given up.
func (w *Watch) Bound(c *Call, bounded BoundedCall, started time.Time, limit time.Duration) {
	w.bound(c, bounded, started, limit, nil)
}

// Limited gives a running bounded a limit from now on, for a part of it that is user code. tooLate is the error when it is over.
// The limit 0 takes the limit away.
func (w *Watch) Limited(c *Call, limit time.Duration, tooLate error) {
	w.bound(c, nil, w.now(), limit, tooLate)
}

// bound gives an bounded a limit; nil is the one that is running.
func (w *Watch) bound(c *Call, bounded BoundedCall, start time.Time, limit time.Duration, tooLate error) {
	c.mu.Lock()
	if bounded == nil {
		bounded = c.bounded
	}
	runs := c.runs() && bounded != nil
	if runs {
		c.bounded, c.start, c.limit, c.tooLate = bounded, start, limit, tooLate
		c.state.Store(running)
	}
	c.mu.Unlock()
	if runs && limit > 0 {
		w.await(start.Add(limit))
	}
}

// Pause stops the clock of the code until Resume: the code waits for the engine, as for room in a buffer. Pauses may nest, and
// come from any goroutine.
func (w *Watch) Pause(c *Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits++; c.waits == 1 {
		c.since = w.now()
	}
}

// Resume ends a Pause.
func (w *Watch) Resume(c *Call) {
	c.mu.Lock()
	if c.waits--; c.waits > 0 {
		c.mu.Unlock()
		return
	}
	if c.state.Load() != overdue {
		c.start = c.start.Add(w.now().Sub(c.since))
	}
	due, ok := w.due(c)
	ok = ok && c.runs()
	c.mu.Unlock()
	if ok {
		w.await(due)
	}
}

// PauseCallers stops the clocks of the code that waits for a call, of the code that waits for that, and so on, until the func that it
// returns is called: the call waits for the engine.
func (w *Watch) PauseCallers(c *Call) (resume func()) {
	each := func(do func(*Call)) {
		for caller := c.Caller; caller != nil; caller = caller.Caller {
			do(caller)
		}
	}
	each(w.Pause)
	return func() { each(w.Resume) }
}

// Why returns the error of the limit of Bound or Limited because of which a call was given up; nil for any other call.
func (w *Watch) Why(c *Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Load() != gone {
		return nil
	}
	return c.tooLate
}

// due returns when a running call needs attention next. The caller holds the call's mu.
func (w *Watch) due(c *Call) (time.Time, bool) {
	state := c.state.Load()
	switch {
	case c.late != nil:
		return c.start.Add(QuickCallback), true
	case c.limit > 0 && state == overdue:
		return c.start.Add(c.limit + 2*CancelGrace), true
	case c.limit > 0:
		return c.start.Add(c.limit), true
	case c.untimed:
		return time.Time{}, false
	case state == overdue:
		return c.start.Add(w.cfg.Limit + CancelGrace), true
	case c.waits > 0:
		return time.Time{}, false
	case w.cfg.Limit > 0 && (state == slow || w.cfg.Limit <= SlowCallback):
		return c.start.Add(w.cfg.Limit), true
	case state != slow:
		return c.start.Add(SlowCallback), true
	}
	return time.Time{}, false
}
