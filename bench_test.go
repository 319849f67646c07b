//go:build unix

package tegenaria_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// The site of the engine's benchmark: on each of its hosts page k links to itself, to its parent, to the
// first page and to seven pages that nobody else links to.
const (
	benchHosts = 8
	benchKnown = 3
	benchNew   = 7
)

type benchItem struct{ Page int }

// benchRefs returns the ten references of a page, in one string.
func benchRefs(prefix string, page int) (refs [benchKnown + benchNew]string) {
	var buf [1024]byte
	var ends [len(refs)]int
	b := buf[:0]
	for i := range refs {
		target := page*benchNew + i - benchKnown + 1
		switch i {
		case 0:
			target = 0
		case 1:
			target = max(page-1, 0) / benchNew
		case 2:
			target = page
		}
		b = strconv.AppendInt(append(b, prefix...), int64(target), 10)
		ends[i] = len(b)
	}
	all, start := string(b), 0
	for i, end := range ends {
		refs[i] = all[start:end]
		start = end
	}
	return refs
}

func benchHasItem(page int) bool { return page%10 < 7 }

// linkedPage is a page that has its links in its HTML.
func linkedPage(page int) []byte {
	b := make([]byte, 0, 512)
	b = append(b, "<!DOCTYPE html><html><head><title>A page</title></head><body>"...)
	for _, ref := range benchRefs("", page) {
		b = append(append(append(b, `<a href="`...), ref...), `">a link</a>`...)
	}
	return append(b, "</body></html>"...)
}

// idleMiddleware does next to nothing.
type idleMiddleware struct{}

func (idleMiddleware) GetPriority() int { return 1 }

func (idleMiddleware) GetName() string { return "idle" }

func (idleMiddleware) ProcessRequest(*tegenaria.Context) error { return nil }

func (idleMiddleware) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error {
	return nil
}

// BenchmarkEngine measures what the engine costs per page (an op is a page): all of the production path, from the
// cache to the last pipeline, but for the network. cpu-ns/op is the CPU time of the whole process,
// garbage collection and the benchmark's own spider and downloader included.
//
// It runs on one processor, as crawlers are compared: on several there is also what it costs them to share memory and
// to look for work, which depends on the machine. [BenchmarkEngineParallel] is the same on all that there are.
func BenchmarkEngine(b *testing.B) {
	benchEngine(b, 1)
}

func BenchmarkEngineParallel(b *testing.B) { benchEngine(b, runtime.NumCPU()) }

func benchEngine(b *testing.B, processors int) {
	item := func(page int) bool { return benchHasItem(page) }
	b.Run("Output", func(b *testing.B) {
		benchCrawl(b, processors, enginetest.PlainPage, tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[benchItem]) error {
			_, page := enginetest.PageOf(r.URL)
			if item(page) {
				if err := out.Item(benchItem{page}); err != nil {
					return err
				}
			}
			for _, ref := range benchRefs("", page) {
				if err := out.Follow(ref); err != nil {
					return err
				}
			}
			return nil
		}))
	})
	b.Run("OutputFollowLinks", func(b *testing.B) {
		benchCrawl(b, processors, linkedPage, tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[benchItem]) error {
			_, page := enginetest.PageOf(r.URL)
			if item(page) {
				if err := out.Item(benchItem{page}); err != nil {
					return err
				}
			}
			return out.FollowLinks()
		}))
	})
	b.Run("Channels", func(b *testing.B) {
		benchCrawl(b, processors, enginetest.PlainPage, func(resp *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			host, page := enginetest.PageOf(resp.Response().URL)
			if item(page) {
				items <- tegenaria.NewItem(resp, benchItem{page})
			}
			for _, ref := range benchRefs(host+"/page/", page) {
				req <- tegenaria.NewContext(tegenaria.NewRequest(ref, tegenaria.GET, nil))
			}
			return nil
		})
	})
}

// benchCrawl crawls b.N pages on a number of processors.
func benchCrawl(b *testing.B, processors int, body func(int) []byte, parser tegenaria.Parser) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors)) // what -cpu says is set for each benchmark again
	var seeds []string
	for i := range benchHosts {
		seeds = append(seeds, "http://h"+strconv.Itoa(i)+".example/page/0")
	}
	e := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("bench", parser, seeds...)),
		tegenaria.EngineWithDownloader(&enginetest.MemoryDownloader{
			Header: map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}, Body: body,
		}),
		tegenaria.EngineWithMiddlewares(idleMiddleware{}),
		tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, item benchItem) (benchItem, error) { return item, nil })),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithLimits(tegenaria.Limits{Pages: b.N}),
		tegenaria.EngineWithLogger(enginetest.Quiet()),
	)
	runtime.GC()
	b.ReportAllocs()
	b.ResetTimer()
	cpu := enginetest.CPUTime(b)
	err := e.Run(context.Background(), "bench")
	cpu = enginetest.CPUTime(b) - cpu
	b.StopTimer()

	var stopped *tegenaria.StoppedError
	if err != nil && !errors.As(err, &stopped) {
		b.Fatal(err)
	}
	stats := e.Stats()
	if stats.Responses != int64(b.N) || stats.ErrorCount != 0 {
		b.Fatalf("%d responses and %d errors for %d pages", stats.Responses, stats.ErrorCount, b.N)
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
}
