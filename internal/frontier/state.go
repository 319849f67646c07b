package frontier

import (
	"container/heap"
	"runtime"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// Saved is the state of a slot that a durable cache stores.
type Saved struct {
	Name         string
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
	Pages, MaxPages int // downloads begun, and how many may be; both 0 without a page budget
}

// Restore takes a slot from a durable cache. A request that was in flight when an earlier run ended may have
// started just before that, at an instant that was not stored: so the slot's delay passes once before another request is
// started. suspects says that some of the slot will be lined up.
func (f *Frontier[J]) Restore(saved Saved, suspects bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, name := f.now(), saved.Name
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
		f.slots.Add(name, saved.Priority, saved.Pending)
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

// statusOf adds to the state of a slot what the table does not know. The caller holds the lock.
func (f *Frontier[J]) statusOf(state slots.State) Status {
	status := Status{State: state, MaxPages: f.rules.of(state.Name).Pages}
	if status.MaxPages > 0 {
		status.Pages = f.begun(state.Name)
	}
	return status
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

// InFlight returns how many requests each slot has in flight, without the slots that have none. Like Busiest it looks at the slots part by part.
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
// of one moment.
func (f *Frontier[J]) Busiest(n int) []Status {
	if n <= 0 {
		return nil
	}
	var top busiest
	f.walk(func(s *slots.Slot) {
		work := busySlot{pending: s.Pending(), inFlight: s.InFlight(), name: s.Name()}
		if work.pending+work.inFlight == 0 || len(top) == n && !work.busier(top[0]) {
			return
		}
		work.status = f.statusOf(f.slots.State(s))
		if len(top) < n {
			heap.Push(&top, work)
		} else {
			top[0] = work
			heap.Fix(&top, 0)
		}
	})
	slices.SortFunc(top, func(a, b busySlot) int {
		if a.busier(b) {
			return -1
		}
		return 1
	})
	all := make([]Status, len(top))
	for i := range top {
		all[i] = top[i].status
	}
	return all
}

// busySlot is a slot and how busy it is.
type busySlot struct {
	pending, inFlight int
	name              string
	status            Status
}

func (s busySlot) busier(than busySlot) bool {
	switch {
	case s.pending != than.pending:
		return s.pending > than.pending
	case s.inFlight != than.inFlight:
		return s.inFlight > than.inFlight
	}
	return s.name < than.name
}

// busiest is a heap, with the least busy slot on top.
type busiest []busySlot

func (b busiest) Len() int           { return len(b) }
func (b busiest) Less(i, j int) bool { return b[j].busier(b[i]) }
func (b busiest) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }
func (b *busiest) Push(s any)        { *b = append(*b, s.(busySlot)) }

func (b *busiest) Pop() any {
	last := len(*b) - 1
	s := (*b)[last]
	*b = (*b)[:last]
	return s
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
