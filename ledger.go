package tegenaria

import (
	"maps"
	"sync"
	"sync/atomic"
)

// ledger counts open work. Every request is discovered once and from then on in exactly one of the
// columns pending, delayed, in flight or settled, so that
//
//	discovered = settled + pending + delayed + inFlight
//
// holds whenever the mutex is free (design laws L1, L3). Work is open while a request is in one of the
// first three columns or the start has not finished; an item on its way holds its request in flight. When nothing is open any
// more the crawl is finished: no timer is involved.
type ledger struct {
	items atomic.Int64 // on their way through the pipelines

	mu         sync.Mutex // guards what follows, and the scheduler: most changes are of both
	discovered int64
	settled    int64
	pending    int64
	delayed    int64
	inFlight   int64
	starting   bool
	outcomes   [outcomes]int64
	reasons    map[string]int64 // "filtered: offsite" → count
	room       chan struct{}    // closed and replaced when pending falls below the mark
	mark       int64            // of the starter that waits for room
	finished   chan struct{}    // closed when nothing is open any more
	closed     bool
	drained    chan struct{} // closed when the crawl is stopping and nothing is in hand any more
	stopping   bool
	calmer     func() // called with mu when less may be in flight; nil: nobody waits for that
}

// maxReasons bounds the number of distinct reasons that are counted apart.
const maxReasons = 1000

func newLedger() *ledger {
	return &ledger{starting: true, reasons: make(map[string]int64), finished: make(chan struct{}), drained: make(chan struct{})}
}

// check closes what the counts allow to close. The caller holds mu.
func (l *ledger) check() {
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

// stop asks for drained: no request will be taken any more.
func (l *ledger) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.drained:
	default:
		l.stopping = true
		l.check()
	}
}

// resume takes over what a durable cache holds.
func (l *ledger) resume(pending, delayed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.discovered += pending + delayed
	l.pending += pending
	l.delayed += delayed
}

// started notes that StartRequest has returned.
func (l *ledger) started() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starting = false
	l.check()
}

// discover counts n emissions as pending, before the cache is asked: a request must be counted before
// anybody can take it.
func (l *ledger) discover(n int64) {
	l.mu.Lock()
	l.discovered += n
	l.pending += n
	l.mu.Unlock()
}

// forget takes back n emissions that could not be stored because the crawl is ending.
func (l *ledger) forget(n int64) {
	l.mu.Lock()
	l.discovered -= n
	l.pending -= n
	l.check()
	l.mu.Unlock()
}

// later moves n requests from pending to delayed; negative n moves them back.
func (l *ledger) later(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.laterLocked(n)
}

func (l *ledger) laterLocked(n int64) {
	l.pending -= n
	l.delayed += n
}

// refuse settles n pending emissions that were never stored.
func (l *ledger) refuse(n int64, outcome Outcome, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuseLocked(n, outcome, reason)
}

func (l *ledger) refuseLocked(n int64, outcome Outcome, reason string) {
	l.pending -= n
	l.settleLocked(n, outcome, reason)
	l.freed()
	l.check()
}

// takeLocked moves a pending request in flight.
func (l *ledger) takeLocked() {
	l.pending--
	l.inFlight++
	l.freed()
}

// inline counts a request of Fetch: in flight from the beginning.
func (l *ledger) inline() {
	l.mu.Lock()
	l.discovered++
	l.inFlight++
	l.mu.Unlock()
}

// putBack moves a request in flight back to those that wait.
func (l *ledger) putBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.putBackLocked()
}

func (l *ledger) putBackLocked() {
	l.inFlight--
	l.pending++
	l.check()
}

// settle ends a request in flight.
func (l *ledger) settle(outcome Outcome, reason string) {
	l.mu.Lock()
	l.inFlight--
	l.settleLocked(1, outcome, reason)
	l.check()
	l.mu.Unlock()
}

func (l *ledger) settleLocked(n int64, outcome Outcome, reason string) {
	l.settled += n
	l.outcomes[outcome] += n
	if reason == "" {
		return
	}
	key := outcome.String() + ": " + reason
	if _, known := l.reasons[key]; !known && len(l.reasons) >= maxReasons {
		key = outcome.String() + ": other"
	}
	l.reasons[key] += n
}

// waitRoom returns nil if fewer than limit requests wait, or else a channel that is closed when that may
// have changed.
func (l *ledger) waitRoom(limit int64) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending+l.delayed < limit {
		return nil
	}
	if l.room == nil {
		l.room = make(chan struct{})
	}
	l.mark = limit
	return l.room
}

// freed wakes who waits for room. The caller holds mu.
func (l *ledger) freed() {
	if l.room != nil && l.pending+l.delayed < l.mark {
		close(l.room)
		l.room = nil
	}
}

// idle reports whether nothing is in flight.
func (l *ledger) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.inFlight == 0 && !l.starting
}

// isFinished reports whether the count has reached zero.
func (l *ledger) isFinished() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// snapshot fills in the ledger's part of the statistics.
func (l *ledger) snapshot(s *Stats) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Discovered, s.Settled = l.discovered, l.settled
	s.Pending, s.Delayed, s.InFlight, s.Items = l.pending, l.delayed, l.inFlight, l.items.Load()
	s.settleColumns()
	s.Outcomes = make(map[Outcome]int64)
	for o, n := range l.outcomes {
		if n > 0 {
			s.Outcomes[Outcome(o)] = n
		}
	}
	s.Reasons = maps.Clone(l.reasons)
}

// settleColumns moves requests between the columns so that none is negative; their sum is right. The cache may hand out
// a request before it has told that the request was delayed, or waits in a queue again: one of Pending and Delayed is
// ahead of the other then. A worker counts a request as in flight before it asks the cache, perhaps in vain.
func (s *Stats) settleColumns() {
	switch {
	case s.Pending+s.Delayed < 0:
		s.Pending, s.Delayed, s.InFlight = 0, 0, s.InFlight+s.Pending+s.Delayed
	case s.Pending < 0:
		s.Pending, s.Delayed = 0, s.Delayed+s.Pending
	case s.Delayed < 0:
		s.Pending, s.Delayed = s.Pending+s.Delayed, 0
	}
}
