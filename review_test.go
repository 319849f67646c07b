package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// opening is a part that is opened and closed by funcs; nil ones do nothing.
type opening struct {
	hooks
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
func openOrBegin(which string, w *world, s tegenaria.SpiderInterface, f func(ctx context.Context) error, opts ...tegenaria.EngineOption) *tegenaria.SpiderEngine {
	if which == "Open" {
		return newEngine(w, s, append(opts, tegenaria.EngineWithMiddlewares(&opening{open: f}))...)
	}
	cache := &beginning{tegenaria.NewMemoryCache(), func(ctx context.Context) (tegenaria.State, error) {
		return tegenaria.State{}, f(ctx)
	}}
	return newEngine(w, s, append(opts, tegenaria.EngineWithCache(cache))...)
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
						e := openOrBegin(which, w, newSpider("http://a.test/"), func(ctx context.Context) error {
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
						sleep(time.Second)
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
							wantStopped(t, err, reason)
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
						if got := e.Summary().Reason; got != reason || len(w.visits()) != 0 || e.Status() != tegenaria.StatusStopped {
							t.Errorf("reason %q, asked %q, status %s", got, w.urls(), e.Status())
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
		slow := &opening{open: func(context.Context) error { sleep(5 * time.Second); return nil }}
		s := newSpider()
		s.start = func(chan<- *tegenaria.Context) { t.Error("StartRequest was called") }
		e := newEngine(newWorld(), s, tegenaria.EngineWithMiddlewares(first, slow))
		result := make(chan error, 1)
		go func() { result <- e.Run(t.Context(), "test") }()
		sleep(time.Second)
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		wantStopped(t, <-result, "stopped")
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
		s := newSpider("http://a.test/")
		s.parse = parserOf(func(*tegenaria.Context) error {
			sleep(5 * time.Second)
			if kept.Err() != nil {
				t.Errorf("Open's context ended before the work: %v", kept.Err())
			}
			return nil
		})
		e := newEngine(onePage(), s, tegenaria.EngineWithMiddlewares(part))
		result := make(chan error, 1)
		go func() { result <- e.Run(t.Context(), "test") }()
		sleep(time.Second)
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
	wantStopped(t, newEngine(newWorld(), newSpider(), tegenaria.EngineWithMiddlewares(part)).Execute("test"), "stopped")
}

// After a failed Open or Begin the summary says so.
func TestReasonOfAFailedStart(t *testing.T) {
	for _, which := range []string{"Open", "Begin"} {
		for _, f := range []func(context.Context) error{
			func(context.Context) error { return errBroken },
			func(context.Context) error { panic(errBroken) },
		} {
			e := openOrBegin(which, newWorld(), newSpider("http://a.test/"), f)
			err := run(t, e)
			var failed *tegenaria.RunError
			if !errors.As(err, &failed) || !errors.Is(err, errBroken) || e.Summary().Reason != "failed" {
				t.Errorf("%s: Run returned %v, reason %q", which, err, e.Summary().Reason)
			}
		}
	}
}

// Stop in a callback waits for a run that waits for the callback: it is bounded, and says what to do instead.
func TestStopInACallback(t *testing.T) {
	const grace = 10 * time.Second
	for _, tt := range []struct {
		name  string
		bound time.Duration // how long Stop takes at most
		stuck bool          // nobody can abandon that callback: Stop says so
		set   func(s *testSpider, e *tegenaria.SpiderEngine, stop func())
	}{
		{"Parser", grace, false, func(s *testSpider, _ *tegenaria.SpiderEngine, stop func()) {
			s.parse = parserOf(func(*tegenaria.Context) error { stop(); return nil })
		}},
		{"ProcessItem", grace, false, func(s *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, 1)
				return nil
			}
			e.RegisterPipelines(pipelineFunc{1, func(*tegenaria.ItemMeta) error { stop(); return nil }})
		}},
		{"Open", grace, false, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			e.RegisterDownloadMiddlewares(&opening{open: func(context.Context) error { stop(); return nil }})
		}},
		{"Close", grace + 2*time.Second, false, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			e.RegisterDownloadMiddlewares(&opening{close: func(context.Context, string) error { stop(); return nil }})
		}},
		{"Events.Downloaded", grace + 2*time.Second, true, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			tegenaria.EngineWithEvents(tegenaria.Events{Downloaded: func(*tegenaria.Request, *tegenaria.Response) { stop() }})(e)
		}},
		{"Events.RequestSettled", grace + 2*time.Second, true, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(*tegenaria.Request, tegenaria.Outcome, string) { stop() }})(e)
		}},
		{"Events.Closed", grace + 5*time.Second, true, func(_ *testSpider, e *tegenaria.SpiderEngine, stop func()) {
			tegenaria.EngineWithEvents(tegenaria.Events{Closed: func(string) { stop() }})(e)
		}},
		{"go Stop in the Parser", 0, false, func(s *testSpider, _ *tegenaria.SpiderEngine, stop func()) {
			s.parse = parserOf(func(*tegenaria.Context) error { go stop(); return nil })
		}},
	} {
		for _, deadline := range []time.Duration{0, 2 * time.Second} {
			t.Run(fmt.Sprintf("%s/deadline %s", tt.name, deadline), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newSpider("http://a.test/")
					s.parse = nothing
					e := newEngine(onePage(), s, tegenaria.EngineWithGrace(grace))
					stopped := make(chan error, 2)
					var took time.Duration
					tt.set(s, e, func() {
						ctx, cancel := t.Context(), context.CancelFunc(func() {})
						if deadline > 0 {
							ctx, cancel = context.WithTimeout(ctx, deadline)
						}
						defer cancel()
						began := time.Now()
						err := e.Stop(ctx)
						took = time.Since(began)
						stopped <- err
					})
					result := make(chan error, 1)
					go func() { result <- run(t, e) }()
					err := <-stopped
					if took > tt.bound {
						t.Errorf("Stop took %s, want at most %s", took, tt.bound)
					}
					var stuck *tegenaria.StopError
					if errors.As(err, &stuck) != tt.stuck || tt.stuck && (!strings.Contains(err.Error(), "CloseSpider") || !strings.Contains(err.Error(), "go e.Stop(ctx)")) {
						t.Errorf("Stop returned %v", err)
					}
					<-result
					synctest.Wait()
				})
			})
		}
	}
}

// A Closer that hangs is told by its context when the grace is over, or at once by a second signal, and then left
// behind; the others are closed all the same.
func TestCloseThatHangs(t *testing.T) {
	for _, listens := range []bool{true, false} {
		t.Run(fmt.Sprintf("listens %t", listens), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				closed := 0
				fine := func(context.Context, string) error { closed++; return nil }
				hanging := func(ctx context.Context, _ string) error {
					if listens {
						<-ctx.Done()
						return ctx.Err()
					}
					<-release
					return nil
				}
				s := newSpider("http://a.test/")
				s.parse = nothing
				e := newEngine(onePage(), s, tegenaria.EngineWithGrace(5*time.Second), tegenaria.EngineWithMiddlewares(
					&opening{close: fine}, &opening{close: hanging}, &opening{close: hanging}, &opening{close: fine}))
				began := time.Now()
				err := run(t, e)
				want, lost := 5*time.Second, 0
				if !listens {
					want, lost = 7*time.Second, 2
				}
				if took := time.Since(began); took != want {
					t.Errorf("it took %s, want %s", took, want)
				}
				var abandoned *tegenaria.AbandonedError
				if closed != 2 || !strings.Contains(err.Error(), "closing *tegenaria_test.opening") || errors.As(err, &abandoned) == listens ||
					!listens && abandoned.Stages[tegenaria.StageClose] != lost {
					t.Errorf("Run returned %v, closed %d", err, closed)
				}
				if stats := e.Stats(); stats.Abandoned[tegenaria.StageClose] != lost || stats.ErrorCount != int64(lost) || e.Summary().Reason != "finished" {
					t.Errorf("stats: %+v, reason %q", stats, e.Summary().Reason)
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

// A deadline of Stop that ends while the parts are closed hurries them.
func TestStopHurriesClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var told error
		s := newSpider("http://a.test/")
		s.parse = nothing
		e := newEngine(onePage(), s, tegenaria.EngineWithMiddlewares(
			&opening{close: func(context.Context, string) error { <-release; return nil }},
			&opening{close: func(ctx context.Context, _ string) error { <-ctx.Done(); told = ctx.Err(); return nil }}))
		result := make(chan error, 1)
		go func() { result <- run(t, e) }()
		sleep(time.Second)
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		e.Stop(ctx)
		err := <-result
		var abandoned *tegenaria.AbandonedError
		if !errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageClose] != 1 || told == nil {
			t.Errorf("Run returned %v; the one that listens: %v", err, told)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %s", took)
		}
		close(release)
		synctest.Wait()
	})
}

// An abandoned callback is an error like any other: once, for everybody. Its ErrorHandlers may send the request again.
func TestAbandonedIsAnError(t *testing.T) {
	items := func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		item <- tegenaria.NewItem(ctx, "item")
		return nil
	}
	for _, tt := range []struct {
		stage tegenaria.Stage
		set   func(s *testSpider, e *tegenaria.SpiderEngine, stuck func() error)
	}{
		{tegenaria.StageParse, func(s *testSpider, _ *tegenaria.SpiderEngine, stuck func() error) {
			s.parse = parserOf(func(*tegenaria.Context) error { return stuck() })
		}},
		{tegenaria.StageRequest, func(_ *testSpider, e *tegenaria.SpiderEngine, stuck func() error) {
			e.RegisterDownloadMiddlewares(&hooks{request: func(*tegenaria.Context) error { return stuck() }})
		}},
		{tegenaria.StageResponse, func(_ *testSpider, e *tegenaria.SpiderEngine, stuck func() error) {
			e.RegisterDownloadMiddlewares(&hooks{response: func(*tegenaria.Context, chan<- *tegenaria.Context) error { return stuck() }})
		}},
		{tegenaria.StagePipeline, func(s *testSpider, e *tegenaria.SpiderEngine, stuck func() error) {
			s.parse = items
			e.RegisterPipelines(pipelineFunc{1, func(*tegenaria.ItemMeta) error { return stuck() }})
		}},
	} {
		t.Run(string(tt.stage), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				s := newSpider("http://a.test/")
				s.parse = nothing
				s.fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
					sleep(3 * time.Second) // the run waits for it
					req <- tegenaria.NewContext(err.Request)
				}
				told, engine := 0, 0
				e := newEngine(onePage(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}),
					tegenaria.EngineWithEvents(tegenaria.Events{Error: func(*tegenaria.HandleError) { told++ }}),
					tegenaria.EngineWithErrorHandler(func(tegenaria.SpiderInterface, *tegenaria.HandleError) { engine++ }))
				var calls atomic.Int64
				tt.set(s, e, func() error {
					if calls.Add(1) == 1 {
						<-release
					}
					return nil
				})
				published := e.ErrorChan()
				err := run(t, e)
				var abandoned *tegenaria.AbandonedError
				if !errors.As(err, &abandoned) {
					t.Errorf("Run returned %v", err)
				}
				herr := s.onlyError(t)
				if !errors.As(herr, &abandoned) || abandoned.Stages[tt.stage] != 1 || herr.Stage != tt.stage || herr.Request == nil || herr.CtxId == "" {
					t.Errorf("ErrorHandler got %+v", herr)
				}
				if tt.stage == tegenaria.StagePipeline && (herr.Item == nil || herr.Item.Item != "item") {
					t.Errorf("the item is missing: %+v", herr.Item)
				}
				if got := <-published; got != error(herr) || told != 1 || engine != 1 || len(published) != 0 {
					t.Errorf("ErrorChan: %v; Events.Error %d times, the engine's handler %d", got, told, engine)
				}
				// The one that was abandoned, and the one that was sent again.
				if stats := e.Stats(); stats.ErrorCount != 1 || stats.Settled != 2 || stats.Outcomes[tegenaria.Fetched] == 0 || calls.Load() != 2 {
					t.Errorf("stats %+v, %d calls", stats, calls.Load())
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

// ErrorHandlers that do not return are not asked again for it.
func TestAbandonedErrorHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newSpider("http://a.test/")
		s.fail = func(*tegenaria.HandleError, chan<- *tegenaria.Context) { <-release }
		e := newEngine(newWorld().page("http://a.test/", status(500)), s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}))
		run(t, e)
		if n, stats := len(s.errors()), e.Stats(); n != 1 || stats.ErrorCount != 2 || stats.Abandoned[tegenaria.StageError] != 1 {
			t.Errorf("ErrorHandler was called %d times, stats %+v", n, stats)
		}
		close(release)
		synctest.Wait()
	})
}

// A handler of an abandoned callback that does not return does not keep a crawl from stopping.
func TestStopWhileAnAbandonedCallbackIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newSpider("http://a.test/")
		s.parse = parserOf(func(*tegenaria.Context) error { <-release; return nil })
		telling := make(chan struct{})
		s.fail = func(*tegenaria.HandleError, chan<- *tegenaria.Context) { close(telling); <-release }
		e := newEngine(onePage(), s, tegenaria.EngineWithGrace(2*time.Second), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}))
		result := make(chan error, 1)
		go func() { result <- run(t, e) }()
		<-telling
		began := time.Now()
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("Stop took %s", took)
		}
		<-result
		if !e.Idle() || e.Stats().InFlight != 0 {
			t.Errorf("stats %+v", e.Stats())
		}
		close(release)
		synctest.Wait()
	})
}

// The context of a PipelineFunc ends when Limits.Callback is over, and when its item is done.
func TestPipelineFuncContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpider("http://a.test/")
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, "quick")
			item <- tegenaria.NewItem(ctx, "stuck")
			return nil
		}
		var quick context.Context
		e := newEngine(onePage(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}), tegenaria.EngineWithPipelines(
			tegenaria.PipelineFunc(1, func(ctx context.Context, item string) (string, error) {
				if item == "quick" {
					quick = ctx
					return item, ctx.Err()
				}
				<-ctx.Done()
				if quick.Err() == nil {
					t.Error("the context of an item that is done has not ended")
				}
				return item, context.Cause(ctx)
			})), tegenaria.EngineWithItemConcurrency(1))
		began := time.Now()
		stats := mustRun(t, e)
		var late *tegenaria.CallbackTimeoutError
		if herr := s.onlyError(t); !errors.As(herr, &late) || late.Stage != tegenaria.StagePipeline || herr.Item.Item != "stuck" {
			t.Errorf("ErrorHandler got %v", herr)
		}
		if took := time.Since(began); took != 10*time.Second || stats.ItemScraped != 1 || stats.ItemFailed != 1 {
			t.Errorf("it took %s, stats %+v", took, stats)
		}
	})
}

// The time that a pipeline waits for the loop over Crawl is the loop's: however slow it is, nothing is given up.
func TestSlowLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpider()
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			for i := range 3 {
				if ctx.Request.Url == "http://a.test/" {
					item <- tegenaria.NewItem(ctx, i)
				}
			}
			return nil
		}
		w := onePage().page("http://b.test/", after(5*time.Minute, text("x"))) // the run is on until then
		scraped, yielded := 0, 0
		s.start = func(req chan<- *tegenaria.Context) {
			req <- send("http://a.test/")
			req <- send("http://b.test/", tegenaria.RequestWithTimeout(time.Hour))
		}
		for _, err := range tegenaria.Crawl[int](t.Context(), s, tegenaria.EngineWithDownloader(w), tegenaria.EngineWithLogger(quiet()),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}),
			tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(*tegenaria.ItemMeta) { scraped++ }})) {
			if err != nil {
				t.Errorf("Run returned %v", err)
			}
			yielded++
			sleep(time.Minute)
		}
		if scraped != 3 || yielded != 3 || len(s.errors()) != 0 {
			t.Errorf("scraped %d, yielded %d, errors %v", scraped, yielded, s.errors())
		}
	})
}

// Once given up, an item that a slow event or collector was busy with is in one counter alone.
func TestItemIsCountedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newSpider("http://a.test/")
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(ctx, 1)
			return nil
		}
		e := newEngine(onePage(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}),
			tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(*tegenaria.ItemMeta) { <-release }}))
		run(t, e)
		close(release)
		synctest.Wait()
		if stats := e.Stats(); stats.ItemScraped+stats.ItemFailed != 1 {
			t.Errorf("scraped %d, failed %d, want one of them", stats.ItemScraped, stats.ItemFailed)
		}
	})
}

// A Downloader that sends more results than it may hangs nothing of the engine; the first result counts where it
// is not Download itself that blocks.
func TestThirdResult(t *testing.T) {
	for _, tt := range []struct {
		name    string
		timeout time.Duration
	}{{"timeout", 20 * time.Second}, {"no timeout", -1}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				returned := false
				d := downloadFunc(func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
					answerTo(ctx)
					for range 10 {
						result <- ctx
					}
					returned = true
				})
				s := newSpider()
				s.start = func(req chan<- *tegenaria.Context) {
					req <- send("http://a.test/", tegenaria.RequestWithTimeout(tt.timeout))
				}
				s.parse = nothing
				e := newEngine(d, s, tegenaria.EngineWithGrace(4*time.Second), tegenaria.EngineWithLimits(tegenaria.Limits{Time: 30 * time.Second}))
				began := time.Now()
				err := run(t, e)
				var abandoned *tegenaria.AbandonedError
				if tt.timeout > 0 && (!errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageDownload] != 1) {
					t.Errorf("Run returned %v", err)
				}
				if took := time.Since(began); took > 40*time.Second {
					t.Errorf("it took %s", took)
				}
				synctest.Wait() // a goroutine that is left fails the bubble
				if !returned {
					t.Error("Download is blocked")
				}
			})
		})
	}
}
