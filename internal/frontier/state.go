package frontier

import (
	"runtime"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// Saved is the state of a slot that a durable cache stores.
type Saved struct {
	Name         string        // or that of a lane's queue
	Pending      int           // requests that wait in its queue
	Delayed      int           // requests that wait for their time
	Priority     int           // of the best of those in the queue
	NextAllowed  time.Time     // no download starts before
	Delay        time.Duration // between the starts of two downloads
	Penalty      time.Duration // the part of Delay that refusals have earned
	Pages        int           // downloads begun
	AutoThrottle time.Duration // the part of Delay that follows the latency
}

// Status is how a slot is doing.
type Status struct {
	slots.State
	Pages, MaxPages int           // downloads begun, and how many may be; both 0 without a page budget
	Latency95       time.Duration // see [slots.Table.Latency95]
}

// Restore takes a slot from a durable cache. A request that was in flight when an earlier run ended may have
// started just before that, at an instant that was not stored: so the slot's delay passes once before another request is
// started. suspects says that some of the slot will be lined up.
func (f *Frontier[J]) Restore(saved Saved, suspects bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, name := f.now(), slots.Name(saved.Name)
	f.slots.Resume(now)
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
		f.slots.Add(saved.Name, saved.Priority, saved.Pending)
	}
	if saved.Pending+saved.Delayed > 0 || suspects {
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
		all = append(all, f.statusOf(state))
	}
	return all
}

// StatusOf returns how a slot is doing, also one that has neither work nor anything to remember. A host may be spelled as in URLs.
func (f *Frontier[J]) StatusOf(name string) Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := f.namesOf(name)
	name = names[len(names)-1]
	state, known := f.slots.Lookup(name)
	if !known {
		rule := f.rules.of(name)
		state = slots.State{Name: name, Limit: rule.Limit, Delay: rule.Delay, Delays: slots.NoDelays}
	}
	return f.statusOf(state)
}

// statusOf adds to the state of a slot what the table does not know. The caller holds the lock.
func (f *Frontier[J]) statusOf(state slots.State) Status {
	status := Status{State: state, MaxPages: f.rules.of(state.Name).Pages, Latency95: f.slots.Latency95(state.Name, f.now())}
	if status.MaxPages > 0 {
		status.Pages = f.begun(state.Name)
	}
	return status
}

// SlotCounts counts the slots by what keeps their work from starting.
func (f *Frontier[J]) SlotCounts() slots.Counts {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slots.Count()
}

// walkPart is how many places of the table walk looks at while it holds the lock: that takes a small part of a millisecond.
const walkPart = 512

// walk visits the slots part by part, with the lock held; others go on in between, so it does not see all of one moment.
func (f *Frontier[J]) walk(visit func(s *slots.Slot)) {
	for from := uint64(0); ; {
		f.mu.Lock()
		from = f.slots.Part(from, walkPart, visit)
		f.mu.Unlock()
		if from == 0 {
			return
		}
		runtime.Gosched() // lets others that wait for the lock have it
	}
}

// InFlight returns how many requests each slot has in flight, without the slots that have none. Like Busiest it looks
// at the slots part by part.
func (f *Frontier[J]) InFlight() map[string]int {
	running := make(map[string]int)
	f.walk(func(s *slots.Slot) {
		if n := s.InFlight(); n > 0 {
			running[s.Name()] = n
		}
	})
	return running
}

// Busiest returns how the n slots are doing in which most requests wait, the busiest first; of equal ones that with more in flight, then by
// name. Those without work are left out. It looks at the slots part by part, and others go on in between, so the states are not all
// of one moment. In a large table it looks again at those that it found last, for up to rankingKept.
func (f *Frontier[J]) Busiest(n int) []Status {
	return f.top(n, &f.busiest, func(s *slots.Slot) rank { return rank{s.Pending(), s.InFlight(), s.Name()} })
}

// Slowest is Busiest for the slots with the highest mean latency, the slowest first; of equal ones that in which more requests wait,
// then by name. Those of which no answer has come are left out.
func (f *Frontier[J]) Slowest(n int) []Status {
	return f.top(n, &f.slowest, func(s *slots.Slot) rank {
		if s.Pending()+s.InFlight() == 0 || s.Latency() == 0 {
			return rank{}
		}
		return rank{int(s.Latency()), s.Pending(), s.Name()}
	})
}

// Why names what a slot waits for, in the words of those who set it; "" for nothing.
func (s Status) Why() string {
	switch {
	case s.Gated:
		return s.Gate
	case s.Limit > 0 && s.InFlight >= s.Limit:
		return "PerSlot"
	case s.Delay <= 0:
		return ""
	}
	for _, cause := range []struct {
		source slots.Source
		name   string
	}{{slots.Penalty, "refusals"}, {slots.Robots, "Crawl-delay"}, {slots.Throttled, "AutoThrottle"}, {slots.Asked, "SlotDelay"}} {
		if s.Delays[cause.source] == s.Delay {
			return cause.name
		}
	}
	return "Delay"
}
