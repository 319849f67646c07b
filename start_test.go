package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// opening is a part that is opened and closed by funcs; nil ones do nothing.
type opening struct {
	enginetest.Hooks
	open  func(ctx context.Context) error
	close func(ctx context.Context, reason string) error
}

func (o *opening) Open(ctx context.Context, _ tegenaria.SpiderInterface) error {
	if o.open == nil {
		return nil
	}
	return o.open(ctx)
}

func (o *opening) Close(ctx context.Context, reason string) error {
	if o.close == nil {
		return nil
	}
	return o.close(ctx, reason)
}

// beginning is a cache whose Begin is a func.
type beginning struct {
	tegenaria.CacheInterface
	begin func(ctx context.Context) (tegenaria.State, error)
}

func (b *beginning) Begin(ctx context.Context, _ tegenaria.Job) (tegenaria.State, error) {
	return b.begin(ctx)
}

// openOrBegin makes an engine in which Open, or the cache's Begin, is f.
func openOrBegin(which string, w *enginetest.World, s tegenaria.SpiderInterface, f func(ctx context.Context) error, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	if which == "Open" {
		return enginetest.NewEngine(w, s, append(opts, tegenaria.EngineWithMiddlewares(&opening{open: f}))...)
	}
	cache := &beginning{tegenaria.NewMemoryCache(), func(ctx context.Context) (tegenaria.State, error) {
		return tegenaria.State{}, f(ctx)
	}}
	return enginetest.NewEngine(w, s, append(opts, tegenaria.EngineWithCache(cache))...)
}

// Open and Begin are told when the crawl is to stop; one that does not listen is left behind when the grace is over.
func TestStopWhileOpening(t *testing.T) {
	const grace = 10 * time.Second
	for _, which := range []string{"Open", "Begin"} {
		for _, how := range []string{"Stop", "Stop with a deadline", "cancelled", "limit"} {
			for _, listens := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s/%s/listens %t", which, how, listens), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						release := make(chan struct{})
						w := onePage()
						limits := tegenaria.Limits{}
						if how == "limit" {
							limits.Time = time.Second
						}
						e := openOrBegin(which, w, enginetest.NewSpider("http://a.test/"), func(ctx context.Context) error {
							if !listens {
								<-release
								return nil
							}
							<-ctx.Done()
							return fmt.Errorf("connecting: %w", context.Cause(ctx))
						}, tegenaria.EngineWithGrace(grace), tegenaria.EngineWithLimits(limits))
						ctx, cancel := context.WithCancelCause(t.Context())
						defer cancel(nil)
						result := make(chan error, 1)
						go func() { result <- e.Run(ctx, "test") }()
						enginetest.Sleep(time.Second)
						synctest.Wait()
						began, bound, reason := time.Now(), grace, "stopped"
						cause := errors.New("enough")
						switch how {
						case "Stop":
							if err := e.Stop(t.Context()); err != nil {
								t.Errorf("Stop: %v", err)
							}
						case "Stop with a deadline":
							bound = 3 * time.Second
							stop, end := context.WithTimeout(t.Context(), bound)
							defer end()
							e.Stop(stop)
						case "cancelled":
							bound, reason = time.Second, "cancelled"
							cancel(cause)
						case "limit":
							reason = "limit: time"
						}
						if listens {
							bound = 0
						}
						err := <-result
						if took := time.Since(began); took > bound {
							t.Errorf("it took %s, want at most %s", took, bound)
						}
						if how == "cancelled" {
							if !errors.Is(err, cause) {
								t.Errorf("Run returned %v, want the cause", err)
							}
						} else {
							enginetest.WantStopped(t, err, reason)
						}
						var abandoned *tegenaria.AbandonedError
						if errors.As(err, &abandoned) == listens || !listens && abandoned.Stages[tegenaria.StageOpen] != 1 {
							t.Errorf("Run returned %v, abandoned must be %t", err, !listens)
						}
						part := map[string]string{"Open": "*tegenaria_test.opening", "Begin": "*tegenaria_test.beginning"}[which]
						var failed *tegenaria.RunError
						if errors.As(err, &failed) == listens || !listens && !strings.Contains(failed.Error(), part) {
							t.Errorf("Run returned %v, want a *RunError that names %s: %t", err, part, !listens)
						}
						if got := e.Summary().Reason; got != reason || len(w.Visits()) != 0 || e.Status() != tegenaria.StatusStopped {
							t.Errorf("reason %q, asked %q, status %s", got, w.Urls(), e.Status())
						}
						close(release)
						synctest.Wait()
					})
				})
			}
		}
	}
}

// Parts that have been opened before the stop are closed, and StartRequest is not called any more.
func TestStopWhileOpeningClosesWhatIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := ""
		var kept context.Context
		first := &opening{
			open:  func(ctx context.Context) error { kept = ctx; return nil },
			close: func(_ context.Context, reason string) error { closed = reason; return nil },
		}
		slow := &opening{open: func(context.Context) error { enginetest.Sleep(5 * time.Second); return nil }}
		s := enginetest.NewSpider()
		s.Start = func(chan<- *tegenaria.Context) { t.Error("StartRequest was called") }
		e := enginetest.NewEngine(enginetest.NewWorld(), s, tegenaria.EngineWithMiddlewares(first, slow))
		result := make(chan error, 1)
		go func() { result <- e.Run(t.Context(), "test") }()
		enginetest.Sleep(time.Second)
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		enginetest.WantStopped(t, <-result, "stopped")
		if closed != "stopped" || kept.Err() == nil {
			t.Errorf("closed with %q, Open's context: %v", closed, kept.Err())
		}
	})
}

// A part may keep Open's context: a graceful stop does not end it while work is in hand.
func TestOpenContextLivesAsLongAsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept context.Context
		part := &opening{open: func(ctx context.Context) error { kept = ctx; return nil }}
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = parserOf(func(*tegenaria.Context) error {
			enginetest.Sleep(5 * time.Second)
			if kept.Err() != nil {
				t.Errorf("Open's context ended before the work: %v", kept.Err())
			}
			return nil
		})
		e := enginetest.NewEngine(onePage(), s, tegenaria.EngineWithMiddlewares(part))
		result := make(chan error, 1)
		go func() { result <- e.Run(t.Context(), "test") }()
		enginetest.Sleep(time.Second)
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		<-result
		if kept.Err() == nil {
			t.Error("Open's context has not ended")
		}
	})
}

// The first signal reaches a part that is being opened.
func TestExecuteSignalWhileOpening(t *testing.T) {
	part := &opening{open: func(ctx context.Context) error {
		own, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		if err := own.Signal(os.Interrupt); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}}
	enginetest.WantStopped(t, enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider(), tegenaria.EngineWithMiddlewares(part)).Execute("test"), "stopped")
}

// After a failed Open or Begin the summary says so.
func TestReasonOfAFailedStart(t *testing.T) {
	for _, which := range []string{"Open", "Begin"} {
		for _, f := range []func(context.Context) error{
			func(context.Context) error { return errBroken },
			func(context.Context) error { panic(errBroken) },
		} {
			e := openOrBegin(which, enginetest.NewWorld(), enginetest.NewSpider("http://a.test/"), f)
			err := enginetest.Run(t, e)
			var failed *tegenaria.RunError
			if !errors.As(err, &failed) || !errors.Is(err, errBroken) || e.Summary().Reason != "failed" {
				t.Errorf("%s: Run returned %v, reason %q", which, err, e.Summary().Reason)
			}
		}
	}
}

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
