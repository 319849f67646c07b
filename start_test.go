package tegenaria_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// A start that panics, and whose ErrorHandler sends what cannot be accepted, does not keep the crawl open.
func TestStartThatPanicsWithABadRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpider()
		s.start = func(chan<- *tegenaria.Context) { panic("start") }
		first := true
		s.fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			if first {
				first = false
				req <- send("bad:")
			}
		}
		e := newEngine(newWorld(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Time: time.Minute}))
		mustRun(t, e)
		if len(s.errors()) != 2 {
			t.Errorf("errors %v", s.errors())
		}
	})
}

// starterSpider is a spider with a Start of its own.
type starterSpider struct {
	*testSpider
	begin func(ctx context.Context, req chan<- *tegenaria.Context) error
}

func (s *starterSpider) Start(ctx context.Context, req chan<- *tegenaria.Context) error {
	return s.begin(ctx, req)
}

// Nothing is open any more, and yet the work is not done: seeds were never taken.
func TestUnsownSeedsAreNoFinishedCrawl(t *testing.T) {
	const seed = "http://a.test/"
	t.Run("cancelled before the first seed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld().page(seed, page())
			s := newSpider()
			s.start = func(req chan<- *tegenaria.Context) {
				synctest.Wait() // until the cancellation has been seen
				req <- tegenaria.NewContext(tegenaria.NewRequest(seed, tegenaria.GET, nil))
			}
			e := newEngine(w, s)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := e.Run(ctx, "test")
			if !errors.Is(err, context.Canceled) || e.Summary().Reason != "cancelled" || len(w.urls()) != 0 {
				t.Errorf("error %v, reason %q, asked for %v", err, e.Summary().Reason, w.urls())
			}
			checkLedger(t, e)
		})
	})
	t.Run("stopped between two seeds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld().page(seed, page())
			s := newSpider()
			var e *tegenaria.SpiderEngine
			stopped := make(chan error, 1)
			s.start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tegenaria.NewRequest(seed, tegenaria.GET, nil))
				synctest.Wait() // until the first page is settled
				go func() { stopped <- e.Stop(context.Background()) }()
				synctest.Wait()
				req <- tegenaria.NewContext(tegenaria.NewRequest(seed+"2", tegenaria.GET, nil))
			}
			e = newEngine(w, s)
			err := run(t, e)
			var stop *tegenaria.StoppedError
			if !errors.As(err, &stop) || stop.Reason != "stopped" || w.count(seed) != 1 || len(w.urls()) != 1 {
				t.Errorf("error %v, asked for %v", err, w.urls())
			}
			if err := <-stopped; err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
	})
	t.Run("Start told to stop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &starterSpider{newSpider(), func(ctx context.Context, _ chan<- *tegenaria.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}}
			e := newEngine(newWorld(), s)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := e.Run(ctx, "test"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("no room for the first seed", func(t *testing.T) {
		e := newEngine(newWorld(), newSpider(seed), tegenaria.EngineWithLimits(tegenaria.Limits{QueueBytes: 1}))
		err := run(t, e)
		var full *tegenaria.QueueFullError
		if !errors.As(err, &full) {
			t.Errorf("error %v, want a *QueueFullError", err)
		}
	})
}
