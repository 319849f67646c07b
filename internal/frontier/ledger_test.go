package frontier

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// isClosed reports whether a channel is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A ledger does at each step what three plain numbers do, and is finished exactly when they reach zero. It fails if a method
// moves too few requests, or forgets to look whether anything is open.
func TestLedgerModel(t *testing.T) {
	first := deep.Seed() >> 1
	for seed := first; seed < first+300; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		l := NewLedger(4)
		var want Counts
		var outcomes [4]int64
		starting, stopped, finished, drained := true, false, false, false
		entered := 0
		var room <-chan struct{} // closed when fewer than 5 wait
		for step := range 200 {
			n := 1 + r.Int64N(3)
			outcome := uint8(1 + r.IntN(3))
			waits := want.Pending + want.Delayed
			freed := false
			switch op := r.IntN(12); {
			case finished:
				if l.Enter() {
					t.Fatalf("seed %d, step %d: entered, though it is finished", seed, step)
				}
			case op == 11 && entered > 0:
				l.Leave()
				entered--
			case op == 11 && step < 180:
				if !l.Enter() {
					t.Fatalf("seed %d, step %d: not entered, though it is open", seed, step)
				}
				entered++
			case op <= 1 && step < 120:
				l.Discover(n)
				want.Discovered, want.Pending = want.Discovered+n, want.Pending+n
			case op == 2 && want.Pending >= n:
				l.Forget(n)
				want.Discovered, want.Pending = want.Discovered-n, want.Pending-n
			case op == 3 && want.Pending >= n:
				l.Later(n)
				want.Pending, want.Delayed = want.Pending-n, want.Delayed+n
			case op == 4 && want.Delayed >= n:
				l.Later(-n)
				want.Pending, want.Delayed = want.Pending+n, want.Delayed-n
			case op == 5 && want.Pending >= n:
				l.Refuse(n, outcome, "why")
				want.Pending, want.Settled = want.Pending-n, want.Settled+n
				outcomes[outcome] += n
				freed = true
			case op == 6 && want.Pending > 0:
				l.Take()
				want.Pending, want.InFlight = want.Pending-1, want.InFlight+1
				freed = true
			case op == 7 && want.InFlight > 0:
				l.PutBack()
				want.Pending, want.InFlight = want.Pending+1, want.InFlight-1
			case op == 8 && want.InFlight > 0:
				l.Settle(outcome, "")
				want.InFlight, want.Settled = want.InFlight-1, want.Settled+1
				outcomes[outcome]++
			case op == 9 && step > 150 && starting:
				l.Started()
				starting = false
			case op == 10 && room == nil && waits >= 5:
				if room = l.Room(5); room == nil {
					t.Fatalf("seed %d, step %d: there is room, though %d wait", seed, step, waits)
				}
			case op == 10 && waits < 5 && l.Room(5) != nil:
				t.Fatalf("seed %d, step %d: no room, though %d wait", seed, step, waits)
			case op == 10 && step > 180:
				l.Stop()
				stopped = true
			}
			got := l.Counts()
			for o, n := range outcomes {
				if got.Outcomes[o] != n {
					t.Fatalf("seed %d, step %d: outcome %d has %d, want %d", seed, step, o, got.Outcomes[o], n)
				}
			}
			got.Outcomes, got.Reasons = nil, nil
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d, step %d: %+v, want %+v", seed, step, got, want)
			}
			if room != nil && freed && want.Pending+want.Delayed < 5 {
				if !isClosed(room) {
					t.Fatalf("seed %d, step %d: who waits for room is not woken", seed, step)
				}
				room = nil
			}
			looked := !starting && entered == 0 && want.Pending+want.Delayed+want.InFlight == 0
			finished = finished || looked
			if isClosed(l.finished) != finished {
				t.Fatalf("seed %d, step %d: finished is %v, want %v", seed, step, !finished, finished)
			}
			drained = drained || stopped && want.InFlight == 0
			if isClosed(l.drained) != drained {
				t.Fatalf("seed %d, step %d: drained is %v, want %v", seed, step, !drained, drained)
			}
			if l.IsIdle() != (!starting && want.InFlight == 0) {
				t.Fatalf("seed %d, step %d: idle is %v, %d in flight", seed, step, l.IsIdle(), want.InFlight)
			}
		}
	}
}

// Distinct reasons are bounded; further ones are counted together, for each outcome apart.
func TestReasonsAreBounded(t *testing.T) {
	l := NewLedger(3)
	const more = 10
	l.Discover(maxReasons + 2*more)
	for i := range maxReasons + more {
		l.Refuse(1, 1, fmt.Sprint(i))
	}
	for i := range more {
		l.Refuse(1, 2, fmt.Sprint(i))
	}
	reasons := l.Counts().Reasons
	if len(reasons) != maxReasons+2 || reasons[Reason{1, "other"}] != more || reasons[Reason{2, "other"}] != more {
		t.Errorf("%d reasons, other: %d and %d", len(reasons), reasons[Reason{1, "other"}], reasons[Reason{2, "other"}])
	}
}

// Who waits until less is in flight is told at the end of a request and when one waits again.
func TestWatch(t *testing.T) {
	l := NewLedger(2)
	told := 0
	l.Inline()
	l.Inline()
	l.mu.Lock()
	l.calmer = func() { told++ }
	l.mu.Unlock()
	l.Settle(1, "")
	l.PutBack()
	if told != 2 {
		t.Errorf("told %d times, want 2", told)
	}
	l.mu.Lock()
	l.calmer = nil
	l.mu.Unlock()
	l.Refuse(1, 1, "")
	if told != 2 {
		t.Errorf("told %d times after the watch ended, want 2", told)
	}
}

// What is handed out, or moved, before it was counted as waiting makes no column negative, and the sum stays.
func TestCountsAreNeverNegative(t *testing.T) {
	tests := []struct {
		name  string
		steps func(*Ledger)
		want  [3]int64 // pending, delayed, in flight
	}{
		{"handed out before it was counted as delayed", func(l *Ledger) { l.Discover(2); l.Take(); l.Later(2) }, [3]int64{0, 1, 1}},
		{"asked in vain", func(l *Ledger) { l.Take() }, [3]int64{0, 0, 0}},
		{"asked in vain beside one that is delayed", func(l *Ledger) { l.Discover(1); l.Later(1); l.Take() }, [3]int64{0, 0, 1}},
		{"delayed ahead", func(l *Ledger) { l.Discover(1); l.Later(-1) }, [3]int64{1, 0, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := NewLedger(3)
			tt.steps(l)
			n := l.Counts()
			if got := [3]int64{n.Pending, n.Delayed, n.InFlight}; got != tt.want {
				t.Errorf("pending, delayed, in flight: %v, want %v", got, tt.want)
			}
		})
	}
}

// What an earlier run has left is open: the crawl is idle meanwhile, and not at its end while something is delayed.
func TestLedgerResumes(t *testing.T) {
	l := NewLedger(2)
	l.Resume(1, 2)
	if n := l.Counts(); n.Discovered != 3 || n.Pending != 1 || n.Delayed != 2 || l.IsIdle() {
		t.Errorf("%+v, idle: %t", n, l.IsIdle())
	}
	l.Started()
	if !l.IsIdle() || l.IsFinished() {
		t.Error("nothing is in flight, and something is open")
	}
	l.Take()
	if l.IsIdle() {
		t.Error("something is in flight")
	}
	l.Settle(1, "")
	if !l.IsIdle() || l.IsFinished() {
		t.Error("the crawl is finished while something is delayed")
	}
	l.Later(-2)
	l.Refuse(2, 1, "")
	if !l.IsFinished() {
		t.Error("nothing is open, and the crawl is not finished")
	}
	l.Stop()
	l.Stop()
	if !isClosed(l.drained) || !isClosed(l.finished) {
		t.Error("a crawl that is stopped is not drained")
	}
}
