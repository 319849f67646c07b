package frontier

import (
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// Saved is the state of a slot that a durable cache stores.
type Saved struct {
	Name         string
	Pending      int           // requests that wait in its queue
	Priority     int           // of the best of them
	NextAllowed  time.Time     // no download starts before
	Delay        time.Duration // between the starts of two downloads
	Penalty      time.Duration // the part of Delay that refusals have earned
	Pages        int           // downloads begun
	AutoThrottle time.Duration // the part of Delay that follows the latency
}

// Status is how a slot is doing.
type Status struct {
	slots.State
	Pages, MaxPages int // downloads begun, and how many may be; both 0 without a page budget
}

// Restore takes a slot from a durable cache. A request that was in flight when an earlier run ended may have
// started just before that, at an instant that was not stored: so the slot's delay passes once before another request is
// started. suspects says that some of the slot will be lined up.
func (f *Frontier[J]) Restore(saved Saved, suspects bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, name := f.now(), saved.Name
	if saved.Pages > 0 {
		f.budgets.begun[name] = saved.Pages
	}
	if now.Sub(saved.NextAllowed) < slots.AnswerMemory {
		if saved.Penalty > 0 {
			f.slots.SetDelay(name, slots.Penalty, now, saved.Penalty)
		}
		if saved.AutoThrottle > 0 && f.throttle != nil {
			f.slots.SetDelay(name, slots.Throttled, now, min(saved.AutoThrottle, f.throttle.Max))
		}
	}
	if saved.Pending > 0 {
		f.slots.Add(name, saved.Priority, saved.Pending)
	}
	if saved.Pending > 0 || suspects {
		state, _ := f.slots.Lookup(name)
		if delay := max(saved.Delay, state.Delay); delay > 0 {
			f.slots.Block(name, now, now.Add(delay))
		}
	}
	if !saved.NextAllowed.IsZero() {
		f.slots.Block(name, now, saved.NextAllowed)
		f.restoredBlock(name, now, saved.NextAllowed)
	}
	f.waive(name)
}

// restoredBlock notes a block that an earlier run has stored if it is longer than the slot's own delay. The caller holds mu.
func (f *Frontier[J]) restoredBlock(slot string, now, until time.Time) {
	own := f.rules.of(slot)
	if own.Jitter != nil {
		own.Delay *= 2
	}
	if until.Sub(now) > own.Delay {
		f.blocks.add(slot, EarlierRun, now, until)
	}
}

// Save returns the state of a slot that a durable cache has to store, without its requests; false if there is none.
func (f *Frontier[J]) Save(name string) (Saved, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	known, _ := f.slots.Lookup(name)
	saved := Saved{Name: name, NextAllowed: known.Next, Delay: known.Delay, Pages: f.begun(name)}
	if known.Learnt {
		saved.Penalty, saved.AutoThrottle = max(known.Delays[slots.Penalty], 0), max(known.Delays[slots.Throttled], 0)
	}
	// A slot that has learnt something and has nothing to store any more is saved too: the cache may hold its old state.
	return saved, saved.Delay > 0 || saved.Pages > 0 || known.Learnt || saved.NextAllowed.After(f.now())
}

// Status returns how the slots are doing that have work or something to remember, in no order. Nothing is taken while it
// looks at them.
func (f *Frontier[J]) Status() []Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make([]Status, 0, f.slots.Len())
	for state := range f.slots.Snapshot() {
		status := Status{State: state, MaxPages: f.rules.of(state.Name).Pages}
		if status.MaxPages > 0 {
			status.Pages = f.begun(state.Name)
		}
		all = append(all, status)
	}
	return all
}
