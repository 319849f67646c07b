package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

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

// Code that ends its goroutine, as FailNow of a test does, is given up at once, and the crawl goes on without it.
func TestGoexit(t *testing.T) {
	for _, stage := range []tegenaria.Stage{tegenaria.StageRequest, tegenaria.StageDownload, tegenaria.StageResponse,
		tegenaria.StageParse, tegenaria.StagePipeline, tegenaria.StageError, tegenaria.StageOpen} {
		t.Run(string(stage), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := false // an ErrorHandler is told of itself
				leave := func(at tegenaria.Stage, url string) {
					if at == stage && url == "http://a.test/1" && !left {
						left = true
						runtime.Goexit()
					}
				}
				s := newSpider()
				s.start = func(req chan<- *tegenaria.Context) {
					for i := range 3 {
						req <- send(fmt.Sprint("http://a.test/", i))
					}
				}
				s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					leave(tegenaria.StageParse, ctx.Request.Url)
					item <- tegenaria.NewItem(ctx, ctx.Request.Url)
					if stage == tegenaria.StageError {
						return errors.New("ask the handler")
					}
					return nil
				}
				s.fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) {
					if err.Request != nil && err.Stage == tegenaria.StageParse {
						leave(tegenaria.StageError, err.Request.Url)
					}
				}
				w := newWorld().page("http://a.test/0", text("x")).page("http://a.test/1", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					leave(tegenaria.StageDownload, "http://a.test/1")
					return text("x")(ctx)
				}).page("http://a.test/2", text("x"))
				part := &opening{open: func(context.Context) error { leave(tegenaria.StageOpen, "http://a.test/1"); return nil }}
				part.hooks = hooks{
					request: func(ctx *tegenaria.Context) error { leave(tegenaria.StageRequest, ctx.Request.Url); return nil },
					response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
						leave(tegenaria.StageResponse, ctx.Request.Url)
						return nil
					},
				}
				e := newEngine(w, s, tegenaria.EngineWithMiddlewares(part), tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, url string) (string, error) {
					leave(tegenaria.StagePipeline, url)
					return url, nil
				})))
				began := time.Now()
				err := run(t, e)
				var abandoned *tegenaria.AbandonedError
				at := stage
				if at == tegenaria.StageError {
					at = tegenaria.StageParse // which called the handler
				}
				if !errors.As(err, &abandoned) || len(abandoned.Stages) != 1 || abandoned.Stages[at] != 1 {
					t.Errorf("Run returned %v", err)
				}
				n := int64(3)
				if stage == tegenaria.StageOpen {
					n = 0
				}
				if stats := e.Stats(); stats.Settled != n || stats.Discovered != n || time.Since(began) > 0 {
					t.Errorf("after %s: %+v", time.Since(began), stats)
				}
			})
		})
	}
}

// A start that ends its goroutine is a failed one.
func TestGoexitOfStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpider()
		s.start = func(req chan<- *tegenaria.Context) {
			req <- send("http://a.test/")
			runtime.Goexit()
		}
		err := run(t, newEngine(onePage(), s))
		var failed *tegenaria.RunError
		if !errors.As(err, &failed) || failed.Op != "start" {
			t.Errorf("Run returned %v", err)
		}
	})
}

// A callback returns while it is being given up: Run waits until the request is let go of, or it would be neither
// settled nor put back. It fails if run does not wait for the watch.
func TestGiveUpLosesARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page("http://a.test/", text("x"))
		s := newSpider("http://a.test/")
		s.parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(c, 1)
			return nil
		}
		e := newEngine(w, s, tegenaria.EngineWithGrace(4*time.Second),
			tegenaria.EngineWithEvents(tegenaria.Events{Abandoned: func(tegenaria.Stage, *tegenaria.Request) { sleep(10 * time.Millisecond) }}),
			tegenaria.EngineWithPipelines(pipelineFunc{1, func(*tegenaria.ItemMeta) error {
				sleep(time.Second + 4*time.Second + 5*time.Millisecond) // returns 5 ms after it was given up
				return nil
			}}))
		go func() { sleep(time.Second); e.Stop(context.Background()) }()
		e.Run(t.Context(), "test")
		if st := e.Stats(); st.InFlight != 0 || st.Items != 0 {
			t.Errorf("after Run: in flight %d, pending %d, items %d", st.InFlight, st.Pending, st.Items)
		}
		sleep(time.Hour)
	})
}

// What the ErrorHandlers of two abandoned items send unfiltered is two requests. It fails if each stand-in counts for
// itself.
func TestUnfilteredOfAbandonedItems(t *testing.T) {
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld().page("http://a.test/", text("x")).page("http://a.test/report", text("x"))
			s := newSpider("http://a.test/")
			s.parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				if c.Request.Url == "http://a.test/" {
					item <- tegenaria.NewItem(c, 1)
					item <- tegenaria.NewItem(c, 2)
				}
				return nil
			}
			s.fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
				req <- send("http://a.test/report", tegenaria.RequestWithDoNotFilter(true))
			}
			e := newEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}),
				tegenaria.EngineWithPipelines(pipelineFunc{1, func(*tegenaria.ItemMeta) error {
					if hang {
						sleep(10 * time.Second)
						return nil
					}
					return errors.New("fails")
				}}))
			run(t, e)
			if n := w.count("http://a.test/report"); n != 2 {
				t.Errorf("hang %v: the unfiltered request was sent twice and downloaded %d times: %v", hang, n, e.Stats().Outcomes)
			}
			sleep(time.Minute)
		})
	}
}

type robotsHooks struct{ hooks }

func (*robotsHooks) SeesInternal() bool { return true }

// An internal middleware that hangs at robots.txt is given up as at any page.
func TestInternalMiddlewareHangs(t *testing.T) {
	for _, where := range []string{"request", "response"} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			m := &robotsHooks{}
			m.name = "m"
			block := func(ctx *tegenaria.Context) error {
				if ctx.Request.Url == "http://a.test/robots.txt" {
					<-release
				}
				return nil
			}
			if where == "request" {
				m.request = block
			} else {
				m.response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return block(ctx) }
			}
			w := newWorld().page("http://a.test/", text("x")).page("http://a.test/robots.txt", text(""))
			s := newSpider("http://a.test/")
			s.parse = nothing
			slow := 0
			e := newEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}), tegenaria.EngineWithMiddlewares(m),
				tegenaria.EngineWithEvents(tegenaria.Events{SlowCallback: func(tegenaria.Stage, *tegenaria.Request, time.Duration) { slow++ }}),
				tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 2 * time.Minute}))
			timer := time.AfterFunc(24*time.Hour, func() {
				t.Errorf("%s: the callback was not given up within a day; %d slow warnings", where, slow)
				e.Stop(context.Background())
			})
			run(t, e)
			timer.Stop()
			close(release)
			sleep(time.Minute)
		})
	}
}

type stuckDownloader struct {
	*world
	release chan struct{}
}

func (d stuckDownloader) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	if ctx.Request.Url == "http://a.test/stuck" {
		<-d.release
		return
	}
	d.world.Download(ctx, result)
}

// A Downloader that never returns does not keep the Fetch that asked it. It fails if ask does not download apart.
func TestFetchOfADownloaderThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stuckDownloader{newWorld().page("http://a.test/", text("x")), make(chan struct{})}
		s := newSpider("http://a.test/")
		s.parse = func(c *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			_, err := c.Fetch(tegenaria.NewRequest("http://a.test/stuck", tegenaria.GET, nil))
			return err
		}
		e := newEngine(w, s)
		timer := time.AfterFunc(24*time.Hour, func() {
			t.Errorf("Fetch did not return within a day: %+v", e.Stats())
			e.Stop(context.Background())
		})
		run(t, e)
		timer.Stop()
		close(w.release)
		sleep(time.Minute)
	})
}

// An abandoned middleware may put another request into its Context: the race detector sees who reads it.
func TestAbandonedWrites(t *testing.T) {
	w := newWorld().page("http://a.test/", text("x"))
	s := newSpider("http://a.test/")
	s.parse = nothing
	done := make(chan struct{})
	m := &hooks{name: "m", request: func(ctx *tegenaria.Context) error {
		defer close(done)
		for range 2500 {
			sleep(time.Millisecond)
			again := *ctx.Request
			ctx.Request = &again
		}
		return nil
	}}
	e := newEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 500 * time.Millisecond}),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(*tegenaria.Request, tegenaria.Outcome, string) {}}))
	run(t, e)
	<-done
}

// Items and the abandonment of their pipelines at the same instant.
func TestItemRace(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			s := newSpider()
			for i := range 6 {
				u := fmt.Sprintf("http://h%d.test/", i)
				s.FeedUrls = append(s.FeedUrls, u)
				w.page(u, text("x"))
			}
			s.parse = tegenaria.Parser(func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				for i := range 3 {
					item <- tegenaria.NewItem(c, i)
				}
				return nil
			})
			var n atomic.Int64
			e := newEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}), tegenaria.EngineWithItemConcurrency(20),
				tegenaria.EngineWithPipelines(pipelineFunc{1, func(*tegenaria.ItemMeta) error {
					sleep(2 * time.Second)
					n.Add(1)
					if n.Load()%3 == 0 {
						return errHarness
					}
					return nil
				}}))
			timer := time.AfterFunc(24*time.Hour, func() { t.Errorf("seed %d: no end %+v", seed, e.Stats()); panic("no end") })
			run(t, e)
			timer.Stop()
			st := e.Stats()
			if st.ItemScraped+st.ItemFailed+st.ItemDropped != 18 || st.InFlight != 0 || st.Outcomes[tegenaria.Fetched] != 6 {
				t.Errorf("seed %d: %+v", seed, st)
			}
			sleep(time.Minute)
		})
	}
}

// A page whose pipeline was given up in the middle of a Fetch is settled, and its Committers told, when the crawl gives up
// before that Fetch returns. It fails if nobody ends the calls of Fetch then.
func TestCommitterOfAnUnfinishedFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{})
		w := newWorld().page("http://a.test/", text("x")).page("http://a.test/other", func(*tegenaria.Context) (*tegenaria.Response, error) {
			close(asked)
			sleep(time.Hour)
			return nil, errBroken
		})
		s := newSpider("http://a.test/")
		var page *tegenaria.Context
		s.parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			page = ctx
			item <- tegenaria.NewItem(ctx, "good")
			item <- tegenaria.NewItem(ctx, "stuck")
			return nil
		}
		stuck := pipelineFunc{1, func(item *tegenaria.ItemMeta) error {
			if item.Item == "stuck" {
				go get(page, "http://a.test/other")
				sleep(time.Hour)
			}
			return nil
		}}
		c := &staging{}
		e := newEngine(w, s, tegenaria.EngineWithPipelines(stuck, c), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}))
		go func() {
			<-asked
			sleep(5 * time.Second) // the pipeline was given up before
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			e.Stop(ctx)
		}()
		run(t, e)
		if len(c.staged) != 0 {
			t.Errorf("neither prepared nor discarded: %v; prepared %d, discarded %d pages", c.staged, len(c.prepared), len(c.discarded))
		}
		if s := e.Stats(); s.InFlight != 0 {
			t.Errorf("%d requests are in flight after the run", s.InFlight)
		}
		sleep(2 * time.Hour)
	})
}

// slowErr is a context whose Err takes its time while armed: whoever asks is held up.
type slowErr struct {
	context.Context
	wait func()
}

func (c slowErr) Err() error { c.wait(); return c.Context.Err() }

// An item that is on its way into the buffer while its parser is abandoned keeps its request open for a moment longer.
// Run waits for it: else nobody would settle the request any more, and the Committer would hear nothing of the item
// that it has staged before. It fails if mill.add does not enter the entries.
func TestH12ItemOnItsWayWhenTheParserIsAbandoned(t *testing.T) {
	test := func(handle bool) func(t *testing.T) {
		return func(t *testing.T) {
			staged, stop := make(chan struct{}), make(chan struct{})
			w := newWorld().page("http://a.test/", text("x"))
			late := func(ctx *tegenaria.Context) { // the next item is held up on its way
				<-staged
				ctx.Ctx = slowErr{ctx.Ctx, sync.OnceFunc(func() {
					close(stop)
					sleep(500 * time.Millisecond)
				})}
			}
			parse := func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, "first")
				late(ctx)
				item <- tegenaria.NewItem(ctx, "second")
				sleep(time.Minute)
				return nil
			}
			if handle {
				parse = tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
					out.Item("first")
					late(r.Context())
					out.Item("second")
					sleep(time.Minute)
					return nil
				})
			}
			s := newSpider()
			s.start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.GET, parse))
			}
			c := &staging{}
			e := newEngine(w, s, tegenaria.EngineWithGrace(0), tegenaria.EngineWithPipelines(c), tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(*tegenaria.ItemMeta) { close(staged) }}))
			go func() {
				<-stop
				e.Stop(context.Background())
			}()
			wantStopped(t, run(t, e), "stopped")
			if len(c.staged) != 0 || len(c.discarded) == 0 {
				t.Errorf("neither prepared nor discarded: %v; prepared %v, discarded %v", c.staged, c.prepared, c.discarded)
			}
			if s := e.Stats(); s.InFlight != 0 || s.Items != 0 || s.Pending != 1 {
				t.Errorf("after the run %d requests are in flight, %d pending, %d items on their way", s.InFlight, s.Pending, s.Items)
			}
			sleep(time.Hour)
		}
	}
	t.Run("channels", func(t *testing.T) { synctest.Test(t, test(false)) })
	t.Run("Handle", func(t *testing.T) { synctest.Test(t, test(true)) })
}
