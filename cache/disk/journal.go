package disk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// journal is what the last commits have said of seen keys and of slots, and what no other row says yet. A commit touches
// hundreds of them, all over their ranges, and the next commit touches most of the slots again: so it stores all that in
// one row. When that has become much it is merged: each key and each slot gets a row of its own, in the order of the
// rows, and those of the journal go, in the same commit. A job that was not closed is opened with what its journal
// holds.
type journal struct {
	data   []byte               // its rows, and then the next one
	stored int                  // how many bytes are in the store
	rows   []uint64             // the commits that have stored them
	seen   keyTable             // where in data the newest entry of a key begins
	slots  map[uint32]slotEntry // the newest entries of slots, by their numbers
	order  []keyEntry           // empty; memory of the last merge
	limit  int                  // the size in bytes at which it is merged
	full   bool                 // the next commit merges it, however long it is
}

// slotEntry is where in the journal's data the newest entry of a slot begins.
type slotEntry struct {
	name string
	at   uint32
}

// journalShare is the share of a memtable that a journal may have. When it has that, the rows of a merge are so many, two
// hundred bytes reserved for each, that the store does not put them into its memtable, one after another: it takes the
// batch for a table, and writes it together with the memtable. Until then the memtable has been full once or twice, but
// not of seen keys. With a share of an eighth there would be twice as many tables to look for a key in.
const journalShare = 4

// newJournal makes a journal for a store with memtables of this size.
func newJournal(memTable uint64) journal {
	return journal{seen: newKeyTable(), slots: make(map[uint32]slotEntry), limit: int(memTable / journalShare)}
}

// An entry begins with the byte that names its range. A key and its value follow, or the value of a slot, with its
// length before it; the name of that slot is in a row of its own. A slot that was forgotten has its number alone for a
// value, and no row any more.

// see notes where a key is now.
func (j *journal) see(key *tegenaria.Key, w where) {
	at := len(j.data)
	j.data = append(append(j.data, rangeSeen), key[:]...)
	j.seen.set(j.data, key, at)
	j.data = w.append(j.data)
}

// where returns where a key is, if the journal says so.
func (j *journal) where(key *tegenaria.Key) (w where, known bool) {
	at, known := j.seen.find(j.data, key)
	if !known {
		return w, false
	}
	r := reader{wire.Decoder{Rest: j.data[at+1+len(key):]}}
	return readWhere(&r), true
}

// setSlot notes the value of a slot that has a row.
func (j *journal) setSlot(id uint32, name string, value []byte) {
	j.slots[id] = slotEntry{name, uint32(len(j.data))}
	j.data = wire.AppendText(append(j.data, rangeSlot), value)
}

// slot returns the value of a slot, if the journal has one that is newer than the slot's row.
func (j *journal) slot(id uint32) (value []byte, ok bool) {
	s, ok := j.slots[id]
	if !ok {
		return nil, false
	}
	r := reader{wire.Decoder{Rest: j.data[s.at:]}}
	_, _, value = r.journalEntry()
	return value, true
}

// forgetSlot notes that a slot has no row any more.
func (j *journal) forgetSlot(id uint32) {
	delete(j.slots, id)
	j.data = wire.AppendText(append(j.data, rangeSlot), binary.AppendUvarint(nil, uint64(id)))
}

// journalEntry reads an entry; slots have no key.
func (r *reader) journalEntry() (in byte, key, value []byte) {
	switch in = r.Byte(); in {
	case rangeSeen:
		key = r.Take(uint64(len(tegenaria.Key{})))
		value = r.Rest
		readWhere(r)
		value = value[:len(value)-len(r.Rest)]
	case rangeSlot:
		value = r.Take(r.Uint())
	default:
		r.Fail()
	}
	return in, key, value
}

// next returns the row that is to be stored, which is empty if there is nothing new.
func (j *journal) next() []byte { return j.data[j.stored:] }

// wrote notes that the next row is stored.
func (j *journal) wrote(commit uint64) {
	j.stored = len(j.data)
	j.rows = append(j.rows, commit)
}

// read adds a row that is in the store. The slots are to be named when all rows have been read: by then some of them may
// be forgotten.
func (j *journal) read(commit uint64, row []byte) error {
	j.data = append(j.data, row...)
	r := reader{wire.Decoder{Rest: row}}
	for len(r.Rest) > 0 {
		at := len(j.data) - len(r.Rest)
		in, key, value := r.journalEntry()
		if r.Err() != nil {
			break
		}
		if in == rangeSeen {
			j.seen.set(j.data, (*tegenaria.Key)(key), at)
			continue
		}
		slot := reader{wire.Decoder{Rest: value}}
		if id := uint32(slot.Uint()); len(slot.Rest) > 0 {
			j.slots[id] = slotEntry{at: uint32(at)}
		} else {
			delete(j.slots, id)
		}
	}
	j.wrote(commit)
	return r.Err()
}

// nameSlot gives a slot that was read its name.
func (j *journal) nameSlot(id uint32, name string) {
	if s, ok := j.slots[id]; ok {
		j.slots[id] = slotEntry{name, s.at}
	}
}

// due reports whether the next commit is to merge it.
func (j *journal) due() bool { return j.full || len(j.data) >= j.limit }

// empty reports whether there is nothing to merge.
func (j *journal) empty() bool { return len(j.data) == 0 }

// keyEntry is where the newest entry of a key begins.
type keyEntry struct {
	prefix uint64 // the first bytes of the key, which seldom are another's as well
	at     uint32
}

// mergeSlots makes rows of what there is of slots. Those of the journal go.
func (j *journal) mergeSlots(to *changes) {
	var buf []byte
	for id, s := range j.slots {
		value, _ := j.slot(id)
		buf = namedKey(buf, rangeSlot, s.name)
		to.set(buf, value)
	}
	for _, commit := range j.rows {
		buf = seqKey(buf, rangeJournal, commit)
		to.erase(buf)
	}
}

// seenSize is about how many bytes mergeSeen adds to a batch.
func (j *journal) seenSize() int { return len(j.data) + 4*j.seen.used }

// mergeSeen makes rows of what there is of seen keys, in their order. A batch without index has no errors.
func (j *journal) mergeSeen(to *pebble.Batch) {
	keyOf := func(at uint32) []byte { return j.data[at+1:][:len(tegenaria.Key{})] }
	j.order = slices.Grow(j.order, j.seen.used)
	for at := range j.seen.all() {
		j.order = append(j.order, keyEntry{binary.BigEndian.Uint64(keyOf(at)), at})
	}
	slices.SortFunc(j.order, func(a, b keyEntry) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return bytes.Compare(keyOf(a.at), keyOf(b.at))
	})
	var buf []byte
	for _, e := range j.order {
		r := reader{wire.Decoder{Rest: j.data[e.at:]}}
		in, key, value := r.journalEntry()
		buf = append(append(buf[:0], in), key...)
		_ = to.Set(buf, value, nil)
	}
	j.order = j.order[:0]
}

// clear forgets what was merged.
func (j *journal) clear() {
	j.seen.clear()
	clear(j.slots)
	j.data, j.rows, j.stored, j.full = j.data[:0], j.rows[:0], 0, false
}
