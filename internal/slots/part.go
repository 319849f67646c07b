package slots

// Part visits some of the slots: those whose names hash from a place on, which are about n. It returns where the next part begins; 0 is the
// begin of the first, and means the end as a result. Between two parts the table may be changed: a slot that is there
// all the time is visited exactly once, in whatever order slots come and go. visit must not change the table.
func (t *Table) Part(from uint64, n int, visit func(s *Slot)) (next uint64) {
	cells := t.slots.cells
	if t.slots.used == 0 {
		return 0
	}
	end := min(from+uint64(max(n, 1))<<32/uint64(len(cells))+1, 1<<32)
	first, last := t.slots.home(uint32(from)), t.slots.home(uint32(end-1))
	// A slot stands at its home or behind it, with no empty cell between.
	for i, seen := first, 0; seen < len(cells); i, seen = t.slots.after(i), seen+1 {
		c := cells[i]
		if c.slot == nil {
			if seen >= last-first {
				break
			}
			continue
		}
		if hash := uint64(c.hash); from <= hash && hash < end {
			visit(c.slot)
		}
	}
	if end == 1<<32 {
		return 0
	}
	return end
}

// Get returns the slot of that name, nil if the table holds none.
func (t *Table) Get(name string) *Slot { return t.slots.get(name) }

// State returns the state of a slot that the table holds.
func (t *Table) State(s *Slot) State { return t.state(s) }

// Pending returns the number of entries in its queue, and those of its lanes.
func (s *Slot) Pending() int {
	n := int(s.pending)
	if s.lanes != nil {
		for _, l := range s.lanes.all {
			n += int(l.pending)
		}
	}
	return n
}
