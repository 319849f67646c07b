package disk

import "github.com/tegenaria/tegenaria"

// journal is what the last commits have said of seen keys and of slots, which have no rows of their own for it yet. A
// commit touches hundreds of them, all over their ranges, and most slots are touched by the next commit again: so it
// stores all that in one row. When that has become much it is merged: each key and each slot gets its row, in the order
// of the rows, and those of the journal go, in the same commit. A job that was not closed is opened with what its
// journal holds.
type journal struct {
	data   []byte                   // its rows, and then the next one
	stored int                      // so many bytes are in the store
	rows   []uint64                 // the commits that have stored them
	seen   map[tegenaria.Key]uint32 // where in data the newest entry of a key begins
	slots  map[string]uint32        // the same of a slot, by its name
	full   bool                     // the next commit merges it
}

// maxJournal is how many bytes a journal holds until it is merged.
const maxJournal = 4 << 20

func newJournal() journal {
	return journal{seen: make(map[tegenaria.Key]uint32), slots: make(map[string]uint32)}
}

// An entry is a byte that names the range, the key there, and the value. Keys of slots and their values have their
// lengths before them.

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

// setSlot notes a slot's value. An empty one forgets the slot.
func (j *journal) setSlot(name string, value []byte) {
	j.slots[name] = uint32(len(j.data))
	j.data = appendText(appendText(append(j.data, rangeSlot), name), value)
}

// readEntry reads an entry. A value that is empty says that the row goes.
func readEntry(r *reader) (in byte, key, value []byte) {
	switch in = r.byte(); in {
	case rangeSeen:
		key = r.take(uint64(len(tegenaria.Key{})))
		value = r.data
		readWhere(r)
		value = value[:len(value)-len(r.data)]
	case rangeSlot:
		key, value = r.take(r.uint()), r.take(r.uint())
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

// read adds a row that is in the store.
func (j *journal) read(commit uint64, row []byte) error {
	j.data = append(j.data, row...)
	r := reader{data: row}
	for len(r.data) > 0 {
		at := uint32(len(j.data) - len(r.data))
		switch in, key, _ := readEntry(&r); {
		case r.err != nil:
		case in == rangeSeen:
			j.seen[tegenaria.Key(key)] = at
		default:
			j.slots[string(key)] = at
		}
	}
	j.wrote(commit)
	return r.err
}

// empty tells whether there is nothing to merge.
func (j *journal) empty() bool { return len(j.data) == 0 }

// merge makes rows of all there is, and forgets it.
func (j *journal) merge(to *changes) {
	var buf []byte
	set := func(at uint32) {
		r := reader{data: j.data[at:]}
		in, key, value := readEntry(&r)
		if buf = append(append(buf[:0], in), key...); len(value) > 0 {
			to.set(buf, value)
		} else {
			to.erase(buf)
		}
	}
	for _, at := range j.seen {
		set(at)
	}
	for _, at := range j.slots {
		set(at)
	}
	for _, commit := range j.rows {
		buf = seqKey(buf, rangeJournal, commit)
		to.erase(buf)
	}
	clear(j.seen)
	clear(j.slots)
	j.data, j.rows, j.stored, j.full = j.data[:0], j.rows[:0], 0, false
}
