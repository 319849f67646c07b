package tegenaria_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A request that is put off comes again when its gate opens, as it was accepted, whoever puts it off; meanwhile it holds no worker, and
// it is no failure.
func TestNotNow(t *testing.T) {
	for _, where := range []string{"ProcessRequest", "ProcessResponse", "ProcessError", "Parser", "Fetch", "robots.txt", "robots.txt of Fetch"} {
		t.Run(where, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const page = "http://a.test/x"
				fetches := where == "Fetch" || where == "robots.txt of Fetch"
				gate := tegenaria.NewGate("the login")
				began := time.Now()
				var mu sync.Mutex
				offs := 0
				putOff := func(ctx *tegenaria.Context) error {
					mu.Lock()
					defer mu.Unlock()
					ctx.Request.Header["X-Changed"] = fmt.Sprint(len(ctx.Request.Header["X-Changed"]), "x")
					if offs == 2 || ctx.Request.Url == "http://b.test/" || ctx.Request.Url == "http://b.test/robots.txt" {
						return nil
					}
					if offs++; offs == 1 {
						gate.CloseFor(time.Minute)
					}
					return fmt.Errorf("wrapped: %w", tegenaria.NotNow(gate))
				}
				w := enginetest.NewWorld().Page(page, enginetest.Text("x")).Page("http://b.test/", enginetest.Text("b")).
					Page("http://a.test/robots.txt", enginetest.Status(404)).Page("http://b.test/robots.txt", enginetest.Status(404))
				s := enginetest.NewSpider(page, "http://b.test/")
				if fetches {
					s = enginetest.NewSpider("http://b.test/")
				}
				var parsed *tegenaria.Request
				m := &internalErrorHooks{}
				m.Failed = func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error { return err }
				s.Parse = parserOf(func(ctx *tegenaria.Context) error {
					switch {
					case where == "Parser":
						return putOff(ctx)
					case ctx.Request.Url == page:
						parsed = ctx.Request
					case fetches:
						resp, err := ctx.Fetch(tegenaria.NewRequest(page, tegenaria.GET, nil))
						if err != nil {
							t.Error(err)
							return nil
						}
						parsed = resp.Request()
					}
					return nil
				})
				switch where {
				case "ProcessRequest", "Fetch":
					m.Request = putOff
				case "robots.txt", "robots.txt of Fetch":
					m.sees = true
					m.Request = func(ctx *tegenaria.Context) error {
						if ctx.Request.Url == "http://a.test/robots.txt" {
							return putOff(ctx)
						}
						return nil
					}
				case "ProcessResponse":
					m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return putOff(ctx) }
				case "ProcessError":
					m.Response = func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
						mu.Lock()
						defer mu.Unlock()
						if offs < 2 && ctx.Request.Url == page {
							return errBroken
						}
						return nil
					}
					m.Failed = func(ctx *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error { return putOff(ctx) }
				}
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithConcurrency(1),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 8}), tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 1}))
				stats := enginetest.MustRun(t, e)
				enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2})
				if stats.Retries != 0 || stats.Discovered != 2 || len(s.Errors()) != 0 {
					t.Errorf("stats: %+v; errors: %v", stats, s.Errors())
				}
				if took := time.Since(began); offs != 2 || took != time.Minute {
					t.Errorf("it was put off %d times and took %s, want twice and a minute", offs, took)
				}
				if !fetches && where != "Parser" && parsed.Attempt != 0 {
					t.Errorf("the last attempt was %+v", parsed)
				}
				for _, v := range w.Visits() {
					if v.Req.Url == "http://b.test/" && !v.At.Equal(began) {
						t.Errorf("b.test was asked after %s: a request that is put off held its worker", v.At.Sub(began))
					}
				}
			})
		})
	}
}

type internalErrorHooks struct {
	enginetest.ErrorHooks
	sees bool
}

func (h *internalErrorHooks) SeesInternal() bool { return h.sees }

// While a gate is closed the middleware is asked no more often than there are workers, however many requests wait; when it opens they
// all come. Another host is not held up.
func TestClosedGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pages, workers = 2000, 4
		gate := tegenaria.NewGate("proxies")
		gate.Close()
		var mu sync.Mutex
		asked := 0
		w := enginetest.NewWorld()
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			for i := range pages {
				for _, host := range []string{"a", "b"} {
					url := fmt.Sprintf("http://%s.test/%d", host, i)
					w.Page(url, enginetest.Text("x"))
					req <- enginetest.Send(url)
				}
			}
		}
		m := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if gate.IsClosed() && ctx.Request.Url[:13] == "http://a.test" {
				asked++
				return tegenaria.NotNow(gate)
			}
			return nil
		}}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithConcurrency(workers))
		done := make(chan error)
		go func() { done <- e.Run(t.Context(), "test") }()
		synctest.Wait()
		if st := e.Stats(); st.Outcomes[tegenaria.Fetched] != pages || st.Pending != pages || st.InFlight != 0 {
			t.Errorf("while the gate is closed: %+v, want all pages of b.test", st)
		}
		for _, slot := range e.Slots() {
			if slot.Name == "a.test" && slot.Gate != "proxies" {
				t.Errorf("a.test waits for %q", slot.Gate)
			}
		}
		if asked == 0 || asked > workers {
			t.Errorf("the middleware was asked %d times, want up to %d", asked, workers)
		}
		gate.Close() // which is no news
		gate.Open()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		enginetest.WantOutcomes(t, e.Stats(), map[tegenaria.Outcome]int64{tegenaria.Fetched: 2 * pages})
	})
}

// A crawl whose gate stays closed ends when it is stopped. What waits is taken up by the next run of the job, at its first attempt.
func TestStopAtGate(t *testing.T) {
	store, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	gate := tegenaria.NewGate("proxies")
	gate.Close()
	asked := make(chan struct{}, 100)
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	m := &enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
		if ctx.Request.Attempt != 0 {
			t.Errorf("it was attempt %d", ctx.Request.Attempt)
		}
		if gate.IsClosed() {
			asked <- struct{}{}
			return tegenaria.NotNow(gate)
		}
		return nil
	}}
	run := func() (*tegenaria.SpiderEngine, chan error) {
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithCache(store))
		done := make(chan error, 1)
		go func() { done <- e.Run(t.Context(), "test") }()
		return e, done
	}
	e, done := run()
	<-asked
	if err := e.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	enginetest.WantStopped(t, <-done, "stopped")
	gate.Open()
	e, done = run()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if st := e.Stats(); st.Outcomes[tegenaria.Fetched] != 1 || st.Outcomes[tegenaria.Failed] != 0 { // the start may be called again
		t.Errorf("the next run: %+v", st)
	}
}

// The last call of Close, CloseFor and Open is the one that counts.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := tegenaria.NewGate("x")
		want := func(closed bool, when string) {
			t.Helper()
			synctest.Wait()
			if gate.IsClosed() != closed {
				t.Errorf("closed: %v %s", !closed, when)
			}
		}
		want(false, "when it is made")
		gate.CloseFor(time.Second)
		gate.CloseFor(time.Minute)
		enginetest.Sleep(30 * time.Second)
		want(true, "after the time of the first call")
		enginetest.Sleep(30 * time.Second)
		want(false, "after the time of the second call")
		gate.CloseFor(time.Second)
		gate.Close()
		enginetest.Sleep(time.Hour)
		want(true, "without a time")
		gate.Open()
		gate.CloseFor(time.Minute)
		gate.Open()
		gate.Close()
		enginetest.Sleep(time.Hour)
		want(true, "though the time of an earlier call has passed")
	})
}
