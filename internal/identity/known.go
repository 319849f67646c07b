package identity

import (
	"sync"

	"github.com/bits-and-blooms/bloom/v3"
)

// Known is an exact set of keys with a Bloom filter in front of it. The filter alone would take some new keys for known ones; here
// it only answers "surely new" quickly, and the set has the last word. The zero value is an empty set. It may be used
// concurrently.
type Known struct {
	// Bits and Hashes size the Bloom filter; both are at least 1. They must not change after the first key. A filter that is
	// too small costs time, never a key.
	Bits, Hashes uint

	mu    sync.Mutex         // guards the fields below
	bloom *bloom.BloomFilter // made with the first key
	keys  map[Key]struct{}
}

// TestAndAdd adds a key, and reports whether it was there before.
func (k *Known) TestAndAdd(key Key) (known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bloom == nil {
		k.bloom, k.keys = bloom.New(k.Bits, k.Hashes), make(map[Key]struct{})
	}
	if k.bloom.TestAndAdd(key[:]) {
		if _, known = k.keys[key]; known {
			return true
		}
	}
	k.keys[key] = struct{}{}
	return false
}
