package slots_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// reference does what the table does, naively: it looks at every slot each time.
type reference struct {
	policy func(string) slots.Policy
	slots  map[string]*refSlot
	now    time.Time // the latest it was told
	turns  int
	asked  int
	open   map[string]int // grants open in each gate
	limits map[string]int // of the gates
	shut   map[string]bool
}

type refSlot struct {
	pending, priority, added, fresh, takes int
	turn                                   int
	waiters                                []int
	parked, inFlight, picked, limit        int
	policy                                 time.Duration
	delays                                 map[slots.Source]time.Duration
	last, until, keep                      time.Time
	gate                                   string
	own                                    bool // a delay was set, ever
}

func (r *reference) slot(name string) *refSlot {
	s := r.slots[name]
	if s == nil {
		p := r.policy(name)
		s = &refSlot{limit: p.Limit, policy: p.Delay, fresh: math.MinInt, delays: map[slots.Source]time.Duration{}}
		r.slots[name] = s
	}
	return s
}

func (s *refSlot) delay() time.Duration {
	d := s.policy
	if user, ok := s.delays[slots.User]; ok {
		d = user
	}
	return max(d, s.delays[slots.Asked], s.delays[slots.Robots], s.delays[slots.Throttled], s.delays[slots.Penalty])
}

func (s *refSlot) next() time.Time {
	at := s.until
	if !s.last.IsZero() && s.last.Add(s.delay()).After(at) {
		at = s.last.Add(s.delay())
	}
	return at
}

func (s *refSlot) work() bool { return s.pending > 0 || len(s.waiters) > 0 }

// open reports whether nothing but time keeps the slot from being acquired.
func (s *refSlot) open() bool {
	return s.work() && s.parked == 0 && (s.limit <= 0 || s.inFlight < s.limit) && (s.delay() == 0 || s.picked == 0)
}

func (r *reference) tidy(name string) {
	s := r.slots[name]
	if s == nil || s.work() || s.inFlight > 0 || s.parked > 0 {
		return
	}
	_, user := s.delays[slots.User]
	_, asked := s.delays[slots.Asked]
	if !user && !asked && !s.next().After(r.now) && !s.keep.After(r.now) {
		delete(r.slots, name)
	}
}

// closed reports whether the slot's gate is closed.
func (r *reference) closed(s *refSlot) bool {
	return r.shut[s.gate] || r.limits[s.gate] > 0 && r.open[s.gate] >= r.limits[s.gate]
}

// pick returns the slot that is to be acquired, "" for none.
func (r *reference) pick(inline bool) string {
	best := ""
	for name, s := range r.slots {
		if !s.open() || s.next().After(r.now) || inline && len(s.waiters) == 0 || r.closed(s) {
			continue
		}
		if best == "" || r.before(s, r.slots[best]) {
			best = name
		}
	}
	return best
}

func (r *reference) before(a, b *refSlot) bool {
	switch {
	case len(a.waiters) > 0 && len(b.waiters) > 0:
		return a.waiters[0] < b.waiters[0]
	case len(a.waiters) > 0 || len(b.waiters) > 0:
		return len(a.waiters) > 0
	case a.priority != b.priority:
		return a.priority > b.priority
	}
	return a.turn < b.turn
}

// next returns the earliest instant in the future that opens a slot.
func (r *reference) next() (at time.Time, ok bool) {
	for _, s := range r.slots {
		if s.open() && s.next().After(r.now) && (!ok || s.next().Before(at)) {
			at, ok = s.next(), true
		}
	}
	return at, ok
}

// harness runs a table and its reference side by side, with a store of entries behind them.
type harness struct {
	*rand.Rand
	t       *testing.T
	seed    uint64
	tab     *slots.Table
	ref     *reference
	clock   time.Time
	names   []string
	store   map[string][]int // priorities, best first
	open    []*grant
	waiters map[int]*slots.Waiter
	starts  map[string][]time.Time
	spaced  bool // delays never change, so starts can be compared with the policy alone
	gates   []string
	ops     int
}

type grant struct {
	*slots.Grant
	take    int
	gate    string
	started bool
	head    func()
}

func newHarness(t *testing.T, seed uint64) *harness {
	r := rand.New(rand.NewPCG(seed, 0))
	policies := map[string]slots.Policy{}
	h := &harness{Rand: r, t: t, seed: seed, store: map[string][]int{}, waiters: map[int]*slots.Waiter{}, starts: map[string][]time.Time{}, spaced: r.IntN(2) == 0}
	for i := range 1 + r.IntN(12) {
		name := fmt.Sprint("slot", i)
		h.names = append(h.names, name)
		policies[name] = slots.Policy{Delay: time.Duration(r.IntN(4)) * 100 * time.Millisecond, Limit: r.IntN(4)}
	}
	policy := func(name string) slots.Policy { return policies[name] }
	h.tab = slots.New(policy)
	h.ref = &reference{policy: policy, slots: map[string]*refSlot{}, now: epoch, open: map[string]int{}, limits: map[string]int{"g1": 1, "g2": 3}, shut: map[string]bool{}}
	if r.IntN(2) == 0 {
		h.gates = []string{"", "g1", "g2"}
	}
	h.clock = epoch
	h.acquire(false) // both know the present
	return h
}

func (h *harness) fail(format string, args ...any) {
	h.t.Helper()
	h.t.Fatalf("seed %d op %d: %s", h.seed, h.ops, fmt.Sprintf(format, args...))
}

// tell lets both know the present.
func (h *harness) tell() time.Time {
	h.ref.now = h.clock
	return h.clock
}

func (h *harness) add(name string) {
	priority := h.IntN(5) - 2
	entries := h.store[name]
	i := len(entries)
	for i > 0 && entries[i-1] < priority {
		i--
	}
	h.store[name] = slices.Insert(entries, i, priority)

	h.tab.Add(name, priority, 1)
	s := h.ref.slot(name)
	if s.turn == 0 {
		h.ref.turns++
		s.turn = h.ref.turns
	}
	if s.pending == 0 {
		s.priority = priority
	}
	s.priority, s.fresh = max(s.priority, priority), max(s.fresh, priority)
	s.pending++
	s.added++
}

func (h *harness) acquire(inline bool) bool {
	now := h.tell()
	for _, name := range h.names {
		h.ref.tidy(name)
	}
	want := h.ref.pick(inline)
	g, ok := h.tab.Acquire(now, inline)
	if ok != (want != "") || ok && g.Slot.Name() != want && !h.mayBe(g.Slot.Name(), inline) {
		h.fail("Acquire gave %v %v, want %q", g, ok, want)
	}
	if !ok {
		return false
	}
	want = g.Slot.Name()
	s := h.ref.slots[want]
	if h.ref.limits[s.gate] == 0 {
		s.gate = ""
	}
	h.ref.turns++
	s.turn = h.ref.turns
	s.inFlight++
	s.picked++
	mine := &grant{Grant: g, gate: s.gate}
	h.open = append(h.open, mine)
	if h.ref.open[s.gate]++; s.gate != "" && h.ref.open[s.gate] > h.ref.limits[s.gate] {
		h.fail("%d grants in the gate %s", h.ref.open[s.gate], s.gate)
	}
	if len(s.waiters) > 0 {
		if g.Waiter != s.waiters[0] {
			h.fail("waiter %v, want %d", g.Waiter, s.waiters[0])
		}
		delete(h.waiters, s.waiters[0])
		s.waiters = s.waiters[1:]
		return true
	}
	if g.Waiter != nil {
		h.fail("waiter %v, want an entry of the queue", g.Waiter)
	}
	s.pending--
	s.added, s.fresh = 0, math.MinInt
	s.takes++
	mine.take = s.takes
	if len(h.store[want]) == 0 {
		h.fail("a grant for %s, whose queue is empty", want)
	}
	h.store[want] = h.store[want][1:]
	head, more := 0, len(h.store[want]) > 0
	if more {
		head = h.store[want][0]
	}
	mine.head = func() {
		h.tab.Head(g, head, more)
		if mine.take != s.takes {
			return
		}
		s.priority = s.fresh
		if more {
			s.priority = max(head, s.fresh)
		}
		if want := len(h.store[g.Slot.Name()]); s.pending != want {
			h.fail("%s: %d pending, %d in the store", g.Slot.Name(), s.pending, want)
		}
	}
	if h.IntN(2) == 0 {
		mine.head()
	}
	return true
}

// mayBe reports whether a slot other than the best one may be acquired: behind gates the order is approximate.
func (h *harness) mayBe(name string, inline bool) bool {
	s := h.ref.slots[name]
	return h.gates != nil && s.open() && !s.next().After(h.ref.now) && !h.ref.closed(s) && (!inline || len(s.waiters) > 0)
}

// enter lets a grant pass a gate, or gives it back.
func (h *harness) enter(i int, gate string) {
	g := h.open[i]
	name := g.Slot.Name()
	s := h.ref.slots[name]
	want := gate == g.gate || gate == "" || h.ref.open[gate] < h.ref.limits[gate]
	stays := h.IntN(2) == 0
	if got := h.tab.Enter(g.Grant, slots.Gate{Name: gate, Limit: h.ref.limits[gate], Stays: stays}); got != want {
		h.fail("Enter of %s into %q gave %v", name, gate, got)
	}
	switch {
	case h.ref.shut[s.gate]:
	case want && !stays:
		s.gate = ""
	default:
		s.gate = gate
	}
	if want {
		h.ref.open[g.gate]--
		h.ref.open[gate]++
		g.gate = gate
		return
	}
	h.add(name)
	h.release(i)
}

// shut has a slot wait at a gate that its owner shuts, or opens such a gate.
func (h *harness) shut(name string) {
	gate := fmt.Sprint("shut", h.IntN(2))
	if h.IntN(2) == 0 {
		h.openGate(gate)
		return
	}
	h.tab.Shut(name, gate)
	if s := h.ref.slots[name]; s != nil {
		s.gate, h.ref.shut[gate] = gate, true
		h.ref.tidy(name)
	}
}

func (h *harness) openGate(gate string) {
	h.tab.Open(gate)
	delete(h.ref.shut, gate)
}

func (h *harness) start(g *grant) {
	name := g.Slot.Name()
	h.tab.Started(g.Grant, h.tell())
	s := h.ref.slots[name]
	s.picked--
	s.last = h.ref.now
	g.started = true
	if h.spaced {
		starts := append(h.starts[name], h.ref.now)
		h.starts[name] = starts
		if n := len(starts); n > 1 && starts[n-1].Sub(starts[n-2]) < s.policy {
			h.fail("%s: starts %v apart, delay %v", name, starts[n-1].Sub(starts[n-2]), s.policy)
		}
	}
	if limit := h.ref.policy(name).Limit; limit > 0 && s.inFlight > limit {
		h.fail("%s: %d in flight, limit %d", name, s.inFlight, limit)
	}
}

func (h *harness) release(i int) {
	g := h.open[i]
	h.open = slices.Delete(h.open, i, i+1)
	h.tab.Release(g.Grant)
	h.ref.open[g.gate]--
	s := h.ref.slots[g.Slot.Name()]
	if !g.started {
		s.picked--
	}
	s.inFlight--
	h.ref.tidy(g.Slot.Name())
}

func (h *harness) setDelay(name string, source slots.Source, d time.Duration) {
	h.tab.SetDelay(name, source, h.tell(), d)
	if d > 0 || d == 0 && source == slots.User {
		s := h.ref.slot(name)
		s.delays[source], s.own = d, true
		switch source {
		case slots.Robots:
			s.keep = later(s.keep, h.ref.now.Add(24*time.Hour))
		case slots.Throttled, slots.Penalty:
			s.keep = later(s.keep, h.ref.now.Add(10*time.Minute))
		}
	} else if s := h.ref.slots[name]; s != nil && s.own {
		if delete(s.delays, source); !s.learnt() {
			s.keep = time.Time{}
		}
		h.ref.tidy(name)
	}
}

// learnt reports whether the slot has a delay that nobody set for good.
func (s *refSlot) learnt() bool {
	return s.delays[slots.Robots] > 0 || s.delays[slots.Throttled] > 0 || s.delays[slots.Penalty] > 0
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (h *harness) step() {
	name := h.names[h.IntN(len(h.names))]
	switch op := h.IntN(100); {
	case op < 20:
		h.add(name)
	case op < 45:
		h.acquire(h.IntN(4) == 0)
	case op < 50 && h.gates != nil:
		if len(h.open) > 0 {
			if i := h.IntN(len(h.open)); !h.open[i].started {
				h.enter(i, h.gates[h.IntN(len(h.gates))])
			}
		}
	case op < 53 && h.gates != nil:
		h.shut(name)
	case op < 60:
		if len(h.open) > 0 {
			if g := h.open[h.IntN(len(h.open))]; !g.started {
				h.start(g)
			}
		}
	case op < 75:
		if len(h.open) > 0 {
			h.release(h.IntN(len(h.open)))
		}
	case op < 83:
		h.clock = h.clock.Add(time.Duration(h.IntN(200)) * time.Millisecond)
	case op < 86:
		h.ref.asked++
		h.waiters[h.ref.asked] = h.tab.Ask(name, h.ref.asked)
		s := h.ref.slot(name)
		s.waiters = append(s.waiters, h.ref.asked)
	case op < 88:
		if numbers := slices.Sorted(maps.Keys(h.waiters)); len(numbers) > 0 {
			n := numbers[h.IntN(len(numbers))]
			if !h.tab.Withdraw(h.waiters[n]) {
				h.fail("Withdraw of waiter %d gave false", n)
			}
			delete(h.waiters, n)
			for name, s := range h.ref.slots {
				if i := slices.Index(s.waiters, n); i >= 0 {
					s.waiters = slices.Delete(s.waiters, i, i+1)
					h.ref.tidy(name)
					break
				}
			}
		}
	case op < 90:
		h.tab.Park(name)
		h.ref.slot(name).parked++
	case op < 93:
		h.tab.Unpark(name)
		if s := h.ref.slots[name]; s != nil && s.parked > 0 {
			s.parked--
			h.ref.tidy(name)
		}
	case op < 96 && !h.spaced:
		h.setDelay(name, slots.Source(h.IntN(slots.Sources)), time.Duration(h.IntN(5)-1)*150*time.Millisecond)
	case op < 97:
		until := h.clock.Add(time.Duration(h.IntN(500)-100) * time.Millisecond)
		h.tab.Block(name, h.tell(), until)
		if s := h.ref.slot(name); until.After(s.until) {
			s.until = until
		}
		h.ref.tidy(name)
	case op < 98:
		limit := h.IntN(4)
		h.tab.Cap(name, limit)
		if s := h.ref.slots[name]; s != nil && limit > 0 && (s.limit <= 0 || limit < s.limit) {
			s.limit = limit
			h.ref.tidy(name)
		}
	default:
		if len(h.open) > 0 {
			if g := h.open[h.IntN(len(h.open))]; g.head != nil {
				g.head()
				g.head = nil
			}
		}
	}
	h.compare()
}

func (h *harness) compare() {
	if h.tab.Len() != len(h.ref.slots) {
		h.fail("%d slots, want %d", h.tab.Len(), len(h.ref.slots))
	}
	for name, s := range h.ref.slots {
		st, ok := h.tab.Lookup(name)
		if !ok || st.Pending != s.pending || st.Waiting != len(s.waiters) || st.InFlight != s.inFlight || st.Parked != s.parked ||
			st.Delay != s.delay() || st.Limit != s.limit || !st.Next.Equal(s.next()) || s.pending > 0 && st.Priority != s.priority {
			h.fail("%s is %v %+v, want %+v", name, ok, st, *s)
		}
		if s.pending != len(h.store[name]) {
			h.fail("%s: %d pending, %d in the store", name, s.pending, len(h.store[name]))
		}
	}
	at, ok := h.tab.Next()
	// The table may still name an instant that has passed since the last Acquire.
	if want, found := h.ref.next(); (!ok || at.After(h.ref.now)) && (ok != found || ok && !at.Equal(want)) {
		h.fail("Next %v %v, want %v %v", at, ok, want, found)
	}
}

// drain lets everything come to its end, and finds what is lost.
func (h *harness) drain() {
	for gate := range h.ref.shut {
		h.openGate(gate)
	}
	for _, name := range h.names {
		for s := h.ref.slots[name]; s != nil && s.parked > 0; {
			h.tab.Unpark(name)
			s.parked--
			h.ref.tidy(name)
		}
	}
	for {
		for len(h.open) > 0 {
			if g := h.open[0]; !g.started {
				h.start(g)
			}
			h.release(0)
		}
		if h.acquire(false) {
			continue
		}
		at, ok := h.tab.Next()
		if !ok {
			break
		}
		h.clock = at
	}
	for name, entries := range h.store {
		if len(entries) > 0 {
			h.fail("%s: %d entries were never granted", name, len(entries))
		}
	}
	if len(h.waiters) > 0 {
		h.fail("%d waiters were never granted", len(h.waiters))
	}
	for _, name := range h.names {
		for source := range slots.Sources {
			h.setDelay(name, slots.Source(source), -1)
		}
	}
	h.clock = h.clock.Add(25 * time.Hour)
	h.acquire(false)
	if h.tab.Len() != 0 {
		h.fail("%d slots are left", h.tab.Len())
	}
}

func TestModel(t *testing.T) {
	seed := deep.Seed()
	for i := range 300 {
		h := newHarness(t, seed+uint64(i))
		for h.ops = range 1000 {
			h.step()
		}
		h.drain()
	}
}
