//go:build unix

package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// The site has the shape of the engine's own benchmark: eight hosts, page k links to itself, to its parent, to the
// first page and to seven pages that nobody else links to.
type benchSite struct {
	plain bool // the pages have no links in their HTML
}

func (s benchSite) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	url := ctx.Request.Url
	k, err := strconv.Atoi(url[strings.LastIndexByte(url, '/')+1:])
	if err != nil {
		panic(err)
	}
	b := make([]byte, 0, 512)
	b = append(b, "<!DOCTYPE html><html><head><title>A page</title></head><body>"...)
	if s.plain {
		b = append(strconv.AppendInt(append(b, "<p>Number "...), int64(k), 10), " is read by nobody.</p>"...)
	} else {
		for i := range benchLinks {
			b = append(strconv.AppendInt(append(b, `<a href="`...), int64(benchTarget(k, i)), 10), `">a link</a>`...)
		}
	}
	b = append(b, "</body></html>"...)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, benchHeader, b)}
	result <- ctx
}

const benchLinks = 10

// benchTarget is the page that link i of page k leads to.
func benchTarget(k, i int) int {
	switch i {
	case 0:
		return 0
	case 1:
		return max(k-1, 0) / 7
	case 2:
		return k
	}
	return k*7 + i - 2
}

func (benchSite) CheckStatus(status uint64, _ []uint64) bool { return status < 400 }

var benchHeader = map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}

// idle is a middleware that does nothing.
type idle struct{}

func (idle) GetPriority() int                                                    { return 1 }
func (idle) GetName() string                                                     { return "idle" }
func (idle) ProcessRequest(*tegenaria.Context) error                             { return nil }
func (idle) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }

type benchItem struct{ Links int }

func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// benchCrawl crawls n pages and returns the CPU time of a page.
func benchCrawl(b *testing.B, site benchSite, n int, middlewares ...tegenaria.MiddlewaresInterface) float64 {
	var seeds []string
	for i := range 8 {
		seeds = append(seeds, fmt.Sprintf("http://h%d.example/page/0", i))
	}
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[benchItem]) error {
		if err := out.Item(benchItem{benchLinks}); err != nil {
			return err
		}
		if !site.plain {
			return out.FollowLinks()
		}
		k, err := strconv.Atoi(r.URL[strings.LastIndexByte(r.URL, '/')+1:])
		if err != nil {
			return err
		}
		for i := range benchLinks {
			if err := out.Follow(strconv.Itoa(benchTarget(k, i))); err != nil {
				return err
			}
		}
		return nil
	})
	e := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("bench", parser, seeds...)),
		tegenaria.EngineWithDownloader(site),
		tegenaria.EngineWithMiddlewares(middlewares...),
		tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, item benchItem) (benchItem, error) { return item, nil })),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithLimits(tegenaria.Limits{Pages: n}),
		tegenaria.EngineWithLogger(quiet()),
	)
	runtime.GC()
	cpu := cpuTime(b)
	err := e.Run(context.Background(), "bench")
	cpu = cpuTime(b) - cpu
	if _, ok := errors.AsType[*tegenaria.StoppedError](err); err != nil && !ok {
		b.Fatal(err)
	}
	if stats := e.Stats(); stats.Responses != int64(n) || stats.ErrorCount != 0 {
		b.Fatalf("%d responses and %d errors for %d pages: %v", stats.Responses, stats.ErrorCount, n, stats.Reasons)
	}
	return float64(cpu.Nanoseconds()) / float64(n)
}

// BenchmarkStandard measures what the standard set adds to the engine's CPU time of a page, in the engine's own
// benchmark site; an op is a page. The two crawls take turns, and the fastest round of each counts: the others
// measure what else the machine does.
func BenchmarkStandard(b *testing.B) {
	const rounds = 15
	for name, site := range map[string]benchSite{"FollowLinks": {}, "Follow": {plain: true}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := max(b.N/rounds, 100)
			bare, standard := math.Inf(1), math.Inf(1)
			for range rounds {
				bare = min(bare, benchCrawl(b, site, n, idle{}))
				standard = min(standard, benchCrawl(b, site, n, middleware.Standard()...))
			}
			b.ReportMetric(bare, "bare-cpu-ns/page")
			b.ReportMetric(standard, "standard-cpu-ns/page")
			b.ReportMetric(100*(standard-bare)/bare, "%more")
		})
	}
}

// BenchmarkMiddlewares measures each of the standard set alone, on a page of the site above.
func BenchmarkMiddlewares(b *testing.B) {
	jar := middleware.NewCookies(middleware.CookieOptions{})
	from := answered("http://h1.example/", 200, "", "Set-Cookie", "session=0123456789; path=/", "Set-Cookie", "lang=en; path=/")
	if err := jar.ProcessResponse(from, nil); err != nil {
		b.Fatal(err)
	}
	site := middleware.Standard()
	for _, m := range append(site, tegenaria.MiddlewaresInterface(&named{jar, "cookies that are there"})) {
		b.Run(strings.ReplaceAll(m.GetName(), " ", "-"), func(b *testing.B) {
			result := make(chan *tegenaria.Context, 1)
			ctx := asked("http://h1.example/page/12345")
			benchSite{}.Download(ctx, result)
			b.ReportAllocs()
			for b.Loop() {
				clear(ctx.Request.Header)
				if m.ProcessRequest(ctx) != nil {
					b.Fatal("refused")
				}
				m.ProcessResponse(ctx, nil)
			}
		})
	}
}

type named struct {
	tegenaria.MiddlewaresInterface
	name string
}

func (n *named) GetName() string { return n.name }

// BenchmarkFilters measures the filters, which see each link.
func BenchmarkFilters(b *testing.B) {
	scope, err := middleware.NewScope(middleware.ScopeOptions{Domains: []string{"example", "example.com"}, DenyGlobs: []string{"**.pdf"}})
	if err != nil {
		b.Fatal(err)
	}
	referer, err := middleware.NewReferer(middleware.RefererOptions{})
	if err != nil {
		b.Fatal(err)
	}
	parent := answered("http://h1.example/page/0", 200, "<p>x", "Content-Type", "text/html").Response()
	for _, f := range []interface {
		tegenaria.RequestFilter
		GetName() string
	}{scope, middleware.NewDepth(middleware.DepthOptions{Max: 5, Order: middleware.BreadthFirst}), middleware.NewURLLength(middleware.URLLengthOptions{}), referer,
		middleware.NewRobotsTags(middleware.RobotsTagOptions{NoFollow: true, RelNoFollow: true})} {
		b.Run(strings.ReplaceAll(f.GetName(), " ", "-"), func(b *testing.B) {
			r := asked("http://h1.example/page/12345").Request
			b.ReportAllocs()
			for b.Loop() {
				clear(r.Header)
				if err := f.AcceptRequest(parent, r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
