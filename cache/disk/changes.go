package disk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// changes are what was gathered since the last commit: keys that get a value, and keys that go. They are handed to the
// store in the order of their keys: it keeps them in a skip list, where the way to a key is short from the one before
// it, and long from anywhere else.
type changes struct {
	data []byte // keys and values
	list []change
}

// change is one of them.
type change struct {
	prefix uint64 // the first bytes of the key, which seldom are another's as well
	at     int    // where the key begins in data
	key    int32  // its length
	value  int32  // that of the value, which follows; erased: none, the key goes
}

const erased = -1

// keptChanges is how much memory is kept for the next changes.
const keptChanges = 4 << 20

func (c *changes) set(key, value []byte) {
	c.add(key, int32(len(value)))
	c.data = append(c.data, value...)
}

func (c *changes) erase(key []byte) { c.add(key, erased) }

func (c *changes) add(key []byte, value int32) {
	var first [8]byte
	copy(first[:], key)
	c.list = append(c.list, change{binary.BigEndian.Uint64(first[:]), len(c.data), int32(len(key)), value})
	c.data = append(c.data, key...)
}

// size is about what they take as a batch.
func (c *changes) size() int { return len(c.data) + 4*len(c.list) }

func (c *changes) keyOf(of *change) []byte { return c.data[of.at : of.at+int(of.key)] }

// batch makes a batch of the changes, and of all that a journal has if there is one, and forgets both. The last change of a
// key counts. Seen keys are in the journal alone, and in their place among the others.
func (c *changes) batch(db *pebble.DB, merged *journal) *pebble.Batch {
	size := c.size() + 16
	if merged != nil {
		merged.mergeSlots(c)
		size = c.size() + merged.seenSize() + 16
	}
	slices.SortFunc(c.list, func(a, b change) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return cmp.Or(bytes.Compare(c.keyOf(&a), c.keyOf(&b)), cmp.Compare(a.at, b.at))
	})
	batch := db.NewBatchWithSize(size)
	i, _ := slices.BinarySearchFunc(c.list, uint64(rangeSeen)<<56, func(ch change, prefix uint64) int {
		return cmp.Compare(ch.prefix, prefix)
	})
	c.appendTo(batch, c.list[:i])
	if merged != nil {
		merged.mergeSeen(batch)
		merged.clear()
	}
	c.appendTo(batch, c.list[i:])
	if cap(c.data) > keptChanges {
		*c = changes{}
	}
	c.data, c.list = c.data[:0], c.list[:0]
	return batch
}

// appendTo adds changes to a batch. A batch without index has no errors.
func (c *changes) appendTo(batch *pebble.Batch, list []change) {
	for i := range list {
		ch := &list[i]
		key := c.keyOf(ch)
		if i+1 < len(list) && bytes.Equal(key, c.keyOf(&list[i+1])) {
			continue
		}
		if ch.value == erased {
			_ = batch.Delete(key, nil)
		} else {
			from := ch.at + int(ch.key)
			_ = batch.Set(key, c.data[from:from+int(ch.value)], nil)
		}
	}
}
