package frontier

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Ledger counts open work. Every request is discovered once and from then on in exactly one of the
// columns pending, delayed, in flight or settled, so that
//
//	discovered = settled + pending + delayed + inFlight
//
// holds whenever its mutex is free. Work is open while a request is in one of the
// first three columns or the start has not finished; an item on its way holds its request in flight. When nothing is open any
// more the crawl is finished: no timer is involved.
//
// All methods may be called by any goroutine. Those whose names end with Locked are for who holds Mu, which is also the
// mutex of who takes requests: most changes are of both.
type Ledger struct {
	// Items counts the items on their way through the pipelines.
	Items atomic.Int64

	Mu         sync.Mutex // guards what follows, and what its user keeps beside it
	discovered int64
	settled    int64
	pending    int64
	delayed    int64
	inFlight   int64
	starting   bool
	outcomes   []int64
	reasons    map[Reason]int64
	room       chan struct{} // closed and replaced when pending falls below the mark
	mark       int64         // of the starter that waits for room
	finished   chan struct{} // closed when nothing is open any more
	closed     bool
	drained    chan struct{} // closed when the crawl is stopping and nothing is in hand any more
	stopping   bool
	calmer     func() // called with Mu held when less may be in flight; nil: nobody waits for that
}

// maxReasons bounds the number of distinct reasons that are counted apart.
const maxReasons = 1000

// Reason is why a request ended, with the outcome that it is the reason of.
type Reason struct {
	Outcome uint8
	Text    string
}

// Counts are the numbers of a ledger at one instant.
type Counts struct {
	Discovered, Settled, Pending, Delayed, InFlight, Items int64

	Outcomes []int64          // by outcome; nobody else has the slice
	Reasons  map[Reason]int64 // at most a thousand and one "other" for each outcome; nobody else has the map
}

// NewLedger returns the ledger of a crawl whose start has not finished, for outcomes below that number.
func NewLedger(outcomes int) *Ledger {
	return &Ledger{starting: true, outcomes: make([]int64, outcomes), reasons: make(map[Reason]int64), finished: make(chan struct{}), drained: make(chan struct{})}
}

// check closes what the counts allow to close. The caller holds Mu.
func (l *Ledger) check() {
	if l.calmer != nil {
		l.calmer()
	}
	if l.stopping && l.inFlight == 0 {
		l.stopping = false
		close(l.drained)
	}
	if l.starting || l.closed || l.pending+l.delayed+l.inFlight > 0 {
		return
	}
	l.closed = true
	close(l.finished)
}

// Stop asks for drained: no request will be taken any more.
func (l *Ledger) Stop() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	select {
	case <-l.drained:
	default:
		l.stopping = true
		l.check()
	}
}

// Resume takes over what a durable cache holds.
func (l *Ledger) Resume(pending, delayed int64) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.discovered += pending + delayed
	l.pending += pending
	l.delayed += delayed
}

// Started notes that StartRequest has returned.
func (l *Ledger) Started() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.starting = false
	l.check()
}

// Discover counts n emissions as pending, before the cache is asked: a request must be counted before
// anybody can take it.
func (l *Ledger) Discover(n int64) {
	l.Mu.Lock()
	l.discovered += n
	l.pending += n
	l.Mu.Unlock()
}

// Forget takes back n emissions that could not be stored because the crawl is ending.
func (l *Ledger) Forget(n int64) {
	l.Mu.Lock()
	l.discovered -= n
	l.pending -= n
	l.check()
	l.Mu.Unlock()
}

// Later moves n requests from pending to delayed; negative n moves them back.
func (l *Ledger) Later(n int64) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.LaterLocked(n)
}

// LaterLocked is Later for who holds Mu.
func (l *Ledger) LaterLocked(n int64) {
	l.pending -= n
	l.delayed += n
}

// Refuse settles n pending emissions that were never stored.
func (l *Ledger) Refuse(n int64, outcome uint8, reason string) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.RefuseLocked(n, outcome, reason)
}

// RefuseLocked is Refuse for who holds Mu.
func (l *Ledger) RefuseLocked(n int64, outcome uint8, reason string) {
	l.pending -= n
	l.settleLocked(n, outcome, reason)
	l.freed()
	l.check()
}

// TakeLocked moves a pending request in flight, for who holds Mu.
func (l *Ledger) TakeLocked() {
	l.pending--
	l.inFlight++
	l.freed()
}

// Inline counts a request of Fetch: in flight from the beginning.
func (l *Ledger) Inline() {
	l.Mu.Lock()
	l.discovered++
	l.inFlight++
	l.Mu.Unlock()
}

// PutBack moves a request in flight back to those that wait.
func (l *Ledger) PutBack() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.PutBackLocked()
}

// PutBackLocked is PutBack for who holds Mu.
func (l *Ledger) PutBackLocked() {
	l.inFlight--
	l.pending++
	l.check()
}

// Settle ends a request in flight.
func (l *Ledger) Settle(outcome uint8, reason string) {
	l.Mu.Lock()
	l.inFlight--
	l.settleLocked(1, outcome, reason)
	l.check()
	l.Mu.Unlock()
}

func (l *Ledger) settleLocked(n int64, outcome uint8, reason string) {
	l.settled += n
	l.outcomes[outcome] += n
	if reason == "" {
		return
	}
	key := Reason{outcome, reason}
	if _, known := l.reasons[key]; !known && len(l.reasons) >= maxReasons {
		key.Text = "other"
	}
	l.reasons[key] += n
}

// WaitRoom returns nil if fewer than limit requests wait, or else a channel that is closed when that may
// have changed.
func (l *Ledger) WaitRoom(limit int64) <-chan struct{} {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	if l.pending+l.delayed < limit {
		return nil
	}
	if l.room == nil {
		l.room = make(chan struct{})
	}
	l.mark = limit
	return l.room
}

// freed wakes who waits for room. The caller holds Mu.
func (l *Ledger) freed() {
	if l.room != nil && l.pending+l.delayed < l.mark {
		close(l.room)
		l.room = nil
	}
}

// Idle reports whether nothing is in flight.
func (l *Ledger) Idle() bool {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.inFlight == 0 && !l.starting
}

// IsFinished reports whether the count has reached zero.
func (l *Ledger) IsFinished() bool {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.closed
}

// Finished returns the channel that is closed when nothing is open any more.
func (l *Ledger) Finished() <-chan struct{} { return l.finished }

// Drained returns the channel that is closed when Stop was called and nothing is in hand any more.
func (l *Ledger) Drained() <-chan struct{} { return l.drained }

// WatchLocked has a function called, with Mu held, whenever less may be in flight than before; nil ends that.
func (l *Ledger) WatchLocked(calmer func()) { l.calmer = calmer }

// InFlightLocked returns how many requests are in flight.
func (l *Ledger) InFlightLocked() int64 { return l.inFlight }

// Counts returns the numbers at this instant. Pending or Delayed may be negative for a moment, where a cache hands out a
// request before it has told that the request waits; their sum with InFlight is right.
func (l *Ledger) Counts() Counts {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return Counts{
		Discovered: l.discovered, Settled: l.settled, Pending: l.pending, Delayed: l.delayed, InFlight: l.inFlight,
		Items: l.Items.Load(), Outcomes: slices.Clone(l.outcomes), Reasons: maps.Clone(l.reasons),
	}
}
