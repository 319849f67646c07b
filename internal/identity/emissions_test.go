package identity_test

import (
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/internal/identity"
)

// Equal requests of one sender have numbers from 0 on, each once, whoever sends them at the same time.
func TestEmissions(t *testing.T) {
	var e identity.Emissions
	var mu sync.Mutex
	seen := make(map[uint64]int)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				n := e.Count(identity.Key{1})
				mu.Lock()
				seen[n]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for n := range uint64(800) {
		if seen[n] != 1 {
			t.Fatalf("number %d was given %d times", n, seen[n])
		}
	}
	if n := e.Count(identity.Key{2}); n != 0 {
		t.Errorf("another request has the number %d", n)
	}
}

// No key is taken for a known one, however small the Bloom filter, and none is forgotten.
func TestKnown(t *testing.T) {
	for _, bits := range []uint{0, 1, 1 << 16} {
		k := identity.Known{Bits: bits, Hashes: 3}
		for again := range 2 {
			for i := range 2_000 {
				if known := k.TestAndAdd(identity.Sum([]byte{byte(i), byte(i >> 8)})); known != (again == 1) {
					t.Fatalf("%d bits, key %d: known %v in round %d", bits, i, known, again)
				}
			}
		}
	}
}

// An ID is a random UUID, and knows its text.
func TestNewID(t *testing.T) {
	a, b := identity.NewID(), identity.NewID()
	if a == b {
		t.Error("two IDs are equal")
	}
	for range 100 {
		id := identity.NewID()
		if id.Version() != 4 || id.Variant() != uuid.RFC4122 || !identity.IsText(id, id.String()) || identity.IsText(a, id.String()) || identity.IsText(id, "") {
			t.Fatalf("%v: version %d, variant %v", id, id.Version(), id.Variant())
		}
	}
	var zero uuid.UUID
	if identity.IsText(zero, zero.String()) {
		t.Error("the zero UUID is the text of a Context that has none")
	}
}
