package tegenaria_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// SetConcurrency raises and lowers the number of downloads while the crawl runs, and the next run has that of the option again.
func TestSetConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Int64
		w, seeds := enginetest.NewWorld(), []string(nil)
		for i := range 200 {
			url := fmt.Sprintf("http://h%d.test/", i)
			seeds = append(seeds, url)
			w.Page(url, func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				running.Add(1)
				defer running.Add(-1)
				enginetest.Sleep(time.Minute)
				return enginetest.Text("x")(ctx)
			})
		}
		e := polite(w, tegenaria.Politeness{}, seeds, tegenaria.EngineWithConcurrency(2))
		if err := e.SetConcurrency(3); err == nil || e.Concurrency() != 2 {
			t.Errorf("before the run: %v, %d", err, e.Concurrency())
		}
		check := func(when string, want int) {
			synctest.Wait()
			if got := running.Load(); got != int64(want) || e.Concurrency() != want {
				t.Errorf("%s: %d downloads, %d may run, want %d", when, got, e.Concurrency(), want)
			}
		}
		set := func(n int) {
			if err := e.SetConcurrency(n); err != nil {
				t.Error(err)
			}
		}
		var control sync.WaitGroup
		control.Go(func() {
			enginetest.Sleep(30 * time.Second)
			check("at first", 2)
			for _, n := range []int{0, -1, 1<<16 + 1} {
				if e.SetConcurrency(n) == nil {
					t.Errorf("%d was taken", n)
				}
			}
			set(40)
			check("raised", 40)
			set(3)
			enginetest.Sleep(20 * time.Second)
			if got := running.Load(); got != 40 {
				t.Errorf("lowered: %d downloads, want the 40 that had begun", got)
			}
			enginetest.Sleep(time.Minute)
			check("lowered, a minute later", 3)
			set(100)
			check("raised again", 100)
		})
		enginetest.MustRun(t, e)
		control.Wait()
		if len(w.Urls()) != 200 || e.Concurrency() != 2 {
			t.Errorf("%d pages, and %d downloads in the next run", len(w.Urls()), e.Concurrency())
		}
	})
}
