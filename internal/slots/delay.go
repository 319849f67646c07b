package slots

import (
	"math"
	"time"
)

// Source is who asks for a delay. Each is kept by itself; the largest is in force.
type Source uint8

// The sources of delays.
const (
	User     Source = iota // stands in for the policy's delay while set
	Robots                 // Crawl-delay of robots.txt
	Throttle               // follows the latency of the answers
	Penalty                // after errors such as 429 or 503

	// Sources is the number of sources.
	Sources = int(iota)
)

// delays holds one delay for each source; a negative one is not set.
type delays [Sources]time.Duration

var unset = delays{-1, -1, -1, -1}

// SetDelay sets the delay that the source asks for; a negative one takes it back, as does 0 for
// all but [User], where 0 is a delay like any other. The delay in force is the largest of what the
// sources ask for, with the policy's delay where [User] asks for none. The next allowed instant is
// reckoned anew from the last start. Grants that are open are not called back: those not yet
// started start when their owner likes. It makes the slot if need be and keeps it until the last
// delay is taken back.
func (t *Table) SetDelay(name string, source Source, d time.Duration) {
	if d < 0 || d == 0 && source != User {
		d = -1
	}
	s := t.slots[name]
	if s == nil || s.own == nil {
		if d < 0 {
			return
		}
		s = t.slot(name)
		own := unset
		s.own = &own
	}
	s.own[source] = d
	if *s.own == unset {
		s.own = nil
	}
	s.reckon()
	t.place(s)
}

// Block forbids starts in the slot before that instant, as the server asked with Retry-After
// (RFC 9110 §10.2.3). Of several, the latest counts. It makes the slot if need be, which is kept
// until then. A table that is set up from a store takes the next allowed instants of earlier runs
// this way.
func (t *Table) Block(name string, now, until time.Time) {
	t.observe(now)
	s := t.slot(name)
	s.until = max(s.until, t.instant(until))
	s.reckon()
	t.place(s)
}

// Cap lowers the limit of the slot; it never raises it, and 0 or less changes nothing. It holds
// until the slot has no more work and is forgotten, and so does nothing for a slot that the table
// does not hold: call it after Add or Ask.
func (t *Table) Cap(name string, limit int) {
	s := t.slots[name]
	if s == nil || limit <= 0 || s.limit > 0 && limit >= int(s.limit) {
		return
	}
	s.limit = int32(min(limit, math.MaxInt32))
	t.place(s)
}

// draw asks for the stretch of the gap that begins now.
func (s *Slot) draw() {
	s.factor = 1
	if s.jitter == nil {
		return
	}
	if f := s.jitter(); f >= 0 && !math.IsInf(f, 1) { // false for NaN
		s.factor = f
	}
}

// reckon computes the delay in force and the next allowed instant from what they depend on.
func (s *Slot) reckon() {
	user, others := s.policy, time.Duration(0)
	if s.own != nil {
		if s.own[User] >= 0 {
			user = s.own[User]
		}
		others = max(0, s.own[Robots], s.own[Throttle], s.own[Penalty])
	}
	s.delay = max(user, others)
	s.next = s.until
	if s.last == math.MinInt64 {
		return
	}
	if s.factor != 1 {
		user = stretch(user, s.factor)
	}
	gap := int64(max(user, others))
	if s.last > math.MaxInt64-gap {
		s.next = math.MaxInt64
		return
	}
	s.next = max(s.next, s.last+gap)
}

// stretch multiplies without overflow.
func stretch(d time.Duration, factor float64) time.Duration {
	f := float64(d) * factor
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}
