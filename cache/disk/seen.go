package disk

import (
	"encoding/binary"
	"math"

	"github.com/bits-and-blooms/bloom/v3"

	"github.com/tegenaria/tegenaria"
)

// recent is an exact table of keys that are known, of bounded size: it forgets. Keys are never taken back, so
// a key that is found is known for certain, whatever became of its request.
//
// Up to ownRecent it grows with the keys that are added. Beyond that it grows only if keys that it has forgotten are
// asked for: on many sites hardly any are, for what most pages link to comes again before it is forgotten.
type recent struct {
	keys   []tegenaria.Key // a power of two of them, in groups
	depths []uint16        // 1 + the smallest depth; 0: empty
	used   int
	missed int // keys that had to be looked up in the store, since it has grown
}

const (
	minRecent = 1 << 10
	ownRecent = 1 << 18 // 4.5 MiB
	maxRecent = 1 << 20 // 18 MiB
	group     = 4       // a cache line of keys; a key has the places of two groups
	deepest   = math.MaxUint16
)

func newRecent() *recent {
	return &recent{keys: make([]tegenaria.Key, minRecent), depths: make([]uint16, minRecent)}
}

func recentDepth(depth int) uint16 { return uint16(min(depth, deepest-1)) + 1 }

// groupOf returns where a key's group begins: the first one, or the second one, in which it is if there was no room in the
// first. Keys are as good as random.
func (r *recent) groupOf(key *tegenaria.Key, second bool) int {
	half := key[:8]
	if second {
		half = key[8:]
	}
	return int(binary.LittleEndian.Uint64(half)) & (len(r.keys) - group)
}

// find returns where a key is, or where the next one of its groups belongs, which begins there: a group with room, the
// first group if there is none.
func (r *recent) find(key *tegenaria.Key) (at int, found bool) {
	first := r.groupOf(key, false)
	for i := first; i < first+group; i++ {
		if r.depths[i] == 0 {
			return first, false
		}
		if r.keys[i] == *key {
			return i, true
		}
	}
	second := r.groupOf(key, true)
	for i := second; i < second+group; i++ {
		if r.depths[i] == 0 {
			return second, false
		}
		if r.keys[i] == *key {
			return i, true
		}
	}
	return first, false
}

// known reports whether the key is here at this depth or a smaller one: then there is nothing to do.
func (r *recent) known(key *tegenaria.Key, depth int) bool {
	at, found := r.find(key)
	return found && recentDepth(depth) >= r.depths[at]
}

// add notes a key and the smallest depth that is known of it.
func (r *recent) add(key *tegenaria.Key, depth int) {
	if len(r.keys) < ownRecent && r.full() {
		r.grow()
	}
	at, found := r.find(key)
	if found {
		r.depths[at] = min(r.depths[at], recentDepth(depth))
		return
	}
	// The youngest one comes first, the oldest one is forgotten.
	keys, depths := r.keys[at:at+group], r.depths[at:at+group]
	if depths[group-1] == 0 {
		r.used++
	}
	copy(keys[1:], keys)
	copy(depths[1:], depths)
	keys[0], depths[0] = *key, recentDepth(depth)
}

// miss notes a key that had to be looked up in the store, and was there.
func (r *recent) miss() {
	r.missed++
	if len(r.keys) < maxRecent && r.full() && r.missed > len(r.keys)/16 {
		r.grow()
	}
}

func (r *recent) full() bool { return r.used > len(r.keys)/4*3 }

func (r *recent) grow() {
	old := *r
	*r = recent{keys: make([]tegenaria.Key, 4*len(old.keys)), depths: make([]uint16, 4*len(old.keys))}
	for j := len(old.keys) - 1; j >= 0; j-- {
		if old.depths[j] != 0 {
			r.add(&old.keys[j], int(old.depths[j]-1))
		}
	}
}

// bloomFilter is a Bloom filter that grows: when a layer is full the next one, twice as large, begins. A key is in it if
// it is in one of the layers. Each is full at half the rate of the one before, so that the rates of all of them, however
// many, add up to less than twice that of the first.
type bloomFilter struct {
	bits, hashes uint // of the first layer
	layers       []*bloomLayer
}

type bloomLayer struct {
	filter *bloom.BloomFilter
	keys   uint64 // that were added
	full   uint64 // the number of keys at which the next layer begins
}

// The default size is that of tegenaria.NewRFPDupeFilter as the engine makes it.
const (
	defaultBloomBits   = 1 << 23
	defaultBloomHashes = 6
)

func newBloomFilter(bits, hashes uint) *bloomFilter {
	if bits == 0 {
		bits = defaultBloomBits
	}
	if hashes == 0 {
		hashes = defaultBloomHashes
	}
	return &bloomFilter{bits: bits, hashes: hashes}
}

// maxRate is the rate at which the first layer is full.
const maxRate = 0.002

// capacity is how many keys a filter holds until it has this rate.
func capacity(bits, hashes uint, rate float64) uint64 {
	m, k := float64(bits), float64(hashes)
	return max(1, uint64(-m/k*math.Log(1-math.Pow(rate, 1/k))))
}

// addLayer adds a filter for that many keys.
func (b *bloomFilter) addLayer(filter *bloom.BloomFilter, keys uint64) {
	rate := math.Ldexp(maxRate, -len(b.layers))
	b.layers = append(b.layers, &bloomLayer{filter, keys, capacity(filter.Cap(), filter.K(), rate)})
}

// rate is the chance that a layer calls a key known that it has not seen.
func (l *bloomLayer) rate() float64 {
	k, m := float64(l.filter.K()), float64(l.filter.Cap())
	return math.Pow(1-math.Exp(-k*float64(l.keys)/m), k)
}

// rate is the chance that the filter calls a key known that it has not seen.
func (b *bloomFilter) rate() float64 {
	no := 1.0
	for _, l := range b.layers {
		no *= 1 - l.rate()
	}
	return 1 - no
}

// may reports whether the key may be known. False is certain.
func (b *bloomFilter) may(key *tegenaria.Key) bool {
	for i := len(b.layers) - 1; i >= 0; i-- {
		if b.layers[i].filter.Test(key[:]) {
			return true
		}
	}
	return false
}

func (b *bloomFilter) add(key *tegenaria.Key) {
	if last := len(b.layers) - 1; last < 0 || b.layers[last].keys >= b.layers[last].full {
		b.addLayer(bloom.New(b.bits<<len(b.layers), b.hashes), 0)
	}
	last := b.layers[len(b.layers)-1]
	last.filter.Add(key[:])
	last.keys++
}
