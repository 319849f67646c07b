package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// endless is a world of pages without end: each has three links and an item.
func endless() (downloadFunc, *enginetest.Spider) {
	s := enginetest.NewSpider("http://a.test/0")
	s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		item <- tegenaria.NewItem(ctx, 1)
		return enginetest.FollowAll(ctx, item, req)
	}
	return func(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
		u := ctx.Request.Url
		resp, err := enginetest.After(time.Second, enginetest.Page(u+"0", u+"1", u+"2"))(ctx)
		ctx.DownloadResult = &tegenaria.RequestResult{Response: resp}
		if err != nil {
			ctx.DownloadResult.Error = tegenaria.NewError("", err)
		}
		result <- ctx
	}, s
}

// Each limit stops the crawl gracefully, with its name.
func TestLimitsStop(t *testing.T) {
	for _, tt := range []struct {
		limits tegenaria.Limits
		reason string
		check  func(s tegenaria.Stats) bool
	}{
		{tegenaria.Limits{Pages: 50}, "limit: pages", func(s tegenaria.Stats) bool { return s.Responses == 50 && s.RequestDownloaded == 50 }},
		{tegenaria.Limits{Pages: 1}, "limit: pages", func(s tegenaria.Stats) bool { return s.Responses == 1 && s.Pending == 3 }},
		{tegenaria.Limits{Items: 50}, "limit: items", func(s tegenaria.Stats) bool { return s.ItemScraped >= 50 && s.ItemScraped < 50+16+16 }},
		{tegenaria.Limits{Errors: 5}, "limit: errors", func(s tegenaria.Stats) bool { return s.ErrorCount >= 5 && s.ErrorCount < 5+16 }},
		{tegenaria.Limits{Time: 30 * time.Second}, "limit: time", func(s tegenaria.Stats) bool { return s.Elapsed >= 30*time.Second && s.Elapsed <= 31*time.Second }},
		{tegenaria.Limits{Bytes: 10_000}, "limit: bytes", func(s tegenaria.Stats) bool { return s.Bytes >= 10_000 && s.Bytes < 40_000 }},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, s := endless()
				e := enginetest.NewEngine(d, s, tegenaria.EngineWithLimits(tt.limits), tegenaria.EngineWithPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(*tegenaria.ItemMeta) error {
					if tt.limits.Errors > 0 {
						return errBroken
					}
					return nil
				}}))
				enginetest.WantStopped(t, enginetest.Run(t, e), tt.reason)
				if stats := e.Stats(); !tt.check(stats) || stats.InFlight != 0 || stats.Items != 0 {
					t.Errorf("stats: %+v", stats)
				}
			})
		})
	}
}

// Limits.Pages counts responses: what brought none does not use it up.
func TestLimitPagesCountsResponses(t *testing.T) {
	w := enginetest.NewWorld()
	s := enginetest.NewSpider()
	s.Parse = enginetest.Nothing
	for i := range 30 {
		u := fmt.Sprintf("http://a%d.test/", i)
		s.FeedUrls = append(s.FeedUrls, u)
		if i%3 == 0 {
			w.Page(u, enginetest.Text("x"))
		} else {
			w.Page(u, enginetest.Broken(errBroken))
		}
	}
	e := enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 11}))
	if stats := enginetest.MustRun(t, e); stats.Responses != 10 || len(w.Visits()) != 30 {
		t.Errorf("%d responses, %d downloads", stats.Responses, len(w.Visits()))
	}
}

// Depth counts from the seeds; what is deeper is not marked as seen.
func TestLimitDepth(t *testing.T) {
	for depth, want := range map[int]int{0: 6, tegenaria.OnlySeeds: 1, 1: 2, 3: 4, 9: 6} {
		w := enginetest.NewWorld()
		for i := range 5 {
			w.Page(fmt.Sprintf("http://a.test/%d", i), enginetest.Page(fmt.Sprintf("/%d", i+1)))
		}
		w.Page("http://a.test/5", enginetest.Page())
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/0"), tegenaria.EngineWithLimits(tegenaria.Limits{Depth: depth})))
		if len(w.Visits()) != want || stats.Reasons["filtered: depth"] != int64(min(1, 6-want)) {
			t.Errorf("depth %d: asked %q, %v", depth, w.Urls(), stats.Reasons)
		}
	}
	t.Run("a shorter way", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			// /x is found at depth 3, where it waits, then at depth 1: its children have depth 2 then.
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1", "/slow")).Page("http://a.test/1", enginetest.Page("/2")).Page("http://a.test/2", enginetest.Page("/x")).
				Page("http://a.test/slow", enginetest.After(30*time.Second, enginetest.Page("/x"))).Page("http://a.test/x", enginetest.Page("/y")).Page("http://a.test/y", enginetest.Page())
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if ctx.Request.Url == "http://a.test/2" {
					req <- enginetest.Send("http://a.test/x", tegenaria.RequestWithNotBefore(time.Now().Add(time.Hour)))
					return nil
				}
				return enginetest.FollowAll(ctx, item, req)
			}
			stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 3})))
			if w.Count("http://a.test/y") != 1 {
				t.Errorf("asked %q, %v", w.Urls(), stats.Reasons)
			}
		})
	})
}

// A URL that is too long is filtered, without an error.
func TestLimitURLLength(t *testing.T) {
	short := "http://a.test/" + strings.Repeat("x", 16<<10-14)
	for _, limit := range []int{0, 100, -1} {
		w := enginetest.NewWorld().Page(short, enginetest.Text("x"))
		s := enginetest.NewSpider(short, short+"x", short+"y")
		s.Parse = enginetest.Nothing
		w.Page(short+"x", enginetest.Text("x")).Page(short+"y", enginetest.Text("x"))
		stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{URLLength: limit})))
		want := map[int]int64{0: 2, 100: 3, -1: 0}[limit]
		if stats.Reasons["filtered: url-length"] != want || len(s.Errors()) != 0 {
			t.Errorf("limit %d: %v, errors %v", limit, stats.Reasons, s.Errors())
		}
	}
}

// A callback that overruns Limits.Callback has its context cancelled; if it does not listen it is abandoned, and
// another one takes its place.
func TestLimitCallback(t *testing.T) {
	for _, tt := range []struct {
		name      string
		stage     tegenaria.Stage
		abandoned bool
		set       func(s *enginetest.Spider, e *tegenaria.SpiderEngine, stuck func(ctx *tegenaria.Context) error)
	}{
		{"parser that listens", tegenaria.StageParse, false, func(s *enginetest.Spider, _ *tegenaria.SpiderEngine, _ func(*tegenaria.Context) error) {
			s.Parse = parserOf(func(ctx *tegenaria.Context) error {
				if ctx.Request.Url != "http://a.test/stuck" {
					return nil
				}
				<-ctx.Done()
				return fmt.Errorf("gave up: %w", context.Cause(ctx))
			})
		}},
		{"parser", tegenaria.StageParse, true, func(s *enginetest.Spider, _ *tegenaria.SpiderEngine, stuck func(*tegenaria.Context) error) {
			s.Parse = parserOf(stuck)
		}},
		{"ProcessRequest", tegenaria.StageRequest, true, func(_ *enginetest.Spider, e *tegenaria.SpiderEngine, stuck func(*tegenaria.Context) error) {
			e.RegisterDownloadMiddlewares(&enginetest.Hooks{Request: stuck})
		}},
		{"ProcessResponse", tegenaria.StageResponse, true, func(_ *enginetest.Spider, e *tegenaria.SpiderEngine, stuck func(*tegenaria.Context) error) {
			e.RegisterDownloadMiddlewares(&enginetest.Hooks{Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error { return stuck(ctx) }})
		}},
		{"pipeline", tegenaria.StagePipeline, true, func(s *enginetest.Spider, e *tegenaria.SpiderEngine, stuck func(*tegenaria.Context) error) {
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				item <- tegenaria.NewItem(ctx, ctx)
				return nil
			}
			e.RegisterPipelines(enginetest.PipelineFunc{Priority: 1, Process: func(item *tegenaria.ItemMeta) error { return stuck(item.Item.(*tegenaria.Context)) }})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				defer close(release)
				w := enginetest.NewWorld()
				s := enginetest.NewSpider("http://a.test/stuck")
				s.Parse = enginetest.Nothing
				for i := range 20 {
					u := fmt.Sprintf("http://a.test/%d", i)
					s.FeedUrls = append(s.FeedUrls, u)
					w.Page(u, enginetest.Text("x"))
				}
				w.Page("http://a.test/stuck", enginetest.Text("x"))
				var told, slow atomic.Int64
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithSchedulerNum(1), tegenaria.EngineWithItemConcurrency(1),
					tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second}),
					tegenaria.EngineWithEvents(tegenaria.Events{
						Abandoned:    func(stage tegenaria.Stage, r *tegenaria.Request) { told.Add(1) },
						SlowCallback: func(tegenaria.Stage, *tegenaria.Request, time.Duration) { slow.Add(1) },
					}))
				tt.set(s, e, func(ctx *tegenaria.Context) error {
					if ctx.Request.Url == "http://a.test/stuck" {
						<-release
					}
					return nil
				})
				began := time.Now()
				err := enginetest.Run(t, e)
				stats := e.Stats()
				if took := time.Since(began); took > 11*time.Second || took < 10*time.Second {
					t.Errorf("it took %s", took)
				}
				if len(w.Visits()) != 21 && tt.stage != tegenaria.StageRequest || slow.Load() != 0 {
					t.Errorf("%d downloads, %d slow", len(w.Visits()), slow.Load())
				}
				var abandoned *tegenaria.AbandonedError
				if errors.As(err, &abandoned) != tt.abandoned || tt.abandoned && (abandoned.Stages[tt.stage] != 1 || told.Load() != 1 || stats.Abandoned[tt.stage] != 1) {
					t.Errorf("Run returned %v; told %d times", err, told.Load())
				}
				if !tt.abandoned {
					var late *tegenaria.CallbackTimeoutError
					if herr := s.OnlyError(t); !errors.As(herr, &late) || late.Stage != tegenaria.StageParse || late.Limit != 10*time.Second {
						t.Errorf("ErrorHandler got %v", herr)
					}
				}
				if stats.Settled != 21 || stats.Pending+stats.InFlight+stats.Items != 0 {
					t.Errorf("stats: %+v", stats)
				}
			})
		})
	}
}

// Without a limit a callback that runs for a minute is reported, and left alone.
func TestSlowCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = parserOf(func(ctx *tegenaria.Context) error { enginetest.Sleep(10 * time.Minute); return ctx.Err() })
		l := &trace{}
		enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, tegenaria.EngineWithEvents(tegenaria.Events{
			SlowCallback: func(stage tegenaria.Stage, r *tegenaria.Request, took time.Duration) {
				l.add("%s %s %s", stage, r.Url, took)
			},
		})))
		l.want(t, "parse http://a.test/ 1m0s")
	})
}

// The time that a callback waits for the engine is not its own: for room behind slow pipelines, and for its turn in
// a slot with a delay.
func TestCallbackWaitsForEngine(t *testing.T) {
	limits := tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 10 * time.Second})
	t.Run("pipelines", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const items = 3000 // more than the buffer between parsers and pipelines holds
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = func(ctx *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				for i := range items {
					item <- tegenaria.NewItem(ctx, i)
				}
				return ctx.Err()
			}
			slow := tegenaria.PipelineFunc(1, func(ctx context.Context, i int) (int, error) { enginetest.Sleep(time.Second); return i, ctx.Err() })
			began := time.Now()
			stats := enginetest.MustRun(t, enginetest.NewEngine(onePage(), s, limits, tegenaria.EngineWithPipelines(slow), tegenaria.EngineWithItemConcurrency(1)))
			if stats.ItemScraped != items || time.Since(began) != items*time.Second {
				t.Errorf("%d items in %s", stats.ItemScraped, time.Since(began))
			}
		})
	})
	for _, middle := range []bool{false, true} {
		t.Run(fmt.Sprintf("slot, middleware %t", middle), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := enginetest.NewSpider("http://a.test/")
				fetch := func(ctx *tegenaria.Context) error {
					_, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/more", tegenaria.GET, nil))
					return errors.Join(err, ctx.Err())
				}
				opts := []tegenaria.EngineOption{limits, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Hour})}
				if middle {
					opts = append(opts, tegenaria.EngineWithMiddlewares(&enginetest.Hooks{Request: func(ctx *tegenaria.Context) error {
						if ctx.Request.Url == "http://a.test/more" {
							return nil
						}
						return fetch(ctx)
					}}))
				} else {
					s.Parse = parserOf(fetch)
				}
				w := onePage().Page("http://a.test/more", enginetest.Text("x"))
				began := time.Now()
				enginetest.MustRun(t, enginetest.NewEngine(w, s, opts...))
				if took := time.Since(began); took != time.Hour || len(s.Errors()) != 0 {
					t.Errorf("it took %s, with %v", took, s.Errors())
				}
			})
		})
	}
	t.Run("its own time counts", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = parserOf(func(ctx *tegenaria.Context) error {
				enginetest.Sleep(6 * time.Second)
				if _, err := ctx.Fetch(tegenaria.NewRequest("http://a.test/more", tegenaria.GET, nil)); err != nil {
					return err
				}
				<-ctx.Done()
				return context.Cause(ctx)
			})
			w := onePage().Page("http://a.test/more", enginetest.Text("x"))
			began := time.Now()
			enginetest.MustRun(t, enginetest.NewEngine(w, s, limits, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Hour})))
			var late *tegenaria.CallbackTimeoutError
			if herr := s.OnlyError(t); !errors.As(herr, &late) || time.Since(began) != time.Hour+4*time.Second {
				t.Errorf("after %s: %v", time.Since(began), herr)
			}
		})
	})
}

// Two callbacks overrun their limit at different times: each is noticed at its own.
func TestLimitCallbackIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x")).Page("http://b.test/", enginetest.After(500*time.Millisecond, enginetest.Text("x")))
		s := enginetest.NewSpider("http://a.test/", "http://b.test/")
		l := &trace{}
		began := time.Now()
		s.Parse = parserOf(func(ctx *tegenaria.Context) error {
			<-ctx.Done()
			l.add("%s after %s", ctx.Request.Url, time.Since(began))
			enginetest.Sleep(900 * time.Millisecond)
			return nil
		})
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithSchedulerNum(2), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 200 * time.Millisecond})))
		l.want(t, "http://a.test/ after 200ms", "http://b.test/ after 700ms")
	})
}

// numbered repeats a format with growing numbers.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A page that is made to exhaust the memory fails alone, by whatever way it is read, with the typed error; the pages beside
// it are fetched. It fails if one of the bounds is not looked at.
func TestBombsFailAlone(t *testing.T) {
	const size = 3 << 20
	bodies := map[string]struct{ contentType, body string }{
		"/deep":    {"text/html", strings.Repeat("<b>", size/3)},
		"/nodes":   {"text/html", strings.Repeat("<br>", size/4)},
		"/attrs":   {"text/html", "<p " + strings.Repeat("a ", size/2) + ">"},
		"/links":   {"text/html", "<base href=/" + strings.Repeat("x", 1000) + "/>" + numbered("<a href=%d>", size/20)},
		"/charset": {"text/html; charset=windows-1252", strings.Repeat("\x80", size)},
		"/xml":     {"text/xml", "<r>" + strings.Repeat("<a/>", size/4)},
		"/json":    {"application/json", "[" + strings.Repeat(`{"a":0},`, size/8) + "0]"},
	}
	ways := map[string]struct {
		read func(*tegenaria.Response, *tegenaria.Output[int]) error
		of   string // pages that it fails on
	}{
		"CSS":   {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { r.CSS("p"); return nil }, "/deep /nodes /attrs /charset /xml"},
		"XPath": {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { r.XPath("//p"); return nil }, "/deep /nodes /attrs /charset /xml"},
		"Links": {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { r.Links(); return nil }, "/links /charset"},
		"FollowLinks": {func(_ *tegenaria.Response, out *tegenaria.Output[int]) error {
			return out.FollowLinks(links.CSS("main"))
		}, "/deep /nodes /attrs /charset"},
		"Text":   {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { _, err := r.Text(); return err }, "/charset"},
		"Follow": {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error { _, err := r.Follow("/x"); return err }, "/charset"},
		"Decode": {func(r *tegenaria.Response, _ *tegenaria.Output[int]) error {
			var v any
			return r.Decode(&v)
		}, "/json"},
	}
	url, _ := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		b, ok := bodies[r.URL.Path]
		if !ok {
			b.contentType, b.body = "text/html", `"<p>good"`
		}
		w.Header().Set("Content-Type", b.contentType)
		io.WriteString(w, b.body)
	})
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			urls := []string{url + "/good/1", url + "/good/2"}
			for _, path := range strings.Fields(way.of) {
				urls = append(urls, url+path, url+path+"?again")
			}
			var mu sync.Mutex
			failed := 0
			engine := tegenaria.NewSpiderEngine(
				tegenaria.EngineWithSpiders(tegenaria.NewSpider("bombs", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[int]) error {
					return way.read(r, out)
				}), urls...)),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
				tegenaria.EngineWithLimits(tegenaria.Limits{Body: 4 << 20, BodiesInFlight: 8 << 20, Nodes: 200_000, Attributes: 100_000}),
				tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
					mu.Lock()
					defer mu.Unlock()
					tooMuch := errors.As(err, new(*selector.ParseError)) && errors.As(err, new(*html.LimitError)) || errors.As(err, new(*links.SizeError))
					if !tooMuch || err.Stage != tegenaria.StageParse {
						t.Errorf("%s: %v", err.Request.Url, err)
					}
					failed++
				}))
			if err := engine.Run(t.Context(), "bombs"); err != nil {
				t.Fatal(err)
			}
			stats := engine.Stats()
			if want := len(urls) - 2; failed != want || stats.Outcomes[tegenaria.Failed] != int64(want) {
				t.Errorf("%d of %d bombs failed, outcomes %v", failed, want, stats.Outcomes)
			}
			if stats.Outcomes[tegenaria.Fetched] != 2 {
				t.Errorf("outcomes %v", stats.Outcomes)
			}
		})
	}
}

// Limits.Nodes and Limits.Attributes end the tree of a page for which there is memory, and only they: a page whose tree is larger than
// what was reserved for it is parsed again. It fails without the selector.Bounds of page.Bounds.
func TestBoundsOfTreesEndThemAlone(t *testing.T) {
	for _, tt := range []struct {
		what, body string
		limits     tegenaria.Limits
	}{
		{"nodes", strings.Repeat("<br>", 60_000), tegenaria.Limits{Nodes: 50_000}},
		{"attributes", numbered("<p a%d=b c>", 5000), tegenaria.Limits{Attributes: 9000}},
		{"", "<p><b><i><u><s>" + strings.Repeat("<p>x", 20_000), tegenaria.Limits{Body: 2 << 20, BodiesInFlight: 1 << 20}},
		{"nodes", "<p><b><i><u><s>" + strings.Repeat("<p>x", 20_000), tegenaria.Limits{Nodes: 50_000}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			url, _ := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				io.WriteString(w, tt.body)
			})
			var told error
			engine := tegenaria.NewSpiderEngine(
				tegenaria.EngineWithSpiders(tegenaria.NewSpider("bounds", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, _ *tegenaria.Output[int]) error {
					r.CSS("p")
					return nil
				}), url)),
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
				tegenaria.EngineWithLimits(tt.limits), tegenaria.EngineWithEmptyOK(),
				tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { told = err }))
			if err := engine.Run(t.Context(), "bounds"); err != nil {
				t.Fatal(err)
			}
			var limit *html.LimitError
			if tt.what == "" && told != nil || tt.what != "" && (!errors.As(told, &limit) || limit.What != tt.what) {
				t.Errorf("%v, want a limit of %s", told, tt.what)
			}
		})
	}
}
