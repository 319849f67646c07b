package tegenaria

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/stage"
)

// call is user code that a worker runs, one piece after the other. Whoever makes it sets job, worker and owner.
type call struct {
	job    *job       // nil for the start
	worker stage.Call // gives the worker up; zero where the caller waits by itself
	owner  abandoner  // told once, when the call was given up
	joined bool       // whoever runs it keeps it joined, see join
	seat   *seat      // where it is found then; nil: in the ring

	mu         sync.Mutex // guards what follows
	stage      Stage
	id         string // the job's CtxId, and its answer, when the piece began: the code may replace them
	answer     *Response
	life       *guard.Context // cancelled when the code has run too long
	start      time.Time
	waits      int       // how often it waits for the engine at this moment: its clock stands
	since      time.Time // then: since when
	slow, over bool
	running    bool
	dropped    bool
	limit      time.Duration // see bound; 0: none
	tooLate    error         // when that is over
	inbox      *inbox        // one without a receiver, or nil
	asked      *asking       // what the downloader was asked, or nil
	held       bool          // it was given up, and its job is kept open until that is told

	prev, next *call // guarded by the watch
}

// seat is where the watch finds the call that a worker of a pool is in. Each has memory of its own: the processors
// shall not take it away from each other.
type seat struct {
	call atomic.Pointer[call]
	_    [56]byte
}

// abandoner is whoever has user code running. doom decides what becomes of it, before the code itself can
// learn that it was given up; it must not wait. abandon then gives back what it holds.
type abandoner interface {
	doom()
	abandon()
}

const (
	// slowCallback is when a callback is reported as slow.
	slowCallback = time.Minute
	// quickCallback is how long a callback has an inbox without a receiver.
	quickCallback = time.Millisecond
	// farewell is how long a callback whose context was cancelled may take to return.
	farewell = time.Second
)

// begin notes that a piece of user code begins: life is cancelled when it takes too long; in has no receiver before
// it takes long; both may be nil. It returns false if the crawl has given up: then the code must not run.
func (w *watch) begin(c *call, at Stage, life *guard.Context, in *inbox) bool {
	c.mu.Lock()
	if c.dropped || w.closed.Load() {
		c.mu.Unlock()
		return false
	}
	c.stage, c.life, c.inbox, c.start = at, life, in, w.crawl.now()
	c.since = c.start // if a piece that has ended left something behind that waits
	c.running, c.slow, c.over, c.limit, c.tooLate, c.asked, c.id, c.answer = true, false, false, 0, nil, nil, "", nil
	if c.job != nil && c.job.ctx != nil {
		c.id, c.answer = c.job.ctx.CtxId, c.job.ctx.Response()
	}
	due, ok := w.due(c)
	c.mu.Unlock()
	if ok {
		w.await(due)
	}
	return true
}

// run runs the piece that has begun, and is its end. Code that ends its goroutine (runtime.Goexit, which FailNow of a
// test calls) is given up.
func (w *watch) run(c *call, code func()) (alive bool) {
	returned := false
	defer func() {
		if !returned {
			w.goexit(c)
		}
	}()
	code()
	returned = true
	return w.end(c)
}

// runOnce is run for the single piece of a call that entered.
func (w *watch) runOnce(c *call, code func()) (alive bool) {
	alive = w.run(c, code)
	w.leave(c)
	return alive
}

// goexit gives up a call whose goroutine ends.
func (w *watch) goexit(c *call) {
	w.mu.Lock()
	c.mu.Lock()
	running := c.running
	if running {
		w.drop(c)
	}
	c.mu.Unlock()
	w.mu.Unlock()
	if running {
		w.farewell(c)
	}
}

// end notes that the piece has returned. It returns false if the piece was abandoned meanwhile: then its
// goroutine must not touch the job any more.
func (w *watch) end(c *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	alive := c.running
	c.running = false
	return alive
}

// waitsForEngine stops the clocks of the user code that has called Fetch for the job, until the func it returns is
// called: the engine makes it wait.
func (j *job) waitsForEngine() (over func()) {
	for caller := j.caller; caller != nil; caller = caller.caller {
		j.crawl.watch.clockStops(&caller.call)
	}
	return func() {
		for caller := j.caller; caller != nil; caller = caller.caller {
			j.crawl.watch.clockGoesOn(&caller.call)
		}
	}
}

// clockStops notes that the code waits for the engine: for room in the item buffer, or for a slot. That time is not
// its own.
func (w *watch) clockStops(c *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waits++; c.waits == 1 {
		c.since = w.crawl.now()
	}
}

// clockGoesOn ends what clockStops began.
func (w *watch) clockGoesOn(c *call) {
	c.mu.Lock()
	if c.waits--; c.waits > 0 {
		c.mu.Unlock()
		return
	}
	if !c.over {
		c.start = c.start.Add(w.crawl.now().Sub(c.since))
	}
	due, ok := w.due(c)
	ok = ok && c.running
	c.mu.Unlock()
	if ok {
		w.await(due)
	}
}

// due tells when a running call needs attention next. The caller holds the call's mu.
func (w *watch) due(c *call) (time.Time, bool) {
	switch {
	case c.inbox != nil:
		return c.start.Add(quickCallback), true
	case c.limit > 0 && c.over:
		return c.start.Add(c.limit + 2*farewell), true
	case c.limit > 0:
		return c.start.Add(c.limit), true
	case c.untimed():
		return time.Time{}, false
	case c.over:
		return c.start.Add(w.limit + farewell), true
	case c.waits > 0:
		return time.Time{}, false
	case w.limit > 0 && (c.slow || w.limit <= slowCallback):
		return c.start.Add(w.limit), true
	case !c.slow:
		return c.start.Add(slowCallback), true
	}
	return time.Time{}, false
}

// untimed reports whether the code has all the time it wants, or bound's.
func (c *call) untimed() bool {
	return c.stage == StageStart || c.stage == StageOpen || c.stage == StageDownload
}
