package buffer

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// The store of a pool never keeps more than one chunk above its buffers, holds values in order and
// clears what was taken.
func TestFifoKeepsItsBounds(t *testing.T) {
	seed := deep.Seed()
	r := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		size, limit := 1+r.IntN(5), 1+r.IntN(6)
		var f fifo[int]
		f.init(size)
		buffers, next, want := 1, 1, 1
		for range 400 {
			switch {
			case r.IntN(2) == 0 && f.n < size*limit:
				buffers = max(buffers, (f.n+size)/size)
				f.push(next)
				next++
			case f.n > 0:
				if v := f.pop(); v != want {
					t.Fatalf("seed %d: pop = %d, want %d", seed, v, want)
				}
				want++
			case f.n == 0 && buffers > 1:
				buffers--
				f.trim(buffers)
			}
			if f.chunks > buffers+1 {
				t.Fatalf("seed %d: %d chunks for %d buffers", seed, f.chunks, buffers)
			}
			reachable, held := 0, 0
			for _, c := range []*chunk[int]{f.head, f.spare} {
				for ; c != nil; c = c.next {
					reachable++
					for _, v := range c.values {
						if v != 0 {
							held++
						}
					}
				}
			}
			if reachable != f.chunks || held != f.n {
				t.Fatalf("seed %d: %d chunks, counted %d; %d values, counted %d", seed, reachable, f.chunks, held, f.n)
			}
		}
	}
}

// When a pool has shrunk, its memory has too.
func TestPoolGivesMemoryBack(t *testing.T) {
	p, err := NewPool[int](2, 5)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for i := range 10 {
		p.Put(ctx, i)
	}
	for range 10 {
		p.Get(ctx)
	}
	if p.values.chunks < 5 {
		t.Fatalf("%d chunks after a burst into 5 buffers", p.values.chunks)
	}
	for range 4 * emptyRounds {
		p.mu.Lock()
		p.countEmptyRound()
		p.mu.Unlock()
	}
	if p.number != 1 || p.values.chunks > 2 {
		t.Errorf("%d buffers in %d chunks, want 1 in at most 2", p.number, p.values.chunks)
	}
}
