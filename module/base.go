package module

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Base is the part that all modules have in common: embed a *Base to get a [Module]. The methods
// that change a count are for authors of modules, not for their users; most need only
// [Base.Call]. All methods are safe for concurrent use. Make one with [NewBase].
type Base struct {
	mid   MID
	parts Parts
	addr  string
	calc  CalculateScore

	score     atomic.Uint64
	called    atomic.Uint64
	accepted  atomic.Uint64
	completed atomic.Uint64
	handling  atomic.Uint64

	failing  atomic.Bool // whether failures is not 0; spares healthy modules the lock
	mu       sync.Mutex  // guards the fields below
	failures float64     // as of at
	at       time.Time
}

var (
	_ Module = (*Base)(nil)
	_ Typed  = (*Base)(nil)
)

// NewBase returns the base of the module of that name. A nil calc means [DefaultScore]. A name that
// is none is an [*IllegalParameterError].
func NewBase(mid MID, calc CalculateScore) (*Base, error) {
	parts, err := SplitMID(mid)
	if err != nil {
		return nil, err
	}
	b := &Base{mid: mid, parts: parts, calc: calc}
	if parts.Addr.IsValid() {
		b.addr = parts.Addr.String()
	}
	return b, nil
}

// ID returns the name.
func (b *Base) ID() MID { return b.mid }

// Type returns the type that the name says. A module that can only be of one type hides this
// method with its own, so that a wrong name is found when it is registered.
func (b *Base) Type() Type { return b.parts.Type }

// Addr returns the address in the name, "" if there is none.
func (b *Base) Addr() string { return b.addr }

// Score returns the score that was last set.
func (b *Base) Score() uint64 { return b.score.Load() }

// SetScore sets the score.
func (b *Base) SetScore(score uint64) { b.score.Store(score) }

// ScoreCalculator returns what [NewBase] was given.
func (b *Base) ScoreCalculator() CalculateScore { return b.calc }

// CalledCount returns how often the module was called.
func (b *Base) CalledCount() uint64 { return b.called.Load() }

// AcceptedCount returns how many calls were accepted.
func (b *Base) AcceptedCount() uint64 { return b.accepted.Load() }

// CompletedCount returns how many accepted calls ended without an error.
func (b *Base) CompletedCount() uint64 { return b.completed.Load() }

// HandlingNumber returns how many calls are running now.
func (b *Base) HandlingNumber() uint64 { return b.handling.Load() }

// Counts returns a snapshot of all counts.
func (b *Base) Counts() Counts {
	// In this order a call that runs meanwhile cannot make a later step exceed an earlier one.
	completed := b.completed.Load()
	accepted := b.accepted.Load()
	return Counts{
		CompletedCount: completed,
		AcceptedCount:  accepted,
		CalledCount:    b.called.Load(),
		HandlingNumber: b.handling.Load(),
		RecentFailures: b.recentFailures(),
	}
}

// Summary returns name and counts. A module that has more to report hides this method with its own,
// which fills in Extra.
func (b *Base) Summary() SummaryStruct {
	c := b.Counts()
	return SummaryStruct{ID: b.mid, Called: c.CalledCount, Accepted: c.AcceptedCount,
		Completed: c.CompletedCount, Handling: c.HandlingNumber}
}

// IncrCalledCount counts a call, at its beginning.
func (b *Base) IncrCalledCount() { b.called.Add(1) }

// IncrAcceptedCount counts a call whose arguments were found right.
func (b *Base) IncrAcceptedCount() { b.accepted.Add(1) }

// IncrCompletedCount counts a call that ended without an error, and halves the recent failures.
func (b *Base) IncrCompletedCount() {
	b.completed.Add(1)
	if b.failing.Load() {
		b.setFailures(func(f float64) float64 { return f / 2 })
	}
}

// IncrFailure counts a call that failed for a reason that lies with the module.
func (b *Base) IncrFailure() {
	b.setFailures(func(f float64) float64 { return f + 1 })
}

// IncrHandlingNumber counts a call as running.
func (b *Base) IncrHandlingNumber() { b.handling.Add(1) }

// DecrHandlingNumber takes back one IncrHandlingNumber. The number never goes below 0.
func (b *Base) DecrHandlingNumber() {
	for {
		n := b.handling.Load()
		if n == 0 || b.handling.CompareAndSwap(n, n-1) {
			return
		}
	}
}

// Clear sets the counts and the recent failures to 0. The handling number stays, for what is
// running goes on running; it will count as completed though no longer as called.
func (b *Base) Clear() {
	b.completed.Store(0)
	b.accepted.Store(0)
	b.called.Store(0)
	b.setFailures(func(float64) float64 { return 0 })
}

// Call does the counting around one call. It is handling during both functions and called at once;
// accepted if accept, which may be nil, has no error; completed if work has none. An error of
// accept or work is returned as it is.
//
// An error or a panic of work is a recent failure. context.Canceled is not: then the caller gave
// up, not the module.
func (b *Base) Call(accept, work func() error) error {
	b.IncrHandlingNumber()
	return b.CallTaken(accept, work)
}

// CallTaken is [Base.Call] for a caller that has counted the call by IncrHandlingNumber already, when it chose the module:
// so that the next one who chooses sees it.
func (b *Base) CallTaken(accept, work func() error) error {
	defer b.DecrHandlingNumber()
	b.IncrCalledCount()
	if accept != nil {
		if err := accept(); err != nil {
			return err
		}
	}
	b.IncrAcceptedCount()
	returned := false
	defer func() {
		if !returned {
			b.IncrFailure()
		}
	}()
	err := work()
	returned = true
	switch {
	case err == nil:
		b.IncrCompletedCount()
	case !errors.Is(err, context.Canceled):
		b.IncrFailure()
	}
	return err
}

func (b *Base) recentFailures() float64 {
	if !b.failing.Load() {
		return 0
	}
	return b.setFailures(func(f float64) float64 { return f })
}

// setFailures brings the recent failures up to this moment, changes them, and returns the result.
func (b *Base) setFailures(change func(float64) float64) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.failures > 0 {
		b.failures *= math.Exp2(-float64(now.Sub(b.at)) / float64(FailureHalfLife))
	}
	b.failures, b.at = change(b.failures), now
	// Too small to be seen in a score of 64 for each.
	if b.failures < 1.0/64 {
		b.failures = 0
	}
	b.failing.Store(b.failures > 0)
	return b.failures
}
