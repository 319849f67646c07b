package frontier

import (
	"math/rand/v2"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// Answer is the result of a download, as far as politeness needs it.
type Answer struct {
	Came     bool          // there is a response
	OK       bool          // it is a good one: only then a delay may become shorter
	Refused  bool          // it says that the host has too much to do
	Overload bool          // there is no response because the host did not answer, or hung up
	Latency  time.Duration // to its header; 0: unknown
	After    time.Duration // Retry-After of one that is refused; 0: none
	Phases   Phases        // of the download
}

// Answered reports the answer of a job's download to its slot, and releases the slot, but not a gate that it keeps: a pause that the
// answer asks for begins before another request can start. started is when the download began. The worker stays. It
// returns false if the job holds no slot.
func (f *Frontier[J]) Answered(j J, a Answer, started time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := j.Claim()
	grant := c.grant
	c.yield.lose()
	ended := f.now()
	f.enter(c, finishing, ended, a.Phases)
	if grant == nil {
		return false
	}
	c.grant = nil
	throttled := f.throttle != nil
	refused := a.Refused || a.Overload && throttled
	if a.Came {
		if a.Latency == 0 {
			a.Latency = max(ended.Sub(started), 1)
		}
		f.slots.Measured(grant, started.Add(a.Latency), a.Latency)
	}
	if refused || a.Came && (throttled || grant.Slot.Learnt()) {
		f.slots.Answered(grant, ended, slots.Answer{
			Latency: a.Latency, OK: a.OK, Refused: refused,
			RetryAfter: min(a.After, f.maxRetryAfter), Spread: rand.Float64(),
		})
		f.answeredBlock(grant.Slot.Name(), a, refused, ended)
	}
	if refused {
		f.keep(grant.Slot.Name())
	}
	if f.slots.ReleaseSlot(grant) {
		c.inside = grant
	}
	f.signal()
	return true
}

// answeredBlock notes the block of a slot if an answer has blocked it. The caller holds mu.
func (f *Frontier[J]) answeredBlock(slot string, a Answer, refused bool, now time.Time) {
	state, ok := f.slots.Lookup(slot)
	switch {
	case !ok || state.Next.Before(state.Until): // nothing starts there any more
	case refused && a.After > 0:
		f.blocks.add(slot, RetryAfter, now, state.Until)
	case refused:
		f.blocks.add(slot, Refusals, now, state.Until)
	}
	if f.throttle != nil {
		f.blocks.addDelay(slot, AutoThrottle, state.Delays[slots.Throttled], min(longBlock+1, max(f.throttle.Max, longBlock)), now, state.Next)
	}
}

// Refused has a slot heed the refusal of a request that is no job, with its Retry-After; 0 is none.
func (f *Frontier[J]) Refused(slot string, after time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	f.slots.Refused(slot, now, min(after, f.maxRetryAfter), rand.Float64())
	f.answeredBlock(slot, Answer{After: after}, true, now)
	f.keep(slot)
	f.signal()
}

// Forgive ends what refusals have earned a slot, and reports whether there was anything to end. A host may be spelled as in URLs.
func (f *Frontier[J]) Forgive(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := f.namesOf(name)
	name = names[len(names)-1]
	if !f.slots.Forgive(name, f.now()) {
		return false
	}
	delete(f.blocks.told, name) // so that the next block is reported
	f.keep(name)
	f.signal()
	return true
}

// BlockedUntil returns the instant before which nothing of a slot may start, because of refusals or robots.txt; zero if it is not
// blocked.
func (f *Frontier[J]) BlockedUntil(slot string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if state, ok := f.slots.Lookup(slot); ok && state.Until.After(f.now()) {
		return state.Until
	}
	return time.Time{}
}

// Heed blocks a slot because its robots.txt was answered with a Retry-After, and returns how much of that counts.
func (f *Frontier[J]) Heed(slot string, after time.Duration) time.Duration {
	after = min(after, f.maxRetryAfter)
	f.Block(slot, f.now().Add(after))
	f.keep(slot)
	return after
}
