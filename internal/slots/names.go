package slots

import (
	"hash/maphash"
	"iter"
)

// names finds slots by their names. It is a hash table with linear probing that grows by half and shrinks: a Go map of
// a million names takes 54 bytes for each, this one 20 to 30. Names are made of pages, so the hash has a seed.
type names struct {
	seed  maphash.Seed
	cells []cell
	used  int
}

type cell struct {
	slot *Slot // nil: empty
	hash uint32
}

const leastCells = 16

func newNames() names { return names{seed: maphash.MakeSeed()} }

func (n *names) hash(name string) uint32 { return uint32(maphash.String(n.seed, name)) }

// home returns where a hash is looked for first.
func (n *names) home(hash uint32) int { return int(uint64(hash) * uint64(len(n.cells)) >> 32) }

func (n *names) after(i int) int {
	if i++; i == len(n.cells) {
		return 0
	}
	return i
}

// find returns the cell of a name, or the empty one that is its place. There has to be room.
func (n *names) find(name string, hash uint32) int {
	i := n.home(hash)
	for c := &n.cells[i]; c.slot != nil && (c.hash != hash || c.slot.name != name); c = &n.cells[i] {
		i = n.after(i)
	}
	return i
}

// get returns the slot of a name, nil if there is none.
func (n *names) get(name string) *Slot {
	if n.used == 0 {
		return nil
	}
	return n.cells[n.find(name, n.hash(name))].slot
}

// put adds a slot, whose name must be new.
func (n *names) put(s *Slot) {
	// At most 13 of 16 cells are used: beyond that the runs get long.
	if 16*(n.used+1) > 13*len(n.cells) {
		n.resize(max(leastCells, len(n.cells)+len(n.cells)/2))
	}
	hash := n.hash(s.name)
	n.cells[n.find(s.name, hash)] = cell{s, hash}
	n.used++
}

// remove takes a slot out, which must be there.
func (n *names) remove(s *Slot) {
	gap := n.find(s.name, n.hash(s.name))
	n.cells[gap] = cell{}
	n.used--
	// What comes behind moves up, unless it would then stand before its home.
	for i := n.after(gap); n.cells[i].slot != nil; i = n.after(i) {
		home := n.home(n.cells[i].hash)
		if gap <= i && gap < home && home <= i || gap > i && (gap < home || home <= i) {
			continue
		}
		n.cells[gap], n.cells[i] = n.cells[i], cell{}
		gap = i
	}
	if len(n.cells) > 1024 && n.used < len(n.cells)/8 { // memory follows the hosts with work
		n.resize(max(leastCells, 2*n.used))
	}
}

func (n *names) resize(size int) {
	old := n.cells
	n.cells = make([]cell, size)
	for _, c := range old {
		if c.slot != nil {
			n.cells[n.find(c.slot.name, c.hash)] = c
		}
	}
}

// all iterates over the slots, in no order. Nothing must be put or removed meanwhile.
func (n *names) all() iter.Seq[*Slot] {
	return func(yield func(*Slot) bool) {
		for _, c := range n.cells {
			if c.slot != nil && !yield(c.slot) {
				return
			}
		}
	}
}
