package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The defects of Tegenaria 0.5 that docs/deviations.md lists, as far as they are the engine's. Each comment names the change
// to our code that makes the test fail.

// Every POST body was lost: the fingerprint read it and did not rewind. Fails if Request.readBody does not keep
// what it has read in Body.
func TestBodiesSurviveTheFingerprint(t *testing.T) {
	server, log := enginetest.Serve(t, map[string]string{"/": "ok"})
	for _, tt := range []struct {
		name string
		opt  tegenaria.RequestOption
		want string
	}{
		{"bytes", tegenaria.RequestWithBody([]byte("hello")), "hello"},
		{"reader", tegenaria.RequestWithBodyReader(strings.NewReader("hello")), "hello"},
		{"map", tegenaria.RequestWithRequestBody(map[string]any{"a": 1}), `{"a":1}`},
		{"form", tegenaria.RequestWithForm(url.Values{"a": {"1 2"}}), "a=1+2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(log())
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tegenaria.NewRequest(server+"/", tegenaria.POST, enginetest.Nothing, tt.opt))
			}
			enginetest.MustRun(t, enginetest.NewEngine(nil, s))
			if got := log()[before:]; len(got) != 1 || got[0].Method != "POST" || got[0].Body != tt.want {
				t.Errorf("the server got %+v, want one POST of %q", got, tt.want)
			}
		})
	}
}

// A status that was not foreseen made the worker panic. Fails if Counters.Response indexes a table of known codes.
func TestAnyStatusThroughTheEngine(t *testing.T) {
	codes := []int{204, 226, 299, 308, 399, 418, 422, 429, 451, 499, 511, 522, 599, 600, 999}
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprintf("allowed=%t", allowed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				var parsed sync.Map
				s := enginetest.NewSpider()
				s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
					parsed.Store(resp.Response().Status, true)
					return nil
				}
				var allow []uint64
				for _, code := range codes {
					u := fmt.Sprintf("http://a.test/%d", code)
					w.Page(u, enginetest.Status(code))
					s.FeedUrls = append(s.FeedUrls, u)
					if allowed {
						allow = append(allow, uint64(code))
					}
				}
				stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithAllowStatusCode(allow)))
				failed := map[int]*tegenaria.HandleError{}
				for _, herr := range s.Errors() {
					failed[herr.Response.Status] = herr
				}
				for _, code := range codes {
					_, ok := parsed.Load(code)
					if want := allowed || code < 400; ok != want || (failed[code] != nil) == want {
						t.Errorf("%d: parsed %t, failed with %v", code, ok, failed[code])
					}
					if stats.Status[code] != 1 {
						t.Errorf("%d was counted %d times", code, stats.Status[code])
					}
				}
			})
		})
	}
}

// After one pipeline error nobody received items, and the parser hung on its 33rd. Fails if items.pipe returns
// the pipelines' error to its stage.
func TestPipelineErrorEndsOneItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const items = 1000
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			for i := range items {
				item <- tegenaria.NewItem(resp, i)
			}
			return nil
		}
		good := &enginetest.Collector{Priority: 2}
		bad := enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error {
			if item.Item.(int)%2 == 0 {
				return errors.New("even")
			}
			return nil
		}}
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(good, bad)))
		if len(good.All()) != items/2 || stats.ItemScraped != items/2 || stats.ItemFailed != items/2 {
			t.Errorf("%d items passed, stats: %+v", len(good.All()), stats)
		}
		if n := len(s.Errors()); n != items/2 {
			t.Errorf("ErrorHandler was told of %d, want %d", n, items/2)
		}
	})
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

// After a stop nobody received requests: a parser with more than 1,024 of them never returned, and a server
// that hung hung the stop. Fails if requestChannel.receive returns once the crawl is refusing, or if crawl.supervise does
// not cancel the work when the grace is over.
func TestStopReceivesAndCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/hang", enginetest.Hang)
		s := enginetest.NewSpider("http://a.test/", "http://a.test/hang")
		stopping := make(chan struct{})
		sent := 0
		s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			<-stopping
			enginetest.Sleep(time.Second)
			for i := range 10_000 {
				req <- enginetest.Send(fmt.Sprintf("http://a.test/%d", i))
				sent++
			}
			return nil
		}
		e := enginetest.NewEngine(w, s)
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		close(stopping)
		began := time.Now()
		if err := e.Stop(t.Context()); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("Stop took %s, the grace is 20 s", took)
		}
		enginetest.WantStopped(t, <-result, "stopped")
		if stats := e.Stats(); sent != 10_000 || stats.Pending != 10_001 {
			t.Errorf("sent %d requests, stats %+v; want 10,001 pending", sent, stats)
		}
	})
}

// A bad URL in StartRequest was a nil pointer, recovered: no handler, no count. Fails if acceptor.refuse settles a
// refusal that has an error without failedEmission.
func TestBadSeedReachesErrorHandler(t *testing.T) {
	for _, bad := range []string{"", "a.test", "http://", "http://[::1", "ftp://a.test/", "http://a.test:x/", "://a"} {
		t.Run(bad, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
			s := enginetest.NewSpider(bad, "http://a.test/")
			s.Parse = enginetest.Nothing
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
			herr := s.OnlyError(t)
			var refused *tegenaria.RequestError
			if !errors.As(herr, &refused) || refused.URL != bad || refused.Field != "Url" || refused.Remedy == "" {
				t.Errorf("error %v, want a *RequestError that names the URL and what to do", herr)
			}
			if herr.Request == nil || herr.Request.Url != bad || herr.Stage != tegenaria.StageAccept {
				t.Errorf("the HandleError does not say which request failed where: %+v", herr)
			}
			enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Filtered: 1, tegenaria.Fetched: 1})
			if stats.ErrorCount != 1 {
				t.Errorf("ErrorCount is %d", stats.ErrorCount)
			}
		})
	}
}

// Responses were recycled after the parser. Fails if settler.release empties the response's Buffer.
func TestKeptResponsesStay(t *testing.T) {
	w := enginetest.NewWorld()
	s := enginetest.NewSpider()
	var mu sync.Mutex
	kept := map[string]*tegenaria.Context{}
	s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		mu.Lock()
		defer mu.Unlock()
		kept[resp.Request.Url] = resp
		return nil
	}
	const n = 200
	for i := range n {
		u := fmt.Sprintf("http://a.test/%d", i)
		w.Page(u, enginetest.Text("body of "+u))
		s.FeedUrls = append(s.FeedUrls, u)
	}
	enginetest.MustRun(t, enginetest.NewEngine(w, s))
	if len(kept) != n {
		t.Fatalf("%d responses kept", len(kept))
	}
	for u, ctx := range kept {
		resp := ctx.Response()
		body, err := io.ReadAll(resp.Reader())
		if err != nil || string(body) != "body of "+u || resp.String() != "body of "+u || resp.Buffer.String() != "body of "+u ||
			resp.Status != 200 || resp.URL != u || resp.Request().Url != u || resp.Context() != ctx {
			t.Fatalf("the response of %s is another one now: %+v, %v", u, resp, err)
		}
	}
}

// Every run ended 3 s and more after its last work, and waiting was busy. Fails if jobs are settled after a timer;
// a loop that polls would keep the clock of the bubble from moving.
func TestEndsWithTheLastWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.After(2*time.Second, enginetest.Page("/1"))).Page("http://a.test/1", enginetest.After(3*time.Second, enginetest.Text("x")))
		s := enginetest.NewSpider("http://a.test/")
		slow := enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { enginetest.Sleep(4 * time.Second); return nil }}
		s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(resp, 1)
			return enginetest.FollowAll(resp, item, req)
		}
		began := time.Now()
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(slow)))
		if took := time.Since(began); took != 9*time.Second {
			t.Errorf("the run took %s, its work 9 s", took)
		}
	})
}

// There were two goroutines for each queued request. Fails if acceptor.accept starts one.
func TestGoroutinesDoNotFollowTheQueue(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/")
	const n = 5000
	s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		for i := range n {
			req <- enginetest.Send(fmt.Sprintf("http://b%d.test/", i%50), tegenaria.RequestWithDoNotFilter(true))
		}
		return nil
	}
	before, most := runtime.NumGoroutine(), 0
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(4), tegenaria.EngineWithEvents(tegenaria.Events{
		RequestAccepted: func(*tegenaria.Request) { most = max(most, runtime.NumGoroutine()-before) },
	}))
	stats := enginetest.MustRun(t, e)
	if stats.Outcomes[tegenaria.Failed] != n {
		t.Fatalf("outcomes: %v", stats.Outcomes)
	}
	if most > 100 {
		t.Errorf("%d goroutines for %d requests", most, n)
	}
}

// A full queue dropped requests that were marked as seen, and told nobody. Fails if acceptor.store lets the page be
// settled whose request found no room.
func TestFullQueueLosesNothing(t *testing.T) {
	t.Run("seeds wait", func(t *testing.T) {
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		for i := range 20 {
			u := fmt.Sprintf("http://a.test/%d", i)
			w.Page(u, enginetest.Text("x"))
			s.FeedUrls = append(s.FeedUrls, u)
		}
		s.Parse = enginetest.Nothing
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 4})))
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 20})
	})
	t.Run("memory is full", func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			for i := range 1000 {
				req <- enginetest.Send(fmt.Sprintf("http://a.test/%d", i))
			}
			return nil
		}
		cache := tegenaria.NewMemoryCache()
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache), tegenaria.EngineWithLimits(tegenaria.Limits{QueueBytes: 4096}))
		err := enginetest.Run(t, e)
		enginetest.WantStopped(t, err, "queue full")
		var full *tegenaria.QueueFullError
		if !errors.As(err, &full) || full.Limit != 4096 || !strings.Contains(err.Error(), "cache/disk") {
			t.Errorf("Run returned %v, want a *QueueFullError that names the remedy", err)
		}
		// The page whose links had no room is not settled, and what was marked is waiting.
		waiting := int64(0)
		for slot, err := range cache.Slots(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			waiting += int64(slot.Pending)
		}
		stats := e.Stats()
		if stats.Outcomes[tegenaria.Fetched] != 0 || waiting == 0 || waiting != stats.Pending-1 {
			t.Errorf("%d records wait, stats %+v", waiting, stats)
		}
	})
}

// Fingerprints upper-cased header values and joined parts without marks; URLs had many forms. Fails if keyer
// folds values, or if the key is that of the URL as written.
func TestIdentity(t *testing.T) {
	header := func(name, value string) tegenaria.RequestOption {
		return tegenaria.RequestWithRequestHeader(map[string]string{name: value})
	}
	w := enginetest.NewWorld()
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		for _, u := range []string{"http://a.test/x", "HTTP://A.TEST:80/x", "http://a.test/y/../x", "http://a.test/./x#frag",
			"http://a.test", "http://a.test/", "http://a.test/q?b=2&a=1", "http://a.test/q?a=1&b=2", "http://a.test/%7Eu", "http://a.test/~u"} {
			req <- enginetest.Send(u)
		}
		req <- enginetest.Send("http://a.test/h", header("X", "abc"))
		req <- enginetest.Send("http://a.test/h", header("X", "ABC"))
		req <- enginetest.Send("http://a.test/h", header("x", "abc"))
		req <- enginetest.Send("http://a.test/h", header("X", "1;\nY:2"))
		req <- enginetest.Send("http://a.test/h", tegenaria.RequestWithRequestHeader(map[string]string{"X": "1", "Y": "2"}))
		req <- enginetest.Send("http://a.test/h", tegenaria.RequestWithRequestHeader(map[string]string{"y": "2", "X": "1"}))
	}
	filter := tegenaria.NewRFPDupeFilter(1<<20, 5).IncludeHeaders("x", "Y")
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithDupeFilter(filter)))
	// 4 pages by URL; h with abc, ABC, the forged value, 1 and 2.
	if asked := len(w.Visits()); asked != 8 || stats.Outcomes[tegenaria.Duplicate] != 8 {
		t.Errorf("%d requests were made, %d duplicates: %q", asked, stats.Outcomes[tegenaria.Duplicate], w.Urls())
	}
}

// A second run saw its seeds as duplicates and kept the first one's counts. Fails if memoryCache.Begin does
// not reset.
func TestRunsTwice(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1", "/2")).Page("http://a.test/1", enginetest.Page("/")).Page("http://a.test/2", enginetest.Page())
	e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithCache(tegenaria.NewMemoryCache()))
	for i := range 3 {
		stats := enginetest.MustRun(t, e)
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 3, tegenaria.Duplicate: 1})
		if n := w.Count("http://a.test/1"); n != i+1 {
			t.Errorf("after run %d the page was asked %d times", i+1, n)
		}
		if e.Status() != tegenaria.StatusStopped {
			t.Errorf("status is %s", e.Status())
		}
	}
}

// Spiders were registered in a global map. Fails if findSpider keeps the names in a package variable.
func TestEnginesShareNothing(t *testing.T) {
	var running sync.WaitGroup
	for i := range 8 {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page(fmt.Sprint(i))).Page(fmt.Sprintf("http://a.test/%d", i), enginetest.Page())
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"))
		running.Go(func() {
			if err := e.Run(t.Context(), "test"); err != nil {
				t.Errorf("Run: %v", err)
			}
			if got, want := w.Urls(), []string{"http://a.test/", fmt.Sprintf("http://a.test/%d", i)}; !slices.Equal(got, want) {
				t.Errorf("engine %d asked %q, want %q", i, got, want)
			}
		})
	}
	running.Wait()
}

type methods struct{ called *sync.Map }

func (m methods) value(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
	m.called.Store(resp.Request.Url, true)
	return nil
}

func (m *methods) pointer(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	return m.value(resp, item, req)
}

// Parsers were found by the name of a method: closures and plain functions failed. Fails if reader.parserOf takes names
// alone.
func TestAnyFuncIsAParser(t *testing.T) {
	called := &sync.Map{}
	m := &methods{called}
	closure := func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		called.Store(resp.Request.Url, true)
		return nil
	}
	parsers := map[string]tegenaria.Parser{
		"http://a.test/closure": closure, "http://a.test/value": m.value, "http://a.test/pointer": m.pointer,
		"http://a.test/expression": func(r *tegenaria.Context, i chan<- *tegenaria.ItemMeta, q chan<- *tegenaria.Context) error {
			return (*methods).pointer(m, r, i, q)
		},
		"http://a.test/parsers": tegenaria.Parsers(enginetest.Nothing, closure),
		"http://a.test/nil":     nil,
	}
	w, s := enginetest.NewWorld(), enginetest.NewSpider()
	s.Parse = parserOf(func(ctx *tegenaria.Context) error { // nil stands for this one alone
		if ctx.Request.Url == "http://a.test/nil" {
			called.Store(ctx.Request.Url, true)
		}
		return nil
	})
	s.Start = func(req chan<- *tegenaria.Context) {
		for u, p := range parsers {
			w.Page(u, enginetest.Text("x"))
			req <- tegenaria.NewContext(tegenaria.NewRequest(u, tegenaria.GET, p))
		}
	}
	enginetest.MustRun(t, enginetest.NewEngine(w, s))
	for u := range parsers {
		if _, ok := called.Load(u); !ok {
			t.Errorf("the parser of %s was not called", u)
		}
	}
}

// Status, counters and ctx.Error were read and written by several goroutines without a lock. Fails under the
// race detector if, say, Ledger.Counts takes no lock.
func TestReadWhileItRuns(t *testing.T) {
	w := enginetest.NewWorld()
	s := enginetest.NewSpider()
	for i := range 100 {
		u := fmt.Sprintf("http://a%d.test/", i)
		w.Page(u, enginetest.Page("/missing", "/"))
		s.FeedUrls = append(s.FeedUrls, u)
	}
	s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) { _ = err.Error() }
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithReadCacheNum(3))
	errs := e.ErrorChan()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				st := e.Stats()
				if st.Discovered != st.Settled+st.Pending+st.Delayed+st.InFlight {
					t.Errorf("a snapshot breaks the law of conservation: %+v", st)
				}
				_, _, _ = e.Status(), e.Idle(), e.Summary().String()
				_, _ = e.Pause(), e.Resume()
			}
		})
	}
	stats := enginetest.MustRun(t, e)
	close(stop)
	readers.Wait()
	n := 0
	for range errs {
		n++
	}
	if n != 100 || stats.Outcomes[tegenaria.Fetched] != 100 {
		t.Errorf("%d errors, outcomes %v", n, stats.Outcomes)
	}
}

// The rule of the stop could be true between the queue and the counter. Fails if Ledger.take looks for the end
// after a request has left pending and before it is in flight.
func TestLastRequestIsNotLost(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	for range rounds {
		w := enginetest.NewWorld()
		for i := range 5 {
			w.Page(fmt.Sprintf("http://a.test/%d", i), enginetest.Page(fmt.Sprintf("/%d", i+1)))
		}
		w.Page("http://a.test/5", enginetest.Page())
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/0"), tegenaria.EngineWithReadCacheNum(2)))
		if stats.Outcomes[tegenaria.Fetched] != 6 {
			t.Fatalf("%d of 6 pages fetched", stats.Outcomes[tegenaria.Fetched])
		}
	}
}

// Mistakes of configuration panicked, and a run had neither a context nor an error. Fails if wire lets a panic
// through, or Run ignores ctx.
func TestMistakesAreErrors(t *testing.T) {
	procs := runtime.GOMAXPROCS(0)
	var run *tegenaria.RunError
	if err := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet())).Execute("nobody"); !errors.As(err, &run) || run.Op != "wiring" {
		t.Errorf("Execute of an unknown spider: %v", err)
	}
	e := enginetest.NewEngine(enginetest.NewWorld(), enginetest.NewSpider(), tegenaria.EngineWithMiddlewares(&panicking{}))
	if err := e.Run(t.Context(), "test"); !errors.As(err, &run) || run.Op != "wiring" {
		t.Errorf("Run with a part whose GetPriority panics: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		cause := errors.New("cause")
		ctx, cancel := context.WithCancelCause(t.Context())
		e := enginetest.NewEngine(enginetest.NewWorld().Page("http://a.test/", enginetest.Hang), enginetest.NewSpider("http://a.test/"))
		time.AfterFunc(time.Second, func() { cancel(cause) })
		began := time.Now()
		if err := e.Run(ctx, "test"); !errors.Is(err, cause) || time.Since(began) != time.Second {
			t.Errorf("Run returned %v after %s", err, time.Since(began))
		}
	})
	if runtime.GOMAXPROCS(0) != procs {
		t.Error("GOMAXPROCS was changed")
	}
	for _, method := range []string{"Execute", "Run"} {
		m, ok := reflect.TypeFor[*tegenaria.SpiderEngine]().MethodByName(method)
		if !ok || m.Type.NumOut() != 1 || m.Type.Out(0) != reflect.TypeFor[error]() {
			t.Errorf("%s does not return an error", method)
		}
	}
}

// panicking is a middleware that panics before any request: as it is sorted, with another one.
type panicking struct{ enginetest.Hooks }

func (*panicking) GetPriority() int   { panic("priority") }
func (*panicking) SeesInternal() bool { panic("internal") }
