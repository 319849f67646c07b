package tegenaria

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"unsafe"
)

// seenSet is the exact set of keys that a memory cache has accepted, and tells how deep those lie that
// still wait. It takes 22 to 33 bytes a key, two thirds of what a Go map takes. It is not safe for
// concurrent use.
//
// It is a hash table with linear probing in many shards: one grows at a time, by half, so that
// neither time nor memory jumps.
type seenSet struct {
	seed   [2]uint64 // keys are made of URLs, and those by strangers
	shards [256]seenShard
	looked int
}

type seenShard struct {
	entries []seenEntry
	used    int
}

type seenEntry struct {
	key   Key
	state seenState
}

// seenState tells where the request of a key is.
type seenState uint16

const (
	unseen     seenState = iota // the entry is empty
	seenDone                    // in flight or settled
	seenAtRoot                  // waits at depth 0; and up: one deeper each, the last stands for all that follow
	seenDeep   = ^seenState(0)
)

// waitingAt returns the state of a request that waits at a depth.
func waitingAt(depth int) seenState {
	return seenAtRoot + seenState(min(max(depth, 0), int(seenDeep-seenAtRoot)))
}

// depth returns the smaller of the depth given and the one known.
func (s seenState) depth(depth int) int {
	if s < seenAtRoot || s == seenDeep {
		return depth
	}
	return min(depth, int(s-seenAtRoot))
}

func newSeenSet() *seenSet {
	return &seenSet{seed: [2]uint64{rand.Uint64(), rand.Uint64()}}
}

// at returns the state of a key, which is unseen for a new one: the caller sets it at once.
func (s *seenSet) at(key *Key) *seenState {
	hash := s.hash(key)
	shard := &s.shards[hash>>56]
	// At most 13 of 16 entries are used: beyond that the runs get long.
	if shard.used >= len(shard.entries)/16*13 {
		s.grow(shard, int(hash>>56))
	}
	entry := shard.find(key, hash)
	if entry.state == unseen {
		entry.key = *key
		shard.used++
	}
	return &entry.state
}

// look loads the places of the records' keys into the processor's cache, all at a time: one after the other, each
// would be waited for.
func (s *seenSet) look(records []Record) {
	found := 0
	for i := range records {
		hash := s.hash(&records[i].Key)
		shard := &s.shards[hash>>56]
		if len(shard.entries) > 0 {
			found += int(shard.entries[shard.place(hash)].state)
		}
	}
	s.looked = found // or the compiler would drop it all
}

// has tells whether a key was seen.
func (s *seenSet) has(key *Key) bool {
	hash := s.hash(key)
	shard := &s.shards[hash>>56]
	return shard.used > 0 && shard.find(key, hash).state != unseen
}

func (s *seenSet) hash(key *Key) uint64 {
	hi, lo := bits.Mul64(binary.LittleEndian.Uint64(key[:8])^s.seed[0], binary.LittleEndian.Uint64(key[8:])^s.seed[1])
	return hi ^ lo
}

// place returns where the entry of a key is looked for first.
func (s *seenShard) place(hash uint64) uint64 {
	i, _ := bits.Mul64(hash<<8, uint64(len(s.entries)))
	return i
}

// find returns the entry of a key, or the empty one that is its place.
func (s *seenShard) find(key *Key, hash uint64) *seenEntry {
	i := s.place(hash)
	for {
		entry := &s.entries[i]
		if entry.state == unseen || entry.key == *key {
			return entry
		}
		if i++; i == uint64(len(s.entries)) {
			i = 0
		}
	}
}

func (s *seenSet) grow(shard *seenShard, number int) {
	// Shards begin with different sizes, so that they do not all grow at the same time.
	size := 16 + number/16
	if n := len(shard.entries); n > 0 {
		size = n + n/2
	}
	old := shard.entries
	shard.entries = make([]seenEntry, size)
	// A page of memory that is read first costs a second fault when it is written to.
	for i := 0; i < size; i += 4096 / int(unsafe.Sizeof(seenEntry{})) {
		shard.entries[i].state = unseen
	}
	for i := range old {
		if old[i].state != unseen {
			*shard.find(&old[i].key, s.hash(&old[i].key)) = old[i]
		}
	}
}
