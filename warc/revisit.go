package warc

import (
	"hash"
	"sync"
	"time"
)

// revisits knows the bodies that were written, by their digests, so that the same one is written once. What it takes is bounded: it has
// two generations; the older one is forgotten when the younger one is full.
type revisits struct {
	mu       sync.Mutex // guards the fields below
	bound    int        // bytes of a generation; below 0: nothing is known
	size     int        // of the younger one
	new, old map[payloadKey]original
}

// payloadKey is the beginning of a body's digest.
type payloadKey [16]byte

func payloadKeyOf(sum hash.Hash) (k payloadKey) {
	copy(k[:], sum.Sum(nil))
	return k
}

// original is the record that has a body.
type original struct {
	id, url string
	date    time.Time
}

// perOriginal is about what an entry takes beside its texts.
const perOriginal = 180

func (r *revisits) reset(bound int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bound, r.size = bound>>1, 0 // -1 stays below 0
	r.new, r.old = make(map[payloadKey]original), nil
}

// find returns the record that has a body.
func (r *revisits) find(k payloadKey) (original, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o, ok := r.new[k]
	if !ok {
		o, ok = r.old[k]
	}
	return o, ok
}

// add notes a body that was written.
func (r *revisits) add(k payloadKey, o original) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.new[k]; known || r.bound < 0 {
		return
	}
	if r.size += perOriginal + len(o.id) + len(o.url); r.size > r.bound {
		r.old, r.new, r.size = r.new, make(map[payloadKey]original), 0
	}
	r.new[k] = o
}
