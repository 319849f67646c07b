package cache_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/cache"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// store is what a cache has in its room, and counts for itself.
type store struct {
	room  *cache.Room
	bytes map[string]int64
	known map[[16]byte]bool
}

func newStore(limit int64) *store {
	s := &store{bytes: make(map[string]int64), known: make(map[[16]byte]bool)}
	s.room = cache.NewRoom(limit, s.all, func(slot string) int64 { return s.bytes[slot] })
	return s
}

func (s *store) all() (sum int64) {
	for _, n := range s.bytes {
		sum += n
	}
	return sum
}

// add wants room for entries of 100 bytes, stores those that get it, and returns the places of the others.
func (s *store) add(wants ...cache.Want) (refused []int, fits bool) {
	cost := int64(0)
	for _, w := range wants {
		cost += w.Cost
	}
	if fits, _ = s.room.Fits(cost); !fits {
		fits = s.room.Admit(len(wants), func(i int) cache.Want { return wants[i] },
			func(key *[16]byte) bool { return s.known[*key] }, func(i int) { refused = append(refused, i) })
	}
	if !fits {
		return refused, false
	}
	for i, w := range wants {
		if !slices.Contains(refused, i) && !s.known[w.Key] {
			s.known[w.Key] = true
			s.bytes[w.Slot] += w.Cost
		}
	}
	return refused, true
}

func want(n int, slot string) cache.Want {
	return cache.Want{Key: [16]byte{byte(n), byte(n >> 8)}, Slot: slot, Cost: 100}
}

// A slot that holds more than half of a room that is 7/8 full gets nothing more while another has work, and everything once it
// is alone; what is known already costs nothing. It fails if Notice does not remember the other slot.
func TestRoomIsShared(t *testing.T) {
	s := newStore(10_000)
	n := 0
	next := func(slot string) cache.Want { n++; return want(n, slot) }
	for range 87 {
		if refused, fits := s.add(next("large")); len(refused) > 0 || !fits {
			t.Fatalf("refused at %d bytes", s.all())
		}
	}
	if refused, fits := s.add(next("small"), next("large")); !slices.Equal(refused, []int{1}) || !fits {
		t.Fatalf("refused %v, want the large slot alone", refused)
	}
	s.room.Notice("small")
	if refused, fits := s.add(next("large"), want(1, "large")); !slices.Equal(refused, []int{0}) || !fits {
		t.Fatalf("refused %v, want what is new of the large slot", refused)
	}
	s.bytes["small"] = 0 // its work is in flight
	if refused, _ := s.add(next("large")); len(refused) != 1 {
		t.Fatal("the large slot got in beside one whose work is in flight")
	}

	alone := newStore(10_000)
	for i := range 100 {
		if refused, fits := alone.add(want(i, "large")); len(refused) > 0 || !fits {
			t.Fatalf("refused at %d bytes although it is alone", alone.all())
		}
	}
	if _, fits := alone.add(want(100, "large")); fits {
		t.Error("there is room for more than the limit")
	}
	if _, fits := alone.add(want(5, "large")); !fits {
		t.Error("what is known needs room")
	}
}

// Whatever is put aside and taken again, all that the room counts is the sum of the shares, and nothing is left in the end. It
// fails if an entry that holds nothing any more is kept.
func TestRoomAside(t *testing.T) {
	seed := deep.Seed()
	r := rand.New(rand.NewPCG(seed, 0))
	s := newStore(0)
	aside := map[string]int64{}
	slots := []string{"a", "b.example", "c"}
	for range 2_000 {
		slot := slots[r.IntN(len(slots))]
		bytes := int64(r.IntN(50) + 1)
		if r.IntN(2) == 0 {
			bytes = -min(bytes, aside[slot])
		}
		if bytes == 0 {
			continue
		}
		aside[slot] += bytes
		s.room.PutAside(slot, bytes)
		sum := int64(0)
		for _, slot := range slots {
			sum += s.room.Share(slot)
		}
		if sum != s.room.Bytes() {
			t.Fatalf("seed %d: the shares are %d bytes, all together %d", seed, sum, s.room.Bytes())
		}
	}
	for slot, bytes := range aside {
		if bytes > 0 {
			s.room.PutAside(slot, -bytes)
		}
	}
	if s.room.Bytes() != 0 {
		t.Errorf("seed %d: %d bytes are left", seed, s.room.Bytes())
	}
}
