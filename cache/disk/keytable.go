package disk

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"math/rand/v2"

	"github.com/tegenaria/tegenaria"
)

// keyTable says where in a journal's data the newest entry of a key begins. It is a hash table with linear probing of
// these places alone: the keys are in the data. So a key takes 6 to 16 bytes, where a map would take 30 to 50.
type keyTable struct {
	places []uint32 // 1 + where an entry begins; 0: empty. A power of two of them
	used   int
	seed   [2]uint64 // keys are made of URLs, and those by strangers
}

// minPlaces is how many places the table of an empty journal has.
const minPlaces = 1 << 10

func newKeyTable() keyTable {
	return keyTable{places: make([]uint32, minPlaces), seed: [2]uint64{rand.Uint64(), rand.Uint64()}}
}

// keyAt is the key of the entry that begins there: it follows the byte that names its range.
func keyAt(data []byte, at uint32) *tegenaria.Key { return (*tegenaria.Key)(data[at+1:]) }

// place returns the index of a key's place, or of the empty one where it belongs.
func (t *keyTable) place(data []byte, key *tegenaria.Key) int {
	high, low := bits.Mul64(binary.LittleEndian.Uint64(key[:])^t.seed[0], binary.LittleEndian.Uint64(key[8:])^t.seed[1])
	mask := len(t.places) - 1
	for i := int(high^low) & mask; ; i = (i + 1) & mask {
		if at := t.places[i]; at == 0 || *keyAt(data, at-1) == *key {
			return i
		}
	}
}

// find returns where the newest entry of a key begins, if there is one.
func (t *keyTable) find(data []byte, key *tegenaria.Key) (at int, known bool) {
	place := t.places[t.place(data, key)]
	return int(place) - 1, place != 0
}

// set notes where the newest entry of a key begins; the key is there.
func (t *keyTable) set(data []byte, key *tegenaria.Key, at int) {
	if t.used >= len(t.places)/16*11 { // beyond that the runs get long
		old := t.places
		t.places = make([]uint32, 2*len(old))
		for _, at := range old {
			if at != 0 {
				t.places[t.place(data, keyAt(data, at-1))] = at
			}
		}
	}
	i := t.place(data, key)
	if t.places[i] == 0 {
		t.used++
	}
	t.places[i] = uint32(at) + 1
}

// all returns where the newest entry of each key begins, in no order.
func (t *keyTable) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for _, at := range t.places {
			if at != 0 && !yield(at-1) {
				return
			}
		}
	}
}

// clear forgets all keys. It keeps its memory: the next journal becomes as long.
func (t *keyTable) clear() {
	clear(t.places)
	t.used = 0
}
