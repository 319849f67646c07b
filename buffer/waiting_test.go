package buffer_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria/buffer"
)

// Who waits must sleep. Fails when Put or Get asks again and again instead of waiting on a
// channel: goroutines that run keep synctest.Wait from ever returning.
func TestWaitingUsesNoProcessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full, empty := newPool[int](t, 1, 1), newPool[int](t, 1, 1)
		put(t, full, 0)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() { full.Put(background, 1) })
			wg.Go(func() { empty.Get(background) })
		}
		synctest.Wait()
		full.Close()
		empty.Close()
		wg.Wait()
	})
}

// Close must be heard by everybody who waits. Fails when a Put that was woken by Close returns nil
// though nothing was stored, when such a Get returns no error, or when one is not woken.
func TestCloseWakesEverybodyWithAnError(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			full, empty := newPool[int](t, 1, 1), newPool[int](t, 1, 1)
			put(t, full, 0)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if err := full.Put(background, 1); err != buffer.ErrClosedBufferPool {
						t.Errorf("Put: %v", err)
					}
				})
				wg.Go(func() {
					if _, err := empty.Get(background); err != buffer.ErrClosedBufferPool {
						t.Errorf("Get: %v", err)
					}
				})
			}
			full.Close()
			empty.Close()
			wg.Wait()
			if full.Total() != 1 || empty.Total() != 0 {
				t.Errorf("totals %d and %d, want 1 and 0", full.Total(), empty.Total())
			}
		})
	}
}

// The last buffer stays. Fails when the pool shrinks without looking at the number of buffers in
// the same locked step: with none left, every later Put and Get waits for ever.
func TestOneBufferAlwaysRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool[int](t, 1, 2)
		put(t, p, 1)
		put(t, p, 2)
		get(t, p, 1)
		get(t, p, 2)
		ctx, cancel := context.WithCancel(background)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() { p.Get(ctx) })
		}
		synctest.Wait()
		cancel()
		wg.Wait()
		if p.BufferNumber() != 1 {
			t.Fatalf("%d buffers, want 1", p.BufferNumber())
		}
		put(t, p, 3)
		get(t, p, 3)
	})
}

// A full pool holds up the writer itself. Fails when Put returns before its value is stored and
// leaves the waiting to a goroutine of its own.
func TestBackpressureWithoutGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool[int](t, 2, 2)
		before := runtime.NumGoroutine()
		done := 0
		go func() {
			for i := range 1000 {
				if p.Put(background, i) != nil {
					return
				}
				done++
			}
		}()
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; done != 4 || n != 1 {
			t.Errorf("%d puts returned with %d goroutines, want 4 with the writer alone", done, n)
		}
		p.Close()
	})
}

// What is in the pool when it is closed can be fetched, so that its owner can release it. Fails
// when Close throws the values away or Get refuses them.
func TestClosedPoolCanBeEmptied(t *testing.T) {
	p := newPool[int](t, 3, 3)
	for i := range 7 {
		put(t, p, i)
	}
	p.Close()
	for i := range 7 {
		get(t, p, i)
	}
	if _, err := p.Get(background); err != buffer.ErrClosedBufferPool {
		t.Errorf("Get: %v", err)
	}
}
