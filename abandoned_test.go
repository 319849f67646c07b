package tegenaria_test

import (
	"errors"
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
