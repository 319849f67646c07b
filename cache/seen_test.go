package cache_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/tegenaria/tegenaria/cache"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// The set against a map, with keys that differ little too.
func TestSeen(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	set, want := cache.NewSeen(), make(map[[16]byte]cache.SeenState)
	for i := range 200_000 {
		var key [16]byte
		switch i % 3 {
		case 0:
			binary.BigEndian.PutUint64(key[:], uint64(rng.IntN(50_000)))
		case 1:
			binary.LittleEndian.PutUint64(key[8:], uint64(rng.IntN(50_000)))
		default:
			binary.LittleEndian.PutUint64(key[:], rng.Uint64())
			binary.LittleEndian.PutUint64(key[8:], rng.Uint64())
		}
		if got := set.Has(&key); got != (want[key] != cache.Unseen) {
			t.Fatalf("has %x: %v", key, got)
		}
		state := set.At(&key)
		if *state != want[key] {
			t.Fatalf("state of %x: %d, want %d", key, *state, want[key])
		}
		*state = cache.SeenState(1 + rng.IntN(1000))
		want[key] = *state
	}
	for key, state := range want {
		if !set.Has(&key) || *set.At(&key) != state {
			t.Fatalf("%x was lost", key)
		}
	}
}
