package module_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/module"
)

// An idle module beats a busy one, in whatever order they are looked at. Fails when a least score
// of 0 means "none seen yet" in Get.
func TestIdleModuleWins(t *testing.T) {
	for busy := range 3 {
		r, all := downloaders(t, 3)
		for i, m := range all {
			if i == busy {
				m.IncrHandlingNumber()
			}
		}
		got := pick(t, r, 3000, nil)
		for i, m := range all {
			want := 1500
			if i == busy {
				want = 0
			}
			if got[m.ID()] != want {
				t.Errorf("%s is busy, %s was chosen %d times, want %d", all[busy].ID(), m.ID(), got[m.ID()], want)
			}
		}
	}
}

// A module that fails at once, and so is never busy, gets fewer calls than one that works. Fails
// when DefaultScore looks at what is running alone, or at sums in which a failed call weighs less
// than a good one (as SimpleScore does).
func TestFailingModuleGetsLess(t *testing.T) {
	for _, workers := range []int{1, 16, 64} {
		synctest.Test(t, func(t *testing.T) {
			r, all := downloaders(t, 2)
			dead := all[0]
			var wg sync.WaitGroup
			var mu sync.Mutex
			left := 1000
			for range workers {
				wg.Go(func() {
					for {
						mu.Lock()
						left--
						stop := left < 0
						mu.Unlock()
						if stop {
							return
						}
						m, err := r.Get(module.TypeDownloader)
						if err != nil {
							t.Error(err)
							return
						}
						m.Call(nil, func() error {
							if m == dead {
								return errors.New("dead")
							}
							pass(100 * time.Millisecond)
							return nil
						})
					}
				})
			}
			wg.Wait()
			if n := dead.CalledCount(); n > 100 {
				t.Errorf("%d workers: %d of 1000 calls went to the dead module", workers, n)
			}
			if n := dead.CalledCount() + all[1].CompletedCount(); n != 1000 {
				t.Errorf("%d workers: %d calls in all", workers, n)
			}
		})
	}
}

// Everything that changes while a module works can be read meanwhile; the race detector is the
// witness. Fails under -race when a count, the score or the recent failures are plain fields.
func TestModuleIsReadWhileItWorks(t *testing.T) {
	b := newBase(t, "D1")
	r := module.NewRegistrar[*module.Base]()
	r.Register(b)
	var wg sync.WaitGroup
	for _, work := range []func(){
		func() { b.Call(nil, func() error { return nil }) },
		func() { b.Call(nil, func() error { return errors.New("bad") }) },
		func() { b.Summary() },
		func() { b.SetScore(b.Score() + 1) },
		func() { r.Get(module.TypeDownloader) },
		func() { b.Clear() },
	} {
		wg.Go(func() {
			for range 500 {
				work()
			}
		})
	}
	wg.Wait()
	if n := b.HandlingNumber(); n != 0 {
		t.Errorf("%d calls are still running", n)
	}
}
