package tegenaria_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/internal/israce"
)

var (
	harnessCrawls = flag.Int("harness.crawls", 0, "how many random crawls to run (0: the default number)")
	harnessFrom   = flag.Uint64("harness.from", 1, "seed of the first random crawl")
	harnessSeed   = flag.Uint64("harness.seed", 0, "run the one crawl of this seed, many times")
)

const (
	harnessDefault = 2000
	harnessShort   = 200
)

// TestHarness runs thousands of small random crawls, each in a bubble of its own, and checks them against
// independent witnesses and a model. A failure names the seed of its plan.
func TestHarness(t *testing.T) {
	crawls := *harnessCrawls
	if crawls == 0 {
		crawls = harnessDefault
		if israce.Enabled || testing.Short() {
			crawls = harnessShort
		}
	}
	began := time.Now()
	var next, failed atomic.Int64
	workers := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { t.Logf("%d crawls from seed %d in %s", next.Load(), *harnessFrom, time.Since(began)) })
	for i := range workers {
		t.Run(fmt.Sprint("worker", i), func(t *testing.T) {
			t.Parallel()
			enough := int64(5)
			if *harnessSeed != 0 {
				enough = 1
			}
			for failed.Load() < enough {
				n := next.Add(1) - 1
				if n >= int64(crawls) {
					next.Add(-1)
					return
				}
				seed := *harnessFrom + uint64(n)
				if *harnessSeed != 0 {
					seed = *harnessSeed
				}
				if !harnessOne(t, seed) {
					failed.Add(1)
				}
			}
		})
	}
}

// harnessOne runs the crawl of a seed.
func harnessOne(t *testing.T, seed uint64) (ok bool) {
	ok = true
	p := enginetest.NewPlan(seed, *harnessSeed != 0)
	wrong := func(format string, args ...any) {
		ok = false
		t.Errorf("seed %d: %s\n(to run it again: go test -run TestHarness -harness.seed %d -harness.crawls 20)",
			seed, fmt.Sprintf(format, args...), seed)
	}
	watchdog := time.AfterFunc(time.Minute, func() {
		buf := make([]byte, 4<<20)
		panic(fmt.Sprintf("seed %d: a minute of real time has passed\n%s", seed, buf[:runtime.Stack(buf, true)]))
	})
	defer watchdog.Stop()
	defer func() {
		if v := recover(); v != nil {
			wrong("%v\n%s\n%s", v, p.Summary(), enginetest.Stacks())
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		if violations := enginetest.NewCrawl(p, tegenaria.NewMemoryCache()).Run(); len(violations) > 0 {
			wrong("%s\n%s", strings.Join(violations, "\n"), p.Summary())
		}
	})
	return ok
}
