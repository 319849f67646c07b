package content

import (
	"fmt"
	"iter"
	"math"
)

// MaxDistance is in how many bits the hashes of two texts that are nearly the same differ at most, see [Near].
const MaxDistance = 3

// DefaultNear is how many hashes a [Near] has at most by default.
const DefaultNear = 1_000_000

const (
	bands      = MaxDistance + 1
	bandBits   = 64 / bands
	leastHeads = 1 << 6
	mostHeads  = 1 << bandBits
	nearChunk  = 1 << 10 // entries
)

// Near is an index of simhashes. [Near.Find] returns all hashes whose distance is at most [MaxDistance], no more and no fewer: a hash
// is cut into four bands of 16 bits, and of two hashes that differ in three bits or fewer one band at least is equal.
//
// A hash takes 24 bytes, to which at most 1 MiB comes for the index. Find looks at the hashes that share a band, which are about 60 in
// a million if hashes are spread evenly, and all of them in the worst case.
//
// A Near is not safe for concurrent use. The zero value is not usable: see [NewNear].
type Near struct {
	most   int
	chunks []*[nearChunk]nearEntry
	made   int             // entries that were ever used
	count  int             // entries in use
	free   uint32          // the first entry that may be used again; they are linked by next[0]
	heads  [bands][]uint32 // the first entry by the low bits of the band
}

// nearEntry is a hash, and for each band the next entry of its list. Entries are numbered from 1; 0 ends a list.
type nearEntry struct {
	hash uint64
	next [bands]uint32
}

// NearFullError is the failure to add a hash to a [Near] that has as many as it may have.
type NearFullError struct{ Most int }

// Error names the bound.
func (e *NearFullError) Error() string {
	return fmt.Sprintf("content: the index of near duplicates has %d documents, and may have no more: raise its bound", e.Most)
}

// NewNear returns an empty index for so many hashes; 0 or less: [DefaultNear]. The most that is possible is 2³¹-1.
func NewNear(most int) *Near {
	if most <= 0 {
		most = DefaultNear
	}
	n := &Near{most: min(most, math.MaxInt32)}
	for b := range n.heads {
		n.heads[b] = make([]uint32, leastHeads)
	}
	return n
}

// Len returns how many hashes there are.
func (n *Near) Len() int { return n.count }

// Add adds a hash, also one that is there, and returns the number by which Find knows it: the smallest that is free, from 0 on, if nothing
// was removed; else that of a hash which was removed may come again. The error is a [*NearFullError].
func (n *Near) Add(hash uint64) (id int, err error) {
	if n.count >= n.most {
		return 0, &NearFullError{n.most}
	}
	if n.count >= len(n.heads[0]) && len(n.heads[0]) < mostHeads {
		n.grow()
	}
	at := n.free
	if at != 0 {
		n.free = n.entry(at).next[0]
	} else {
		if n.made%nearChunk == 0 {
			n.chunks = append(n.chunks, new([nearChunk]nearEntry))
		}
		n.made++
		at = uint32(n.made)
	}
	n.count++
	e := n.entry(at)
	e.hash = hash
	for b := range bands {
		n.link(b, at, e)
	}
	return int(at) - 1, nil
}

// Remove takes out the hash that Add has given this number.
func (n *Near) Remove(id int) {
	at := uint32(id) + 1
	e := n.entry(at)
	for b := range bands {
		place := n.head(b, e.hash)
		for *place != at {
			place = &n.entry(*place).next[b]
		}
		*place = e.next[b]
	}
	e.next[0], n.free = n.free, at
	n.count--
}

// Hash returns the hash that Add has given this number.
func (n *Near) Hash(id int) uint64 { return n.entry(uint32(id) + 1).hash }

// Find iterates over the hashes whose distance to this one is at most [MaxDistance]: their numbers and distances, each once, in no
// order. The index must not be changed meanwhile.
func (n *Near) Find(hash uint64) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for b := range bands {
			for at := *n.head(b, hash); at != 0; {
				e := n.entry(at)
				x := e.hash ^ hash
				if d := Distance(e.hash, hash); d <= MaxDistance && firstEqual(x) == b && !yield(int(at)-1, d) {
					return
				}
				at = e.next[b]
			}
		}
	}
}

// firstEqual returns the first band in which two hashes whose difference is x are equal.
func firstEqual(x uint64) int {
	for b := range bands {
		if uint16(x>>(b*bandBits)) == 0 {
			return b
		}
	}
	return bands
}

func (n *Near) entry(at uint32) *nearEntry {
	return &n.chunks[(at-1)/nearChunk][(at-1)%nearChunk]
}

// head returns where the list begins that a hash belongs to.
func (n *Near) head(b int, hash uint64) *uint32 {
	heads := n.heads[b]
	return &heads[int(uint16(hash>>(b*bandBits)))&(len(heads)-1)]
}

func (n *Near) link(b int, at uint32, e *nearEntry) {
	head := n.head(b, e.hash)
	e.next[b], *head = *head, at
}

// grow makes the lists shorter.
func (n *Near) grow() {
	for b, old := range n.heads {
		n.heads[b] = make([]uint32, min(4*len(old), mostHeads))
		for _, at := range old {
			for at != 0 {
				e := n.entry(at)
				next := e.next[b]
				n.link(b, at, e)
				at = next
			}
		}
	}
}
