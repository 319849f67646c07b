package disk

import (
	"encoding/binary"

	"github.com/tegenaria/tegenaria"
)

// journal is what the last commits have said of seen keys and of slots, and what no other row says yet. A commit touches
// hundreds of them, all over their ranges, and the next commit touches most of the slots again: so it stores all that in
// one row. When that has become much it is merged: each key and each slot gets a row of its own, in the order of the
// rows, and those of the journal go, in the same commit. A job that was not closed is opened with what its journal
// holds.
type journal struct {
	data   []byte                   // its rows, and then the next one
	stored int                      // so many bytes are in the store
	rows   []uint64                 // the commits that have stored them
	seen   map[tegenaria.Key]uint32 // where in data the newest entry of a key begins
	slots  map[uint32]slotEntry     // the newest entries of slots, by their numbers
	full   bool                     // the next commit merges it
}

// slotEntry is where in the journal's data the newest entry of a slot begins.
type slotEntry struct {
	name string
	at   uint32
}

// maxJournal is how many bytes a journal holds until it is merged.
const maxJournal = 2 << 20

func newJournal() journal {
	return journal{seen: make(map[tegenaria.Key]uint32), slots: make(map[uint32]slotEntry)}
}

// An entry begins with the byte that names its range. A key and its value follow, or the value of a slot, with its
// length before it; the name of that slot is in a row of its own. A slot that was forgotten has its number alone for a
// value, and no row any more.

// see notes where a key is now.
func (j *journal) see(key *tegenaria.Key, w where) {
	j.seen[*key] = uint32(len(j.data))
	j.data = append(append(j.data, rangeSeen), key[:]...)
	j.data = w.append(j.data)
}

// where returns where a key is, if the journal says so.
func (j *journal) where(key *tegenaria.Key) (w where, known bool) {
	at, known := j.seen[*key]
	if !known {
		return w, false
	}
	r := reader{data: j.data[int(at)+1+len(key):]}
	return readWhere(&r), true
}

// setSlot notes the value of a slot that has a row.
func (j *journal) setSlot(id uint32, name string, value []byte) {
	j.slots[id] = slotEntry{name, uint32(len(j.data))}
	j.data = appendText(append(j.data, rangeSlot), value)
}

// forgetSlot notes that a slot has no row any more.
func (j *journal) forgetSlot(id uint32) {
	delete(j.slots, id)
	j.data = appendText(append(j.data, rangeSlot), binary.AppendUvarint(nil, uint64(id)))
}

// journalEntry reads an entry; slots have no key.
func (r *reader) journalEntry() (in byte, key, value []byte) {
	switch in = r.byte(); in {
	case rangeSeen:
		key = r.take(uint64(len(tegenaria.Key{})))
		value = r.data
		readWhere(r)
		value = value[:len(value)-len(r.data)]
	case rangeSlot:
		value = r.take(r.uint())
	default:
		r.fail()
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
	r := reader{data: row}
	for len(r.data) > 0 {
		at := uint32(len(j.data) - len(r.data))
		in, key, value := r.journalEntry()
		if r.err != nil {
			break
		}
		if in == rangeSeen {
			j.seen[tegenaria.Key(key)] = at
			continue
		}
		slot := reader{data: value}
		if id := uint32(slot.uint()); len(slot.data) > 0 {
			j.slots[id] = slotEntry{at: at}
		} else {
			delete(j.slots, id)
		}
	}
	j.wrote(commit)
	return r.err
}

// nameSlot gives a slot that was read its name.
func (j *journal) nameSlot(id uint32, name string) {
	if s, ok := j.slots[id]; ok {
		j.slots[id] = slotEntry{name, s.at}
	}
}

// empty tells whether there is nothing to merge.
func (j *journal) empty() bool { return len(j.data) == 0 }

// merge makes rows of all there is, and forgets it.
func (j *journal) merge(to *changes) {
	var buf []byte
	for key, at := range j.seen {
		r := reader{data: j.data[at:]}
		_, _, value := r.journalEntry()
		buf = seenKey(buf, &key)
		to.set(buf, value)
	}
	for _, s := range j.slots {
		r := reader{data: j.data[s.at:]}
		_, _, value := r.journalEntry()
		buf = namedKey(buf, rangeSlot, s.name)
		to.set(buf, value)
	}
	for _, commit := range j.rows {
		buf = seqKey(buf, rangeJournal, commit)
		to.erase(buf)
	}
	clear(j.seen)
	clear(j.slots)
	j.data, j.rows, j.stored, j.full = j.data[:0], j.rows[:0], 0, false
}
