package cache

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"unsafe"
)

// Seen is the exact set of the keys that were ever taken, with a [SeenState] for each, such as how deep a request lies that
// still waits. It takes 22 to 33 bytes a key, two thirds of what a Go map takes. Make one with [NewSeen]. It is not safe
// for concurrent use.
//
// It is a hash table with linear probing in many shards: one grows at a time, by half, so that
// neither time nor memory jumps.
type Seen struct {
	seed   [2]uint64 // keys are made of URLs, and those by strangers
	shards [256]seenShard
	looked int
}

type seenShard struct {
	entries []seenEntry
	used    int
}

type seenEntry struct {
	key   [16]byte
	state SeenState
}

// SeenState says where the request of a key is.
type SeenState uint16

// The states. Those from SeenAtRoot on are of requests that wait, each one deeper than the last; the largest stands for
// all depths that follow.
const (
	Unseen     SeenState = iota // the key is new
	SeenDone                    // in flight or settled
	SeenAtRoot                  // waits at depth 0
	seenDeep   = ^SeenState(0)
)

// WaitingAt returns the state of a request that waits at a depth.
func WaitingAt(depth int) SeenState {
	return SeenAtRoot + SeenState(min(max(depth, 0), int(seenDeep-SeenAtRoot)))
}

// Depth returns the smaller of the depth given and the one known.
func (s SeenState) Depth(depth int) int {
	if s < SeenAtRoot || s == seenDeep {
		return depth
	}
	return min(depth, int(s-SeenAtRoot))
}

// NewSeen returns an empty set.
func NewSeen() *Seen {
	return &Seen{seed: [2]uint64{rand.Uint64(), rand.Uint64()}}
}

// At returns the state of a key, which is [Unseen] for a new one: the caller sets it at once.
func (s *Seen) At(key *[16]byte) *SeenState {
	hash := s.hash(key)
	shard := &s.shards[hash>>56]
	// At most 13 of 16 entries are used: beyond that the runs get long.
	if shard.used >= len(shard.entries)/16*13 {
		s.grow(shard, int(hash>>56))
	}
	entry := shard.find(key, hash)
	if entry.state == Unseen {
		entry.key = *key
		shard.used++
	}
	return &entry.state
}

// Look loads the places of keys into the processor's cache, all at a time: one after the other, each would be waited for.
func (s *Seen) Look(keys [][16]byte) {
	found := 0
	for i := range keys {
		hash := s.hash(&keys[i])
		shard := &s.shards[hash>>56]
		if len(shard.entries) > 0 {
			found += int(shard.entries[shard.place(hash)].state)
		}
	}
	s.looked = found // or the compiler would drop it all
}

// Has reports whether a key was taken.
func (s *Seen) Has(key *[16]byte) bool {
	hash := s.hash(key)
	shard := &s.shards[hash>>56]
	return shard.used > 0 && shard.find(key, hash).state != Unseen
}

func (s *Seen) hash(key *[16]byte) uint64 {
	hi, lo := bits.Mul64(binary.LittleEndian.Uint64(key[:8])^s.seed[0], binary.LittleEndian.Uint64(key[8:])^s.seed[1])
	return hi ^ lo
}

// place returns where the entry of a key is looked for first.
func (s *seenShard) place(hash uint64) uint64 {
	i, _ := bits.Mul64(hash<<8, uint64(len(s.entries)))
	return i
}

// find returns the entry of a key, or the empty one that is its place.
func (s *seenShard) find(key *[16]byte, hash uint64) *seenEntry {
	i := s.place(hash)
	for {
		entry := &s.entries[i]
		if entry.state == Unseen || entry.key == *key {
			return entry
		}
		if i++; i == uint64(len(s.entries)) {
			i = 0
		}
	}
}

func (s *Seen) grow(shard *seenShard, number int) {
	// Shards begin with different sizes, so that they do not all grow at the same time.
	size := 16 + number/16
	if n := len(shard.entries); n > 0 {
		size = n + n/2
	}
	old := shard.entries
	shard.entries = make([]seenEntry, size)
	// A page of memory that is read first costs a second fault when it is written to.
	for i := 0; i < size; i += 4096 / int(unsafe.Sizeof(seenEntry{})) {
		shard.entries[i].state = Unseen
	}
	for i := range old {
		if old[i].state != Unseen {
			*shard.find(&old[i].key, s.hash(&old[i].key)) = old[i]
		}
	}
}
