package tegenaria_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The defects of Tegenaria 0.3 that docs/deviations.md lists. Each comment names the change to our code that makes the test
// fail.

// A Bloom filter alone lost 677 of 2,000 pages. Fails if what a Bloom filter says is taken for the truth, as
// when the engine asks an RFPDupeFilter that has no exact set.
func TestNoPageIsLostToBloom(t *testing.T) {
	const n = 2000
	var refs []string
	for i := range n {
		refs = append(refs, fmt.Sprintf("/%d", i))
	}
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page(refs...))
	s := enginetest.NewSpider("http://a.test/")
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithDupeFilter(tegenaria.NewRFPDupeFilter(4096, 8)),
		tegenaria.EngineWithAllowStatusCode([]uint64{404})))
	if len(w.Visits()) != n+1 || stats.Outcomes[tegenaria.Fetched] != n+1 {
		t.Errorf("%d of %d pages fetched", len(w.Visits()), n+1)
	}
}

// A request that ErrorHandler sent again arrived without its URL. Fails if isRetry does not know a retry for what
// it is: then it is a duplicate.
func TestRetryFromErrorHandlerKeepsItsURL(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/x", enginetest.InTurn(enginetest.Broken(errors.New("first")), enginetest.Status(500), enginetest.Text("good")))
	s := enginetest.NewSpider()
	header := map[string]string{"X": "1"}
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- enginetest.Send("http://a.test/x", tegenaria.RequestWithRequestHeader(header), tegenaria.RequestWithRequestMeta(map[string]any{"k": "v"}))
	}
	s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
		req <- tegenaria.NewContext(err.Request)
	}
	var got *tegenaria.Request
	s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		got = resp.Request
		return nil
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	if got == nil || got.Url != "http://a.test/x" || got.Header["X"] != "1" || got.Meta["k"] != "v" || got.Attempt != 2 || got.Depth != 0 {
		t.Errorf("the parser got %+v", got)
	}
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 2, tegenaria.Fetched: 1})
}

// brokenFilter cannot say who a request is.
type brokenFilter struct{ err error }

func (f brokenFilter) Fingerprint(r *tegenaria.Request) ([]byte, error) {
	if strings.Contains(r.Url, "bad") {
		return nil, f.err
	}
	return []byte(r.Url), nil
}

func (brokenFilter) DoDupeFilter(*tegenaria.Request) (bool, error) { return false, nil }

// A filter's error was logged, and the request enqueued and freed. Fails if record goes on after an error of
// fingerprint.
func TestFilterErrorFailsTheRequest(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/good", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/bad", "http://a.test/good")
	s.Parse = enginetest.Nothing
	cause := errors.New("no fingerprint")
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithDupeFilter(brokenFilter{cause})))
	if herr := s.OnlyError(t); !errors.Is(herr, cause) || herr.Request.Url != "http://a.test/bad" {
		t.Errorf("ErrorHandler got %v", herr)
	}
	if got := w.Urls(); !slices.Equal(got, []string{"http://a.test/good"}) {
		t.Errorf("asked: %q", got)
	}
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 1})
}

// The wait at the end counted handlers, not queued work. Fails if Ledger.check leaves pending or delayed out of
// the sum.
func TestQueuedWorkIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/later", enginetest.Text("x")).Page("http://b.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		began := time.Now()
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			if resp.Request.Depth == 0 {
				req <- enginetest.Send("http://a.test/later", tegenaria.RequestWithNotBefore(began.Add(time.Hour)))
				req <- enginetest.Send("http://b.test/")
			}
			return nil
		}
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(1)))
		if took := time.Since(began); took != time.Hour || w.Count("http://a.test/later") != 1 {
			t.Errorf("the run took %s and asked %q", took, w.Urls())
		}
	})
}

// Idle readers kept a core busy, GOMAXPROCS was changed, a ticker never stopped. Fails if a run leaves a goroutine
// behind (TestMain looks, too), or calls GOMAXPROCS.
func TestRunLeavesNothingBehind(t *testing.T) {
	procs, before := runtime.GOMAXPROCS(0), goleak.IgnoreCurrent()
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1")).Page("http://a.test/1", enginetest.Page())
	for range 5 {
		enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithReadCacheNum(3)))
	}
	if runtime.GOMAXPROCS(0) != procs {
		t.Error("GOMAXPROCS was changed")
	}
	enginetest.NoLeaks(t, before)
}

// foreignCache is a cache made outside of the package.
type foreignCache struct {
	tegenaria.CacheInterface
}

// What the documents invited users to write had unexported methods. Fails to compile if Downloader or another
// interface gets one.
func TestInterfacesCanBeImplemented(t *testing.T) {
	var _ tegenaria.Downloader = enginetest.NewWorld()
	var _ tegenaria.RFPDupeFilterInterface = brokenFilter{}
	var _ tegenaria.MiddlewaresInterface = &enginetest.Hooks{}
	var _ tegenaria.PipelinesInterface = &enginetest.Collector{}
	var _ tegenaria.SpiderInterface = enginetest.NewSpider()
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = enginetest.Nothing
	cache := &foreignCache{CacheInterface: tegenaria.NewMemoryCache()}
	enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache)))
	if len(w.Visits()) != 1 {
		t.Errorf("asked: %q", w.Urls())
	}
}

// Options did nothing, or something else; ContentLength was never set. Fails if SetBody leaves ContentLength out,
// if fetcher.ask does not keep the time, or if EngineWithConcurrency sets another field.
func TestOptionsDoWhatTheySay(t *testing.T) {
	t.Run("ContentLength", func(t *testing.T) {
		body := strings.Repeat("x", 12345)
		server, _ := enginetest.Serve(t, map[string]string{"/": body})
		s := enginetest.NewSpider(server + "/")
		s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			if r := resp.Response(); r.ContentLength != len(body) || r.Delay <= 0 {
				t.Errorf("ContentLength is %d, Delay %v", r.ContentLength, r.Delay)
			}
			return nil
		}
		if stats := enginetest.MustRun(t, enginetest.NewEngine(nil, s)); stats.Bytes != int64(len(body)) {
			t.Errorf("Bytes is %d", stats.Bytes)
		}
	})
	t.Run("timeout", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Hang).Page("http://a.test/default", enginetest.Hang)
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://a.test/", tegenaria.RequestWithTimeout(3*time.Second))
				req <- enginetest.Send("http://a.test/default")
			}
			began := time.Now()
			took := map[string]time.Duration{}
			var mu sync.Mutex
			s.Fail = func(err *tegenaria.HandleError, _ chan<- *tegenaria.Context) {
				mu.Lock()
				defer mu.Unlock()
				var timeout *tegenaria.TimeoutError
				if !errors.As(err, &timeout) || err.Response != nil {
					t.Errorf("error %v, want a *TimeoutError without a response", err)
				}
				took[err.Request.Url] = time.Since(began)
			}
			enginetest.MustRun(t, enginetest.NewEngine(w, s))
			if took["http://a.test/"] != 3*time.Second || took["http://a.test/default"] != time.Minute {
				t.Errorf("timeouts after %v, want 3 s and 1 min", took)
			}
		})
	})
	t.Run("concurrency", func(t *testing.T) {
		for _, n := range []int{1, 3, 10} {
			synctest.Test(t, func(t *testing.T) {
				w, s := enginetest.NewWorld(), enginetest.NewSpider()
				s.Parse = enginetest.Nothing
				for i := range 30 {
					u := fmt.Sprintf("http://a%d.test/", i)
					w.Page(u, enginetest.After(time.Second, enginetest.Text("x")))
					s.FeedUrls = append(s.FeedUrls, u)
				}
				enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(n)))
				if w.Peak != n {
					t.Errorf("at most %d downloads ran at once, want %d", w.Peak, n)
				}
			})
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

// A filter that was not safe for concurrent use lost and doubled requests. Fails if memoryCache.Accept does not
// hold its lock from the look-up to the mark (under the race detector).
func TestConcurrentDuplicates(t *testing.T) {
	w := enginetest.NewWorld()
	var refs, seeds []string
	for i := range 50 {
		refs = append(refs, fmt.Sprintf("http://common.test/%d", i))
		w.Page(refs[i], enginetest.Page())
	}
	for i := range 50 {
		seeds = append(seeds, fmt.Sprintf("http://a%d.test/", i))
		w.Page(seeds[i], enginetest.Page(refs...))
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider(seeds...), tegenaria.EngineWithSchedulerNum(16), tegenaria.EngineWithReadCacheNum(4)))
	for _, ref := range refs {
		if n := w.Count(ref); n != 1 {
			t.Errorf("%s was asked %d times", ref, n)
		}
	}
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 100, tegenaria.Duplicate: 49 * 50})
}
