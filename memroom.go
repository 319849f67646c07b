package tegenaria

import "strings"

// queueRoom is what a memory cache knows, beside its queue, of the memory that waiting records take: for the bound on
// all of them, and for the share of a single slot.
type queueRoom struct {
	limit int64            // Limits.QueueBytes; 0: no bound
	aside map[string]int64 // bytes outside the queue by slot: of the due list and of live parts
	total int64            // the sum of aside

	// company is how many bytes of the slot that holds more than half are still refused after another slot had work: the
	// other may be in flight. Once they are used up the large slot is alone, and the run may end.
	company int64
}

// asideCost estimates what an entry of aside costs beside the slot's name.
const asideCost = 64

// putAside counts bytes of a slot that do not lie in its queue; they are negative when they are freed.
func (r *queueRoom) putAside(slot string, bytes int64) {
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

// full reports whether so many bytes are more than this many eighths of the limit.
func (r *queueRoom) full(bytes, eighths int64) bool {
	return bytes > r.limit/8*eighths+r.limit%8*eighths/8
}

// bytes estimates the memory that waiting records take.
func (m *memoryCache) bytes() int64 { return m.queue.Bytes() + m.room.total }

// share is how much of bytes a slot holds.
func (m *memoryCache) share(slot string) int64 { return m.queue.SlotBytes(slot) + m.room.aside[slot] }

// notice remembers, while the queue is more than 3/4 full, that a slot has work which holds no more than half of it.
func (m *memoryCache) notice(slot string) {
	r := &m.room
	if r.limit <= 0 || r.company == r.limit || !r.full(m.bytes(), 6) {
		return
	}
	if share := m.share(slot); share > 0 && 2*share <= m.bytes() {
		r.company = r.limit
	}
}

// makeRoom decides which records the memory has no room for. If they are those of the one slot that holds more than
// half of a queue that is 7/8 full, while others have work, it gives them VerdictRefused; otherwise the run ends
// with a *QueueFullError. It reports whether the queue is more than 3/4 full with these records.
func (m *memoryCache) makeRoom(records []Record, verdicts []Verdict) (tight bool, err error) {
	r := &m.room
	if r.limit <= 0 {
		return false, nil
	}
	held := m.bytes()
	if !r.full(held, 6) {
		r.company = 0
	}
	need := held
	for i := range records {
		need += records[i].cost()
	}
	if !r.full(need, 7) {
		return r.full(need, 6), nil
	}
	// Known records cost nothing, and most may be known.
	batch, shares := make(map[Key]struct{}), make(map[string]int64)
	for i := range records {
		rec := &records[i]
		if _, twice := batch[rec.Key]; twice || m.seen.Has((*[16]byte)(&rec.Key)) {
			continue
		}
		share, known := shares[rec.Slot]
		if !known {
			share = m.share(rec.Slot)
		}
		share += rec.cost()
		total := held + rec.cost()
		if r.full(total, 7) && 2*share > total && (r.company > 0 || share < total) {
			verdicts[i] = VerdictRefused
			r.company = max(r.company-rec.cost(), 0)
			continue
		}
		batch[rec.Key], shares[rec.Slot], held = struct{}{}, share, total
	}
	if held > r.limit && len(batch) > 0 {
		return true, &QueueFullError{Limit: r.limit}
	}
	return true, nil
}

// liveCost is what a live part is taken to cost.
const liveCost = 256

// cost is about what the record takes while it waits in memory.
func (r *Record) cost() int64 {
	cost := int64(len(r.Data)) + 24
	if !r.NotBefore.IsZero() {
		cost += 64 + int64(len(r.Slot))
	}
	if r.Live != nil {
		cost += liveCost
	}
	return cost
}
