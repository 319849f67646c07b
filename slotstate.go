package tegenaria

import (
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// restore takes over a slot that a durable cache holds. What was in flight when an earlier run ended may have been
// started just before that, and nobody has noted when: so whatever the slot's delay is, it passes once before anything
// is started.
func (s *scheduler) restore(slot SlotState, suspects bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if slot.Pages > 0 {
		s.begun[slot.Name] = slot.Pages
	}
	if now.Sub(slot.NextAllowed) < slots.AnswerMemory {
		if slot.Penalty > 0 {
			s.slots.SetDelay(slot.Name, slots.Penalty, now, slot.Penalty)
		}
		if slot.AutoThrottle > 0 && s.throttled {
			s.slots.SetDelay(slot.Name, slots.Throttled, now, min(slot.AutoThrottle, s.maxThrottle))
		}
	}
	if slot.Pending > 0 {
		s.slots.Add(slot.Name, slot.Priority, slot.Pending)
	}
	if slot.Pending > 0 || suspects {
		state, _ := s.slots.Lookup(slot.Name)
		if delay := max(slot.Delay, state.Delay); delay > 0 {
			s.slots.Block(slot.Name, now, now.Add(delay))
		}
	}
	if !slot.NextAllowed.IsZero() {
		s.slots.Block(slot.Name, now, slot.NextAllowed)
		s.restoredBlock(slot.Name, now, slot.NextAllowed)
	}
	s.waive(slot.Name)
}

// state returns what a durable cache has to remember of a slot; false if there is nothing.
func (s *scheduler) state(name string) (SlotState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, _ := s.slots.Lookup(name)
	state := SlotState{Name: name, NextAllowed: known.Next, Delay: known.Delay, Pages: s.begun[name]}
	if known.Learnt {
		state.Penalty, state.AutoThrottle = max(known.Delays[slots.Penalty], 0), max(known.Delays[slots.Throttled], 0)
	}
	// One that has learnt something and has nothing to remember any more is told too: the cache may hold what it had.
	return state, state.Delay > 0 || state.Pages > 0 || known.Learnt || state.NextAllowed.After(s.now())
}

// describeSlots adds to a batch the politeness of its jobs' slots, those that go back among them, and of others.
func (c *crawl) describeSlots(batch *Batch, list []ended, others []string) {
	seen := make(map[string]struct{})
	add := func(name string) {
		if _, known := seen[name]; known {
			return
		}
		seen[name] = struct{}{}
		if state, ok := c.sched.state(name); ok {
			batch.Slots = append(batch.Slots, state)
		}
	}
	for i := range list {
		add(list[i].Record.Slot)
	}
	for _, name := range others {
		add(name)
	}
}

// SlotStatus tells how a slot of a running crawl is doing.
type SlotStatus struct {
	Name     string
	Pending  int       // requests that wait in its queue
	InFlight int       // downloads that are under way, or about to start
	PerSlot  int       // the most of them; RequestWithMaxConnsPerHost may have lowered it
	Next     time.Time // nothing starts before; zero if nothing was started yet

	Delay        time.Duration // in force, before jitter: the largest of the slot's own and those that follow
	SlotDelay    time.Duration // that a callback asked for, 0: none
	CrawlDelay   time.Duration // of robots.txt, 0: none
	AutoThrottle time.Duration // that follows the latency, 0: none
	Penalty      time.Duration // after refusals, 0: none

	Pages, MaxPages int  // downloads begun, and how many may be; both 0 without a page budget
	Gated           bool // it waits for a place at its address or proxy
}

// Slots returns how the slots of the running crawl are doing that have work or something to remember, in no
// order; nil if no crawl is running. It stops the scheduler for as long as it takes to look at all of them.
func (e *SpiderEngine) Slots() []SlotStatus {
	c := e.current()
	if c == nil {
		return nil
	}
	s := c.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]SlotStatus, 0, s.slots.Len())
	for state := range s.slots.Snapshot() {
		all = append(all, s.status(state))
	}
	return all
}

// status makes the SlotStatus of a slot. The caller holds mu.
func (s *scheduler) status(state slots.State) SlotStatus {
	status := SlotStatus{
		Name: state.Name, Pending: state.Pending, InFlight: state.InFlight, PerSlot: state.Limit, Next: state.Next,
		Delay:     state.Delay,
		SlotDelay: max(state.Delays[slots.Asked], 0), CrawlDelay: max(state.Delays[slots.Robots], 0),
		AutoThrottle: max(state.Delays[slots.Throttled], 0), Penalty: max(state.Delays[slots.Penalty], 0),
		MaxPages: s.rules.of(state.Name).pages, Gated: state.Gated,
	}
	if status.MaxPages > 0 {
		status.Pages = s.begun[state.Name]
	}
	return status
}

// SetSlot gives one slot another policy, from now on and until the end of the run: a slot that is waiting for its
// delay waits for the new one, counted from its last start. It stands in the place of Politeness and its Overrides.
// A page budget counts what was begun before. A host may be spelled as in URLs. A negative field or a Jitter above 1 is an error, as is a call while no
// crawl is running.
func (e *SpiderEngine) SetSlot(name string, p SlotPolicy) error {
	if err := p.mistakes("SlotPolicy."); err != nil {
		return err
	}
	c := e.current()
	if c == nil {
		return errNotRunning
	}
	s := c.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	rule := p.rule()
	names := []string{name}
	if _, known := s.slots.Lookup(name); !known && asHost(name) != name {
		names = append(names, asHost(name))
	}
	if rule.pages > 0 {
		s.budgets.Store(true)
	}
	for _, name := range names {
		s.rules.exact[name] = rule
		s.slots.SetPolicy(name, rule.Policy)
		s.waive(name)
	}
	s.signal()
	return nil
}
