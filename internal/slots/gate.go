package slots

import (
	"math"
	"slices"
)

// gate bounds the open grants of several slots together: those that reach one address, go through one proxy, or are made by one downloader.
// Or it is shut by its owner, whatever is open. A slot may hang on a gate. While that one is closed the slot cannot be
// acquired: it stands in the gate's line, best first.
type gate struct {
	name     string
	limit    int32 // 0: none
	shut     bool  // see [Table.Shut]
	inFlight int32 // open grants that are counted in it
	hanging  int32 // slots that hang on it
	offered  int32 // those of them that can be acquired
	line     heap  // those that could be, were it open
}

func (g *gate) closed() bool { return g.shut || g.full(0) }

// full reports whether so many more grants than are open are all that the gate has room for.
func (g *gate) full(more int32) bool { return g.limit > 0 && g.inFlight+more >= g.limit }

// moved counts a slot's move from one place to another.
func (g *gate) moved(from, to place) {
	if from == ready || from == waiting {
		g.offered--
	}
	if to == ready || to == waiting {
		g.offered++
	}
}

// Gate names a gate that work has to pass. An empty name, or a limit of 0 or less, is none.
type Gate struct {
	Name  string
	Limit int // grants that may be open at once

	// Stays says that the slot's other work is expected to pass this gate too: what is acquired next counts there
	// already, and is not acquired while the gate is closed. A wrong guess only costs time, since every grant says by
	// Enter which gates are its own.
	Stays bool

	// Apart says that the gate is that of a lane, see [Lane]: work that finds it closed is added to that lane again, and the slot goes on.
	Apart bool

	// Kept says that the grant is counted until Release; otherwise until ReleaseSlot. It holds for one gate of a grant, and for that of a
	// lane from the beginning.
	Kept bool
}

// Enter counts the grant, whose work must not have started, in all these gates, and in no others.
//
// It returns false if one of them is closed. Then the work must be added again and the grant released, in this order: a
// slot without work is forgotten. The slot cannot be acquired until that gate opens.
func (t *Table) Enter(g *Grant, gates ...Gate) bool {
	if g.released {
		return false
	}
	var into []*gate
	var next, kept *gate // that the slot hangs on from now on, and that is kept
	enters := true
	for _, named := range gates {
		one := t.gate(named.Name, named.Limit)
		if one == nil {
			continue
		}
		if enters = !one.closed() || slices.Contains(g.gates, one); !enters {
			if !named.Apart {
				next = one
			}
			break
		}
		into = append(into, one)
		if named.Kept {
			kept = one
		}
		if named.Stays && !named.Apart {
			next = one
		}
	}
	for _, one := range into {
		if enters && !slices.Contains(g.gates, one) {
			one.inFlight++
		}
	}
	left := into
	if enters {
		left, g.gates, g.kept = g.gates, into, kept
	}
	if at := g.Slot.gate; at != next && (at == nil || !at.shut) {
		t.hang(g.Slot, next)
		t.place(g.Slot)
	}
	for _, one := range left {
		if slices.Contains(g.gates, one) {
			continue
		}
		if enters {
			one.inFlight--
			t.admit(one)
		}
		t.tidy(one)
	}
	return enters
}

// gate returns the gate of that name and makes it if need be; nil if there is none.
func (t *Table) gate(name string, limit int) *gate {
	if name == "" || limit <= 0 {
		return nil
	}
	g := t.named(name)
	if to := int32(min(limit, math.MaxInt32)); to != g.limit {
		g.limit = to
		t.admit(g)
	}
	return g
}

// named returns the gate of that name and makes it if need be.
func (t *Table) named(name string) *gate {
	g := t.gates[name]
	if g == nil {
		g = &gate{name: name}
		t.gates[name] = g
	}
	return g
}

// Shut lets nothing in at the gate of that name until [Table.Open]. What waits in a queue that the table holds has to pass it: that is the
// gate of its lane, or else its slot hangs on it. The name must not be that of a gate that [Table.Enter] is given for other queues. It does
// nothing while waiters wait there, which may keep what the gate's owner waits for.
func (t *Table) Shut(queue, name string) {
	s := t.slots.get(Name(queue))
	if s == nil {
		return
	}
	if l := s.lane(queue); l != nil && l.gate.name == name {
		s = l
	}
	if s.first != nil {
		return
	}
	g := t.named(name)
	g.shut = true
	t.hang(s, g)
	t.place(s)
}

// Unshut ends a [Table.Shut] for what waits in one queue.
func (t *Table) Unshut(queue string) {
	s := t.slots.get(Name(queue))
	if s == nil {
		return
	}
	if l := s.lane(queue); l != nil {
		t.Open(l.gate.name)
	}
	if s.gate != nil && s.gate.shut {
		t.hang(s, nil)
		t.place(s)
	}
}

// Open ends a [Table.Shut] for all slots that hang on the gate. It does nothing for a gate that none hangs on.
func (t *Table) Open(name string) {
	g := t.gates[name]
	if g == nil || !g.shut {
		return
	}
	g.shut = false
	t.admit(g)
	t.tidy(g)
}

// leave ends the counting of a grant in its gates, all but one; nil is none.
func (t *Table) leave(grant *Grant, but *gate) {
	left := grant.gates
	grant.gates = nil
	for _, g := range left {
		if g == but {
			grant.gates = []*gate{g}
			continue
		}
		g.inFlight--
		t.admit(g)
		t.tidy(g)
	}
}

// hang takes the slot from its gate to another; nil is none. It has no place after that.
func (t *Table) hang(s *Slot, to *gate) {
	from := s.gate
	if from == to {
		return
	}
	t.move(s, nowhere, 0, 0)
	if s.gate = to; to != nil {
		to.hanging++
	}
	if from != nil {
		from.hanging--
		t.admit(from)
		t.tidy(from)
	}
}

// tidy forgets a gate that no slot needs.
func (t *Table) tidy(g *gate) {
	if g.hanging == 0 && g.inFlight == 0 {
		delete(t.gates, g.name)
	}
}

// admit takes slots out of the line of an open gate: as many as it has room for, and all that have waiters, since
// those are served where queues are not.
func (t *Table) admit(g *gate) {
	for len(g.line) > 0 && !g.closed() {
		s := g.line.top()
		if s.waiter() == nil && g.full(g.offered-s.room()) {
			return
		}
		if t.offer(s); s.isLane() {
			t.place(s.host())
		}
	}
}

// queueUp puts a slot in the line of its gate: first those with waiters, in the order of these, then the others in
// the order of the ready ones.
func (t *Table) queueUp(s *Slot) {
	if from := s.waiter(); from != nil {
		t.move(s, gated, math.MinInt64, from.first.number)
		return
	}
	t.move(s, gated, ^int64(s.best()), s.turn)
}

// open returns the first slot of a place whose gate is not closed. The others are sent to their gates' lines: a
// closed gate is found out only here, since one that closes must not have to look for its slots.
func (t *Table) open(in place) *Slot {
	for {
		s := t.heaps[in].top()
		switch {
		case s == nil:
			return nil
		case s.gate != nil && s.gate.closed():
			t.queueUp(s)
		case t.sendBack(s, in):
		default:
			return s
		}
	}
}
