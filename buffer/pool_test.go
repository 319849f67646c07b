package buffer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/tegenaria/tegenaria/buffer"
	"github.com/tegenaria/tegenaria/internal/deep"
)

var background = context.Background()

func newPool[T any](t testing.TB, bufferCap, maxBufferNumber int) *buffer.Pool[T] {
	t.Helper()
	p, err := buffer.NewPool[T](bufferCap, maxBufferNumber)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func put[T any](t testing.TB, p *buffer.Pool[T], v T) {
	t.Helper()
	if err := p.Put(background, v); err != nil {
		t.Fatalf("Put(%v): %v", v, err)
	}
}

func get[T comparable](t testing.TB, p *buffer.Pool[T], want T) {
	t.Helper()
	if v, err := p.Get(background); v != want || err != nil {
		t.Fatalf("Get = %v, %v; want %v", v, err, want)
	}
}

func TestNewPool(t *testing.T) {
	tests := []struct {
		name           string
		bufferCap, max int
		bad            string // parameter
	}{
		{"smallest", 1, 1, ""},
		{"usual", 50, 1000, ""},
		{"many buffers", 1, math.MaxInt, ""},
		{"no capacity", 0, 1, "bufferCap"},
		{"negative capacity", -1, 1, "bufferCap"},
		{"no buffers", 1, 0, "maxBufferNumber"},
		{"negative number", 1, -7, "maxBufferNumber"},
		{"overflow", 2, math.MaxInt/2 + 1, "maxBufferNumber"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := buffer.NewPool[int](tt.bufferCap, tt.max)
			if tt.bad != "" {
				var illegal *buffer.IllegalParameterError
				if !errors.As(err, &illegal) || illegal.Name != tt.bad || p != nil {
					t.Fatalf("error %v, want an IllegalParameterError of %s", err, tt.bad)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if p.BufferCap() != tt.bufferCap || p.MaxBufferNumber() != tt.max || p.BufferNumber() != 1 || p.Total() != 0 || p.Closed() {
				t.Errorf("new pool: cap %d, max %d, number %d, total %d, closed %t", p.BufferCap(), p.MaxBufferNumber(),
					p.BufferNumber(), p.Total(), p.Closed())
			}
		})
	}
}

// The pool grows by a buffer exactly when one is needed, holds exactly what it promises, and gives
// it back in order. It fails if a full pool does not hold up the writer itself, or if what waits asks
// again and again instead of sleeping: goroutines that run keep synctest.Wait from ever returning.
func TestPoolGrowth(t *testing.T) {
	for _, size := range []struct{ bufferCap, max int }{{1, 1}, {1, 6}, {4, 1}, {3, 4}, {10, 20}} {
		t.Run(fmt.Sprintf("%dx%d", size.bufferCap, size.max), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool[int](t, size.bufferCap, size.max)
				total := size.bufferCap * size.max
				for n := 1; n <= total; n++ {
					put(t, p, n)
					if want := (n + size.bufferCap - 1) / size.bufferCap; p.BufferNumber() != want || p.Total() != n {
						t.Fatalf("after %d puts: %d buffers, total %d; want %d buffers", n, p.BufferNumber(), p.Total(), want)
					}
				}
				stored := false
				go func() {
					put(t, p, total+1)
					stored = true
				}()
				synctest.Wait()
				if stored || p.Total() != total || p.BufferNumber() != size.max {
					t.Fatalf("put beyond the end: stored %t, total %d, buffers %d", stored, p.Total(), p.BufferNumber())
				}
				get(t, p, 1)
				synctest.Wait()
				if !stored || p.Total() != total {
					t.Fatalf("after a get the waiting put must be stored: %t, total %d", stored, p.Total())
				}
				for n := 2; n <= total+1; n++ {
					get(t, p, n)
				}
				if p.Total() != 0 {
					t.Fatalf("total %d after everything was taken", p.Total())
				}
				taken := 0
				go func() { taken, _ = p.Get(background) }()
				synctest.Wait()
				if taken != 0 {
					t.Fatalf("Get from an empty pool returned %d", taken)
				}
				put(t, p, 77)
				synctest.Wait()
				if taken != 77 {
					t.Fatalf("the waiting Get has %d, want 77", taken)
				}
			})
		})
	}
}

// A pool that is part empty is filled to the last place, wherever in a buffer its values begin.
func TestPoolRoomIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool[int](t, 4, 3)
		next, want := 0, 0
		for p.Total() < 12 {
			put(t, p, next)
			next++
		}
		for taken := range 13 {
			for range taken {
				get(t, p, want)
				want++
			}
			for range taken { // a Put that waits is a deadlock, which fails the test
				put(t, p, next)
				next++
			}
			if p.Total() != 12 || p.BufferNumber() != 3 {
				t.Fatalf("total %d in %d buffers", p.Total(), p.BufferNumber())
			}
		}
	})
}

// emptyGets lets n Gets at once find the pool empty.
func emptyGets(t *testing.T, p *buffer.Pool[int], n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(background, time.Second)
	defer cancel()
	var gets sync.WaitGroup
	for range n {
		gets.Go(func() {
			if _, err := p.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Get: %v, want it to wait", err)
			}
		})
	}
	gets.Wait()
}

// The last buffer stays. It fails if the pool shrinks without looking at the number of buffers in the
// same locked step: with none left, every later Put and Get waits for ever.
func TestPoolShrinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool[int](t, 2, 4)
		fill := func(n int) {
			for range n {
				put(t, p, 1)
			}
			for range n {
				get(t, p, 1)
			}
		}
		fill(8)
		for want := 4; want > 1; want-- {
			emptyGets(t, p, 9)
			if p.BufferNumber() != want {
				t.Fatalf("%d buffers after 9 empty rounds, want %d", p.BufferNumber(), want)
			}
			emptyGets(t, p, 1)
			if p.BufferNumber() != want-1 {
				t.Fatalf("%d buffers after 10 empty rounds, want %d", p.BufferNumber(), want-1)
			}
		}
		fill(8)
		emptyGets(t, p, 100)
		if p.BufferNumber() != 1 {
			t.Fatalf("%d buffers, want the last one to stay", p.BufferNumber())
		}
		fill(5)
		if p.BufferNumber() != 3 {
			t.Fatalf("%d buffers after a new burst, want 3", p.BufferNumber())
		}
		// What fits into the other buffers does not keep the last one; what needs it does.
		emptyGets(t, p, 9)
		fill(4)
		emptyGets(t, p, 1)
		if p.BufferNumber() != 2 {
			t.Fatalf("%d buffers, want the one that was not needed to be gone", p.BufferNumber())
		}
		emptyGets(t, p, 9)
		fill(3)
		emptyGets(t, p, 9)
		if p.BufferNumber() != 2 {
			t.Fatalf("%d buffers, want the one that was needed to stay", p.BufferNumber())
		}
	})
}

// A wait ends with the cause of its context, and those that go on waiting are served in the order they came.
func TestPoolContext(t *testing.T) {
	why := errors.New("why")
	synctest.Test(t, func(t *testing.T) {
		p := newPool[int](t, 1, 1)
		done, cancel := context.WithCancelCause(background)
		cancel(why)
		if err := p.Put(done, 1); err != why || p.Total() != 0 {
			t.Errorf("Put with a done context: %v, total %d", err, p.Total())
		}
		put(t, p, 1)
		if v, err := p.Get(done); err != why || v != 0 || p.Total() != 1 {
			t.Errorf("Get with a done context: %d, %v, total %d", v, err, p.Total())
		}

		// While they wait: three putters, of which the middle one gives up.
		ctx, cancel := context.WithCancelCause(background)
		var errs [3]error
		for i := range errs {
			c := background
			if i == 1 {
				c = ctx
			}
			go func() { errs[i] = p.Put(c, 10+i) }()
			synctest.Wait()
		}
		cancel(why)
		synctest.Wait()
		if errs[1] != why {
			t.Errorf("waiting Put: %v, want its cause", errs[1])
		}
		for _, want := range []int{1, 10, 12} {
			get(t, p, want)
		}

		// And three getters.
		ctx, cancel = context.WithCancelCause(background)
		var got [3]int
		for i := range got {
			c := background
			if i == 1 {
				c = ctx
			}
			go func() { got[i], errs[i] = p.Get(c) }()
			synctest.Wait()
		}
		cancel(why)
		synctest.Wait()
		if errs[1] != why || got[1] != 0 {
			t.Errorf("waiting Get: %d, %v; want its cause", got[1], errs[1])
		}
		put(t, p, 21)
		put(t, p, 22)
		synctest.Wait()
		if got != [3]int{21, 0, 22} {
			t.Errorf("getters have %v, want 21 and 22 for those that stayed, in order", got)
		}
	})
}

// Close wakes everybody who waits, and what is in the pool then can be fetched, so that its owner can
// release it. It fails if a Put that was woken returns nil though nothing was stored, or such a Get no error.
func TestPoolClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool[int](t, 2, 2)
		for i := range 4 {
			put(t, p, i)
		}
		empty := newPool[int](t, 1, 1)
		var putErrs, getErrs [3]error
		for i := range putErrs {
			go func() { putErrs[i] = p.Put(background, 99) }()
			go func() { _, getErrs[i] = empty.Get(background) }()
		}
		synctest.Wait()
		empty.Close()
		if !p.Close() || p.Close() || !p.Closed() {
			t.Fatal("Close must be true once, and Closed then")
		}
		synctest.Wait()
		for _, err := range slices.Concat(putErrs[:], getErrs[:], []error{p.Put(background, 99)}) {
			if err != buffer.ErrClosedBufferPool {
				t.Errorf("Put or Get: %v", err)
			}
		}
		for i := range 4 {
			get(t, p, i)
		}
		if v, err := p.Get(background); v != 0 || err != buffer.ErrClosedBufferPool {
			t.Errorf("Get when drained = %d, %v", v, err)
		}
		if p.Total() != 0 || p.BufferNumber() < 1 {
			t.Errorf("total %d, buffers %d", p.Total(), p.BufferNumber())
		}
		// Closed comes before cancelled: it is the answer that is still true tomorrow.
		ctx, cancel := context.WithCancel(background)
		cancel()
		if err := p.Put(ctx, 1); err != buffer.ErrClosedBufferPool {
			t.Errorf("Put, closed and cancelled: %v", err)
		}
		if _, err := p.Get(ctx); err != buffer.ErrClosedBufferPool {
			t.Errorf("Get, closed and cancelled: %v", err)
		}
	})
}

// A pool keeps nothing alive that was taken from it.
func TestPoolForgets(t *testing.T) {
	p := newPool[*[64]byte](t, 2, 2)
	pools := []*buffer.Pool[*[64]byte]{p}
	var refs []weak.Pointer[[64]byte]
	for range 4 {
		v := new([64]byte)
		refs = append(refs, weak.Make(v))
		put(t, p, v)
	}
	for range 4 {
		p.Get(background)
	}
	// One that passes from a writer to a reader that waits.
	synctest.Test(t, func(t *testing.T) {
		p := newPool[*[64]byte](t, 2, 2)
		go p.Get(background)
		synctest.Wait()
		v := new([64]byte)
		refs = append(refs, weak.Make(v))
		put(t, p, v)
		synctest.Wait()
		pools = append(pools, p)
	})
	runtime.GC()
	for i, ref := range refs {
		if ref.Value() != nil {
			t.Errorf("value %d is still alive", i)
		}
	}
	runtime.KeepAlive(pools)
}

// Cancelled and served at the same moment, a wait ends one way or the other: a Get has the value or
// leaves it in the pool, a Put has stored its value or kept it.
func TestPoolCancelledWhileServed(t *testing.T) {
	served := 0
	for range 500 {
		synctest.Test(t, func(t *testing.T) {
			p := newPool[int](t, 1, 1)
			ctx, cancel := context.WithCancel(background)
			var err error
			go func() { _, err = p.Get(ctx) }()
			synctest.Wait()
			cancel() // wakes it, and it has to hurry to be off the list before the Put
			put(t, p, 1)
			synctest.Wait()
			if stayed := p.Total() == 1; stayed != (err != nil) {
				t.Fatalf("Get: error %v, and the value is still there: %t", err, stayed)
			}
			if err == nil {
				served++
				put(t, p, 1)
			}

			ctx, cancel = context.WithCancel(background)
			go func() { err = p.Put(ctx, 2) }()
			synctest.Wait()
			cancel()
			get(t, p, 1)
			synctest.Wait()
			if stored := p.Total() == 1; stored != (err == nil) {
				t.Fatalf("Put: error %v, and the value is there: %t", err, stored)
			}
		})
	}
	t.Logf("%d of 500 were served", served)
}

// nap waits for d of the bubble's time.
func nap(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// Many writers and readers with delays, deadlines and a Close in between: what Put took comes out
// exactly once, what it refused never, each writer's values in order; a wake-up that is lost is a
// deadlock, which synctest reports.
func TestPoolRandom(t *testing.T) {
	seed := deep.Seed()
	for run := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, run))
		bufferCap, maxNumber := 1+r.IntN(4), 1+r.IntN(4)
		putters, getters := 1+r.IntN(6), 1+r.IntN(6)
		closeAfter := time.Duration(r.IntN(400)) * time.Millisecond
		type value struct{ putter, n int }
		t.Run("", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool[value](t, bufferCap, maxNumber)
				// step waits a little and returns the context for the next operation.
				step := func(r *rand.Rand) (context.Context, context.CancelFunc) {
					if r.IntN(2) == 0 {
						nap(time.Duration(r.IntN(5)) * time.Millisecond)
					}
					if r.IntN(3) > 0 {
						return background, func() {}
					}
					return context.WithTimeout(background, time.Duration(r.IntN(8))*time.Millisecond)
				}
				accepted := make([]map[int]bool, putters)
				taken := make([][]value, getters)
				var wg sync.WaitGroup
				for i := range putters {
					accepted[i] = make(map[int]bool)
					r := rand.New(rand.NewPCG(r.Uint64(), 1))
					wg.Go(func() {
						for n := range 60 {
							ctx, cancel := step(r)
							if err := p.Put(ctx, value{i, n}); err == nil {
								accepted[i][n] = true
							}
							cancel()
						}
					})
				}
				for i := range getters {
					r := rand.New(rand.NewPCG(r.Uint64(), 2))
					wg.Go(func() {
						for {
							ctx, cancel := step(r)
							v, err := p.Get(ctx)
							cancel()
							if err == buffer.ErrClosedBufferPool {
								return
							}
							if err == nil {
								taken[i] = append(taken[i], v)
							}
						}
					})
				}
				wg.Go(func() {
					nap(closeAfter)
					p.Close()
				})
				wg.Wait()
				seen := make(map[value]bool)
				for _, values := range taken {
					last := make(map[int]int)
					for _, v := range values {
						if seen[v] || !accepted[v.putter][v.n] {
							t.Errorf("value %v: taken before %t, accepted %t", v, seen[v], accepted[v.putter][v.n])
						}
						seen[v] = true
						if before, ok := last[v.putter]; ok && before >= v.n {
							t.Errorf("putter %d: %d came after %d", v.putter, v.n, before)
						}
						last[v.putter] = v.n
					}
				}
				want := 0
				for _, m := range accepted {
					want += len(m)
				}
				if len(seen) != want || p.Total() != 0 {
					t.Errorf("%d accepted, %d taken, %d left", want, len(seen), p.Total())
				}
				if n := p.BufferNumber(); n < 1 || n > maxNumber {
					t.Errorf("%d buffers of at most %d", n, maxNumber)
				}
			})
		})
		if t.Failed() {
			t.Fatalf("seed %d, run %d: %d×%d, %d putters, %d getters, close after %v",
				seed, run, bufferCap, maxNumber, putters, getters, closeAfter)
		}
	}
}

// The same outside a bubble, where goroutines really run at once.
func TestPoolParallel(t *testing.T) {
	p := newPool[int](t, 3, 3)
	const each = 5000
	var puts, gets sync.WaitGroup
	var sums [4]int
	for i := range sums {
		puts.Go(func() {
			for n := range each {
				put(t, p, n)
			}
		})
		gets.Go(func() {
			for {
				v, err := p.Get(background)
				if err != nil {
					return
				}
				sums[i] += v
			}
		})
	}
	puts.Wait()
	p.Close()
	gets.Wait()
	if got, want := sums[0]+sums[1]+sums[2]+sums[3], 4*each*(each-1)/2; got != want {
		t.Errorf("sum %d, want %d", got, want)
	}
}
