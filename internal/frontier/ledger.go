package frontier

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Ledger counts open work. Every request is discovered once and from then on in exactly one of the
// columns pending, delayed, in flight or settled, so that
//
//	discovered = settled + pending + delayed + inFlight
//
// holds whenever the mutex is free. Work is open while a request is in one of the
// columns pending, delayed and in flight, the start has not finished, or somebody who may discover requests has entered;
// an item on its way holds its request in flight. When nothing is open any more the crawl is finished: no timer is
// involved.
//
// Its methods may be called concurrently. A Frontier shares its mutex, since most changes are of both.
type Ledger struct {
	Items atomic.Int64 // on their way through the pipelines

	mu         sync.Mutex // guards the fields below, and the Frontier
	discovered int64
	settled    int64
	pending    int64
	delayed    int64
	inFlight   int64
	starting   bool
	entered    int64 // calls of Enter without their Leave
	shared     bool  // requests may come from other programs
	elsewhere  int64 // about so many requests of the job wait in other programs, or on the way to them
	outcomes   []int64
	reasons    map[Reason]int64
	room       chan struct{} // closed and replaced when pending falls below the mark
	mark       int64         // of the starter that waits for room
	finished   chan struct{} // closed when nothing is open any more
	closed     bool
	drained    chan struct{} // closed when the crawl is stopping and nothing is in hand any more
	stopping   bool
	calmer     func() // called with mu when less may be in flight; nil: no suspect waits for that
}

// Reason says why requests ended: the number of their outcome, and the crawl's name of the reason.
type Reason struct {
	Outcome uint8
	Text    string
}

// Counts are the columns of a Ledger at one instant. Pending, Delayed and InFlight may be negative for a moment, see
// [Ledger.Counts]; their sum is right.
type Counts struct {
	Discovered, Settled, Pending, Delayed, InFlight int64
	Items                                           int64            // on their way through the pipelines
	Outcomes                                        []int64          // of the settled requests, by the number of the outcome
	Reasons                                         map[Reason]int64 // of those that have one
}

// maxReasons bounds the number of distinct reasons that are counted apart.
const maxReasons = 1000

// NewLedger makes a Ledger for that many outcomes, numbered from 0. It is open until Started is called.
func NewLedger(outcomes int) *Ledger {
	return &Ledger{
		starting: true, outcomes: make([]int64, outcomes), reasons: make(map[Reason]int64),
		finished: make(chan struct{}), drained: make(chan struct{}),
	}
}

// check closes finished or drained when the counts allow it. The caller holds mu.
func (l *Ledger) check() {
	if l.calmer != nil {
		l.calmer()
	}
	if l.stopping && l.inFlight == 0 {
		l.stopping = false
		close(l.drained)
	}
	if l.starting || l.entered > 0 || l.closed || l.pending+l.delayed+l.inFlight > 0 || l.shared {
		return
	}
	l.closed = true
	close(l.finished)
}

// Over returns channels of which one is closed when nothing is in hand any more and nothing will be: the crawl is finished, or it was
// stopped and has drained.
func (l *Ledger) Over() (finished, drained <-chan struct{}) { return l.finished, l.drained }

// Stop says that no request will be taken any more: Take of the Frontier returns once nothing is in flight.
func (l *Ledger) Stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.drained:
	default:
		l.stopping = true
		l.check()
	}
}

// Share says whether requests may come from other programs: then the crawl is not finished.
func (l *Ledger) Share(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.shared = on
	l.check()
}

// Resume counts the requests that a durable cache holds; negative numbers are of those that have gone to another program.
func (l *Ledger) Resume(pending, delayed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.discovered += pending + delayed
	l.pending += pending
	l.delayed += delayed
	l.check()
}

// Started notes that all seeds are counted.
func (l *Ledger) Started() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starting = false
	l.check()
}

// Enter keeps the crawl open until Leave, so that requests can be discovered. It returns false if the crawl is finished:
// no request may be discovered any more.
func (l *Ledger) Enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.entered++
	return true
}

// Leave ends what Enter has begun.
func (l *Ledger) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entered--
	l.check()
}

// Discover counts n emissions as pending, before the cache is asked: a request must be counted before
// anybody can take it.
func (l *Ledger) Discover(n int64) {
	l.mu.Lock()
	l.discovered += n
	l.pending += n
	l.mu.Unlock()
}

// Forget uncounts n emissions that could not be stored because the crawl is ending.
func (l *Ledger) Forget(n int64) {
	l.mu.Lock()
	l.discovered -= n
	l.pending -= n
	l.check()
	l.mu.Unlock()
}

// HandOn uncounts an emission that has gone to another program.
func (l *Ledger) HandOn() {
	l.Forget(1)
	l.mu.Lock()
	l.elsewhere++
	l.mu.Unlock()
}

// Job notes how many requests of the job are open in all programs together, and on the way between them.
func (l *Ledger) Job(open int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.elsewhere = max(open-l.pending-l.delayed-l.inFlight, 0)
	l.freed()
}

// Later moves n requests from pending to delayed.
func (l *Ledger) Later(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.later(n)
}

// later is Later; negative n moves them to pending. The caller holds mu.
func (l *Ledger) later(n int64) {
	l.pending -= n
	l.delayed += n
}

// Refuse settles n pending emissions that were never stored. An empty reason is not counted.
func (l *Ledger) Refuse(n int64, outcome uint8, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse(n, Reason{outcome, reason})
}

func (l *Ledger) refuse(n int64, why Reason) {
	l.pending -= n
	l.count(n, why)
	l.freed()
	l.check()
}

// take moves a pending request in flight. The caller holds mu.
func (l *Ledger) take() {
	l.pending--
	l.inFlight++
	l.freed()
}

// Take moves a pending request in flight that does not come from Take of the Frontier.
func (l *Ledger) Take() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take()
}

// Inline counts a request of Fetch: it is in flight from the beginning.
func (l *Ledger) Inline() {
	l.mu.Lock()
	l.discovered++
	l.inFlight++
	l.mu.Unlock()
}

// ForgetInline uncounts a request of Fetch that is put off: it is counted anew when it is tried again.
func (l *Ledger) ForgetInline() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.discovered--
	l.inFlight--
	l.check()
}

// PutBack moves a request in flight to those that wait.
func (l *Ledger) PutBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putBack()
}

func (l *Ledger) putBack() {
	l.inFlight--
	l.pending++
	l.check()
}

// Settle ends a request in flight. An empty reason is not counted.
func (l *Ledger) Settle(outcome uint8, reason string) {
	l.mu.Lock()
	l.inFlight--
	l.count(1, Reason{outcome, reason})
	l.check()
	l.mu.Unlock()
}

// count counts n settled requests. The caller holds mu.
func (l *Ledger) count(n int64, why Reason) {
	l.settled += n
	l.outcomes[why.Outcome] += n
	if why.Text == "" {
		return
	}
	if _, known := l.reasons[why]; !known && len(l.reasons) >= maxReasons {
		why.Text = "other"
	}
	l.reasons[why] += n
}

// Room returns nil if fewer than limit requests wait, or else a channel that is closed when that may
// have changed.
func (l *Ledger) Room(limit int64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending+l.delayed+l.elsewhere < limit {
		return nil
	}
	if l.room == nil {
		l.room = make(chan struct{})
	}
	l.mark = limit
	return l.room
}

// freed wakes the start if it waits for room. The caller holds mu.
func (l *Ledger) freed() {
	if l.room != nil && l.pending+l.delayed+l.elsewhere < l.mark {
		close(l.room)
		l.room = nil
	}
}

// IsIdle reports whether the start has finished and nothing is in flight.
func (l *Ledger) IsIdle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && !l.starting
}

// IsFinished reports whether there is no open work any more, and none can come from other programs.
func (l *Ledger) IsFinished() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed && !l.shared
}

// Counts returns the columns, and copies of the counts of outcomes and reasons.
func (l *Ledger) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := Counts{
		Discovered: l.discovered, Settled: l.settled, Pending: l.pending, Delayed: l.delayed, InFlight: l.inFlight,
		Items: l.Items.Load(), Outcomes: append([]int64(nil), l.outcomes...), Reasons: maps.Clone(l.reasons),
	}
	n.balance()
	return n
}

// balance moves requests between the columns so that none is negative; their sum is right. The cache may hand out
// a request before it has returned that the request was delayed, or waits in a queue again: one of Pending and Delayed is
// ahead of the other then. A worker counts a request as in flight before it asks the cache, which may have none.
func (n *Counts) balance() {
	switch {
	case n.Pending+n.Delayed < 0:
		n.Pending, n.Delayed, n.InFlight = 0, 0, n.InFlight+n.Pending+n.Delayed
	case n.Pending < 0:
		n.Pending, n.Delayed = 0, n.Delayed+n.Pending
	case n.Delayed < 0:
		n.Pending, n.Delayed = n.Pending+n.Delayed, 0
	}
}
