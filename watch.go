package tegenaria

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// watch knows which user code is running. A callback that overruns Limits.Callback, or does not return
// when the crawl gives up, is abandoned: its worker is replaced and what it still does has no effect
// (design laws L7, L8). One timer serves all calls.
type watch struct {
	crawl *crawl
	limit time.Duration // Limits.Callback, 0 is none

	closed atomic.Bool
	alarm  atomic.Int64 // when the timer fires, since the crawl began; never, if it is not set

	pages, items []seat // of the workers

	mu        sync.Mutex // guards what follows; held before a call's
	head      call       // of a ring
	timer     *time.Timer
	abandoned map[Stage]int
	leaving   int           // calls that were dropped, and whose farewell is not over
	gone      chan struct{} // closed when there are none any more; nil unless somebody waits
}

// never is later than every alarm.
const never = math.MaxInt64

// newWatch makes a watch for so many workers that crawl pages, and pass items on.
func newWatch(c *crawl, limit time.Duration, pages, items int) *watch {
	w := &watch{crawl: c, limit: limit, pages: make([]seat, pages), items: make([]seat, items)}
	w.head.prev, w.head.next = &w.head, &w.head
	w.alarm.Store(never)
	return w
}

// sit is join for a call of a pool's worker, by the worker's seat.
func (w *watch) sit(c *call, seats []seat) {
	s := &seats[c.worker.Worker()]
	c.joined, c.seat = true, s
	s.call.Store(c)
}

// join makes a call known, for as many pieces as it has until it leaves.
func (w *watch) join(c *call) {
	c.joined = true
	w.mu.Lock()
	defer w.mu.Unlock()
	c.prev, c.next = w.head.prev, &w.head
	c.prev.next, c.next.prev = c, c
}

// leave ends what sit or join began. No piece is running.
func (w *watch) leave(c *call) {
	if !c.joined {
		return
	}
	c.joined = false
	if c.seat != nil {
		c.seat.call.CompareAndSwap(c, nil) // unless the worker was given up, and its place is another one's
		c.seat = nil
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(c)
}

// all returns the calls that are known. The caller holds mu.
func (w *watch) all() []*call {
	var all []*call
	for _, seats := range [][]seat{w.pages, w.items} {
		for i := range seats {
			if c := seats[i].call.Load(); c != nil {
				all = append(all, c)
			}
		}
	}
	for c := w.head.next; c != &w.head; c = c.next {
		all = append(all, c)
	}
	return all
}

// unlink takes a call out of the ring, unless it was dropped. The caller holds mu.
func (w *watch) unlink(c *call) {
	if c.next != nil {
		c.prev.next, c.next.prev = c.next, c.prev
		c.prev, c.next = nil, nil
	}
}

// enter joins for a single piece.
func (w *watch) enter(c *call, at Stage) bool {
	w.join(c)
	if w.begin(c, at, nil, nil) {
		return true
	}
	w.leave(c)
	return false
}

// exit ends what enter began.
func (w *watch) exit(c *call) bool {
	alive := w.end(c)
	w.leave(c)
	return alive
}

// bound gives a running download a limit, from started on, 0 for none: then its life is cancelled. A call that
// does not return soon after that is given up.
func (w *watch) bound(c *call, asked *asking, started time.Time, limit time.Duration) {
	c.mu.Lock()
	if !c.running {
		c.mu.Unlock()
		return
	}
	c.asked, c.start, c.limit, c.over = asked, started, limit, false
	c.tooLate = &TimeoutError{URL: asked.url, Limit: limit}
	c.mu.Unlock()
	if limit > 0 {
		w.await(started.Add(limit))
	}
}

// limited gives a running download a limit from now on, for a part that is somebody else's code, or takes it away: 0.
// tooLate is the error when it is over.
func (w *watch) limited(c *call, limit time.Duration, tooLate error) {
	c.mu.Lock()
	if !c.running || c.asked == nil {
		c.mu.Unlock()
		return
	}
	c.start, c.limit, c.over, c.tooLate = w.crawl.now(), limit, false, tooLate
	due := c.start.Add(limit)
	c.mu.Unlock()
	if limit > 0 {
		w.await(due)
	}
}

// await sees to it that the timer fires in time. What begins while the calls are looked at finds no alarm, and waits
// for the end of that.
func (w *watch) await(due time.Time) {
	if int64(due.Sub(w.crawl.began)) >= w.alarm.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := int64(due.Sub(w.crawl.began)); at < w.alarm.Load() && !w.closed.Load() {
		w.arm(at, w.crawl.now())
	}
}

// arm sets the timer. The caller holds mu.
func (w *watch) arm(at int64, now time.Time) {
	w.alarm.Store(at)
	wait := max(time.Duration(at)-now.Sub(w.crawl.began), 0)
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.look)
	} else {
		w.timer.Reset(wait)
	}
}

// slowCall is what is told of a call that has been running for long: the call itself may end meanwhile.
type slowCall struct {
	stage Stage
	job   *job
	took  time.Duration
}

// look is run by the timer.
func (w *watch) look() {
	now := w.crawl.now()
	var slow []slowCall
	var lost []*call
	over := false
	w.mu.Lock()
	w.alarm.Store(never)
	next := int64(never)
	for _, c := range w.all() {
		c.mu.Lock()
		due, ok := w.due(c)
		switch {
		case !c.running || !ok || due.After(now):
		case c.inbox != nil:
			c.inbox.start()
			c.inbox = nil
		case c.over:
			w.drop(c)
			lost = append(lost, c)
		case c.limit > 0:
			c.over = true
			c.asked.life.Cancel(c.tooLate)
		case w.limit > 0 && !now.Before(c.start.Add(w.limit)):
			c.over, over = true, true
			if c.job != nil {
				c.job.late.Store(true)
			}
			if c.life != nil {
				c.life.Cancel(&CallbackTimeoutError{Stage: c.stage, Limit: w.limit})
			}
		default:
			c.slow = true
			slow = append(slow, slowCall{c.stage, c.job, now.Sub(c.start)})
		}
		if due, ok = w.due(c); ok && c.running {
			next = min(next, int64(due.Sub(w.crawl.began)))
		}
		c.mu.Unlock()
	}
	if next != never && !w.closed.Load() {
		w.arm(next, now)
	}
	w.mu.Unlock()
	if over {
		w.handOver() // what it sent before it is given up counts
	}
	for _, c := range slow {
		w.crawl.teller.slow(c.stage, c.job.asAccepted(), c.took)
	}
	for _, c := range lost {
		w.farewell(c)
	}
}

// drop gives a call up. The caller holds mu, and the call's.
func (w *watch) drop(c *call) {
	w.leaving++
	c.running, c.dropped = false, true
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
	w.closed.Store(true)
	var lost []*call
	for _, c := range w.all() {
		c.mu.Lock()
		if c.running {
			w.drop(c)
			lost = append(lost, c)
		}
		c.mu.Unlock()
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
