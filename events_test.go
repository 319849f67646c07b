package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A download is announced once, also when its slot is blocked while the func of RequestStarted takes its time: then the
// request stands in line again. It starts when the slot lets it, and has its page of the budget. It fails if download
// tells RequestStarted of a job that is announced.
func TestRequestStartedIsCalledOnce(t *testing.T) {
	for name, inline := range map[string]bool{"of the queue": false, "of Fetch": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				busy := func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					return tegenaria.NewResponse(ctx.Request, http.StatusTooManyRequests, map[string][]string{"Retry-After": {"60"}}, nil), nil
				}
				w := enginetest.NewWorld().Page("http://a.test/busy", enginetest.After(2*time.Second, busy)).Page("http://a.test/slow", enginetest.Text("x")).
					Page("http://b.test/", enginetest.Text("x"))
				s := enginetest.NewSpider("http://a.test/busy", "http://a.test/slow")
				if inline {
					s.FeedUrls[1] = "http://b.test/"
				}
				s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
					if ctx.Request.Url == "http://b.test/" {
						if _, err := get(ctx, "http://a.test/slow"); err != nil {
							t.Error(err)
						}
					}
					req <- enginetest.Send("http://a.test/third")
					return nil
				}
				var mu sync.Mutex // guards told
				told := map[string]int{}
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 2,
					Overrides: map[string]tegenaria.SlotPolicy{"a.test": {PerSlot: 2, MaxPages: 2}}}),
					tegenaria.EngineWithEvents(tegenaria.Events{RequestStarted: func(r *tegenaria.Request) {
						mu.Lock()
						told[r.Url]++
						mu.Unlock()
						if r.Url == "http://a.test/slow" {
							enginetest.Sleep(10 * time.Second)
						}
					}}))
				began := time.Now()
				stats := enginetest.MustRun(t, e)
				for _, v := range w.Visits() {
					if told[v.Url] != 1 || v.Url == "http://a.test/slow" && v.At.Sub(began) < time.Minute {
						t.Errorf("%s was announced %d times and downloaded after %s", v.Url, told[v.Url], v.At.Sub(began))
					}
				}
				if len(told) != len(w.Visits()) || w.Count("http://a.test/slow") != 1 || stats.Reasons["filtered: page-budget"] != 1 {
					t.Errorf("announced %v, downloaded %v, %v", told, w.Urls(), stats.Reasons)
				}
			})
		})
	}
}

// look reads all that a request has.
func look(r *tegenaria.Request) string {
	if r == nil {
		return ""
	}
	return fmt.Sprint(r.Url, maps.Clone(r.Header), maps.Clone(r.Meta), maps.Clone(r.Params), maps.Clone(r.Cookies), slices.Clone(r.Redirects), string(r.Body), *r)
}

// scribble is user code that does not return for a while: it goes on writing to a request.
func scribble(r *tegenaria.Request) {
	for i := range 2500 {
		r.Url = fmt.Sprintf("http://a.test/scribbled/%d", i)
		r.Header[fmt.Sprint(i)] = "x"
		r.Meta["n"] = i
		r.Body = append(r.Body[:0], 'y')
		enginetest.Sleep(time.Millisecond)
	}
}

// What is told of a request never has the Request that code which was left behind may still be writing to: the race
// detector sees who looks at it. It fails if requestOf returns the request of the job's Context.
func TestEventsGetTheAcceptedRequest(t *testing.T) {
	asked := func(url string) *tegenaria.Request {
		return tegenaria.NewRequest(url, tegenaria.GET, nil, tegenaria.RequestWithBody([]byte("x")),
			tegenaria.RequestWithRequestMeta(map[string]any{"n": 0}))
	}
	const page = "http://a.test/page"
	tests := map[string]func(s *enginetest.Spider, scribble func(*tegenaria.Request)) []tegenaria.EngineOption{
		"a middleware": func(_ *enginetest.Spider, scribble func(*tegenaria.Request)) []tegenaria.EngineOption {
			return []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(&enginetest.Hooks{Name: "m", Request: func(ctx *tegenaria.Context) error {
				scribble(ctx.Request)
				return nil
			}})}
		},
		"a middleware of a Fetch": func(s *enginetest.Spider, scribble func(*tegenaria.Request)) []tegenaria.EngineOption {
			s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				ctx.Fetch(asked("http://a.test/never"))
				return nil
			}
			return []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(&enginetest.Hooks{Name: "m", Request: func(ctx *tegenaria.Context) error {
				if ctx.Request.Url == "http://a.test/never" {
					scribble(ctx.Request)
				}
				return nil
			}})}
		},
		"the ErrorHandler of a page": func(s *enginetest.Spider, scribble func(*tegenaria.Request)) []tegenaria.EngineOption {
			s.Parse = func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
				return enginetest.ErrPlanned
			}
			s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) { scribble(err.Request) }
			return nil
		},
		"the ErrorHandler of an item": func(s *enginetest.Spider, scribble func(*tegenaria.Request)) []tegenaria.EngineOption {
			s.Parse = itemOfItsURL
			s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) { scribble(err.Request) }
			return []tegenaria.EngineOption{tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { return enginetest.ErrPlanned }})}
		},
		"the ErrorHandler of a request that was refused": func(s *enginetest.Spider, scribble func(*tegenaria.Request)) []tegenaria.EngineOption {
			s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				req <- tegenaria.NewContext(asked("gopher://a.test/"))
				return nil
			}
			s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) { scribble(err.Request) }
			return nil
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := enginetest.NewWorld().Page(page, enginetest.Text("x"))
			s := enginetest.NewSpider()
			s.Parse = enginetest.Nothing
			s.Start = func(req chan<- *tegenaria.Context) { req <- tegenaria.NewContext(asked(page)) }
			var mu sync.Mutex // guards settled
			var settled []string
			var scribbling sync.WaitGroup
			opts := append(test(s, func(r *tegenaria.Request) {
				scribbling.Add(1)
				defer scribbling.Done()
				scribble(r)
			}), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 500 * time.Millisecond}),
				tegenaria.EngineWithEvents(tegenaria.Events{
					RequestSettled: func(r *tegenaria.Request, o tegenaria.Outcome, reason string) {
						mu.Lock()
						defer mu.Unlock()
						settled = append(settled, fmt.Sprint(r.Url, " ", o, " ", reason, " ", r.Meta))
						look(r)
					},
					Abandoned: func(_ tegenaria.Stage, r *tegenaria.Request) { look(r) },
				}))
			if s.Fail == nil {
				s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) { look(err.Request) }
			}
			e := enginetest.NewEngine(w, s, opts...)
			e.Run(context.Background(), "test")
			scribbling.Wait()
			mu.Lock()
			defer mu.Unlock()
			for _, line := range settled {
				if strings.Contains(line, "scribbled") {
					t.Errorf("RequestSettled was told of %q", line)
				}
			}
			if len(settled) == 0 {
				t.Error("RequestSettled was not told")
			}
		})
	}
}

// lingerCache tells of a record with a NotBefore long after it was stored.
type lingerCache struct{ tegenaria.CacheInterface }

func (c lingerCache) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	verdicts, err := c.CacheInterface.Accept(ctx, records)
	if slices.Contains(verdicts, tegenaria.VerdictLater) && records[0].Priority > 0 {
		enginetest.Sleep(3 * time.Second)
	}
	return verdicts, err
}

// No count of a snapshot is negative, although a slow cache hands out a delayed request before it has told that it was
// delayed. It fails if Counts.balance in internal/frontier does nothing.
func TestSnapshotIsNeverNegative(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/1", enginetest.Text("x")).Page("http://a.test/2", enginetest.After(4*time.Second, enginetest.Text("x")))
		s := enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/1", tegenaria.RequestWithNotBefore(time.Now().Add(500*time.Millisecond)))
			req <- enginetest.Send("http://a.test/2", tegenaria.RequestWithNotBefore(time.Now().Add(time.Second)), tegenaria.RequestWithPriority(1))
		}
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(lingerCache{tegenaria.NewMemoryCache()}))
		go func() {
			enginetest.Sleep(2 * time.Second)
			if st := e.Stats(); min(st.Pending, st.Delayed, st.InFlight) < 0 || st.InFlight != 1 {
				t.Errorf("while a request is downloaded: %+v", st)
			}
		}()
		enginetest.MustRun(t, e)
	})
}

// A middleware that is given up and returns after all is the last that is called: nobody is told of its failure after
// Run has returned. It fails if fail goes on when its job is abandoned.
func TestNoFailureIsReportedAfterRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Broken(errBroken))
		s := enginetest.NewSpider("http://a.test/")
		m := &enginetest.ErrorHooks{Hooks: enginetest.Hooks{Name: "m"}, Failed: func(_ *tegenaria.Context, err error, _ chan<- *tegenaria.Context) error {
			enginetest.Sleep(time.Minute)
			return err
		}}
		var over atomic.Bool
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithMiddlewares(m), tegenaria.EngineWithGrace(time.Second),
			tegenaria.EngineWithEvents(tegenaria.Events{Error: func(err *tegenaria.HandleError) {
				if over.Load() {
					t.Errorf("Error was told after Run had returned: %v", err)
				}
			}}))
		go func() {
			enginetest.Sleep(time.Second)
			e.Stop(context.Background())
		}()
		enginetest.Run(t, e)
		over.Store(true)
		enginetest.Sleep(time.Hour)
		if errs := s.Errors(); len(errs) != 0 {
			t.Errorf("ErrorHandler was told after Run had returned: %v", errs)
		}
	})
}

// A Fetch that is given up while RequestStarted is told of it gives its page back, and asks the server nothing when the
// func returns: its request has its end. The page is there for a request that came before the Fetch, and for one that came
// while the Fetch had it. It fails if Frontier.Spend does not look whether the job is over, or IsSpent or Starves takes a
// reserved page for a download that has begun.
func TestAbandonedFetchAsksNothing(t *testing.T) {
	tests := map[string]struct {
		budget int
		pause  time.Duration // before the second request of the slot is sent
		early  time.Duration // so much earlier it may be downloaded
	}{
		"with a page budget":                          {budget: 1},
		"with a page budget, and a request in hand":   {budget: 1, early: 4500 * time.Millisecond},
		"with a page budget, and a request meanwhile": {budget: 1, pause: 500 * time.Millisecond},
		"without": {},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/slow", enginetest.Text("x")).Page("http://a.test/second", enginetest.Text("x")).Page("http://b.test/", enginetest.Text("x")).
					Page("http://b.test/last", enginetest.Text("x"))
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					req <- enginetest.Send("http://b.test/")
					enginetest.Sleep(test.pause)
					req <- enginetest.Send("http://a.test/second", tegenaria.RequestWithNotBefore(time.Now().Add(5*time.Second-test.early)))
					req <- enginetest.Send("http://b.test/last", tegenaria.RequestWithNotBefore(time.Now().Add(time.Minute))) // the crawl goes on
				}
				s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					if ctx.Request.Url == "http://b.test/" {
						get(ctx, "http://a.test/slow")
					}
					return nil
				}
				var settled sync.Map
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true,
						Overrides: map[string]tegenaria.SlotPolicy{"a.test": {PerSlot: 2, MaxPages: test.budget}}}),
					tegenaria.EngineWithEvents(tegenaria.Events{
						RequestStarted: func(r *tegenaria.Request) {
							if r.Url == "http://a.test/slow" {
								enginetest.Sleep(10 * time.Second)
							}
						},
						RequestSettled: func(r *tegenaria.Request, o tegenaria.Outcome, reason string) {
							settled.Store(r.Url, fmt.Sprint(o, " ", reason))
						},
					}))
				enginetest.Run(t, e)
				enginetest.Sleep(time.Hour)
				if w.Count("http://a.test/slow") != 0 || w.Count("http://a.test/second") != 1 {
					t.Errorf("downloaded: %v", w.Urls())
				}
				if end, _ := settled.Load("http://a.test/slow"); end != "failed abandoned" {
					t.Errorf("the Fetch settled as %v", end)
				}
			})
		})
	}
}

// targetCache takes so long to take the target of a redirect that the page is given up.
type targetCache struct{ tegenaria.CacheInterface }

func (c targetCache) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	if records[0].Priority > 0 {
		enginetest.Sleep(5 * time.Second)
	}
	return c.CacheInterface.Accept(ctx, records)
}

// A page that is given up while the cache takes the target of its redirect has one end, and so has the target, however
// long the chain is: with the values of Meta that they share, that is an end for each. It fails if a redirect decides that was given up.
func TestAbandonedRedirectsAreSettledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/0", enginetest.Redirect(302, "http://a.test/1")).Page("http://a.test/1", enginetest.Redirect(302, "http://a.test/2")).
			Page("http://a.test/2", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/0")
		var mu sync.Mutex // guards the fields below
		var settled []string
		given := 0
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(targetCache{tegenaria.NewMemoryCache()}),
			tegenaria.EngineWithLimits(tegenaria.Limits{Callback: time.Second}),
			tegenaria.EngineWithEvents(tegenaria.Events{
				Abandoned: func(at tegenaria.Stage, _ *tegenaria.Request) {
					mu.Lock()
					defer mu.Unlock()
					if at == tegenaria.StageRedirect {
						given++
					}
				},
				RequestSettled: func(r *tegenaria.Request, o tegenaria.Outcome, reason string) {
					mu.Lock()
					defer mu.Unlock()
					settled = append(settled, fmt.Sprint(r.Url, " ", o, " ", reason))
				},
			}))
		enginetest.Run(t, e)
		want := []string{"http://a.test/0 failed abandoned", "http://a.test/1 failed abandoned", "http://a.test/2 fetched "}
		slices.Sort(settled)
		if st := e.Stats(); !slices.Equal(settled, want) || given != 2 || st.Discovered != 3 || st.Settled != 3 {
			t.Errorf("settled %q, %d redirects were given up, %+v", settled, given, st)
		}
	})
}

// holdUp is a hook of a logger that holds up whoever logs a certain line.
type holdUp struct{ line func(*logrus.Entry) }

func (h holdUp) Levels() []logrus.Level { return logrus.AllLevels }

func (h holdUp) Fire(entry *logrus.Entry) error {
	h.line(entry)
	return nil
}

// A callback that is given up may be about to tell of something: Run waits for it, so that nothing is told afterwards. It
// fails if close does not wait for what is being told.
func TestNoEventAfterRun(t *testing.T) {
	const page, inline = "http://a.test/", "http://a.test/inline"
	for event, isLine := range map[string]func(*logrus.Entry) bool{ // logged before the event is told
		"Error":          func(e *logrus.Entry) bool { return strings.Contains(e.Message, enginetest.ErrPlanned.Error()) },
		"RequestSettled": func(e *logrus.Entry) bool { return e.Data["url"] == inline },
	} {
		t.Run(event, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := enginetest.NewSpider(page)
				s.Parse = parserOf(func(ctx *tegenaria.Context) error {
					get(ctx, inline)
					return enginetest.ErrPlanned
				})
				about := make(chan struct{})
				var first sync.Once // the table at the end has such a line too
				logger := enginetest.Quiet()
				logger.SetLevel(logrus.DebugLevel)
				logger.AddHook(holdUp{func(entry *logrus.Entry) {
					if isLine(entry) {
						first.Do(func() {
							close(about)
							enginetest.Sleep(500 * time.Millisecond)
						})
					}
				}})
				var over atomic.Bool
				var mu sync.Mutex // guards told
				told := map[string]int{}
				tell := func(event string) {
					mu.Lock()
					defer mu.Unlock()
					if told[event]++; over.Load() {
						t.Errorf("%s was told after Run had returned", event)
					}
				}
				w := enginetest.NewWorld().Page(page, enginetest.Text("x")).Page(inline, enginetest.Text("x"))
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithGrace(0), tegenaria.EngineWithLogger(logger), tegenaria.EngineWithEvents(tegenaria.Events{
					Error:          func(*tegenaria.HandleError) { tell("Error") },
					RequestSettled: func(*tegenaria.Request, tegenaria.Outcome, string) { tell("RequestSettled") },
					Closed:         func(string) { tell("Closed") },
				}))
				go func() {
					<-about
					e.Stop(context.Background())
				}()
				enginetest.Run(t, e)
				over.Store(true)
				enginetest.Sleep(time.Minute)
				if told[event] == 0 || told["Closed"] != 1 {
					t.Errorf("told: %v", told)
				}
			})
		})
	}
}

// A func of Events that is told of an item and does not return is left behind. It fails if close waits for
// ever for what is being told.
func TestEventThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = itemOfItsURL
		release := make(chan struct{})
		defer close(release)
		e := enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")), s, tegenaria.EngineWithGrace(4*time.Second),
			tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(*tegenaria.ItemMeta) { <-release }}))
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		began := time.Now()
		e.Stop(t.Context())
		err := <-result
		var left *tegenaria.AbandonedError
		if !errors.As(err, &left) || left.Stages[tegenaria.StageEvent] != 1 {
			t.Errorf("Run returned %v, want the event abandoned", err)
		}
		if took := time.Since(began); took != 5*time.Second { // the grace, and a second for what is being told
			t.Errorf("the crawl ended after %s", took)
		}
	})
}

// There was a goroutine for each event and a timer for each turn of a loop. Fails if reporter.event starts a goroutine.
func TestEventsRunInTheCaller(t *testing.T) {
	w := enginetest.NewWorld()
	var refs []string
	for i := range 500 {
		refs = append(refs, fmt.Sprintf("/%d", i))
	}
	w.Page("http://a.test/", enginetest.Page(refs...))
	before := runtime.NumGoroutine()
	var most atomic.Int64
	note := func() {
		if n := int64(runtime.NumGoroutine() - before); n > most.Load() {
			most.Store(n)
		}
	}
	e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithConcurrency(2), tegenaria.EngineWithSchedulerNum(1),
		tegenaria.EngineWithItemConcurrency(1), tegenaria.EngineWithEvents(tegenaria.Events{
			RequestAccepted: func(*tegenaria.Request) { note(); runtime.Gosched() },
			RequestStarted:  func(*tegenaria.Request) { note(); runtime.Gosched() },
			RequestSettled:  func(*tegenaria.Request, tegenaria.Outcome, string) { note(); runtime.Gosched() },
		}))
	enginetest.MustRun(t, e)
	if most.Load() > 100 {
		t.Errorf("%d goroutines", most.Load())
	}
}

// One event hook that failed hung all workers 16 events later. Fails if reporter.event does not recover.
func TestFailingEventsDoNotStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		var refs []string
		for i := range 100 {
			refs = append(refs, fmt.Sprintf("/%d", i))
			w.Page("http://a.test"+refs[i], enginetest.Page("/", "/1"))
		}
		w.Page("http://a.test/", enginetest.Page(refs...))
		var called atomic.Int64
		boom := func() { called.Add(1); panic("hook") }
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/", "http://a.test/404"), tegenaria.EngineWithEvents(tegenaria.Events{
			Started:         func(tegenaria.SpiderInterface) { boom() },
			Closed:          func(string) { boom() },
			RequestAccepted: func(*tegenaria.Request) { boom() },
			RequestStarted:  func(*tegenaria.Request) { boom() },
			Downloaded:      func(*tegenaria.Request, *tegenaria.Response) { boom() },
			RequestSettled:  func(*tegenaria.Request, tegenaria.Outcome, string) { boom() },
			Error:           func(*tegenaria.HandleError) { boom() },
		}))
		stats := enginetest.MustRun(t, e)
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 101, tegenaria.Duplicate: 200, tegenaria.Failed: 1})
		if called.Load() < 500 {
			t.Errorf("the hooks were called %d times", called.Load())
		}
	})
}
