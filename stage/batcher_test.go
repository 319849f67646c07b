package stage_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/stage"
)

// sleep lets time pass, which costs nothing in a bubble of synctest.
func sleep(d time.Duration) { <-time.NewTimer(d).C }

// list is a batch of numbers.
type list struct{ numbers []int }

func (l *list) add(n, most int) bool {
	l.numbers = append(l.numbers, n)
	return len(l.numbers) >= most
}

// Whatever is added is handed on once, in the order of each goroutine that adds, also what comes while a batch is handled or
// the Batcher is closed. It fails if Run returns at Close without a look at what has come since, or if a batch that is being
// handled can still be added to.
func TestBatcherLosesNothing(t *testing.T) {
	for round := range 30 {
		seed := uint64(round) + 1
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, seed))
			const senders, each = 4, 60
			b := stage.NewBatcher[list](20*time.Millisecond, nil)
			var got [senders][]int
			var running, sending sync.WaitGroup
			running.Go(func() {
				b.Run(func(batch *list) {
					before := len(batch.numbers)
					sleep(time.Duration(random.IntN(30)) * time.Millisecond)
					if len(batch.numbers) != before {
						t.Errorf("seed %d: a batch has grown while it was handled", seed)
					}
					for _, n := range batch.numbers {
						got[n/1000] = append(got[n/1000], n%1000)
					}
					batch.numbers = batch.numbers[:0]
				})
			})
			for s := range senders {
				pauses := rand.New(rand.NewPCG(seed, uint64(s)))
				sending.Go(func() {
					for i := range each {
						b.Add(func(batch *list) bool { return batch.add(s*1000+i, 16) })
						if pauses.IntN(4) == 0 {
							sleep(time.Duration(pauses.IntN(9)) * time.Millisecond)
						}
						if pauses.IntN(16) == 0 {
							b.Hurry()
						}
					}
				})
			}
			sending.Wait()
			b.Close()
			running.Wait()
			for s, numbers := range got {
				if len(numbers) != each {
					t.Fatalf("seed %d: %d of %d from sender %d", seed, len(numbers), each, s)
				}
				for i, n := range numbers {
					if n != i {
						t.Fatalf("seed %d: number %d of sender %d is %d", seed, i, s, n)
					}
				}
			}
		})
	}
}

// Batches begin apart, unless somebody is in haste: the batch is full, hasty says so, or Hurry was called. It fails if the
// pause is counted from the end of a batch, or if one of the three does not end it.
func TestBatcherPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const apart = 20 * time.Millisecond
		var hasty atomic.Bool
		began := time.Now()
		var at []time.Duration
		b := stage.NewBatcher[list](apart, hasty.Load)
		var running sync.WaitGroup
		running.Go(func() {
			b.Run(func(batch *list) {
				at = append(at, time.Since(began))
				batch.numbers = batch.numbers[:0]
				sleep(5 * time.Millisecond)
			})
		})
		add := func() { b.Add(func(batch *list) bool { return batch.add(1, 3) }) }
		wants := func(how string, n int, want time.Duration) {
			t.Helper()
			synctest.Wait()
			if len(at) != n || at[n-1] != want {
				t.Fatalf("%s: batches at %v, want the last of %d at %v", how, at, n, want)
			}
		}
		add()
		wants("the first", 1, 0)
		add()
		sleep(apart)
		wants("the second", 2, apart)
		add()
		sleep(6 * time.Millisecond)
		add()
		synctest.Wait()
		add() // it is full
		wants("full", 3, apart+6*time.Millisecond)
		sleep(6 * time.Millisecond)
		add()
		sleep(time.Millisecond)
		b.Hurry()
		wants("Hurry", 4, apart+13*time.Millisecond)
		sleep(6 * time.Millisecond)
		hasty.Store(true)
		add()
		wants("hasty", 5, apart+19*time.Millisecond)
		b.Close()
		running.Wait()
	})
}
