package slots

import (
	"math"
	"time"
)

// Throttle sets the delay of each slot by the latency of its answers, so that about Target requests are under way in
// it at a time. It is Scrapy's AutoThrottle (scrapy/extensions/throttle.py): after each answer
//
//	target = latency / Target
//	delay  = max(target, (delay + target) / 2), within the policy's delay and Max
//
// and an answer whose status is not 200 never lowers it, since errors come fast.
type Throttle struct {
	Start  time.Duration // of a slot that is new, unless its policy's delay is larger
	Max    time.Duration // the largest delay
	Target float64       // requests under way at a time; more than 0
}

// next returns the delay that follows another one.
func (a *Throttle) next(delay, floor, latency time.Duration, ok bool) time.Duration {
	target := stretch(latency, 1/a.Target)
	next := max(target, delay/2+target/2)
	next = min(max(next, floor), a.Max)
	if !ok && next < delay {
		return delay
	}
	return next
}

// SetThrottle makes the delays of all slots follow their answers. It is called before there are slots.
func (t *Table) SetThrottle(a Throttle) { t.throttle = &a }

// Answer is the result of the work of a grant.
type Answer struct {
	// Latency is the time from the start to the header of the answer; 0 or less means that none came.
	Latency time.Duration

	// OK says that the answer was what was asked for: status 200.
	OK bool

	// Refused says that the other side has too much to do: status 429 or 503.
	Refused bool

	// RetryAfter is how long the server asks to get no request; 0 if it does not ask.
	RetryAfter time.Duration

	// Spread, from 0 to 1, stretches the pause after a refusal by up to a half, so that slots that were refused
	// together do not come back together.
	Spread float64
}

// The penalty doubles with each refusal, beginning with firstPenalty or twice the delay in force, up to maxPenalty.
// Each answer that is none takes a tenth of it away; below leastPenalty nothing is left.
const (
	firstPenalty = time.Second
	maxPenalty   = time.Minute
	leastPenalty = 50 * time.Millisecond
	recovery     = 0.9
)

// Answered reports the result of the work of a grant that was started and not released. An answer that refuses blocks the slot:
// for RetryAfter if that is given, or else for the [Penalty], which also is a delay from then on. Of several requests
// that were under way together and are refused one raises the penalty. Any other answer lowers the penalty a little. The delay of
// [Throttle] follows the latency, if there is one.
func (t *Table) Answered(g *Grant, now time.Time, a Answer) {
	if !g.started || g.released {
		return
	}
	t.observe(now)
	s := g.Slot
	if t.throttle != nil && a.Latency > 0 {
		d := &s.learn().delays[Throttled]
		*d = t.throttle.next(max(*d, 0), s.floor(), a.Latency, a.OK)
		t.remember(s, AnswerMemory)
	}
	switch {
	case a.Refused && a.RetryAfter > 0:
		s.extend(later(t.now, a.RetryAfter), RetryAfter)
	case a.Refused:
		t.penalise(g, a.Spread)
	case a.Latency > 0 && s.own != nil && g.era == s.own.era && s.own.delays[Penalty] > 0:
		d := &s.own.delays[Penalty]
		if *d = stretch(*d, recovery); *d < leastPenalty {
			*d = -1
		}
	}
	s.reckon()
	t.place(s)
}

// Refused reports that work of a slot which had no grant was refused: it blocks the slot as [Table.Answered] does for a grant, and makes
// the slot if need be. While the slot is blocked, a further refusal does not raise the penalty.
func (t *Table) Refused(name string, now time.Time, retryAfter time.Duration, spread float64) {
	t.observe(now)
	s := t.slot(name)
	if retryAfter > 0 {
		s.extend(later(t.now, retryAfter), RetryAfter)
	} else {
		g := &Grant{Slot: s, era: s.learn().era}
		if t.now < s.until {
			g.era--
		}
		t.penalise(g, spread)
	}
	s.reckon()
	t.place(s)
}

// Forgive ends what refusals have earned a slot: its [Penalty], and the pause that it has earned with or without RetryAfter. Work that was
// started before earns no further penalty. It reports whether there was anything to end.
func (t *Table) Forgive(name string, now time.Time) bool {
	t.observe(now)
	s := t.slots.get(name)
	if s == nil {
		return false
	}
	paused := s.until > t.now && (s.blocked == RetryAfter || s.blocked == Refused)
	if paused {
		s.until = math.MinInt64
	}
	punished := s.own != nil && s.own.delays[Penalty] > 0
	if punished {
		s.own.delays[Penalty] = -1
	}
	if s.own != nil {
		s.own.era++
	}
	s.reckon()
	t.place(s)
	return paused || punished
}

// penalise blocks the slot for the penalty, which it raises unless the grant was started before the last time.
func (t *Table) penalise(g *Grant, spread float64) {
	s := g.Slot
	own := s.learn()
	if g.era == own.era {
		own.era++
		own.delays[Penalty] = min(max(min(s.delay, maxPenalty)*2, firstPenalty), maxPenalty)
		t.remember(s, AnswerMemory)
	}
	if penalty := own.delays[Penalty]; penalty > 0 {
		s.extend(later(t.now, stretch(penalty, 1+spread/2)), Refused)
	}
}
