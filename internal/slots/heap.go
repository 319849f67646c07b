package slots

// place says which heap holds a slot; it is in one at most.
type place uint8

const (
	nowhere place = iota // no work, or held by something other than time
	ready                // by priority, then turn
	waiting              // ready and with waiters, by the number of the first
	timed                // has work and waits for time only, by instant
	idle                 // no work, forgotten when its instant has come
	gated                // ready but for its gate, in that gate's line
	places
)

// heap is a binary min-heap of slots. The keys lie beside the pointers: with a million slots a
// comparison that follows pointers is a cache miss each.
type heap []entry

type entry struct {
	key, turn int64
	slot      *Slot
}

func (e entry) less(f entry) bool {
	return e.key < f.key || e.key == f.key && e.turn < f.turn
}

func (h heap) top() *Slot {
	if len(h) == 0 {
		return nil
	}
	return h[0].slot
}

// move takes the slot out of the heap it is in and puts it into another, or to another place in
// the same.
func (t *Table) move(s *Slot, to place, key, turn int64) {
	if s.in != to {
		if s.isLane() {
			s.lanes.moved(s, to)
		} else {
			t.countGated(s, to)
		}
		if s.in != nowhere {
			t.heap(s).remove(int(s.index))
		}
		if s.gate != nil {
			s.gate.moved(s.in, to)
		}
		s.in = to
		if to == nowhere {
			return
		}
		h := t.heap(s)
		s.index = int32(len(*h))
		*h = append(*h, entry{})
	}
	if to != nowhere {
		t.heap(s).settle(int(s.index), entry{key, turn, s})
	}
}

// heap returns the heap that holds the slot.
func (t *Table) heap(s *Slot) *heap {
	switch {
	case s.in == gated:
		return &s.gate.line
	case s.isLane() && s.in == waiting:
		return &s.lanes.asked
	case s.isLane():
		return &s.lanes.open
	}
	return &t.heaps[s.in]
}

// remove takes the entry at i out.
func (h *heap) remove(i int) {
	old := *h
	n := len(old) - 1
	end := old[n]
	old[n] = entry{}
	*h = old[:n]
	if i < n {
		h.settle(i, end)
	}
	if cap(old) > 1024 && n < cap(old)/4 {
		*h = append(make(heap, 0, cap(old)/2), old[:n]...)
	}
}

// settle puts the entry into the hole at i and moves the hole up or down until the order holds.
func (h heap) settle(i int, e entry) {
	for i > 0 {
		up := (i - 1) / 2
		if !e.less(h[up]) {
			break
		}
		h.set(i, h[up])
		i = up
	}
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if right := down + 1; right < len(h) && h[right].less(h[down]) {
			down = right
		}
		if !h[down].less(e) {
			break
		}
		h.set(i, h[down])
		i = down
	}
	h.set(i, e)
}

func (h heap) set(i int, e entry) {
	h[i] = e
	e.slot.index = int32(i)
}
