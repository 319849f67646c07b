package cache

import "strings"

// Room bounds the memory of a queue, and keeps one slot from taking all of it: when 7/8 are used, and a single slot holds
// more than half of that while others have work, that slot alone gets nothing more. It asks a func for the size of
// the queue, and counts by itself the entries that lie beside it. Make one with [NewRoom]. It is not safe for concurrent use.
type Room struct {
	limit  int64                   // bytes; 0: no bound
	queued func() int64            // bytes of all that lies in the queue
	inSlot func(slot string) int64 // of one slot

	aside map[string]int64 // bytes outside the queue by slot
	total int64            // the sum of aside

	// company is how many bytes of the slot that holds more than half are still refused after another slot had work: the
	// other may be in flight. Once they are used up the large slot is alone, and nothing is refused any more.
	company int64
}

// NewRoom returns room for limit bytes, 0 for any number. queued returns the bytes in the queue, inSlot those of one slot.
func NewRoom(limit int64, queued func() int64, inSlot func(slot string) int64) *Room {
	return &Room{limit: limit, queued: queued, inSlot: inSlot}
}

// asideCost estimates what an entry of aside costs beside the slot's name.
const asideCost = 64

// PutAside counts bytes of a slot that do not lie in its queue; they are negative when they are freed.
func (r *Room) PutAside(slot string, bytes int64) {
	cost := asideCost + int64(len(slot))
	held, known := r.aside[slot]
	if !known {
		if r.aside == nil {
			r.aside = make(map[string]int64)
		}
		slot = strings.Clone(slot) // it is often a piece of a large string
		held = cost
		r.total += cost
	}
	held += bytes
	r.total += bytes
	if held == cost { // nothing is left
		r.total -= cost
		delete(r.aside, slot)
		return
	}
	r.aside[slot] = held
}

// Bytes estimates the memory of all that waits.
func (r *Room) Bytes() int64 { return r.queued() + r.total }

// Share is how much of Bytes a slot holds.
func (r *Room) Share(slot string) int64 { return r.inSlot(slot) + r.aside[slot] }

// full reports whether that many bytes are more than this many eighths of the limit.
func (r *Room) full(bytes, eighths int64) bool {
	return bytes > r.limit/8*eighths+r.limit%8*eighths/8
}

// Notice remembers, while more than 3/4 are used, that a slot has work and holds at most half of the room.
func (r *Room) Notice(slot string) {
	if r.limit <= 0 || r.company == r.limit || !r.full(r.Bytes(), 6) {
		return
	}
	if share := r.Share(slot); share > 0 && 2*share <= r.Bytes() {
		r.company = r.limit
	}
}

// Want is an entry that wants room.
type Want struct {
	Key  [16]byte
	Slot string
	Cost int64 // bytes
}

// Fits reports whether there is room for that many more bytes without a look at each entry; if not, Admit looks. tight reports
// whether more than 3/4 are used with them.
func (r *Room) Fits(bytes int64) (fits, tight bool) {
	if r.limit <= 0 {
		return true, false
	}
	held := r.Bytes()
	if !r.full(held, 6) {
		r.company = 0
	}
	return !r.full(held+bytes, 7), r.full(held+bytes, 6)
}

// Admit decides which of n entries, which do not fit easily, there is no room for, and calls refuse with each that the large slot
// does not get in. want returns an entry; known reports whether its key is stored already, so that it costs nothing. It returns
// false if they need more than the limit although the large slot was refused.
func (r *Room) Admit(n int, want func(i int) Want, known func(key *[16]byte) bool, refuse func(i int)) (ok bool) {
	held := r.Bytes()
	// Known entries cost nothing, and most may be known.
	batch, shares := make(map[[16]byte]struct{}), make(map[string]int64)
	for i := range n {
		w := want(i)
		if _, twice := batch[w.Key]; twice || known(&w.Key) {
			continue
		}
		share, counted := shares[w.Slot]
		if !counted {
			share = r.Share(w.Slot)
		}
		share += w.Cost
		total := held + w.Cost
		if r.full(total, 7) && 2*share > total && (r.company > 0 || share < total) {
			refuse(i)
			r.company = max(r.company-w.Cost, 0)
			continue
		}
		batch[w.Key], shares[w.Slot], held = struct{}{}, share, total
	}
	return held <= r.limit || len(batch) == 0
}
