package guard

import (
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Config configures a [Watch].
type Config struct {
	Limit   time.Duration         // how long a piece may take; 0: any time
	TooLate func(at string) error // makes the error that the Life of a piece over Limit is cancelled with
	Overdue func()                // is called when pieces are over Limit, before they are given up; may wait a little
	Untimed []string              // stages whose pieces have no limit, or that of Bound
	Pools   []int                 // the number of workers of each pool; see Grow
}

// Watch knows which user code is running. A piece that overruns the limit, or has not returned when the watch is closed, is
// given up: its owner is notified, and its worker is replaced. One timer serves all calls. Make
// one with [NewWatch]. It may be used concurrently.
type Watch struct {
	cfg  Config
	base time.Time // of its clock

	closed     atomic.Bool
	unreturned atomic.Int64 // calls that were given up, and whose code has not returned
	alarm      atomic.Int64 // when the timer fires, since base; never, if it is not set

	pools []atomic.Pointer[[][]poolSlot] // by pool, the slots of its workers in chunks, which never move; mu guards the changes

	mu        sync.Mutex // guards the fields below; taken before a call's
	head      Call       // of a ring
	timer     *time.Timer
	losses    map[string]int // calls that were given up, by stage
	notifying int            // calls that were given up, and whose owners are being notified
	notified  sync.Cond      // one has been
}

// never is later than every alarm.
const never = math.MaxInt64

// NewWatch makes a watch.
func NewWatch(cfg Config) *Watch {
	w := &Watch{cfg: cfg, base: time.Now(), losses: make(map[string]int), pools: make([]atomic.Pointer[[][]poolSlot], len(cfg.Pools))}
	for pool, n := range cfg.Pools {
		w.pools[pool].Store(&[][]poolSlot{make([]poolSlot, n)})
	}
	w.head.prev, w.head.next = &w.head, &w.head
	w.notified.L = &w.mu
	w.alarm.Store(never)
	return w
}

// now is the time of the clock that never jumps; it is cheaper than the wall clock's.
func (w *Watch) now() time.Time { return w.base.Add(time.Since(w.base)) }

// Grow sees to it that a pool may have n workers.
func (w *Watch) Grow(pool, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	chunks := *w.pools[pool].Load()
	for _, chunk := range chunks {
		n -= len(chunk)
	}
	if n > 0 {
		chunks = append(chunks[:len(chunks):len(chunks)], make([]poolSlot, n))
		w.pools[pool].Store(&chunks)
	}
}

// slot returns the place of a worker of a pool.
func (w *Watch) slot(pool, worker int) *poolSlot {
	chunks := *w.pools[pool].Load()
	for len(chunks) > 1 && worker >= len(chunks[0]) {
		chunks, worker = chunks[1:], worker-len(chunks[0])
	}
	return &chunks[0][worker]
}

// JoinPool is Join for a call that a worker of a pool runs; pool is the number of the pool in Config.Pools. It is cheaper than Join.
func (w *Watch) JoinPool(c *Call, pool int) {
	s := w.slot(pool, c.Worker.Worker())
	c.joined, c.slot = true, s
	s.call.Store(c)
}

// Join makes a call known, for as many pieces as it has until Leave.
func (w *Watch) Join(c *Call) {
	c.joined = true
	w.mu.Lock()
	defer w.mu.Unlock()
	c.prev, c.next = w.head.prev, &w.head
	c.prev.next, c.next.prev = c, c
}

// Leave undoes JoinPool or Join, if there is one. No piece may be running.
func (w *Watch) Leave(c *Call) {
	if !c.joined {
		return
	}
	c.joined = false
	if c.slot != nil {
		c.slot.call.CompareAndSwap(c, nil) // unless the worker was given up, and another one has its slot
		c.slot = nil
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unlink(c)
}

// Each visits the calls of the workers of a pool.
func (w *Watch) Each(pool int, visit func(*Call)) {
	for _, chunk := range *w.pools[pool].Load() {
		for i := range chunk {
			if c := chunk[i].call.Load(); c != nil {
				visit(c)
			}
		}
	}
}

// all returns the calls that are known. The caller holds mu.
func (w *Watch) all() (all []*Call) {
	for pool := range w.pools {
		w.Each(pool, func(c *Call) { all = append(all, c) })
	}
	for c := w.head.next; c != &w.head; c = c.next {
		all = append(all, c)
	}
	return all
}

// unlink takes a call out of the ring, unless it was dropped. The caller holds mu.
func (w *Watch) unlink(c *Call) {
	if c.next != nil {
		c.prev.next, c.next.prev = c.next, c.prev
		c.prev, c.next = nil, nil
	}
}

// await sees to it that the timer fires in time. While look goes through the calls there is no alarm, so that await waits for
// its end.
func (w *Watch) await(due time.Time) {
	if int64(due.Sub(w.base)) >= w.alarm.Load() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := int64(due.Sub(w.base)); at < w.alarm.Load() && !w.closed.Load() {
		w.arm(at, w.now())
	}
}

// arm sets the timer. The caller holds mu.
func (w *Watch) arm(at int64, now time.Time) {
	w.alarm.Store(at)
	wait := max(time.Duration(at)-now.Sub(w.base), 0)
	if w.timer == nil {
		w.timer = time.AfterFunc(wait, w.look)
	} else {
		w.timer.Reset(wait)
	}
}

// look is run by the timer.
func (w *Watch) look() {
	now := w.now()
	var tell []func() // to be done without locks
	over := false     // pieces are over the limit
	w.mu.Lock()
	w.alarm.Store(never)
	next := int64(never)
	for _, c := range w.all() {
		c.mu.Lock()
		if due, ok := w.due(c); ok && c.runs() && !due.After(now) {
			then, late := w.advance(c, now)
			if then != nil {
				tell = append(tell, then)
			}
			over = over || late
		}
		if due, ok := w.due(c); ok && c.runs() {
			next = min(next, int64(due.Sub(w.base)))
		}
		c.mu.Unlock()
	}
	if next != never && !w.closed.Load() {
		w.arm(next, now)
	}
	w.mu.Unlock()
	if over && w.cfg.Overdue != nil {
		w.cfg.Overdue() // requests that it sent before it is given up count
	}
	for _, then := range tell {
		then()
	}
}

// advance takes a running call that is due to its next state. It returns what its owner is to be told without locks, nil for nothing,
// and whether the piece is over the limit now. The caller holds mu, and the call's.
func (w *Watch) advance(c *Call, now time.Time) (then func(), over bool) {
	switch {
	case c.late != nil:
		c.late.Start()
		c.late = nil
	case c.state.Load() == overdue:
		w.drop(c)
		return func() { w.notify(c) }, false
	case c.limit > 0:
		c.state.Store(overdue)
		if c.tooLate == nil {
			c.tooLate = c.bounded.TooLate(c.limit)
		}
		c.bounded.Cancel(c.tooLate)
	case w.cfg.Limit > 0 && !now.Before(c.start.Add(w.cfg.Limit)):
		c.state.Store(overdue)
		if c.Life.Parent != nil {
			c.Life.Cancel(w.cfg.TooLate(c.at))
		}
		return nil, true
	default:
		c.state.Store(slow)
		owner, at, took := c.Owner, c.at, now.Sub(c.start) // it may end meanwhile
		return func() { owner.Slow(at, took) }, false
	}
	return nil, false
}

// dropRunning gives a call up if a piece is running. The caller holds mu.
func (w *Watch) dropRunning(c *Call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.runs() {
		return false
	}
	w.drop(c)
	return true
}

// drop gives a call up. The caller holds mu, and the call's.
func (w *Watch) drop(c *Call) {
	w.notifying++
	w.unreturned.Add(1)
	if c.limit == 0 || c.state.Load() != overdue {
		c.tooLate = nil
	}
	c.state.Store(gone)
	if c.left == nil {
		c.left = make(chan struct{})
	}
	w.unlink(c)
	if c.late != nil {
		c.late.Start() // whatever it sends, it shall not wait for ever
	}
	w.losses[c.at]++
}

// notify does the part of a drop that needs no lock: it notifies the owner.
func (w *Watch) notify(c *Call) {
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.notifying--
		w.notified.Broadcast()
	}()
	if c.bounded != nil {
		c.bounded.Abandoned()
	}
	left := c.left // whoever waits for that may go on with the call
	c.Owner.Abandon(Loss{At: c.at, TooLate: c.tooLate})
	c.Worker.Detach()
	close(left)
}

// Wait returns when the owners of all calls that were given up have been notified.
func (w *Watch) Wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.notifying > 0 {
		w.notified.Wait()
	}
}

// Close gives up all running calls and lets no piece begin any more.
func (w *Watch) Close() {
	w.mu.Lock()
	w.closed.Store(true)
	var lost []*Call
	for _, c := range w.all() {
		if w.dropRunning(c) {
			lost = append(lost, c)
		}
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	for _, c := range lost {
		w.notify(c)
	}
}

// Count counts a call as given up that the watch did not know.
func (w *Watch) Count(at string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.losses[at]++
}

// Unreturned returns how many calls were given up whose code has not returned.
func (w *Watch) Unreturned() int { return int(w.unreturned.Load()) }

// Counts returns how many calls were given up, by stage.
func (w *Watch) Counts() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.losses)
}
