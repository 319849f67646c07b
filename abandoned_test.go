package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// stuckCode has a callback of a stage of http://a.test/ not return, the first time that it is called.
func stuckCode(stage tegenaria.Stage, s *enginetest.Spider, e *tegenaria.SpiderEngine, stuck func(url string) error) {
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		if stage == tegenaria.StageParse {
			return stuck(ctx.Request.Url)
		}
		if ctx.Request.Url == "http://a.test/" {
			item <- tegenaria.NewItem(ctx, "item")
		}
		return nil
	}
	hooks := &enginetest.Hooks{}
	switch stage {
	case tegenaria.StageRequest:
		hooks.Request = func(ctx *tegenaria.Context) error { return stuck(ctx.Request.Url) }
	case tegenaria.StageResponse:
		hooks.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return stuck(ctx.Request.Url) }
	case tegenaria.StagePipeline:
		e.RegisterPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { return stuck("http://a.test/") }})
	}
	e.RegisterDownloadMiddlewares(hooks)
}

var stuckStages = []tegenaria.Stage{tegenaria.StageParse, tegenaria.StageRequest, tegenaria.StageResponse, tegenaria.StagePipeline}

// A request whose callback is given up fails then, once, for everybody but its ErrorHandlers: the callback may be at work on all that
// they would be given. Nothing comes of it when the callback returns after all.
func TestAbandonedAndReturned(t *testing.T) {
	for _, stage := range stuckStages {
		t.Run(string(stage), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := enginetest.NewSpider("http://a.test/", "http://b.test/")
				told, retried := 0, 0
				began := time.Now()
				c := &staging{}
				w := onePage().Page("http://b.test/", enginetest.After(50*time.Second, enginetest.Text("x"))) // the run is on until then
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}), tegenaria.EngineWithPipelines(c),
					tegenaria.EngineWithEvents(tegenaria.Events{Error: func(herr *tegenaria.HandleError) {
						if told++; time.Since(began) != 11*time.Second || herr.Response != nil {
							t.Errorf("told after %s of %+v", time.Since(began), herr)
						}
					}}),
					tegenaria.EngineWithErrorHandler(func(tegenaria.SpiderInterface, *tegenaria.HandleError) { retried++ }))
				var calls atomic.Int64
				stuckCode(stage, s, e, func(url string) error {
					if url == "http://a.test/" && calls.Add(1) == 1 {
						enginetest.Sleep(49 * time.Second)
						return errBroken
					}
					return nil
				})
				published := e.ErrorChan()
				for after, unreturned := range map[time.Duration]int{12 * time.Second: 1, 49500 * time.Millisecond: 0} {
					time.AfterFunc(after, func() {
						if stats := e.Stats(); stats.Reasons["failed: abandoned"] != 1 || stats.Unreturned != unreturned {
							t.Errorf("after %s: %+v", after, stats)
						}
					})
				}
				err := enginetest.Run(t, e)
				var abandoned *tegenaria.AbandonedError
				var stopped *tegenaria.StoppedError
				if !errors.As(err, &abandoned) || errors.As(err, &stopped) {
					t.Errorf("Run returned %v", err)
				}
				var herr *tegenaria.HandleError
				if got := <-published; !errors.As(got, &herr) || !errors.As(herr, &abandoned) || abandoned.Stages[stage] != 1 || herr.Stage != stage ||
					herr.Request == nil || herr.CtxId == "" || len(published) != 0 {
					t.Errorf("ErrorChan: %+v", got)
				}
				if stage == tegenaria.StagePipeline && (herr.Item == nil || herr.Item.Item != "item") {
					t.Errorf("the item is missing: %+v", herr.Item)
				}
				if told != 1 || retried != 0 || len(s.Errors()) != 0 {
					t.Errorf("Events.Error %d times, handlers %d and %v", told, retried, s.Errors())
				}
				if stats := e.Stats(); stats.ErrorCount != 1 || stats.Settled != 2 || stats.Outcomes[tegenaria.Fetched] != 1 || calls.Load() != 1 {
					t.Errorf("stats %+v, %d calls", stats, calls.Load())
				}
				if len(c.staged) != 0 || len(c.committed) != 0 && stage != tegenaria.StagePipeline || len(c.discarded) == 0 {
					t.Errorf("staged %v, committed %v, discarded %v", c.staged, c.committed, c.discarded)
				}
			})
		})
	}
}

// A callback that never returns gives back all that its request holds at once: the other requests of its host go on, with one
// worker, one parser and one place in the slot. The request fails at once, and what it has staged is discarded.
func TestAbandonedForEver(t *testing.T) {
	for _, stage := range stuckStages {
		t.Run(string(stage), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				s := enginetest.NewSpider("http://a.test/", "http://a.test/1", "http://a.test/2")
				settled := map[string]string{}
				c := &staging{}
				w := onePage().Page("http://a.test/1", enginetest.Text("x")).Page("http://a.test/2", enginetest.Text("x"))
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}), tegenaria.EngineWithPipelines(c),
					tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithItemConcurrency(1),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1}),
					tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(r *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
						settled[r.Url] = fmt.Sprint(outcome, reason)
					}}))
				stuckCode(stage, s, e, func(url string) error {
					if url == "http://a.test/" {
						<-release
					}
					return nil
				})
				published := e.ErrorChan()
				began := time.Now()
				err := enginetest.Run(t, e)
				var abandoned *tegenaria.AbandonedError
				var stopped *tegenaria.StoppedError
				if !errors.As(err, &abandoned) || errors.As(err, &stopped) || abandoned.Stages[stage] != 1 || time.Since(began) != 11*time.Second {
					t.Errorf("Run returned %v after %s", err, time.Since(began))
				}
				if len(s.Errors()) != 0 {
					t.Errorf("ErrorHandlers were told: %v", s.Errors())
				}
				var herr *tegenaria.HandleError
				if got := <-published; !errors.As(got, &herr) || herr.Stage != stage || herr.Request.Url != "http://a.test/" || herr.CtxId == "" || len(published) != 0 {
					t.Errorf("ErrorChan: %v", got)
				}
				if settled["http://a.test/"] != "failedabandoned" || settled["http://a.test/1"] != "fetched" || settled["http://a.test/2"] != "fetched" {
					t.Errorf("settled %v", settled)
				}
				if stats := e.Stats(); stats.ErrorCount != 1 || stats.Settled != 3 || stats.InFlight != 0 || stats.Items != 0 || stats.ItemScraped+stats.ItemFailed > 1 {
					t.Errorf("stats %+v", stats)
				}
				if len(c.staged) != 0 || len(c.committed) != 0 || len(c.discarded) != 2 { // at once, and before the end
					t.Errorf("staged %v, committed %v, discarded %v", c.staged, c.committed, c.discarded)
				}
				close(release)
				synctest.Wait()
				if stats := e.Stats(); stats.Settled != 3 || len(s.Errors()) != 0 {
					t.Errorf("it had an effect after the run: %+v, %v", stats, s.Errors())
				}
			})
		})
	}
}

// A durable job has the request run again whose code was given up, not before Limits.Callback has passed once more, below other
// requests, and each time with another CtxId: until Limits.Attempts.
func TestAbandonedForEverInADurableJob(t *testing.T) {
	for _, stage := range stuckStages {
		t.Run(string(stage), func(t *testing.T) {
			store := enginetest.NewCrashStore()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					ctx := enginetest.Send("http://a.test/")
					ctx.CtxId = "the user's"
					req <- ctx
				}
				began := time.Now()
				var mu sync.Mutex // guards what follows
				var at []time.Duration
				ids, priorities := map[string]bool{}, []int{}
				c := &staging{}
				e := enginetest.NewEngine(onePage(), s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second, Attempts: 3}), tegenaria.EngineWithPipelines(c),
					tegenaria.EngineWithCache(&enginetest.CrashCache{CrashStore: store}),
					tegenaria.EngineWithEvents(tegenaria.Events{Error: func(herr *tegenaria.HandleError) {
						mu.Lock()
						defer mu.Unlock()
						ids[herr.CtxId] = true
						priorities = append(priorities, herr.Request.Priority)
						at = append(at, time.Since(began))
					}}))
				stuckCode(stage, s, e, func(string) error { <-release; return nil })
				enginetest.WantAbandoned(t, enginetest.Run(t, e))
				if stats := e.Stats(); stats.Outcomes[tegenaria.GaveUp] != 1 || stats.Reasons["gave-up: abandoned"] != 1 || stats.Pending != 0 || stats.Retries != 2 {
					t.Errorf("stats %+v", stats)
				}
				if want := []time.Duration{11 * time.Second, 32 * time.Second, 53 * time.Second}; !slices.Equal(at, want) {
					t.Errorf("given up after %v, want %v", at, want)
				}
				if len(ids) != 3 || !slices.Equal(priorities, []int{0, -1, -2}) {
					t.Errorf("CtxIds %v, priorities %v", ids, priorities)
				}
				if len(c.staged) != 0 || len(c.committed) != 0 || len(c.discarded) != 6 {
					t.Errorf("staged %v, committed %v, discarded %v", c.staged, c.committed, c.discarded)
				}
				close(release)
				synctest.Wait()
			})
		})
	}
}

// A crawl whose callbacks hang one after the other stops before they fill the memory, and counts those that have not returned.
func TestTooManyAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		s.FeedUrls = many(w, "a.test", 1200)
		s.Parse = parserOf(func(*tegenaria.Context) error { <-release; return nil })
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}), tegenaria.EngineWithSchedulerNum(10))
		enginetest.WantStopped(t, enginetest.Run(t, e), "limit: abandoned callbacks")
		if stats := e.Stats(); stats.Unreturned < 1000 || stats.Unreturned > 1100 || stats.Abandoned[tegenaria.StageParse] != stats.Unreturned {
			t.Errorf("%d have not returned, %v were given up", stats.Unreturned, stats.Abandoned)
		}
		close(release)
		synctest.Wait()
	})
}

// The items of a page whose parser was given up go on: one that fails has its ErrorHandlers, whose requests are accepted.
func TestItemsOfAnAbandonedParser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		w := onePage().Page("http://a.test/report", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/" {
				item <- tegenaria.NewItem(ctx, "item")
				<-release
			}
			return nil
		}
		s.Fail = func(_ *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/report")
		}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}),
			tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
				enginetest.Sleep(10*time.Second + 500*time.Millisecond) // the parser is given up half a second later
				enginetest.Sleep(400 * time.Millisecond)
				return io.ErrUnexpectedEOF
			}}))
		time.AfterFunc(11*time.Second-time.Nanosecond, func() {
			if !e.Idle() && e.Stats().InFlight == 0 {
				t.Error("the page is settled while its item moves")
			}
		})
		enginetest.Run(t, e)
		if stats := e.Stats(); w.Count("http://a.test/report") != 1 || stats.Outcomes[tegenaria.Fetched] != 1 || stats.Outcomes[tegenaria.Failed] != 1 {
			t.Errorf("stats %+v", stats)
		}
		close(release)
		synctest.Wait()
	})
}

// ErrorHandlers that do not return are not asked again for it.
func TestAbandonedErrorHandler(t *testing.T) {
	for _, returns := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := enginetest.NewSpider("http://a.test/", "http://b.test/")
			s.Fail = func(*tegenaria.HandleError, chan<- *tegenaria.Context) {
				if returns {
					enginetest.Sleep(10 * time.Second)
				} else {
					enginetest.Sleep(time.Hour)
				}
			}
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Status(500)).Page("http://b.test/", enginetest.After(30*time.Second, enginetest.Text("x")))
			e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}))
			err := enginetest.Run(t, e)
			if n, stats := len(s.Errors()), e.Stats(); n != 1 || stats.ErrorCount != 2 || stats.Abandoned[tegenaria.StageError] != 1 || stats.Outcomes[tegenaria.Failed] != 1 {
				t.Errorf("ErrorHandler was called %d times, stats %+v", n, stats)
			}
			var stopped *tegenaria.StoppedError
			if errors.As(err, &stopped) {
				t.Errorf("Run returned %v", err)
			}
			enginetest.Sleep(2 * time.Hour)
		})
	}
}

// An ErrorHandler that was given up while it was told of an item is the last that hears of it, and sends nothing any more.
func TestAbandonedErrorHandlerOfAnItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := onePage().Page("http://b.test/", enginetest.After(30*time.Second, enginetest.Text("x")))
		s := enginetest.NewSpider("http://a.test/", "http://b.test/")
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/" {
				item <- tegenaria.NewItem(ctx, "item")
			}
			return nil
		}
		var told atomic.Int32 // the spider's handler
		s.Fail = func(*tegenaria.HandleError, chan<- *tegenaria.Context) { told.Add(1) }
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}),
			tegenaria.EngineWithErrorHandler(func(tegenaria.SpiderInterface, *tegenaria.HandleError) { enginetest.Sleep(3 * time.Second) }),
			tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { return io.ErrUnexpectedEOF }}))
		enginetest.Run(t, e)
		if stats := e.Stats(); stats.Abandoned[tegenaria.StageError] != 1 || told.Load() != 0 || stats.ItemFailed != 1 || stats.Outcomes[tegenaria.Fetched] != 1 || stats.Reasons["failed: abandoned"] != 1 {
			t.Errorf("the spider was told %d times, %+v", told.Load(), stats)
		}
	})
}

// The time that a pipeline waits for the loop over Crawl is the loop's: however slow it is, nothing is given up.
func TestSlowLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enginetest.NewSpider()
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			for i := range 3 {
				if ctx.Request.Url == "http://a.test/" {
					item <- tegenaria.NewItem(ctx, i)
				}
			}
			return nil
		}
		w := onePage().Page("http://b.test/", enginetest.After(5*time.Minute, enginetest.Text("x"))) // the run is on until then
		scraped, yielded := 0, 0
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/")
			req <- enginetest.Send("http://b.test/", tegenaria.RequestWithTimeout(time.Hour))
		}
		for _, err := range tegenaria.Crawl[int](t.Context(), s, tegenaria.EngineWithDownloader(w), tegenaria.EngineWithLogger(enginetest.Quiet()),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}),
			tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(*tegenaria.ItemMeta) { scraped++ }})) {
			if err != nil {
				t.Errorf("Run returned %v", err)
			}
			yielded++
			enginetest.Sleep(time.Minute)
		}
		if scraped != 3 || yielded != 3 || len(s.Errors()) != 0 {
			t.Errorf("scraped %d, yielded %d, errors %v", scraped, yielded, s.Errors())
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
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					for i := range 3 {
						req <- enginetest.Send(fmt.Sprint("http://a.test/", i))
					}
				}
				s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					leave(tegenaria.StageParse, ctx.Request.Url)
					item <- tegenaria.NewItem(ctx, ctx.Request.Url)
					if stage == tegenaria.StageError {
						return errors.New("ask the handler")
					}
					return nil
				}
				s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) {
					if err.Request != nil && err.Stage == tegenaria.StageParse {
						leave(tegenaria.StageError, err.Request.Url)
					}
				}
				w := enginetest.NewWorld().Page("http://a.test/0", enginetest.Text("x")).Page("http://a.test/1", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					leave(tegenaria.StageDownload, "http://a.test/1")
					return enginetest.Text("x")(ctx)
				}).Page("http://a.test/2", enginetest.Text("x"))
				part := &opening{open: func(context.Context) error { leave(tegenaria.StageOpen, "http://a.test/1"); return nil }}
				part.Hooks = enginetest.Hooks{
					Request: func(ctx *tegenaria.Context) error { leave(tegenaria.StageRequest, ctx.Request.Url); return nil },
					Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
						leave(tegenaria.StageResponse, ctx.Request.Url)
						return nil
					},
				}
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(part), tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, url string) (string, error) {
					leave(tegenaria.StagePipeline, url)
					return url, nil
				})))
				began := time.Now()
				err := enginetest.Run(t, e)
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
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/")
			runtime.Goexit()
		}
		err := enginetest.Run(t, enginetest.NewEngine(onePage(), s))
		var failed *tegenaria.RunError
		if !errors.As(err, &failed) || failed.Op != "start" {
			t.Errorf("Run returned %v", err)
		}
	})
}

// A callback returns while it is being given up: Run waits until the request is let go of, or it would be neither
// settled nor put back. It fails if crawl.run does not wait for the watch.
func TestGiveUpLosesARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(c, 1)
			return nil
		}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithGrace(4*time.Second),
			tegenaria.EngineWithEvents(tegenaria.Events{Abandoned: func(tegenaria.Stage, *tegenaria.Request) { enginetest.Sleep(10 * time.Millisecond) }}),
			tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
				enginetest.Sleep(time.Second + 4*time.Second + 5*time.Millisecond) // returns 5 ms after it was given up
				return nil
			}}))
		go func() { enginetest.Sleep(time.Second); e.Stop(context.Background()) }()
		e.Run(t.Context(), "test")
		if st := e.Stats(); st.InFlight != 0 || st.Items != 0 {
			t.Errorf("after Run: in flight %d, pending %d, items %d", st.InFlight, st.Pending, st.Items)
		}
		enginetest.Sleep(time.Hour)
	})
}

// What the ErrorHandlers of two failed items send unfiltered is two requests; those of items that were given up are not told.
func TestUnfilteredOfFailedItems(t *testing.T) {
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := onePage().Page("http://a.test/report", enginetest.Text("x")).Page("http://b.test/", enginetest.After(30*time.Second, enginetest.Text("x")))
			s := enginetest.NewSpider("http://a.test/", "http://b.test/")
			s.Parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				if c.Request.Url == "http://a.test/" {
					item <- tegenaria.NewItem(c, 1)
					item <- tegenaria.NewItem(c, 2)
				}
				return nil
			}
			s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://a.test/report", tegenaria.RequestWithDoNotFilter(true))
			}
			e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}),
				tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
					if hang {
						enginetest.Sleep(10 * time.Second)
						return nil
					}
					return errors.New("fails")
				}}))
			enginetest.Run(t, e)
			if n := w.Count("http://a.test/report"); n != map[bool]int{false: 2, true: 0}[hang] {
				t.Errorf("hang %v: the unfiltered request was sent twice and downloaded %d times: %v", hang, n, e.Stats().Outcomes)
			}
			enginetest.Sleep(time.Minute)
		})
	}
}

type robotsHooks struct{ enginetest.Hooks }

func (*robotsHooks) SeesInternal() bool { return true }

// An internal middleware that hangs at robots.txt is given up as at any page.
func TestInternalMiddlewareHangs(t *testing.T) {
	for _, where := range []string{"request", "response"} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			m := &robotsHooks{}
			m.Name = "m"
			block := func(ctx *tegenaria.Context) error {
				if ctx.Request.Url == "http://a.test/robots.txt" {
					<-release
				}
				return nil
			}
			if where == "request" {
				m.Request = block
			} else {
				m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return block(ctx) }
			}
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/robots.txt", enginetest.Text(""))
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = enginetest.Nothing
			slow := 0
			e := enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{}), tegenaria.EngineWithMiddlewares(m),
				tegenaria.EngineWithEvents(tegenaria.Events{SlowCallback: func(tegenaria.Stage, *tegenaria.Request, time.Duration) { slow++ }}),
				tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 2 * time.Minute}))
			timer := time.AfterFunc(24*time.Hour, func() {
				t.Errorf("%s: the callback was not given up within a day; %d slow warnings", where, slow)
				e.Stop(context.Background())
			})
			enginetest.Run(t, e)
			timer.Stop()
			close(release)
			enginetest.Sleep(time.Minute)
		})
	}
}

type stuckDownloader struct {
	*enginetest.World
	release chan struct{}
}

func (d stuckDownloader) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	if ctx.Request.Url == "http://a.test/stuck" {
		<-d.release
		return
	}
	d.World.Download(ctx, result)
}

// A Downloader that never returns does not keep the Fetch that asked it. It fails if fetcher.ask does not download apart.
func TestFetchOfADownloaderThatNeverReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stuckDownloader{enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")), make(chan struct{})}
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(c *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			_, err := c.Fetch(tegenaria.NewRequest("http://a.test/stuck", tegenaria.GET, nil))
			return err
		}
		e := enginetest.NewEngine(w, s)
		timer := time.AfterFunc(24*time.Hour, func() {
			t.Errorf("Fetch did not return within a day: %+v", e.Stats())
			e.Stop(context.Background())
		})
		enginetest.Run(t, e)
		timer.Stop()
		close(w.release)
		enginetest.Sleep(time.Minute)
	})
}

// An abandoned middleware may put another request into its Context: the race detector sees who reads it.
func TestAbandonedWrites(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = enginetest.Nothing
	done := make(chan struct{})
	m := &enginetest.Hooks{Name: "m", Request: func(ctx *tegenaria.Context) error {
		defer close(done)
		for range 700 {
			enginetest.Sleep(time.Millisecond)
			again := *ctx.Request
			ctx.Request = &again
		}
		return nil
	}}
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 150 * time.Millisecond}),
		tegenaria.EngineWithEvents(tegenaria.Events{RequestSettled: func(*tegenaria.Request, tegenaria.Outcome, string) {}}))
	enginetest.Run(t, e)
	<-done
}

// Items and the abandonment of their pipelines at the same instant.
func TestItemRace(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://late.test/", enginetest.After(30*time.Second, enginetest.Text("x")))
			s := enginetest.NewSpider("http://late.test/")
			for i := range 6 {
				u := fmt.Sprintf("http://h%d.test/", i)
				s.FeedUrls = append(s.FeedUrls, u)
				w.Page(u, enginetest.Text("x"))
			}
			s.Parse = tegenaria.Parser(func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				for i := range 3 {
					if c.Request.Url != "http://late.test/" {
						item <- tegenaria.NewItem(c, i)
					}
				}
				return nil
			})
			var n atomic.Int64
			e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}), tegenaria.EngineWithItemConcurrency(20),
				tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
					enginetest.Sleep(2 * time.Second)
					n.Add(1)
					if n.Load()%3 == 0 {
						return enginetest.ErrPlanned
					}
					return nil
				}}))
			timer := time.AfterFunc(24*time.Hour, func() { t.Errorf("seed %d: no end %+v", seed, e.Stats()); panic("no end") })
			enginetest.Run(t, e)
			timer.Stop()
			st := e.Stats()
			if st.ItemScraped+st.ItemFailed+st.ItemDropped != 18 || st.InFlight != 0 || st.Settled != 7 ||
				(st.Abandoned[tegenaria.StagePipeline] > 0) != (st.Reasons["failed: abandoned"] > 0) {
				t.Errorf("seed %d: %+v", seed, st)
			}
			enginetest.Sleep(time.Minute)
		})
	}
}

// A page whose pipeline was given up in the middle of a Fetch is settled, and its Committers told, when the crawl gives up
// before that Fetch returns. It fails if nobody ends the calls of Fetch then.
func TestCommitterOfAnUnfinishedFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{})
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/other", func(*tegenaria.Context) (*tegenaria.Response, error) {
			close(asked)
			enginetest.Sleep(time.Hour)
			return nil, errBroken
		})
		s := enginetest.NewSpider("http://a.test/")
		var page *tegenaria.Context
		s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			page = ctx
			item <- tegenaria.NewItem(ctx, "good")
			item <- tegenaria.NewItem(ctx, "stuck")
			return nil
		}
		stuck := enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
			if item.Item == "stuck" {
				go get(page, "http://a.test/other")
				enginetest.Sleep(time.Hour)
			}
			return nil
		}}
		c := &staging{}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(stuck, c), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}))
		go func() {
			<-asked
			enginetest.Sleep(5 * time.Second) // the pipeline was given up before
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			e.Stop(ctx)
		}()
		enginetest.Run(t, e)
		if len(c.staged) != 0 {
			t.Errorf("neither prepared nor discarded: %v; prepared %d, discarded %d pages", c.staged, len(c.prepared), len(c.discarded))
		}
		if s := e.Stats(); s.InFlight != 0 {
			t.Errorf("%d requests are in flight after the run", s.InFlight)
		}
		enginetest.Sleep(2 * time.Hour)
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
// that it has staged before. It fails if items.add does not enter acceptor.entries.
func TestItemOnItsWayWhenTheParserIsAbandoned(t *testing.T) {
	test := func(handle bool) func(t *testing.T) {
		return func(t *testing.T) {
			staged, stop := make(chan struct{}), make(chan struct{})
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
			late := func(ctx *tegenaria.Context) { // the next item is held up on its way
				<-staged
				ctx.Ctx = slowErr{ctx.Ctx, sync.OnceFunc(func() {
					close(stop)
					enginetest.Sleep(500 * time.Millisecond)
				})}
			}
			parse := func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, "first")
				late(ctx)
				item <- tegenaria.NewItem(ctx, "second")
				enginetest.Sleep(time.Minute)
				return nil
			}
			if handle {
				parse = tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
					out.Item("first")
					late(r.Context())
					out.Item("second")
					enginetest.Sleep(time.Minute)
					return nil
				})
			}
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.GET, parse))
			}
			c := &staging{}
			e := enginetest.NewEngine(w, s, tegenaria.EngineWithGrace(0), tegenaria.EngineWithPipelines(c), tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(*tegenaria.ItemMeta) { close(staged) }}))
			go func() {
				<-stop
				e.Stop(context.Background())
			}()
			enginetest.WantStopped(t, enginetest.Run(t, e), "stopped")
			if len(c.staged) != 0 || len(c.discarded) == 0 {
				t.Errorf("neither prepared nor discarded: %v; prepared %v, discarded %v", c.staged, c.prepared, c.discarded)
			}
			if s := e.Stats(); s.InFlight != 0 || s.Items != 0 || s.Pending != 1 {
				t.Errorf("after the run %d requests are in flight, %d pending, %d items on their way", s.InFlight, s.Pending, s.Items)
			}
			enginetest.Sleep(time.Hour)
		}
	}
	t.Run("channels", func(t *testing.T) { synctest.Test(t, test(false)) })
	t.Run("Handle", func(t *testing.T) { synctest.Test(t, test(true)) })
}

// An ErrorHandler that answers every failure with another request comes to an end: Limits.Attempts bounds the same
// request and those that are refused, Limits.Depth the others.
func TestErrorHandlerForEver(t *testing.T) {
	for _, tt := range []struct {
		name  string
		seed  string
		next  func(n int, failed *tegenaria.Request) *tegenaria.Request
		asked int
		told  int
		want  map[tegenaria.Outcome]int64
	}{
		{"same", "http://a.test/", func(_ int, failed *tegenaria.Request) *tegenaria.Request { return failed }, 4, 4,
			map[tegenaria.Outcome]int64{tegenaria.Failed: 4, tegenaria.GaveUp: 1}},
		{"refused", "http://a.test/", func(n int, _ *tegenaria.Request) *tegenaria.Request {
			return tegenaria.NewRequest(fmt.Sprintf("bad%d:", n), "GET", nil)
		}, 1, 4, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Filtered: 4}},
		{"different", "http://a.test/", func(n int, _ *tegenaria.Request) *tegenaria.Request {
			return tegenaria.NewRequest(fmt.Sprintf("http://a.test/%d", n), "GET", nil)
		}, 7, 7, map[tegenaria.Outcome]int64{tegenaria.Failed: 7, tegenaria.Filtered: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld() // answers 404
			s := enginetest.NewSpider(tt.seed)
			n := 0
			s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
				n++
				req <- tegenaria.NewContext(tt.next(n, err.Request))
			}
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 4, Depth: 6})))
			if len(w.Visits()) != tt.asked || n != tt.told {
				t.Errorf("%d downloads, ErrorHandler told %d times; want %d and %d", len(w.Visits()), n, tt.asked, tt.told)
			}
			enginetest.WantOutcomes(t, stats, tt.want)
		})
	}
}

// A parser that waits after a Fetch until another one, which overruns its limit, makes room for it, has the time that
// it had: waiting for the engine does not count. It fails if fetchInline does not pause its clock.
func TestParserThatWaitsForALateOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		for _, url := range []string{"http://a.test/", "http://b.test/", "http://a.test/more"} {
			w.Page(url, enginetest.After(time.Second, enginetest.Text("x")))
		}
		w.Page("http://b.test/", enginetest.After(1500*time.Millisecond, enginetest.Text("x")))
		s := enginetest.NewSpider("http://a.test/", "http://b.test/")
		s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if ctx.Request.Url == "http://b.test/" {
				enginetest.Sleep(time.Minute) // from when the other one waits for its page
				return nil
			}
			_, err := get(ctx, "http://a.test/more")
			return errors.Join(err, ctx.Err())
		}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}))
		enginetest.WantAbandoned(t, enginetest.Run(t, e))
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Failed: 1})
		if len(s.Errors()) != 0 {
			t.Errorf("errors: %v", s.Errors())
		}
		enginetest.Sleep(time.Hour)
	})
}

// Goroutines of an old run used the fields of the new one. Fails if acceptor.accept and items.add use the crawl that the
// engine has at the moment: late output of an abandoned parser reaches the next run then.
func TestLateOutputStaysInItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		release, returned := make(chan struct{}), make(chan struct{})
		var first atomic.Bool
		s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if first.Swap(true) {
				close(release)
				<-returned
				return nil
			}
			defer close(returned)
			<-release
			for range 10 {
				item <- tegenaria.NewItem(resp, "late")
				req <- enginetest.Send("http://a.test/late")
			}
			return errors.New("late")
		}
		items := &enginetest.Collector{}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(items), tegenaria.EngineWithGrace(time.Second))
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		err := <-result
		enginetest.WantStopped(t, err, "stopped")
		var abandoned *tegenaria.AbandonedError
		if !errors.As(err, &abandoned) || abandoned.Stages[tegenaria.StageParse] != 1 {
			t.Errorf("Run returned %v, want an *AbandonedError", err)
		}
		stats := enginetest.MustRun(t, e)
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 1})
		if len(items.All()) != 0 || w.Count("http://a.test/late") != 0 || len(s.Errors()) != 0 {
			t.Errorf("late output of the first run: items %v, asked %q, errors %v", items.All(), w.Urls(), s.Errors())
		}
	})
}
