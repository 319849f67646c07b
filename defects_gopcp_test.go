package tegenaria_test

import (
	"errors"
	"fmt"
	"net/http"
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

// The defects of the gopcp crawler that docs/deviations.md lists, as far as they are the engine's; those of its buffers,
// modules and states have their tests in buffer, module and internal/lifecycle. Each comment names the change to our code that makes the test fail.

// Downloads ran one after the other, however many downloaders there were. Fails if runRequests makes the fetch
// stage a FIFO, or if a downloader serves one request at a time.
func TestDownloadsRunAtOnce(t *testing.T) {
	for _, downloaders := range []int{1, 8} {
		t.Run(fmt.Sprint(downloaders), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				var refs []string
				for i := range 20 {
					refs = append(refs, fmt.Sprintf("/%d", i))
					w.Page("http://a.test"+refs[i], enginetest.After(100*time.Millisecond, enginetest.Page()))
				}
				w.Page("http://a.test/", enginetest.After(100*time.Millisecond, enginetest.Page(refs...)))
				s := enginetest.NewSpider()
				s.Start = func(req chan<- *tegenaria.Context) {
					req <- enginetest.Send("http://a.test/", tegenaria.RequestWithDownloader("d"))
				}
				s.Parse = func(_ *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
					for _, ref := range refs {
						req <- enginetest.Send("http://a.test"+ref, tegenaria.RequestWithDownloader("d"))
					}
					return nil
				}
				e := enginetest.NewEngine(w, s)
				for range downloaders {
					e.RegisterDownloader("d", w)
				}
				began := time.Now()
				enginetest.MustRun(t, e)
				// 1 page, then 20 pages, 8 at once as PerSlot says.
				if took := time.Since(began); took != 400*time.Millisecond || w.Peak != 8 {
					t.Errorf("21 pages of 100 ms took %s, %d at once", took, w.Peak)
				}
				used := 0
				for _, d := range e.Summary().Downloaders[1:] {
					if d.Called > 0 {
						used++
					}
				}
				if used != downloaders {
					t.Errorf("%d of %d downloaders were used", used, downloaders)
				}
			})
		})
	}
}

// One host made the process panic, and a panic in the start made it exit. Fails if starter.send or fetcher.ask calls
// user code without guard.Protect.
func TestPanicsStayWhereTheyAre(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stage tegenaria.Stage
		set   func(w *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine)
	}{
		{"StartRequest", tegenaria.StageStart, func(w *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine) {
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- enginetest.Send("http://bing.net/")
				panic("start")
			}
		}},
		{"Download", tegenaria.StageDownload, func(w *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine) {
			s.FeedUrls = append(s.FeedUrls, "http://a.test/panic")
			w.Page("http://a.test/panic", func(*tegenaria.Context) (*tegenaria.Response, error) { panic("download") })
		}},
		{"Parser", tegenaria.StageParse, func(w *enginetest.World, s *enginetest.Spider, _ *tegenaria.SpiderEngine) {
			s.FeedUrls = append(s.FeedUrls, "http://a.test/panic")
			w.Page("http://a.test/panic", enginetest.Text("panic"))
		}},
		{"ProcessRequest", tegenaria.StageRequest, func(w *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine) {
			s.FeedUrls = append(s.FeedUrls, "http://a.test/panic")
			e.RegisterDownloadMiddlewares(&enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
				if strings.HasSuffix(ctx.Request.Url, "panic") {
					panic("request")
				}
				return nil
			}})
		}},
		{"ProcessItem", tegenaria.StagePipeline, func(_ *enginetest.World, s *enginetest.Spider, e *tegenaria.SpiderEngine) {
			e.RegisterPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { panic("item") }})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := enginetest.NewWorld().Page("http://bing.net/", enginetest.Text("good"))
			s := enginetest.NewSpider("http://bing.net/")
			good := false
			s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				if resp.Response().String() == "panic" {
					panic("parser")
				}
				good = true
				item <- tegenaria.NewItem(resp, 1)
				return nil
			}
			e := enginetest.NewEngine(w, s)
			tt.set(w, s, e)
			enginetest.MustRun(t, e)
			herr := s.OnlyError(t)
			var panicked *tegenaria.PanicError
			if !errors.As(herr, &panicked) || len(herr.Stack) == 0 || herr.Stage != tt.stage {
				t.Errorf("error %v of stage %s, want a *PanicError with its stack", herr, herr.Stage)
			}
			if !good {
				t.Error("the good page was not parsed")
			}
		})
	}
}

// A table of endings was taken for the public suffixes. Fails if urlx.HostSet.Has compares the ends of names
// without regard to their labels.
func TestAllowedDomains(t *testing.T) {
	for _, tt := range []struct {
		domain string
		in     []string
		out    []string
	}{
		{"a.b.co.uk", []string{"http://a.b.co.uk/", "http://x.a.b.co.uk/"}, []string{"http://b.co.uk/", "http://c.co.uk/", "http://xa.b.co.uk/"}},
		{"localhost", []string{"http://localhost/", "http://localhost:8080/"}, []string{"http://localhost.test/"}},
		{"a.test:8080", []string{"http://a.test:8080/"}, []string{"http://a.test/", "http://a.test:80/", "http://x.a.test:8080/"}},
		{"go.dev", []string{"http://go.dev/", "http://pkg.go.dev/"}, []string{"http://nogo.dev/", "http://dev/"}},
		{"EXAMPLE.Com", []string{"http://example.com/", "http://WWW.EXAMPLE.COM/"}, []string{"http://example.org/"}},
		{"[::1]", []string{"http://[::1]/", "http://[0:0:0:0:0:0:0:1]:81/"}, []string{"http://[::2]/"}},
		{"1.2.3.4", []string{"http://1.2.3.4/", "http://1.2.3.4:99/"}, []string{"http://1.2.3.4.evil.com/", "http://5.1.2.3.4/", "http://2.3.4/"}},
	} {
		t.Run(tt.domain, func(t *testing.T) {
			s := enginetest.NewSpider(slices.Concat(tt.in, tt.out)...)
			s.Parse = enginetest.Nothing
			w := enginetest.NewWorld()
			for _, u := range tt.in {
				w.Page(u, enginetest.Text("x"))
			}
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithAllowedDomains(tt.domain)))
			if n := stats.Reasons["filtered: offsite"] + stats.Reasons["filtered: url"]; n != int64(len(tt.out)) {
				t.Errorf("%d were offsite, want %d: %v; asked %q", n, len(tt.out), stats.Reasons, w.Urls())
			}
			if len(w.Visits()) != len(tt.in) {
				t.Errorf("asked %q, want %q", w.Urls(), tt.in)
			}
		})
	}
}

// A request without a downloader was sent again, and dropped as seen; the key was the raw URL. Fails if fetcher.download
// drops a request whose downloader is not there, or if the key leaves out the method.
func TestNoWorkIsLost(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://a.test/#x", enginetest.Text("x"))
	s := enginetest.NewSpider()
	s.Parse = enginetest.Nothing
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- enginetest.Send("http://a.test/none", tegenaria.RequestWithDownloader("none"))
		req <- enginetest.Send("http://a.test/")
		req <- enginetest.Send("http://a.test/#x")
		for _, body := range []string{"1", "2", "1"} {
			req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.POST, nil, tegenaria.RequestWithBody([]byte(body))))
		}
		req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", tegenaria.HEAD, nil))
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1, tegenaria.Fetched: 4, tegenaria.Duplicate: 2})
	if herr := s.OnlyError(t); herr.Request.Url != "http://a.test/none" || !strings.Contains(herr.Error(), `"none"`) {
		t.Errorf("ErrorHandler got %v", herr)
	}
}

// Idle was true while a datum was on its way from one pool to the next. Fails if items.add does not hold the item's
// request open.
func TestNotIdleWhileAnItemIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			item <- tegenaria.NewItem(resp, 1)
			return nil
		}
		release := make(chan struct{})
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error { <-release; return errors.New("bad") }}))
		s.Fail = func(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
			w.Page("http://a.test/next", enginetest.Text("x"))
			if err.Stage == tegenaria.StagePipeline && err.Request.Depth == 0 {
				req <- enginetest.Send("http://a.test/next")
			}
		}
		if !e.Idle() {
			t.Error("not idle before the run")
		}
		result := make(chan error, 1)
		go func() { result <- enginetest.Run(t, e) }()
		synctest.Wait()
		if st := e.Stats(); e.Idle() || st.Items != 1 || st.InFlight != 1 {
			t.Errorf("idle %t, stats %+v: an item is in its pipeline", e.Idle(), st)
		}
		close(release)
		if err := <-result; err != nil {
			t.Errorf("Run: %v", err)
		}
		if w.Count("http://a.test/next") != 1 || !e.Idle() {
			t.Errorf("asked %q; what ErrorHandler wanted for an item is lost", w.Urls())
		}
	})
}

// There was a goroutine for each datum. Fails if items.add puts in a goroutine of its own.
func TestGoroutinesDoNotFollowTheItems(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider("http://a.test/")
	const n = 20_000
	s.Parse = func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		for i := range n {
			item <- tegenaria.NewItem(resp, i)
		}
		return nil
	}
	before := runtime.NumGoroutine()
	var most, seen atomic.Int64
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
		if seen.Add(1)%100 == 0 {
			most.Store(max(most.Load(), int64(runtime.NumGoroutine()-before)))
		}
		return nil
	}}))
	if stats := enginetest.MustRun(t, e); stats.ItemScraped != n {
		t.Errorf("%d items", stats.ItemScraped)
	}
	if most.Load() > 150 {
		t.Errorf("%d goroutines for %d items", most.Load(), n)
	}
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

// A second reader of the error channel stole errors, and one that left blocked the senders; bodies stayed open, a
// parser's panic was not recovered, statuses were not looked at. Fails if ErrorChan hands out one channel to all,
// or publish waits.
func TestErrorChanPerReader(t *testing.T) {
	w, s := enginetest.NewWorld(), enginetest.NewSpider()
	const n = 3000
	for i := range n {
		s.FeedUrls = append(s.FeedUrls, fmt.Sprintf("http://a.test/%d", i))
	}
	e := enginetest.NewEngine(w, s)
	reader, second, left := e.ErrorChan(), e.ErrorChan(), e.ErrorChan()
	var readers sync.WaitGroup
	count := func(ch <-chan error) {
		seen, missed := 0, int64(0)
		for err := range ch {
			var m *tegenaria.MissedErrorsError
			var refused *tegenaria.StatusError
			switch {
			case errors.As(err, &m):
				missed += m.Count
			case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
				seen++
			default:
				t.Errorf("unexpected error %v", err)
			}
		}
		if int64(seen)+missed != n {
			t.Errorf("a reader saw %d errors and missed %d, want %d in all", seen, missed, n)
		}
	}
	readers.Go(func() { count(reader) })
	readers.Go(func() { count(second) })
	stats := enginetest.MustRun(t, e)
	readers.Wait()
	if stats.ErrorCount != n {
		t.Errorf("ErrorCount is %d", stats.ErrorCount)
	}
	// Nobody has read this one: 1,024 errors are there, and how many more there were.
	if len(left) != 1025 {
		t.Errorf("a channel that nobody read holds %d errors, want 1,024 and the count of those that were missed", len(left))
	}
	count(left)
}
