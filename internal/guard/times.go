package guard

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of the histogram of Times: 1/32 ms, and each one twice the one before, to half a minute.
const (
	firstBound = time.Millisecond / 32
	bounds     = 21
)

// TimeBounds returns the upper bounds of the counts of Times. The last count has none.
func TimeBounds() []time.Duration {
	all := make([]time.Duration, bounds)
	for i := range all {
		all[i] = firstBound << i
	}
	return all
}

// Times counts the calls of one piece of user code, and how long they took. It may be used concurrently.
type Times struct {
	failed atomic.Int64
	total  atomic.Int64 // nanoseconds
	counts [bounds + 1]atomic.Int64
}

// Add counts a call that has ended, and its time.
func (t *Times) Add(took time.Duration, failed bool) {
	t.AddTime(took)
	t.Count(took, failed)
}

// AddTime adds time of a call that goes on.
func (t *Times) AddTime(took time.Duration) { t.total.Add(int64(took)) }

// Count counts a call that has ended, whose time was added before.
func (t *Times) Count(took time.Duration, failed bool) {
	if failed {
		t.failed.Add(1)
	}
	i := bits.Len64(uint64(max(took-1, 0) / firstBound))
	t.counts[min(i, bounds)].Add(1)
}

// Read returns what was counted. The numbers may differ by calls that end meanwhile.
func (t *Times) Read() (failed int64, total time.Duration, counts []int64) {
	failed, total = t.failed.Load(), time.Duration(t.total.Load())
	counts = make([]int64, len(t.counts))
	for i := range t.counts {
		counts[i] = t.counts[i].Load()
	}
	return failed, total, counts
}

// Waits sums up the time in which code waited for something that is not its own work. Waits that overlap count once. It may be used
// concurrently; nil counts nothing.
type Waits struct {
	clock Clock

	mu    sync.Mutex // guards the fields below
	open  int
	since time.Duration // when the first one that is open has begun
	total time.Duration // of those before
}

// NewWaits makes a sum of waits that is read with a clock.
func NewWaits(clock Clock) *Waits { return &Waits{clock: clock} }

// Begin begins a wait.
func (w *Waits) Begin() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open++; w.open == 1 {
		w.since = w.clock.Now()
	}
}

// End ends a wait.
func (w *Waits) End() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open--; w.open == 0 {
		w.total += w.clock.Now() - w.since
	}
}

// Until returns the time that was waited until now.
func (w *Waits) Until(now time.Duration) time.Duration {
	if w == nil {
		return 0
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open > 0 {
		return w.total + max(now-w.since, 0)
	}
	return w.total
}

// Clock tells the time since it was made. It never jumps, and is cheaper to read than the wall clock.
type Clock struct{ base time.Time }

// NewClock makes a clock.
func NewClock() Clock { return Clock{time.Now()} }

// Now returns the time since the clock was made.
func (c Clock) Now() time.Duration { return time.Since(c.base) }
