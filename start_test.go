package tegenaria_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A start that panics, and whose ErrorHandler sends what cannot be accepted, does not keep the crawl open.
func TestStartThatPanicsWithABadRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enginetest.NewSpider()
		s.Start = func(chan<- *tegenaria.Context) { panic("start") }
		first := true
		s.Fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			if first {
				first = false
				req <- enginetest.Send("bad:")
			}
		}
		e := enginetest.NewEngine(enginetest.NewWorld(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Time: time.Minute}))
		enginetest.MustRun(t, e)
		if len(s.Errors()) != 2 {
			t.Errorf("errors %v", s.Errors())
		}
	})
}

// starterSpider is a spider with a Start of its own.
type starterSpider struct {
	*enginetest.Spider
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
			w := enginetest.NewWorld().Page(seed, enginetest.Page())
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				synctest.Wait() // until the cancellation has been seen
				req <- tegenaria.NewContext(tegenaria.NewRequest(seed, tegenaria.GET, nil))
			}
			e := enginetest.NewEngine(w, s)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			err := e.Run(ctx, "test")
			if !errors.Is(err, context.Canceled) || e.Summary().Reason != "cancelled" || len(w.Urls()) != 0 {
				t.Errorf("error %v, reason %q, asked for %v", err, e.Summary().Reason, w.Urls())
			}
			enginetest.CheckLedger(t, e)
		})
	})
	t.Run("stopped between two seeds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := enginetest.NewWorld().Page(seed, enginetest.Page())
			s := enginetest.NewSpider()
			var e *tegenaria.SpiderEngine
			stopped := make(chan error, 1)
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tegenaria.NewRequest(seed, tegenaria.GET, nil))
				synctest.Wait() // until the first page is settled
				go func() { stopped <- e.Stop(context.Background()) }()
				synctest.Wait()
				req <- tegenaria.NewContext(tegenaria.NewRequest(seed+"2", tegenaria.GET, nil))
			}
			e = enginetest.NewEngine(w, s)
			err := enginetest.Run(t, e)
			var stop *tegenaria.StoppedError
			if !errors.As(err, &stop) || stop.Reason != "stopped" || w.Count(seed) != 1 || len(w.Urls()) != 1 {
				t.Errorf("error %v, asked for %v", err, w.Urls())
			}
			if err := <-stopped; err != nil {
				t.Errorf("Stop: %v", err)
			}
		})
	})
	t.Run("Start told to stop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &starterSpider{enginetest.NewSpider(), func(ctx context.Context, _ chan<- *tegenaria.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}}
			e := enginetest.NewEngine(enginetest.NewWorld(), s)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := e.Run(ctx, "test"); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v", err)
			}
		})
	})
	t.Run("no room for the first seed", func(t *testing.T) {
		e := enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider(seed), tegenaria.EngineWithLimits(tegenaria.Limits{QueueBytes: 1}))
		err := enginetest.Run(t, e)
		var full *tegenaria.QueueFullError
		if !errors.As(err, &full) {
			t.Errorf("error %v, want a *QueueFullError", err)
		}
	})
}
