package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

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

type nilErr struct{ err error }

func (e *nilErr) Error() string { return e.err.Error() }
func (e *nilErr) Unwrap() error { return e.err }

// Errors of user code whose methods panic are panics of that code. It fails if protect does not try them out.
func TestTypedNilParser(t *testing.T) {
	w := newWorld().page("http://a.test/", text("x"))
	s := newSpider("http://a.test/")
	s.parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		var err *nilErr
		return err
	}
	mustRun(t, newEngine(w, s))
	var panicked *tegenaria.PanicError
	if herr := s.onlyError(t); !errors.As(herr, &panicked) || len(herr.Stack) == 0 {
		t.Errorf("ErrorHandler got %v", herr)
	}
}

type nilErr2 struct{ msg string }

func (e *nilErr2) Error() string { return e.msg }

func TestTypedNilRetry(t *testing.T) {
	w := newWorld().page("http://a.test/", text("x"))
	s := newSpider("http://a.test/")
	s.parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		var err *nilErr2
		return tegenaria.Retry(0, err)
	}
	mustRun(t, newEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 1})))
}

func TestTypedNilFilter(t *testing.T) {
	w := newWorld().page("http://a.test/", text("x"))
	s := newSpider("http://a.test/")
	s.parse = nothing
	f := &filterHooks{accept: func(*tegenaria.Response, *tegenaria.Request) error { var err *nilErr2; return err }}
	f.name = "f"
	mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(f)))
}

func TestTypedNilPipeline(t *testing.T) {
	w := newWorld().page("http://a.test/", text("x"))
	s := newSpider("http://a.test/")
	s.parse = func(c *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		item <- tegenaria.NewItem(c, 1)
		return nil
	}
	mustRun(t, newEngine(w, s, tegenaria.EngineWithPipelines(pipelineFunc{1, func(*tegenaria.ItemMeta) error { var e *nilErr; return e }})))
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

type wrapCache struct {
	tegenaria.CacheInterface
	durable bool
	settle  func(ctx context.Context, b tegenaria.Batch) error
}

func (c *wrapCache) Begin(ctx context.Context, job tegenaria.Job) (tegenaria.State, error) {
	st, err := c.CacheInterface.Begin(ctx, job)
	st.Durable = st.Durable || c.durable
	return st, err
}

func (c *wrapCache) Settle(ctx context.Context, b tegenaria.Batch) error {
	if c.settle != nil {
		if err := c.settle(ctx, b); err != nil {
			return err
		}
	}
	return c.CacheInterface.Settle(ctx, b)
}

// The last Settle hangs until its context ends, which Stop sees to.
func TestSettleFinishedHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page("http://a.test/", text("x"))
		s := newSpider("http://a.test/")
		s.parse = nothing
		release := make(chan struct{})
		var forced atomic.Bool
		cache := &wrapCache{CacheInterface: tegenaria.NewMemoryCache(), durable: true, settle: func(ctx context.Context, b tegenaria.Batch) error {
			if b.Finished != "" {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-release:
				}
			}
			return nil
		}}
		e := newEngine(w, s, tegenaria.EngineWithCache(cache))
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			sleep(time.Minute)
			cancel()
			e.Stop(context.Background())
			sleep(24 * time.Hour)
			select {
			case <-release:
			default:
				forced.Store(true)
				close(release)
			}
		}()
		e.Run(ctx, "test")
		if forced.Load() {
			t.Error("Run did not return within a day of Stop and of the end of its context")
		}
		sleep(48 * time.Hour)
	})
}

// afterCache notes requests that come after Run.
type afterCache struct {
	tegenaria.CacheInterface
	over, late atomic.Bool
}

func (c *afterCache) Accept(ctx context.Context, r []tegenaria.Record) ([]tegenaria.Verdict, error) {
	if r[0].Depth > 0 {
		sleep(2500 * time.Millisecond) // slow, and deaf
		if c.over.Load() {
			c.late.Store(true)
		}
	}
	return c.CacheInterface.Accept(ctx, r)
}

// What abandoned code has sent is stored before Run returns, or not at all. It fails if nobody waits for entries.
func TestAcceptOutlivesRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld().page("http://a.test/", text("x"))
		s := newSpider("http://a.test/")
		s.parse = func(c *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			req <- send("http://a.test/1")
			sleep(time.Minute)
			return nil
		}
		cache := &afterCache{CacheInterface: tegenaria.NewMemoryCache()}
		e := newEngine(w, s, tegenaria.EngineWithCache(cache), tegenaria.EngineWithGrace(0))
		go func() { sleep(time.Second); e.Stop(context.Background()) }()
		e.Run(t.Context(), "test")
		cache.over.Store(true)
		sleep(time.Hour)
		if cache.late.Load() {
			t.Error("the cache stores a request after Run has returned")
		}
	})
}

// Repeated links are emissions, whoever listens.
func TestFollowLinksCountsTheSame(t *testing.T) {
	for _, listen := range []bool{false, true} {
		w := newWorld().page("http://a.test/", page("/x", "/x", "/x")).page("http://a.test/x", page())
		opts := []tegenaria.EngineOption{tegenaria.EngineWithDownloader(w), tegenaria.EngineWithLogger(quiet()),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("test", followAll, "http://a.test/"))}
		if listen {
			opts = append(opts, tegenaria.EngineWithEvents(tegenaria.Events{RequestAccepted: func(*tegenaria.Request) {}}))
		}
		st := mustRun(t, tegenaria.NewSpiderEngine(opts...))
		if st.Discovered != 4 || st.Outcomes[tegenaria.Duplicate] != 2 {
			t.Errorf("listen %v: discovered %d, %v", listen, st.Discovered, st.Outcomes)
		}
	}
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
