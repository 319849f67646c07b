package slots

// Waiter is an inline request that wants one very slot, made by [Table.Ask].
type Waiter struct {
	value      any
	slot       *Slot // nil when it no longer waits
	prev, next *Waiter
	number     int64
}

// Ask lets a waiter wait in line for the slot, or for the gate of a lane and its slot. It goes before the queue and behind the waiters
// that asked earlier, and obeys the slot's delay, limit and gates like everything else. The value,
// which must not be nil, comes back in [Grant].Waiter.
func (t *Table) Ask(name string, waiter any) *Waiter {
	if waiter == nil {
		panic("slots: Ask with a nil waiter: its grant could not be told from one for the queue")
	}
	s := t.queueOf(name)
	t.begin(s.host())
	t.asked++
	w := &Waiter{value: waiter, slot: s, prev: s.final, number: t.asked}
	if s.final != nil {
		s.final.next = w
	} else {
		s.first = w
	}
	s.final = w
	t.place(s)
	return w
}

// Withdraw takes the waiter out of the line. It is false when it no longer stood there: it has its
// grant, which must be released, or was withdrawn before.
func (t *Table) Withdraw(w *Waiter) bool {
	s := w.slot
	if s == nil {
		return false
	}
	s.unlink(w)
	t.place(s)
	return true
}

// unlink takes the waiter out of the slot's list.
func (s *Slot) unlink(w *Waiter) {
	if w.prev != nil {
		w.prev.next = w.next
	} else {
		s.first = w.next
	}
	if w.next != nil {
		w.next.prev = w.prev
	} else {
		s.final = w.prev
	}
	w.slot, w.prev, w.next = nil, nil, nil
}
