package slots

import "strings"

// lanes are further queues of a slot, each of the work that has to pass one gate. They share everything of the slot:
// its delay, its limit and its turn. But while the gate is closed, the lane alone waits, and the slot's other work goes
// on.
//
// A lane is a Slot whose politeness is not used: its work stands in the places of the slot instead of those of the table.
type lanes struct {
	of     *Slot            // the slot
	all    map[string]*Slot // by the name of the queue
	open   heap             // those with entries that may be taken, best first
	asked  heap             // those with waiters that may be served, by the number of the first
	turn   int64            // of the slot's own queue among them
	closed int              // how many stand in the lines of their gates
	last   *Slot            // that has come to one
}

// between parts the name of a slot from that of a gate in the name of a lane's queue. No host has it, and no gate should.
const between = "\x00"

// Lane names the queue of a slot's work that has to pass a gate, whose own line it waits in.
func Lane(slot, gate string) string { return slot + between + gate }

// Name returns the name of the slot that a queue belongs to, which is its own name unless it is that of a lane.
func Name(queue string) string {
	slot, _, _ := strings.Cut(queue, between)
	return slot
}

// isLane reports whether the slot is a lane of another one.
func (s *Slot) isLane() bool { return s.lanes != nil && s.lanes.of != s }

// host returns the slot that a lane is in, or the slot itself.
func (s *Slot) host() *Slot {
	if s.isLane() {
		return s.lanes.of
	}
	return s
}

// queueOf returns the slot or the lane whose queue has that name, and makes it if need be.
func (t *Table) queueOf(name string) *Slot {
	slot, gate, is := strings.Cut(name, between)
	s := t.slot(slot)
	if !is {
		return s
	}
	if l := s.lane(name); l != nil {
		return l
	}
	if s.lanes == nil {
		s.lanes = &lanes{of: s, all: make(map[string]*Slot), turn: s.turn}
	}
	l := newSlot(strings.Clone(name), Policy{})
	l.lanes, l.gate = s.lanes, t.named(strings.Clone(gate))
	if l.gate.hanging++; l.gate.limit == 0 {
		l.gate.limit = 1 // until Enter tells
	}
	s.lanes.all[l.name] = l
	return l
}

// lane returns the lane with that queue, nil if the slot has none.
func (s *Slot) lane(name string) *Slot {
	if s.lanes == nil {
		return nil
	}
	return s.lanes.all[name]
}

// placeLane is place for a lane, and for its slot.
func (t *Table) placeLane(l *Slot) {
	s, gate := l.host(), l.gate
	switch {
	case l.first == nil && l.pending == 0 && l.inFlight == 0:
		t.move(l, nowhere, 0, 0)
		if delete(s.lanes.all, l.name); len(s.lanes.all) == 0 {
			s.lanes = nil
		}
		t.hang(l, nil)
		t.place(s)
		return
	case l.first == nil && l.pending == 0:
		t.move(l, nowhere, 0, 0)
	case gate.closed():
		t.queueUp(l)
	default:
		t.offer(l)
	}
	t.place(s)
	t.admit(gate)
}

// pick returns the queue of a slot with work that a grant is for, and counts the grant in the gate of its lane.
func (t *Table) pick(g *Grant) *Slot {
	s := g.Slot
	from := s.waiter()
	if from == nil {
		if from = s; s.lanes != nil {
			if l := s.lanes.open.top(); l != nil && (s.pending == 0 || l.priority > s.priority || l.priority == s.priority && l.turn < s.lanes.turn) {
				from = l
			}
		}
	}
	if from == s {
		if s.lanes != nil {
			s.lanes.turn = s.turn
		}
		return s
	}
	g.lane, g.kept = from, from.gate
	g.gates = append(g.gates, from.gate)
	from.gate.inFlight++
	from.inFlight++
	t.queue(from)
	return from
}

// Queue returns the name of the queue that an entry is to be taken from.
func (g *Grant) Queue() string { return g.queue().name }

func (g *Grant) queue() *Slot {
	if g.lane != nil {
		return g.lane
	}
	return g.Slot
}

// hasWork reports whether something of the slot waits that is not behind the closed gate of a lane.
func (s *Slot) hasWork() bool {
	return s.first != nil || s.pending > 0 || s.lanes != nil && len(s.lanes.open)+len(s.lanes.asked) > 0
}

// waiter returns what the waiter waits in that is served next: the slot, or a lane of it; nil if there is none.
func (s *Slot) waiter() *Slot {
	if s.lanes != nil && !s.isLane() {
		if l := s.lanes.asked.top(); l != nil && (s.first == nil || l.first.number < s.first.number) {
			return l
		}
	}
	if s.first == nil {
		return nil
	}
	return s
}

// best returns the priority of the best entry.
func (s *Slot) best() int {
	if s.lanes != nil && !s.isLane() {
		if l := s.lanes.open.top(); l != nil && (s.pending == 0 || l.priority > s.priority) {
			return l.priority
		}
	}
	return s.priority
}

// sendBack sends the next lane of a slot to the line of its gate if that is closed, and reports whether it was: then the slot has another
// place.
func (t *Table) sendBack(s *Slot, in place) bool {
	if s.lanes == nil {
		return false
	}
	l := s.lanes.open.top()
	if in == waiting {
		l = s.lanes.asked.top()
	}
	if l == nil || !l.gate.closed() {
		return false
	}
	t.place(l)
	return true
}

// room returns how many more of the slots that hang on a gate are offered than can pass it: a lane that is offered may
// have to wait for its slot.
func (s *Slot) room() int32 {
	if s.isLane() {
		return 64
	}
	return 0
}

// closedGate returns the gate that the slot hangs on, or at which a lane waits if no other work is there; nil if there is none.
func (s *Slot) closedGate() *gate {
	if s.gate != nil || s.lanes == nil || s.holdup != AtGate {
		return s.gate
	}
	if s.lanes.last.in == gated {
		return s.lanes.last.gate
	}
	for _, l := range s.lanes.all {
		if l.in == gated {
			return l.gate
		}
	}
	return nil
}

// moved counts a lane's move from one place to another.
func (ls *lanes) moved(l *Slot, to place) {
	if l.in == gated {
		ls.closed--
	}
	if to == gated {
		ls.closed++
		ls.last = l
	}
}
