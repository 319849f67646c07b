// Package slots decides whose turn it is. A slot is a queue of work that shares one politeness:
// usually a host, with a delay between starts, a limit of work in flight, and an instant before
// which nothing may start. The table knows how many entries wait in each queue and what their best
// priority is, never the entries themselves: those lie in the owner's store.
//
// The flow, for a queued entry and for an inline request:
//
//	Add ──────────────┐
//	Ask (a waiter) ───┴→ Acquire(now) → grant → [Head] → Started(now) → Release
//	                        │ nothing ready: wait until Next(), or until something changes
//
// Acquire gives the best ready slot. A slot is ready when it has work, is not parked, is below its
// limit, and its next allowed instant has come. The stamp for that instant is made by Started,
// when the work really starts, and not when it is picked: work that is picked and then waits for a
// free worker would else start closer to its successor than the delay. So a slot with a delay is
// hidden from Acquire until its grant is started or released.
//
// A short example, a delay of one second for every host:
//
//	t := slots.New(func(string) slots.Policy { return slots.Policy{Delay: time.Second, Limit: 8} })
//	t.Add("example.com", 0, 1)
//	if g, ok := t.Acquire(now, false); ok {
//		entry, head, more := store.take(g.Slot.Name())
//		t.Head(g, head, more)
//		t.Started(g, time.Now()) // the download starts here
//		…
//		t.Release(g)
//	}
//
// The table is a pure machine: it starts no goroutine, reads no clock, takes no lock and never
// blocks. It is not safe for concurrent use; its owner locks. Every call costs O(log n) in the
// number of slots, but for Snapshot. Instants are compared by their monotonic reading where they
// have one; an instant earlier than one already seen counts as that one.
package slots

import (
	"iter"
	"math"
	"strings"
	"time"
)

// Policy is what a slot is born with.
type Policy struct {
	// Delay is the least time between two starts; 0 or less means none.
	Delay time.Duration

	// Limit is how many grants may be open at once; 0 or less means no limit.
	Limit int

	// Jitter, when not nil, is asked at each start and returns the factor by which the delay until
	// the next start is stretched: 0.5 to 1.5 spreads the starts as Scrapy does. It applies to the
	// policy's delay or the one of [User]; what another source asks for is never undercut. A
	// factor that is negative or no number counts as 1. It must not call the table.
	Jitter func() float64
}

// Table holds the slots. Make one with [New]. It is not safe for concurrent use.
type Table struct {
	policy func(name string) Policy
	slots  names
	recent *Slot // the one asked for last; nil if it was forgotten
	based  bool
	base   time.Time // the first present seen; instants are nanoseconds since then
	now    int64     // latest instant seen
	heaps  [places]heap
	asked  int64 // numbers the waiters
	turns  int64 // numbers the places in line

	resumed int64 // something may have been started in any slot until then, of which nothing is known; math.MinInt64: nothing

	throttle *Throttle // nil: none
	gates    map[string]*gate
	heldUp   [holds]heldUp

	windows  map[string]*window // of recent latencies, by slot
	searched int64              // when one of them was to be replaced last
}

// New returns an empty table. The policy is asked once for each slot, when it is born; a slot that
// was forgotten is born again when its name comes back. It must not call the table. A nil policy
// means neither delay nor limit.
func New(policy func(name string) Policy) *Table {
	if policy == nil {
		policy = func(string) Policy { return Policy{} }
	}
	return &Table{policy: policy, slots: newNames(), now: math.MinInt64, resumed: math.MinInt64,
		gates: make(map[string]*gate), windows: make(map[string]*window), searched: math.MinInt64}
}

// Resume says that the work of another table goes on here, which may have started some until now in any slot, of which nothing
// is known: in a slot that gets its first work from now on nothing starts before its delay has passed.
func (t *Table) Resume(now time.Time) {
	t.observe(now)
	t.resumed = t.instant(now)
}

// begin is called before a slot gets work.
func (t *Table) begin(s *Slot) {
	if t.resumed == math.MinInt64 || s.last >= t.resumed || s.pending > 0 || s.first != nil {
		return
	}
	if until := later(t.resumed, s.delay); until > max(s.until, t.now) {
		s.extend(until, Delayed)
		s.reckon()
	}
}

// SetPolicy gives a slot that the table holds another policy, from now on: its next allowed instant is reckoned anew
// from the last start. What [Table.Cap] lowered is forgotten. A slot that is born later has the policy that the
// table's func names. It ends a [Table.Waive].
func (t *Table) SetPolicy(name string, p Policy) {
	s := t.slots.get(name)
	if s == nil {
		return
	}
	s.setPolicy(p)
	s.waived = false
	s.reckon()
	t.place(s)
}

// Waive ends the politeness of a slot in which nothing will be started any more, so that what still waits there can
// be taken and thrown away at once: no delay and no block hold it back, its limit does. It does nothing for a slot
// that the table does not hold, and is forgotten with the slot.
func (t *Table) Waive(name string) {
	s := t.slots.get(name)
	if s == nil {
		return
	}
	s.waived = true
	s.reckon()
	t.place(s)
}

// Len returns the number of slots the table holds.
func (t *Table) Len() int { return t.slots.used }

// Add says that n more entries of one priority wait in a queue: that of the slot of this name, or of a lane, see [Lane]; n is 1 or more.
// The entries must be in the store before. The priority of a slot is the best of its entries; larger goes first.
func (t *Table) Add(name string, priority, n int) {
	s := t.queueOf(name)
	t.begin(s.host())
	if s.turn == 0 {
		t.queue(s)
	}
	if s.pending == 0 {
		s.priority = priority
	}
	s.priority = max(s.priority, priority)
	s.fresh = max(s.fresh, priority)
	s.pending = int32(min(max(int(s.pending)+n-int(s.ahead), 1), math.MaxInt32)) // Head finds what that leaves out
	s.ahead = 0
	s.added = int32(min(int(s.added)+n, math.MaxInt32))
	t.place(s)
}

// Grant is the right to do one piece of work in a slot, from [Table.Acquire] to [Table.Release].
type Grant struct {
	// Slot is where the work belongs.
	Slot *Slot

	lane *Slot // of whose queue an entry is taken; nil: it is the slot's own

	// Waiter is the value that was given to [Table.Ask]; nil means: take one entry of the queue.
	Waiter any

	gates             []*gate // in which it is counted
	kept              *gate   // of these the one that it is in until Release; nil: none
	priority          int     // of the slot, when it was picked
	at                int64   // when it was started
	take              uint32  // number of the take from the queue; 0 for a waiter
	era               uint8   // of the slot, when it was started
	more              bool    // its queue held more then
	started, released bool
}

// Acquire picks a ready slot, counts one of its waiters or else one of its pending entries away
// and one grant in flight. Slots with waiters come first, in the order the waiters asked. The rest
// follows by priority; equals take turns: the slot that was served longest ago goes first. A slot
// that was never served stands in this line from when its first entry was added. (Were it always
// served first, new slots without end would starve the old ones, and so would a single slot that
// is forgotten between its entries.)
//
// With inline set, only slots with waiters are considered. Without a ready slot ok is false; when
// time alone can change that is returned by [Table.Next].
func (t *Table) Acquire(now time.Time, inline bool) (g *Grant, ok bool) {
	t.advance(now)
	s := t.open(waiting)
	if s == nil && !inline {
		s = t.open(ready)
	}
	if s == nil {
		return nil, false
	}
	g = &Grant{Slot: s}
	if s.gate != nil && s.gate.limit == 0 { // it was shut
		t.hang(s, nil)
	}
	if s.gate != nil {
		g.gates = []*gate{s.gate}
		s.gate.inFlight++
	}
	t.queue(s)
	from := t.pick(g)
	if w := from.first; w != nil {
		g.Waiter = w.value
		from.unlink(w)
	} else {
		from.take(g)
	}
	s.inFlight++
	s.picked++
	t.place(from)
	return g, true
}

// take counts an entry of the queue away.
func (s *Slot) take(g *Grant) {
	s.pending--
	s.added, s.fresh = 0, math.MinInt
	if s.takes++; s.takes == 0 {
		s.takes = 1 // 0 is for waiters
	}
	g.take, g.priority, g.more = s.takes, s.priority, s.pending > 0
}

// Next returns the earliest instant at which time alone makes a slot with work ready. It is false
// when no slot waits for time only. Slots that are ready already do not count. The instant may
// have passed: then Acquire is worth a call at once.
func (t *Table) Next() (at time.Time, ok bool) {
	s := t.heaps[timed].top()
	if s == nil {
		return time.Time{}, false
	}
	return t.time(s.next), true
}

// Head reports what the owner learnt from the store when it took the entry of the grant: whether
// there are more, and the priority of the new head. It corrects the table's own counts, also when
// the store had no entry at all: Head(g, 0, false). Entries added since the Acquire are kept. It
// is ignored for a waiter's grant, after the grant's Release, and after a later Acquire of the
// same queue, which will bring newer knowledge.
func (t *Table) Head(g *Grant, priority int, more bool) {
	s := g.queue()
	if g.released || g.take == 0 || g.take != s.takes {
		return
	}
	s.priority = s.fresh
	if more {
		if s.pending == 0 { // an entry is in the store, of which Add will tell
			s.pending = 1
			s.ahead++
		}
		s.priority = max(priority, s.fresh)
	} else {
		s.pending = s.added
	}
	t.place(s)
}

// Agrees reports whether [Table.Head] would learn nothing from this. It needs no lock.
func (g *Grant) Agrees(priority int, more bool) bool {
	return g.take != 0 && more == g.more && (!more || priority == g.priority)
}

// Startable reports whether the grant's work may start now. It may when it was acquired; but what takes its time before
// it starts may find that the slot was blocked meanwhile; or that it got a delay, while others were picked too, or the
// grant has been started for something else. Then the work should be added again and the grant released.
func (t *Table) Startable(g *Grant, now time.Time) bool {
	s := g.Slot
	if s.next > t.observe(now) {
		return false
	}
	return s.delay == 0 || !g.started && s.picked == 1
}

// Started stamps the slot: the grant's work starts now, the next one may start after the delay in
// force. A second call for the same grant, or one after its release, does nothing.
func (t *Table) Started(g *Grant, now time.Time) {
	if g.started || g.released {
		return
	}
	g.started = true
	s := g.Slot
	at := t.observe(now)
	g.at = at
	s.picked--
	if s.own != nil {
		g.era = s.own.era
	}
	s.last = max(s.last, at)
	s.draw()
	s.reckon()
	t.place(s)
}

// Delayed stamps a slot anew: the work of a grant that was started is to begin only now. It returns when it may, which
// is later if the slot was blocked, or work of other grants started, meanwhile: then it is the last that was.
func (t *Table) Delayed(g *Grant, now time.Time) time.Time {
	if !g.started || g.released {
		return now
	}
	s := g.Slot
	at := max(t.observe(now), s.until)
	if s.last > g.at {
		at = max(at, s.next)
	}
	g.at, s.last = at, max(s.last, at)
	s.draw()
	s.reckon()
	t.place(s)
	return t.time(at)
}

// Release gives the grant back: one less in flight. Without Started before (the entry was filtered,
// redirected, answered from a cache …) the slot is just given back, with no stamp. Further calls
// for the same grant do nothing.
func (t *Table) Release(g *Grant) {
	t.ReleaseSlot(g)
	t.leave(g, nil)
}

// ReleaseSlot is Release, but the grant stays counted in the gate that it keeps, see [Gate.Kept], until Release. It
// reports whether there is such a gate.
func (t *Table) ReleaseSlot(g *Grant) (inside bool) {
	if g.released {
		return len(g.gates) > 0
	}
	g.released = true
	s := g.Slot
	if !g.started {
		s.picked--
	}
	s.inFlight--
	if g.lane != nil {
		g.lane.inFlight--
	}
	t.place(g.queue())
	t.leave(g, g.kept)
	return len(g.gates) > 0
}

// Park closes the slot: it cannot be acquired, waiters included, until each Park is undone by an
// [Table.Unpark]. Grants that are open stay so.
func (t *Table) Park(name string) {
	s := t.slot(name)
	s.parked++
	t.place(s)
}

// Unpark undoes one [Table.Park]; without one it does nothing.
func (t *Table) Unpark(name string) {
	if s := t.slots.get(name); s != nil && s.parked > 0 {
		s.parked--
		t.place(s)
	}
}

// Snapshot iterates over the states of all slots, in no order. The table must not be changed
// meanwhile.
func (t *Table) Snapshot() iter.Seq[State] {
	return func(yield func(State) bool) {
		for s := range t.slots.all() {
			if !yield(t.state(s)) {
				return
			}
		}
	}
}

// Lookup returns the state of one slot; false when the table does not hold it.
func (t *Table) Lookup(name string) (State, bool) {
	s := t.slots.get(name)
	if s == nil {
		return State{}, false
	}
	return t.state(s), true
}

// slot returns the slot of that name and makes it if need be.
func (t *Table) slot(name string) *Slot {
	if s := t.recent; s != nil && s.name == name {
		return s
	}
	s := t.slots.get(name)
	if s == nil {
		s = newSlot(strings.Clone(name), t.policy(name)) // a name is often a piece of a large string
		if t.throttle != nil {
			s.learn().delays[Throttled] = max(s.policy, t.throttle.Start)
		}
		t.recall(s)
		s.reckon()
		t.slots.put(s)
	}
	t.recent = s
	return s
}

// place puts the slot, or the lane, where its state belongs; it is called after every change.
func (t *Table) place(s *Slot) {
	if s.isLane() {
		t.placeLane(s)
		return
	}
	t.countHold(s)
	switch {
	case !s.hasWork():
		switch {
		case s.kept():
			t.move(s, nowhere, 0, 0)
		case s.forgettable() > t.now:
			t.move(s, idle, s.forgettable(), 0)
		default:
			t.forget(s)
			return
		}
	case s.held():
		t.move(s, nowhere, 0, 0)
	case s.next > t.now:
		t.move(s, timed, s.next, 0)
	case s.gate != nil && s.gate.closed():
		t.queueUp(s)
	default:
		t.offer(s)
	}
	if s.gate != nil {
		t.admit(s.gate)
	}
}

// offer lets the slot be acquired.
func (t *Table) offer(s *Slot) {
	if from := s.waiter(); from != nil {
		t.move(s, waiting, from.first.number, 0)
	} else {
		t.move(s, ready, ^int64(s.best()), s.turn) // ^ turns the order round and cannot overflow
	}
}

// sweep bounds how many idle slots one Acquire forgets, so that none takes long. It is larger than
// one, so they cannot pile up.
const sweep = 16

// advance moves the latest instant on and whatever waited for it.
func (t *Table) advance(now time.Time) {
	t.observe(now)
	for s := t.heaps[timed].top(); s != nil && s.next <= t.now; s = t.heaps[timed].top() {
		t.place(s)
	}
	for range sweep {
		s := t.heaps[idle].top()
		if s == nil || s.forgettable() > t.now {
			return
		}
		t.place(s)
	}
}

// forget drops a slot that has nothing to remember.
func (t *Table) forget(s *Slot) {
	t.move(s, nowhere, 0, 0)
	t.hang(s, nil)
	t.slots.remove(s)
	t.recent = nil
}

// queue puts the slot at the end of the line of its priority.
func (t *Table) queue(s *Slot) {
	t.turns++
	s.turn = t.turns
}

// instant turns a time into nanoseconds since the first present seen, which keeps the monotonic
// reading and needs a third of the room. What is too far away stays at the end of the range.
func (t *Table) instant(at time.Time) int64 { return int64(at.Sub(t.base)) }

func (t *Table) time(instant int64) time.Time {
	if instant == math.MinInt64 {
		return time.Time{}
	}
	return t.base.Add(time.Duration(instant))
}

// observe takes note of the present.
func (t *Table) observe(now time.Time) int64 {
	if !t.based {
		t.base, t.based = now, true
	}
	t.now = max(t.now, t.instant(now))
	return t.now
}
