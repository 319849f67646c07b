package slots

import (
	"math"
	"time"
)

// Slot is one queue and its politeness. It belongs to its [Table] and may be read under the same
// lock.
type Slot struct {
	name         string
	first, final *Waiter // oldest and youngest waiter
	own          *learnt // beside the policy; nil when there is nothing
	jitter       func() float64
	gate         *gate  // that its work has to pass, as far as is known; nil: none
	lanes        *lanes // those of the slot, or the one that this lane is in; nil: there are none

	policy time.Duration // the delay it was born with
	delay  time.Duration // in force
	last   int64         // instant of the last start, math.MinInt64 before the first
	until  int64         // blocked until then
	next   int64         // nothing may start before

	priority int   // the best of the entries in the queue
	fresh    int   // the best of those added since the last take
	turn     int64 // 0 before it was first pending

	// Small numbers, for the million of them: see BenchmarkMemory.
	pending          int32   // entries in the queue
	added            int32   // those added since the last take
	ahead            int32   // those that Head has told of before Add
	takes            uint32  // numbers the takes from the queue
	factor           float32 // of the last start, on policy or User
	latency          uint32  // mean of its answers in microseconds; 0: none came
	inFlight, picked int32   // open grants; those not yet started
	parked           int32
	limit            int32 // 0: none
	index            int32 // in the heap of its place
	in               place
	waived           bool // nothing starts here any more
	holdup           Hold // that it is counted for in the table
	blocked          Hold // what until comes from
}

func newSlot(name string, p Policy) *Slot {
	s := &Slot{name: name, factor: 1, last: math.MinInt64, until: math.MinInt64, fresh: math.MinInt}
	s.setPolicy(p)
	return s
}

func (s *Slot) setPolicy(p Policy) {
	s.jitter, s.policy = p.Jitter, max(p.Delay, 0)
	s.limit = int32(min(max(p.Limit, 0), math.MaxInt32))
}

// Name returns the name of the slot, or of the lane's queue.
func (s *Slot) Name() string { return s.name }

// InFlight returns the number of open grants, started or not.
func (s *Slot) InFlight() int { return int(s.inFlight) }

// Delay returns the delay in force, before jitter.
func (s *Slot) Delay() time.Duration { return s.delay }

// Learnt reports whether the slot keeps something beside its policy: then the arguments of [Table.Answered]
// may matter.
func (s *Slot) Learnt() bool { return s.own != nil }

// held reports whether something other than time keeps the slot from being acquired.
func (s *Slot) held() bool {
	return s.parked > 0 ||
		s.limit > 0 && s.inFlight >= s.limit ||
		s.delay > 0 && s.picked > 0 // its next allowed instant is not known yet
}

// kept reports whether a slot without work has something to remember that time does not end.
func (s *Slot) kept() bool {
	return s.inFlight > 0 || s.parked > 0 || s.lanes != nil || s.own != nil && (s.own.delays[User] >= 0 || s.own.delays[Asked] >= 0)
}

// forgettable returns when a slot without work has nothing to remember any more.
func (s *Slot) forgettable() int64 {
	if s.own != nil {
		return max(s.next, s.own.keep)
	}
	return s.next
}

// State is what a slot looks like from outside.
type State struct {
	Name     string
	Pending  int           // entries in the queues
	Priority int           // the best of those in its own queue; means nothing when none is pending there
	Waiting  int           // waiters
	InFlight int           // open grants
	Parked   int           // calls of Park not yet undone
	Limit    int           // of grants open at once; 0 means none
	Delay    time.Duration // in force, before jitter
	Next     time.Time     // nothing starts before; zero when nothing was ever started or blocked
	Gate     string        // that its work has to pass, as far as is known; empty when there is none
	Gated    bool          // it is ready but for that gate

	Learnt bool // see [Slot.Learnt]

	Until time.Time // what [Table.Block] or a refusal forbids starts before; zero when none ever did

	// Delays holds what [Table.SetDelay] set, by source; −1 where nothing is set.
	Delays Delays

	Latency time.Duration // see [Slot.Latency]
}

func (t *Table) state(s *Slot) State {
	st := State{
		Name: s.name, Pending: s.Pending(), Priority: s.priority, InFlight: int(s.inFlight),
		Parked: int(s.parked), Limit: int(s.limit), Delay: s.delay, Next: t.time(s.next), Delays: NoDelays,
		Until: t.time(s.until),
		Gated: s.holdup == AtGate, Latency: s.Latency(),
	}
	if s.own != nil {
		st.Learnt, st.Delays = true, s.own.delays
	}
	if g := s.closedGate(); g != nil {
		st.Gate = g.name
	}
	st.Waiting = s.waitersOf()
	if s.lanes != nil {
		for _, l := range s.lanes.all {
			st.Waiting += l.waitersOf()
		}
	}
	return st
}

func (s *Slot) waitersOf() (n int) {
	for w := s.first; w != nil; w = w.next {
		n++
	}
	return n
}
