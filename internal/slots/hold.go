package slots

import (
	"math"
	"time"
)

// Hold is why the work of a slot may not start.
type Hold uint8

// The holds.
const (
	NotHeld    Hold = iota // nothing waits, or what waits may start
	Delayed                // the delay in force, which [Held.Delays] explains
	RetryAfter             // of an answer that refused
	Refused                // the pause after a refusal without Retry-After
	Blocked                // [Table.Block]
	AtLimit                // as many grants are open as may be
	Parked                 // [Table.Park]
	AtGate                 // its gate is closed

	holds = iota
)

// Held is what holds up the work that waits.
type Held struct {
	Slot   string // "" if several slots are held for the reason, and it is not known which one ends first
	Hold   Hold
	Delay  time.Duration // in force in the slot; 0: none
	Delays Delays        // see [State.Delays]
	Gate   string        // that is closed; "": none
}

// heldUp counts the slots with work that something other than time holds.
type heldUp struct {
	slots int
	last  *Slot // that was counted
}

// Counts are the numbers of slots by what keeps their work from starting.
type Counts struct {
	Ready int        // their work may start now
	Timed int        // it waits for its time: a delay, or a block
	Held  [holds]int // it waits for something else, by hold
	All   int
}

// Count counts the slots, however many there are, without looking at them.
func (t *Table) Count() (c Counts) {
	c.Ready, c.Timed = len(t.heaps[ready])+len(t.heaps[waiting]), len(t.heaps[timed])
	c.All = t.Len()
	for why := range t.heldUp {
		c.Held[why] = t.heldUp[why].slots
	}
	return c
}

// guess is how long a grant is taken to stay open in a slot of which no latency is known.
const guess = time.Second

// HeldUp returns what holds up the work that waits while [Table.Acquire] finds no slot. Of several holds it is the one that is likely to
// end first: one that waits for a grant of the slot to be released is taken to end after the slot's mean latency.
func (t *Table) HeldUp() Held {
	var held Held
	first := time.Duration(-1)
	consider := func(s *Slot, why Hold, in time.Duration) {
		if first >= 0 && in >= first {
			return
		}
		first = in
		held = Held{Slot: s.name, Hold: why, Delay: s.delay, Delays: NoDelays}
		if s.own != nil {
			held.Delays = s.own.delays
		}
		if g := s.closedGate(); why == AtGate && g != nil {
			held.Gate = g.name
		}
	}
	if s := t.heaps[timed].top(); s != nil {
		consider(s, s.timedBy(), time.Duration(max(s.next-t.now, 0)))
	}
	for why := range t.heldUp {
		c := t.heldUp[why]
		if c.slots == 0 || c.last == nil {
			continue
		}
		in := c.last.Latency()
		switch {
		case Hold(why) == Delayed:
			in = c.last.delay
		case in == 0:
			in = guess
		}
		consider(c.last, Hold(why), in)
		if held.Slot == c.last.name && c.last.holdup != Hold(why) { // it was released meanwhile, others are held still
			held.Slot = ""
		}
	}
	return held
}

// timedBy returns what the next allowed instant of a slot comes from.
func (s *Slot) timedBy() Hold {
	if s.until < s.next || s.last != math.MinInt64 && later(s.last, s.delay) >= s.until {
		return Delayed
	}
	return s.blocked
}

// extend lets nothing start in the slot before an instant, for a reason.
func (s *Slot) extend(until int64, why Hold) {
	if until > s.until {
		s.until, s.blocked = until, why
	}
}

// holdOf returns what keeps the work of a slot from being acquired other than time and gates.
func (s *Slot) holdOf() Hold {
	switch {
	case !s.hasWork() && s.lanes != nil && s.lanes.closed > 0:
		return AtGate
	case !s.hasWork():
		return NotHeld
	case s.parked > 0:
		return Parked
	case s.limit > 0 && s.inFlight >= s.limit:
		return AtLimit
	case s.delay > 0 && s.picked > 0:
		return Delayed
	}
	return NotHeld
}

// countHold counts a slot by what holds it.
func (t *Table) countHold(s *Slot) {
	why := s.holdOf()
	if why == s.holdup || why == NotHeld && s.in == gated { // countGated counts that
		return
	}
	t.count(s, why)
}

// countGated counts a slot that comes to the line of its gate, or leaves it.
func (t *Table) countGated(s *Slot, to place) {
	switch {
	case to == gated:
		t.count(s, AtGate)
	case s.holdup == AtGate:
		t.count(s, s.holdOf())
	}
}

func (t *Table) count(s *Slot, why Hold) {
	if s.holdup != NotHeld {
		t.heldUp[s.holdup].slots--
	}
	if s.holdup = why; why != NotHeld {
		c := &t.heldUp[why]
		c.slots++
		c.last = s
	}
}
