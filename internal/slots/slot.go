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
	own          *delays // what SetDelay set; nil when nothing
	jitter       func() float64

	policy time.Duration // the delay it was born with
	delay  time.Duration // in force
	factor float64       // of the last start, on policy or User
	last   int64         // instant of the last start, math.MinInt64 before the first
	until  int64         // blocked until then
	next   int64         // nothing may start before

	pending  int   // entries in the queue
	priority int   // the best of them
	added    int   // entries added since the last take
	fresh    int   // the best of those
	takes    int64 // numbers the takes from the queue
	turn     int64 // 0 before it was first pending

	inFlight, picked int32 // open grants; those not yet started
	parked           int32
	limit            int32 // 0: none
	index            int32 // in the heap of its place
	in               place
}

func newSlot(name string, p Policy) *Slot {
	s := &Slot{
		name: name, jitter: p.Jitter, policy: max(p.Delay, 0), factor: 1,
		last: math.MinInt64, until: math.MinInt64,
		limit: int32(min(max(p.Limit, 0), math.MaxInt32)), fresh: math.MinInt,
	}
	s.reckon()
	return s
}

// Name returns the name of the slot.
func (s *Slot) Name() string { return s.name }

// InFlight returns the number of open grants, started or not.
func (s *Slot) InFlight() int { return int(s.inFlight) }

// Delay returns the delay in force, before jitter.
func (s *Slot) Delay() time.Duration { return s.delay }

// held reports whether something other than time keeps the slot from being acquired.
func (s *Slot) held() bool {
	return s.parked > 0 ||
		s.limit > 0 && s.inFlight >= s.limit ||
		s.delay > 0 && s.picked > 0 // its next allowed instant is not known yet
}

// kept reports whether a slot without work has something to remember that time does not end.
func (s *Slot) kept() bool { return s.inFlight > 0 || s.parked > 0 || s.own != nil }

// State is what a slot looks like from outside.
type State struct {
	Name     string
	Pending  int           // entries in the queue
	Priority int           // the best of them; means nothing when none is pending
	Waiting  int           // waiters
	InFlight int           // open grants
	Parked   int           // calls of Park not yet undone
	Limit    int           // of grants open at once; 0 means none
	Delay    time.Duration // in force, before jitter
	Next     time.Time     // nothing starts before; zero when nothing was ever started or blocked

	// Delays holds what [Table.SetDelay] set, by source; −1 where nothing is set.
	Delays [Sources]time.Duration
}

func (t *Table) state(s *Slot) State {
	st := State{
		Name: s.name, Pending: s.pending, Priority: s.priority, InFlight: int(s.inFlight),
		Parked: int(s.parked), Limit: int(s.limit), Delay: s.delay, Next: t.time(s.next), Delays: unset,
	}
	if s.own != nil {
		st.Delays = *s.own
	}
	for w := s.first; w != nil; w = w.next {
		st.Waiting++
	}
	return st
}
