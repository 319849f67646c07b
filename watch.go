package tegenaria

import (
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

const (
	// slowCallback is when a callback is reported as slow.
	slowCallback = time.Minute
	// quickCallback is how long a callback has an inbox without a receiver.
	quickCallback = time.Millisecond
	// farewell is how long a callback whose context was cancelled may take to return.
	farewell = time.Second
)

// call is user code that is running in a worker.
type call struct {
	stage      Stage
	job        *job     // nil for the start
	asks       *Request // the job's, and its answer, when the call began: the code may replace them
	answer     *Response
	worker     stage.Call   // gives the worker up; zero where the caller waits by itself
	owner      abandoner    // told once, when the call was given up
	life       *lazyContext // cancelled when the code has run too long
	start      time.Time
	slow, over bool
	untimed    bool // the start, or a download: it has all the time it wants, or bound's
	running    bool
	limit      time.Duration // see bound; 0: none
	inbox      *inbox        // one without a receiver, or nil
	asked      *asking       // what the downloader was asked, or nil
	held       bool          // it was given up, and its job is kept open until that is told
	prev, next *call
}

// abandoner is whoever has user code running. doom decides what becomes of it, before the code itself can
// learn that it was given up; it must not wait. abandon then gives back what it holds.
type abandoner interface {
	doom()
	abandon()
}

// watch knows which user code is running. A callback that overruns Limits.Callback, or does not return
// when the crawl gives up, is abandoned: its worker is replaced and what it still does has no effect
// (design laws L7, L8). One timer serves all calls.
type watch struct {
	crawl *crawl
	limit time.Duration // Limits.Callback, 0 is none

	mu        sync.Mutex // guards what follows
	head      call       // of a ring
	timer     *time.Timer
	armed     bool
	at        time.Time // when the timer fires, if armed
	closed    bool
	abandoned map[Stage]int
	leaving   int           // calls that were dropped, and whose farewell is not over
	gone      chan struct{} // closed when there are none any more; nil unless somebody waits
}

func newWatch(c *crawl, limit time.Duration) *watch {
	w := &watch{crawl: c, limit: limit}
	w.head.prev, w.head.next = &w.head, &w.head
	return w
}

// enter notes that user code begins. False: the crawl has given up, the code must not run.
func (w *watch) enter(c *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	c.start = w.crawl.now()
	c.running, c.limit, c.asked, c.asks, c.answer = true, 0, nil, nil, nil
	if c.job != nil && c.job.ctx != nil {
		c.asks, c.answer = c.job.ctx.Request, c.job.ctx.Response()
	}
	c.prev, c.next = w.head.prev, &w.head
	c.prev.next, c.next.prev = c, c
	if due, ok := w.due(c); ok && (!w.armed || due.Before(w.at)) {
		w.arm(c.start)
	}
	return true
}

// exit notes that user code has returned. False: it was abandoned meanwhile, and whoever ran it must
// touch nothing any more.
func (w *watch) exit(c *call) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.running {
		return false
	}
	w.unlink(c)
	return true
}

func (w *watch) unlink(c *call) {
	c.running = false
	c.prev.next, c.next.prev = c.next, c.prev
	c.prev, c.next = nil, nil
}

// bound gives a running download a limit, from started on, 0 for none: then its life is cancelled. A call that
// does not return soon after that is given up.
func (w *watch) bound(c *call, asked *asking, started time.Time, limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.running {
		return
	}
	c.asked, c.start, c.limit, c.over = asked, started, limit, false
	if due := started.Add(limit); limit > 0 && (!w.armed || due.Before(w.at)) {
		w.arm(w.crawl.now())
	}
}

// arm sets the timer for the call that is next to need attention. The caller holds mu.
func (w *watch) arm(now time.Time) {
	var at time.Time
	for c := w.head.next; c != &w.head; c = c.next {
		if due, ok := w.due(c); ok && (at.IsZero() || due.Before(at)) {
			at = due
		}
	}
	w.armed, w.at = !at.IsZero(), at
	if !w.armed {
		return
	}
	wait := max(at.Sub(now), 0)
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.look)
	} else {
		w.timer.Reset(wait)
	}
}

// due tells when a call needs attention next.
func (w *watch) due(c *call) (time.Time, bool) {
	switch {
	case c.inbox != nil:
		return c.start.Add(quickCallback), true
	case c.limit > 0 && c.over:
		return c.start.Add(c.limit + 2*farewell), true
	case c.limit > 0:
		return c.start.Add(c.limit), true
	case c.untimed:
		return time.Time{}, false
	case c.over:
		return c.start.Add(w.limit + farewell), true
	case w.limit > 0 && (c.slow || w.limit <= slowCallback):
		return c.start.Add(w.limit), true
	case !c.slow:
		return c.start.Add(slowCallback), true
	}
	return time.Time{}, false
}

// slowCall is what is told of a call that has been running for long: the call itself may end meanwhile.
type slowCall struct {
	stage   Stage
	request *Request
	took    time.Duration
}

// look is run by the timer.
func (w *watch) look() {
	now := w.crawl.now()
	var slow []slowCall
	var lost []*call
	over := false
	w.mu.Lock()
	for c := w.head.next; c != &w.head; {
		next := c.next
		switch due, ok := w.due(c); {
		case !ok || due.After(now):
		case c.inbox != nil:
			c.inbox.start()
			c.inbox = nil
		case c.over:
			w.drop(c)
			lost = append(lost, c)
		case c.limit > 0:
			c.over = true
			c.asked.life.cancel(&TimeoutError{URL: c.asked.url, Limit: c.limit})
		case w.limit > 0 && !now.Before(c.start.Add(w.limit)):
			c.over, over = true, true
			if c.job != nil {
				c.job.late.Store(true)
			}
			if c.life != nil {
				c.life.cancel(&CallbackTimeoutError{Stage: c.stage, Limit: w.limit})
			}
		default:
			c.slow = true
			slow = append(slow, slowCall{c.stage, c.asks, now.Sub(c.start)})
		}
		c = next
	}
	w.armed = false
	if !w.closed {
		w.arm(now)
	}
	w.mu.Unlock()
	if over {
		w.crawl.holders.handOver() // what it sent before it is given up counts
	}
	for _, c := range slow {
		w.crawl.slow(c.stage, c.request, c.took)
	}
	for _, c := range lost {
		w.farewell(c)
	}
}

// drop gives a call up. The caller holds mu.
func (w *watch) drop(c *call) {
	w.leaving++
	c.held = c.job != nil && c.job.tryOpen()
	c.owner.doom()
	w.unlink(c)
	if c.inbox != nil {
		c.inbox.start() // whatever it sends, it shall not wait for ever
	}
	if w.abandoned == nil {
		w.abandoned = make(map[Stage]int)
	}
	w.abandoned[c.stage]++
}

// farewell does what follows a drop, without the lock.
func (w *watch) farewell(c *call) {
	defer w.farewellOver()
	if c.asked != nil {
		c.asked.letGo()
	}
	w.crawl.lost(c)
	c.owner.abandon()
	c.worker.Detach()
}

func (w *watch) farewellOver() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leaving--; w.leaving == 0 && w.gone != nil {
		close(w.gone)
		w.gone = nil
	}
}

// wait returns when all that was dropped has been let go of.
func (w *watch) wait() {
	w.mu.Lock()
	if w.leaving == 0 {
		w.mu.Unlock()
		return
	}
	if w.gone == nil {
		w.gone = make(chan struct{})
	}
	gone := w.gone
	w.mu.Unlock()
	<-gone
}

// close gives up all running calls and refuses new ones.
func (w *watch) close() {
	w.mu.Lock()
	w.closed = true
	var lost []*call
	for c := w.head.next; c != &w.head; c = w.head.next {
		w.drop(c)
		lost = append(lost, c)
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	for _, c := range lost {
		w.farewell(c)
	}
}

// count counts a call that the watch did not know of as abandoned.
func (w *watch) count(at Stage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.abandoned == nil {
		w.abandoned = make(map[Stage]int)
	}
	w.abandoned[at]++
}

// counts returns how many calls were abandoned, by stage; nil if none.
func (w *watch) counts() map[Stage]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.abandoned) == 0 {
		return nil
	}
	counts := make(map[Stage]int, len(w.abandoned))
	for s, n := range w.abandoned {
		counts[s] = n
	}
	return counts
}
