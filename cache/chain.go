package cache

import (
	"encoding/binary"
	"iter"
	"slices"
)

// Sizes of chunks in bytes.
const (
	// A chain up to oneChunk is kept in a single chunk that is moved when it grows, by a quarter:
	// little is wasted on the many slots that are small.
	oneChunk = 4 << 10

	// A longer chain gets further chunks of an eighth of its length, between these two: half of the last one is empty.
	minChunk = 1 << 10
	maxChunk = 32 << 10

	// headerSize is what the list of chunks costs for each.
	headerSize = 24
)

// chain is a FIFO of entries, each preceded by its length as a uvarint. An entry lies in one
// chunk; one that is larger than a chunk gets a chunk of its own. The head chunk has something to
// read unless the chain is empty.
type chain struct {
	priority int
	n        int      // entries
	live     int      // bytes not yet read
	read     int      // offset in head
	head     []byte   // oldest chunk
	more     [][]byte // the younger ones
}

// push appends an entry and returns by how many bytes the chain grew.
func (c *chain) push(data []byte) (grown int64) {
	need := uvarintLen(uint64(len(data))) + len(data)
	tail := c.tail()
	if need > cap(*tail)-len(*tail) {
		grown = c.extend(need)
		tail = c.tail()
	}
	b := binary.AppendUvarint(*tail, uint64(len(data)))
	*tail = append(b, data...)
	c.n++
	c.live += need
	return grown
}

// tail returns the youngest chunk.
func (c *chain) tail() *[]byte {
	if n := len(c.more); n > 0 {
		return &c.more[n-1]
	}
	return &c.head
}

// extend makes room in the youngest chunk and returns by how many bytes the chain grew.
func (c *chain) extend(need int) (grown int64) {
	total := c.live + need
	if len(c.more) > 0 || c.n > 0 && total > oneChunk {
		listed := cap(c.more)
		chunk := newChunk(max(need, min(max(c.live/8, minChunk), maxChunk)))
		c.more = append(c.more, chunk)
		return int64(cap(chunk) + headerSize*(cap(c.more)-listed))
	}
	to := c.head[:0]
	// To move what is unread over what was read pays if much was read; a chunk of better days is
	// not worth keeping.
	if total > cap(to)-cap(to)/8 || total < cap(to)/8 {
		to = newChunk(total + c.live/4)
		grown = int64(cap(to) - cap(c.head))
	}
	c.head = append(to, c.head[c.read:]...)
	c.read = 0
	return grown
}

// pop takes the oldest entry out and returns by how many bytes the chain shrank. The entry is valid
// until the next push. The chain must not be empty.
func (c *chain) pop() (data []byte, freed int64) {
	data, next := entryAt(c.head, c.read)
	c.live -= next - c.read
	c.read = next
	c.n--
	if next < len(c.head) {
		return data, 0
	}
	freed = int64(cap(c.head))
	c.head, c.read = nil, 0
	if len(c.more) > 0 {
		c.head, c.more[0] = c.more[0], nil
		c.more = c.more[1:]
		freed += headerSize
	}
	if len(c.more) == 0 {
		freed += headerSize * int64(cap(c.more))
		c.more = nil
	}
	return data, freed
}

// cost returns the bytes the chain holds, as the results of push and pop add up to.
func (c *chain) cost() int64 {
	n := cap(c.head) + headerSize*cap(c.more)
	for _, chunk := range c.more {
		n += cap(chunk)
	}
	return int64(n)
}

// entries iterates over the entries, the oldest first.
func (c *chain) entries() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		chunk, at := c.head, c.read
		for i := 0; ; i++ {
			for at < len(chunk) {
				var data []byte
				if data, at = entryAt(chunk, at); !yield(data) {
					return
				}
			}
			if i == len(c.more) {
				return
			}
			chunk, at = c.more[i], 0
		}
	}
}

// entryAt returns the entry that begins at an offset of the chunk and the offset of the next one.
func entryAt(chunk []byte, at int) (data []byte, next int) {
	size, prefix := binary.Uvarint(chunk[at:])
	at += prefix
	next = at + int(size)
	return chunk[at:next:next], next
}

// newChunk returns an empty chunk with room for n bytes and what the allocator gives on top.
func newChunk(n int) []byte { return slices.Grow([]byte(nil), n) }

func uvarintLen(n uint64) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}
