package frontier

import "time"

// Place is where the source has put a request.
type Place uint8

// The places.
const (
	Nowhere Place = iota // it is not stored
	Queued               // in the queue of its slot
	Delayed              // in the due list
)

// Told describes a request that was offered to the source: its slot, and where the source has put it.
type Told struct {
	Slot      string
	Priority  int
	Place     Place
	NotBefore time.Time // of Delayed
}

// Refused are requests that the source did not store, for the same reason.
type Refused struct {
	Number int64 // 0: there are none
	Why    Reason
}

// Accepted notes where n requests wait, as told(0) to told(n-1) describe, and counts those that were refused. later is how
// many of them are delayed. limit, unless 0, lowers how many downloads may be under way in each of their slots.
func (f *Frontier[J]) Accepted(n int, told func(i int) Told, later int64, limit int, refused ...Refused) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if later > 0 {
		f.ledger.later(later)
	}
	stored := int64(n)
	for _, r := range refused {
		if r.Number > 0 {
			f.ledger.refuse(r.Number, r.Why)
			stored -= r.Number
		}
	}
	if stored > 0 {
		f.added(n, told, limit)
	}
}

// Added notes that a request that was in hand waits in the source again. limit is that of Accepted. The ledger is not
// changed.
func (f *Frontier[J]) Added(t Told, limit int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.added(1, func(int) Told { return t }, limit)
}

// added enters new requests into slots and due list. The caller holds mu.
func (f *Frontier[J]) added(n int, told func(i int) Told, limit int) {
	run, last := 0, Told{} // how many in a row have the slot and priority of last
	for i := range n {
		t := told(i)
		switch t.Place {
		case Delayed:
			f.due.add(t.NotBefore)
		case Queued:
			if run > 0 && (t.Slot != last.Slot || t.Priority != last.Priority) {
				f.slots.Add(last.Slot, last.Priority, run)
				run = 0
			}
			run, last = run+1, t
		}
	}
	if run > 0 {
		f.slots.Add(last.Slot, last.Priority, run)
	}
	if limit > 0 {
		for i := range n {
			f.slots.Cap(told(i).Slot, limit)
		}
	}
	f.signal()
}
