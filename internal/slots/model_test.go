package slots_test

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
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

// refQueue is the queue of a slot, or of a lane, which has a gate.
type refQueue struct {
	pending, priority, added, fresh, takes int
	turn                                   int
	waiters                                []int
	at                                     string
}

type refSlot struct {
	refQueue
	lanes                           map[string]*refQueue // by the name of the queue
	served                          int                  // the turn of the slot, whatever queue had it
	parked, inFlight, picked, limit int
	policy                          time.Duration
	delays                          map[slots.Source]time.Duration
	last, until, keep               time.Time
	gate                            string
	own                             bool // a delay was set, ever
}

func (r *reference) slot(name string) *refSlot {
	s := r.slots[name]
	if s == nil {
		p := r.policy(name)
		s = &refSlot{limit: p.Limit, policy: p.Delay, delays: map[slots.Source]time.Duration{}, lanes: map[string]*refQueue{}}
		s.fresh = math.MinInt
		r.slots[name] = s
	}
	return s
}

// queue returns a queue by its name.
func (r *reference) queue(name string) *refQueue {
	slot, gate, isLane := strings.Cut(name, "\x00")
	s := r.slot(slot)
	if !isLane {
		return &s.refQueue
	}
	if s.lanes[name] == nil {
		s.lanes[name] = &refQueue{fresh: math.MinInt, at: gate}
	}
	return s.lanes[name]
}

// queues iterates over the queues of a slot that no closed gate of a lane holds up.
func (r *reference) queues(name string, s *refSlot) iter.Seq2[string, *refQueue] {
	return func(yield func(string, *refQueue) bool) {
		if !yield(name, &s.refQueue) {
			return
		}
		for name, l := range s.lanes {
			if !r.isClosed(l.at) && !yield(name, l) {
				return
			}
		}
	}
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

func (q *refQueue) work() bool { return q.pending > 0 || len(q.waiters) > 0 }

// hasWork reports whether something waits in any of the slot's queues.
func (s *refSlot) hasWork() bool {
	for _, l := range s.lanes {
		if l.work() {
			return true
		}
	}
	return s.work()
}

// open reports whether nothing but time and gates keeps the slot from being acquired.
func (s *refSlot) open() bool {
	return s.hasWork() && s.parked == 0 && (s.limit <= 0 || s.inFlight < s.limit) && (s.delay() == 0 || s.picked == 0)
}

func (r *reference) tidy(name string) {
	s := r.slots[name]
	if s == nil || s.hasWork() || s.inFlight > 0 || s.parked > 0 {
		return
	}
	_, user := s.delays[slots.User]
	_, asked := s.delays[slots.Asked]
	if !user && !asked && !s.next().After(r.now) && !s.keep.After(r.now) {
		delete(r.slots, name)
	}
}

// isClosed reports whether a gate is closed.
func (r *reference) isClosed(gate string) bool {
	return r.shut[gate] || r.limits[gate] > 0 && r.open[gate] >= r.limits[gate]
}

// choice is a queue that may be served.
type choice struct {
	slot, queue string
	waiter      int // 0: an entry
	*refQueue
	served int
}

// choices returns the queues that may be served, the best one first.
func (r *reference) choices(inline bool) (all []choice) {
	for name, s := range r.slots {
		if !s.open() || s.next().After(r.now) || r.isClosed(s.gate) {
			continue
		}
		for queue, q := range r.queues(name, s) {
			if len(q.waiters) > 0 {
				all = append(all, choice{name, queue, q.waiters[0], q, s.served})
			} else if q.pending > 0 && !inline {
				all = append(all, choice{name, queue, 0, q, s.served})
			}
		}
	}
	slices.SortFunc(all, func(a, b choice) int {
		if a.waiter > 0 || b.waiter > 0 {
			return cmp.Compare(cmp.Or(a.waiter, math.MaxInt), cmp.Or(b.waiter, math.MaxInt))
		}
		return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.served, b.served), cmp.Compare(a.turn, b.turn))
	})
	if i := slices.IndexFunc(all, func(c choice) bool { return c.waiter == 0 }); i > 0 {
		all = all[:i]
	}
	return all
}

// next returns the earliest instant in the future that opens a slot.
func (r *reference) next() (at time.Time, ok bool) {
	for name, s := range r.slots {
		for _, q := range r.queues(name, s) {
			if q.work() && s.open() && s.next().After(r.now) && (!ok || s.next().Before(at)) {
				at, ok = s.next(), true
			}
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
	names   []string         // of the slots
	queues  []string         // those, and the lanes
	store   map[string][]int // priorities, best first
	open    []*grant
	waiters map[int]*slots.Waiter
	starts  map[string][]time.Time
	spaced  bool // delays never change, so starts can be compared with the policy alone
	gates   []string
	lanes   []string // gates of lanes
	ops     int
}

type grant struct {
	*slots.Grant
	take    int
	gate    string
	lane    string // the gate of its lane
	started bool
	head    func()

	slotReleased bool // it is in the gate of its lane alone
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
	h.ref = &reference{policy: policy, slots: map[string]*refSlot{}, now: epoch, open: map[string]int{}, limits: map[string]int{"g1": 1, "g2": 3, "lane1": 1, "lane2": 1}, shut: map[string]bool{}}
	if r.IntN(2) == 0 {
		h.gates = []string{"", "g1", "g2"}
	}
	h.queues = slices.Clone(h.names)
	if r.IntN(2) == 0 {
		h.lanes = []string{"lane1", "lane2"}
		for _, name := range h.names {
			for _, gate := range h.lanes {
				h.queues = append(h.queues, slots.Lane(name, gate))
			}
		}
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
	slot, s := h.ref.slot(slots.Name(name)), h.ref.queue(name)
	if s.turn == 0 {
		h.ref.turns++
		s.turn = h.ref.turns
	}
	if s == &slot.refQueue && slot.served == 0 {
		slot.served = s.turn
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
	choices := h.ref.choices(inline)
	g, ok := h.tab.Acquire(now, inline)
	if ok != (len(choices) > 0) {
		h.fail("Acquire gave %v %v, want %v", g, ok, choices)
	}
	if !ok {
		return false
	}
	i := slices.IndexFunc(choices, func(c choice) bool {
		if c.waiter > 0 {
			return g.Waiter == c.waiter
		}
		return g.Waiter == nil && g.Queue() == c.queue
	})
	if i < 0 || i > 0 && h.gates == nil && h.lanes == nil { // behind gates the order is approximate
		h.fail("Acquire gave %q and the waiter %v, want one of %v", g.Queue(), g.Waiter, choices)
	}
	chosen := choices[i]
	want, q := chosen.queue, chosen.refQueue
	s := h.ref.slots[chosen.slot]
	if h.ref.limits[s.gate] == 0 {
		s.gate = ""
	}
	h.ref.turns++
	s.served = h.ref.turns
	if h.lanes != nil && q != &s.refQueue {
		h.ref.turns++
	}
	q.turn = h.ref.turns
	s.inFlight++
	s.picked++
	mine := &grant{Grant: g, gate: s.gate, lane: q.at}
	h.open = append(h.open, mine)
	for _, gate := range []string{s.gate, q.at} {
		if h.ref.open[gate]++; h.ref.limits[gate] > 0 && h.ref.open[gate] > h.ref.limits[gate] {
			h.fail("%d grants in the gate %s", h.ref.open[gate], gate)
		}
	}
	if chosen.waiter > 0 {
		delete(h.waiters, chosen.waiter)
		q.waiters = q.waiters[1:]
		return true
	}
	q.pending--
	q.added, q.fresh = 0, math.MinInt
	q.takes++
	mine.take = q.takes
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
		if mine.take != q.takes {
			return
		}
		q.priority = q.fresh
		if more {
			q.priority = max(head, q.fresh)
		}
		if pending := len(h.store[want]); q.pending != pending {
			h.fail("%s: %d pending, %d in the store", want, q.pending, pending)
		}
	}
	if h.IntN(2) == 0 {
		mine.head()
	}
	return true
}

// enter lets a grant pass a gate, beside that of its lane, or gives it back.
func (h *harness) enter(i int, gate string) {
	g := h.open[i]
	name, queue := g.Slot.Name(), g.Queue()
	s := h.ref.slots[name]
	want := gate == g.gate || gate == "" || h.ref.open[gate] < h.ref.limits[gate]
	stays := h.IntN(2) == 0
	into := []slots.Gate{{Name: g.lane, Limit: 1, Apart: true, Kept: true}, {Name: gate, Limit: h.ref.limits[gate], Stays: stays}}
	if g.lane == "lane2" {
		into[0].Limit, h.ref.limits[g.lane] = 2, 2
	}
	if got := h.tab.Enter(g.Grant, into...); got != want {
		h.fail("Enter of %q into %q gave %v", queue, gate, got)
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
	h.add(queue)
	h.release(i)
}

// shut has a queue wait at a gate that its owner shuts, or opens such a gate.
func (h *harness) shut(name string) {
	gate := fmt.Sprint("shut", h.IntN(2))
	if _, at, isLane := strings.Cut(name, "\x00"); isLane && h.IntN(2) == 0 && h.exists(name) {
		gate = at
	}
	s := h.ref.slots[slots.Name(name)]
	switch h.IntN(5) {
	case 0, 1:
		h.openGate(gate)
		return
	case 2:
		h.unshut(name)
		return
	}
	h.tab.Shut(name, gate)
	if s == nil {
		return
	}
	waited := &s.refQueue
	if slices.Contains(h.lanes, gate) {
		waited = s.lanes[name]
	}
	if len(waited.waiters) > 0 {
		return
	}
	h.ref.shut[gate] = true
	if !slices.Contains(h.lanes, gate) {
		s.gate = gate
	}
	h.ref.tidy(slots.Name(name))
}

// unshut lets what waits in a queue be taken though its gate is shut.
func (h *harness) unshut(name string) {
	h.tab.Unshut(name)
	s := h.ref.slots[slots.Name(name)]
	if s == nil {
		return
	}
	if h.exists(name) && s.lanes[name] != nil {
		delete(h.ref.shut, s.lanes[name].at)
	}
	if h.ref.shut[s.gate] {
		s.gate = ""
	}
}

// exists reports whether a lane has work, or grants that are open.
func (h *harness) exists(name string) bool {
	s := h.ref.slots[slots.Name(name)]
	return s != nil && s.lanes[name] != nil && s.lanes[name].work() ||
		slices.ContainsFunc(h.open, func(g *grant) bool { return g.Queue() == name && !g.slotReleased })
}

// tidyLanes forgets what was known of the gates that no lane has.
func (h *harness) tidyLanes() {
	for _, gate := range h.lanes {
		if !slices.ContainsFunc(h.names, func(name string) bool { return h.exists(slots.Lane(name, gate)) }) &&
			!slices.ContainsFunc(h.open, func(g *grant) bool { return g.lane == gate }) {
			h.ref.limits[gate] = 1
			delete(h.ref.shut, gate)
		}
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
	s := h.ref.slots[g.Slot.Name()]
	if !g.slotReleased {
		if !g.started {
			s.picked--
		}
		s.inFlight--
		h.ref.open[g.gate]--
	}
	if g.lane != "" && !g.slotReleased && h.IntN(2) == 0 {
		if g.slotReleased, g.head = true, nil; !h.tab.ReleaseSlot(g.Grant) {
			h.fail("a grant of the lane %s is in no gate", g.lane)
		}
		h.ref.tidy(g.Slot.Name())
		return
	}
	h.open = slices.Delete(h.open, i, i+1)
	h.tab.Release(g.Grant)
	h.ref.open[g.lane]--
	if g.slotReleased {
		return
	}
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
	queue := h.queues[h.IntN(len(h.queues))]
	switch op := h.IntN(100); {
	case op < 20:
		h.add(queue)
	case op < 45:
		h.acquire(h.IntN(4) == 0)
	case op < 50 && (h.gates != nil || h.lanes != nil):
		if len(h.open) > 0 {
			if i := h.IntN(len(h.open)); !h.open[i].started && !h.open[i].slotReleased {
				h.enter(i, append(h.gates, "")[h.IntN(len(h.gates)+1)])
			}
		}
	case op < 53 && (h.gates != nil || h.lanes != nil):
		h.shut(queue)
	case op < 60:
		if len(h.open) > 0 {
			if g := h.open[h.IntN(len(h.open))]; !g.started && !g.slotReleased {
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
		h.waiters[h.ref.asked] = h.tab.Ask(queue, h.ref.asked)
		q := h.ref.queue(queue)
		q.waiters = append(q.waiters, h.ref.asked)
	case op < 88:
		if numbers := slices.Sorted(maps.Keys(h.waiters)); len(numbers) > 0 {
			n := numbers[h.IntN(len(numbers))]
			if !h.tab.Withdraw(h.waiters[n]) {
				h.fail("Withdraw of waiter %d gave false", n)
			}
			delete(h.waiters, n)
			for _, name := range h.queues {
				s := h.ref.slots[slots.Name(name)]
				if s == nil {
					continue
				}
				q := h.ref.queue(name)
				if i := slices.Index(q.waiters, n); i >= 0 {
					q.waiters = slices.Delete(q.waiters, i, i+1)
					h.ref.tidy(slots.Name(name))
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
	h.tidyLanes()
	h.compare()
}

func (h *harness) compare() {
	if h.tab.Len() != len(h.ref.slots) {
		h.fail("%d slots, want %d", h.tab.Len(), len(h.ref.slots))
	}
	for name, s := range h.ref.slots {
		st, ok := h.tab.Lookup(name)
		pending, waiters := s.pending, len(s.waiters)
		for name, l := range s.lanes {
			pending += l.pending
			waiters += len(l.waiters)
			if l.pending != len(h.store[name]) {
				h.fail("%q: %d pending, %d in the store", name, l.pending, len(h.store[name]))
			}
		}
		if !ok || st.Pending != pending || st.Waiting != waiters || st.InFlight != s.inFlight || st.Parked != s.parked ||
			st.Delay != s.delay() || st.Limit != s.limit || !st.Next.Equal(s.next()) || s.pending > 0 && st.Priority != s.priority {
			h.fail("%s is %v %+v, want %+v", name, ok, st, *s)
		}
		if s.pending != len(h.store[name]) {
			h.fail("%s: %d pending, %d in the store", name, s.pending, len(h.store[name]))
		}
	}
	at, ok := h.tab.Next()
	// The table may still name an instant that has passed since the last Acquire.
	want, found := h.ref.next()
	switch {
	case ok && !at.After(h.ref.now):
	case h.lanes != nil: // it may look for a lane whose gate is found closed only then
		if found && (!ok || at.After(want)) {
			h.fail("Next %v %v, want %v", at, ok, want)
		}
	case ok != found || ok && !at.Equal(want):
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
			if g := h.open[0]; !g.started && !g.slotReleased {
				h.start(g)
			}
			h.release(0)
		}
		h.tidyLanes()
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
