package fetch

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// grower calls grow in a goroutine of a synctest bubble and reports whether it waits.
type grower struct {
	done chan error
}

func startGrow(ctx context.Context, b *Budget, h *Hold, n int64) *grower {
	g := &grower{make(chan error, 1)}
	go func() { g.done <- b.Grow(ctx, h, n) }()
	synctest.Wait()
	return g
}

func (g *grower) waits() bool { return len(g.done) == 0 }

func TestBodyBudget(t *testing.T) {
	const bound = 100
	bubble := func(name string, f func(t *testing.T, b *Budget)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, NewBudget(bound, nil)) })
		})
	}
	must := func(t *testing.T, g *grower, waits bool) {
		t.Helper()
		synctest.Wait()
		if g.waits() != waits {
			t.Fatalf("waits: %v, want %v", !waits, waits)
		}
	}
	bubble("fits", func(t *testing.T, b *Budget) {
		var h1, h2 Hold
		must(t, startGrow(t.Context(), b, &h1, 60), false)
		must(t, startGrow(t.Context(), b, &h2, 40), false)
		b.Shrink(&h1, 10)
		must(t, startGrow(t.Context(), b, &h2, 10), false)
		b.Release(&h1)
		b.Release(&h1)
		b.Release(&h2)
		if b.used != 0 || h1.bytes != 0 || b.over != nil {
			t.Errorf("%d bytes are used", b.used)
		}
	})
	bubble("one goes over", func(t *testing.T, b *Budget) {
		var full, h1, h2 Hold
		must(t, startGrow(t.Context(), b, &full, bound), false)
		must(t, startGrow(t.Context(), b, &h1, 1000), false)
		must(t, startGrow(t.Context(), b, &h1, 1000), false)
		waits := startGrow(t.Context(), b, &h2, 1)
		must(t, waits, true)
		must(t, startGrow(t.Context(), b, &h1, 1000), false)
		b.Release(&full)
		must(t, waits, true)
		b.Release(&h1)
		must(t, waits, false)
	})
	bubble("a hold moves", func(t *testing.T, b *Budget) {
		var nothing, h1, h2, stored, next Hold
		b.Move(&nothing, &stored)
		must(t, startGrow(t.Context(), b, &h1, 60), false)
		must(t, startGrow(t.Context(), b, &h2, 1000), false) // over the bound
		b.Move(&h1, &stored)
		b.Move(&h2, &stored)
		b.Release(&h1)
		b.Release(&h2)
		if b.used != 1060 || stored.bytes != 1060 {
			t.Errorf("%d bytes are used, %d of them moved", b.used, stored.bytes)
		}
		waits := startGrow(t.Context(), b, &next, 1000)
		must(t, waits, true)
		b.Release(&stored)
		must(t, waits, false)
		b.Release(&next)
		if b.used != 0 || b.over != nil {
			t.Errorf("%d bytes are used", b.used)
		}
	})
	bubble("oldest first", func(t *testing.T, b *Budget) {
		var full, over, big, small Hold
		must(t, startGrow(t.Context(), b, &full, bound), false)
		must(t, startGrow(t.Context(), b, &over, 1), false)
		first := startGrow(t.Context(), b, &big, 90)
		second := startGrow(t.Context(), b, &small, 10)
		b.Shrink(&full, 20)
		must(t, first, true)
		must(t, second, true) // it would fit, but must not overtake
		b.Release(&full)
		must(t, first, false)
		must(t, second, true)
		b.Release(&over)
		must(t, second, false)
	})
	bubble("wanted slots", func(t *testing.T, b *Budget) {
		over, h1, h2, h3 := Hold{}, Hold{Places: "a"}, Hold{Places: "b"}, Hold{Places: "b"}
		must(t, startGrow(t.Context(), b, &over, bound+1), false)
		first := startGrow(t.Context(), b, &h1, 10)
		second := startGrow(t.Context(), b, &h2, 10)
		must(t, first, true)
		must(t, second, true)
		stop := b.Want(&Hold{Places: "b"})
		must(t, first, true)
		must(t, second, false)
		must(t, startGrow(t.Context(), b, &h3, 10), false)
		stop()
		more := startGrow(t.Context(), b, &h3, 10)
		must(t, more, true)
		b.Add(&h1, 1000) // what an inline request of it reads
		b.Release(&over)
		must(t, first, false)
		must(t, more, true)
		b.Release(&h1)
		must(t, more, false)
		b.Release(&h2)
		b.Release(&h3)
		if b.used != 0 || len(b.wanted) != 0 {
			t.Errorf("%d bytes are used, %v is wanted", b.used, b.wanted)
		}
	})
	bubble("the one that is over overtakes", func(t *testing.T, b *Budget) {
		var full, h1, h2 Hold
		must(t, startGrow(t.Context(), b, &full, bound+1), false)
		first := startGrow(t.Context(), b, &h1, 10)
		other := startGrow(t.Context(), b, &h2, 10)
		again := startGrow(t.Context(), b, &h1, 10)
		must(t, again, true)
		b.Add(&full, 1000) // it stays full when the one that is over is gone
		b.Release(&full)
		must(t, first, false)
		must(t, other, false)
		must(t, again, false)
	})
	bubble("cancelled", func(t *testing.T, b *Budget) {
		var over, h1, h2 Hold
		must(t, startGrow(t.Context(), b, &over, bound-5), false)
		must(t, startGrow(t.Context(), b, &over, 6), false)
		b.Shrink(&over, 6)
		stopped := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		first := startGrow(ctx, b, &h1, 10)
		second := startGrow(t.Context(), b, &h2, 5)
		must(t, first, true)
		must(t, second, true)
		cancel(stopped)
		synctest.Wait()
		if err := <-first.done; !errors.Is(err, stopped) || h1.bytes != 0 {
			t.Errorf("cancelled: %v, holds %d", err, h1.bytes)
		}
		must(t, second, false)
	})
	var none *Budget
	var h Hold
	if none.Grow(t.Context(), &h, 1<<60) != nil || NewBudget(1, nil).Grow(t.Context(), nil, 1<<60) != nil {
		t.Error("no budget, or no hold, is a bound")
	}
	none.Shrink(&h, 1)
	none.Release(&h)
	none.Add(&h, 1)
	none.Want(&Hold{Places: "a"})()
}

func pause(d time.Duration) { <-time.After(d) }

// Whatever readers do, all of them come to their end, and the sum exceeds the budget by one body at most.
func TestBodyBudgetRandom(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	const budget, body = 1000, 400
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(budget, nil)
		var wg sync.WaitGroup
		for i := range 64 {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			wg.Go(func() {
				for range 50 {
					var h Hold
					left := int64(1 + rng.IntN(body))
					for left > 0 {
						n := 1 + rng.Int64N(left)
						if err := b.Grow(t.Context(), &h, n); err != nil {
							t.Error(err)
						}
						left -= n
						b.mu.Lock()
						if b.used > budget+body {
							t.Errorf("%d bytes are held", b.used)
						}
						b.mu.Unlock()
						pause(time.Duration(rng.IntN(10)) * time.Millisecond)
					}
					b.Release(&h)
				}
			})
		}
		wg.Wait()
		if b.used != 0 || len(b.waiting) != 0 || b.over != nil {
			t.Errorf("%d bytes, %d readers are left", b.used, len(b.waiting))
		}
	})
}
