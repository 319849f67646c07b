package slots

import (
	"math"
	"time"
)

// Source is where a delay comes from. Each is kept by itself; the largest is in force.
type Source uint8

// The sources of delays.
const (
	User      Source = iota // stands in for the policy's delay while set
	Asked                   // by what does the work
	Robots                  // Crawl-delay of robots.txt
	Throttled               // follows the latency of the answers, see [Throttle]
	Penalty                 // after answers that refuse, see [Answer]

	// Sources is the number of sources.
	Sources = int(iota)
)

// Delays holds one delay for each source; a negative one is not set.
type Delays [Sources]time.Duration

// NoDelays has none of any source.
var NoDelays = Delays{-1, -1, -1, -1, -1}

// learnt is what a slot knows beside its policy.
type learnt struct {
	delays Delays
	keep   int64 // a slot without work remembers them until then
	era    uint8 // counts the refusals that were heeded
}

// AnswerMemory is how long a slot without work remembers a latency or a refusal: what a server could bear some minutes
// ago says little.
const AnswerMemory = 10 * time.Minute

// robotsMemory is how long it remembers Crawl-delay: a robots.txt is asked for again after a day (RFC 9309 §2.4).
const robotsMemory = 24 * time.Hour

// learn returns what the slot knows beside its policy, to be written.
func (s *Slot) learn() *learnt {
	if s.own == nil {
		s.own = &learnt{delays: NoDelays, keep: math.MinInt64}
	}
	return s.own
}

// remember lets the slot be kept for a while, with work or without.
func (t *Table) remember(s *Slot, d time.Duration) {
	s.own.keep = max(s.own.keep, later(t.now, d))
}

// SetDelay sets the delay that the source asks for; a negative one takes it back, as does 0 for
// all but [User], where 0 is a delay like any other. The delay in force is the largest of what the
// sources ask for, with the policy's delay where [User] asks for none. The next allowed instant is
// reckoned anew from the last start. Grants that are open are not called back: those not yet
// started start when their owner likes. It makes the slot if need be. A slot without work is kept as long as User or
// Asked have a delay; what the others ask for it remembers for a day (Robots), or for ten minutes.
func (t *Table) SetDelay(name string, source Source, now time.Time, d time.Duration) {
	t.observe(now)
	if d < 0 || d == 0 && source != User {
		d = -1
	}
	s := t.slots.get(name)
	if s == nil || s.own == nil {
		if d < 0 {
			return
		}
		s = t.slot(name)
	}
	own := s.learn()
	own.delays[source] = d
	switch {
	case d < 0:
		if own.delays[Robots] < 0 && own.delays[Throttled] < 0 && own.delays[Penalty] < 0 {
			own.keep = math.MinInt64
		}
	case source == Robots:
		t.remember(s, robotsMemory)
	case source == Throttled, source == Penalty:
		t.remember(s, AnswerMemory)
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
	t.block(s, t.instant(until))
}

func (t *Table) block(s *Slot, until int64) {
	s.extend(until, Blocked)
	s.reckon()
	t.place(s)
}

// Cap lowers the limit of the slot; it never raises it, and 0 or less changes nothing. It holds
// until the slot has no more work and is forgotten, and so does nothing for a slot that the table
// does not hold: call it after Add or Ask.
func (t *Table) Cap(name string, limit int) {
	s := t.slots.get(name)
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
		s.factor = float32(f)
	}
}

// reckon computes the delay in force and the next allowed instant from what they depend on.
func (s *Slot) reckon() {
	if s.waived {
		s.delay, s.next = 0, math.MinInt64
		return
	}
	user, others := s.floor(), time.Duration(0)
	if s.own != nil {
		d := &s.own.delays
		others = max(0, d[Asked], d[Robots], d[Throttled], d[Penalty])
	}
	s.delay = max(user, others)
	s.next = s.until
	if s.last == math.MinInt64 {
		return
	}
	if s.factor != 1 {
		user = stretch(user, float64(s.factor))
	}
	s.next = max(s.next, later(s.last, max(user, others)))
}

// later adds without overflow.
func later(at int64, d time.Duration) int64 {
	if at > 0 && int64(d) > math.MaxInt64-at {
		return math.MaxInt64
	}
	return at + int64(d)
}

// floor returns the delay that the slot's owner wants.
func (s *Slot) floor() time.Duration {
	if s.own != nil && s.own.delays[User] >= 0 {
		return s.own.delays[User]
	}
	return s.policy
}

// stretch multiplies without overflow.
func stretch(d time.Duration, factor float64) time.Duration {
	f := float64(d) * factor
	if f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}
