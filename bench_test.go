//go:build unix

package tegenaria_test

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/enginetest"

	"github.com/tegenaria/tegenaria"
)

// The site of the engine's benchmark: on each of its hosts page k links to itself, to its parent, to the
// first page and to seven pages that nobody else links to.
const (
	benchHosts = 8
	benchKnown = 3
	benchNew   = 7
)

type benchItem struct{ Page int }

// benchPage returns host and number of a page: http://h3.example/page/123.
func benchPage(url string) (host string, page int) {
	slash := strings.LastIndexByte(url, '/')
	page, err := strconv.Atoi(url[slash+1:])
	if err != nil {
		panic(err)
	}
	return url[:slash-len("/page")], page
}

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

// memoryDownloader answers from memory.
type memoryDownloader struct {
	header map[string][]string
	body   func(page int) []byte
}

func (d *memoryDownloader) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	_, page := benchPage(ctx.Request.Url)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, d.header, d.body(page))}
	result <- ctx
}

func (d *memoryDownloader) CheckStatus(status uint64, _ []uint64) bool { return status < 400 }

var benchBody = []byte("<!DOCTYPE html><html><head><title>A page</title></head><body><p>Nobody reads this.</p></body></html>")

func plainPage(int) []byte { return benchBody }

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

func (idleMiddleware) GetPriority() int                        { return 1 }
func (idleMiddleware) GetName() string                         { return "idle" }
func (idleMiddleware) ProcessRequest(*tegenaria.Context) error { return nil }
func (idleMiddleware) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error {
	return nil
}

// cpuTime is the CPU time of this process so far, user and system.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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
		benchCrawl(b, processors, plainPage, tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[benchItem]) error {
			_, page := benchPage(r.URL)
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
			_, page := benchPage(r.URL)
			if item(page) {
				if err := out.Item(benchItem{page}); err != nil {
					return err
				}
			}
			return out.FollowLinks()
		}))
	})
	b.Run("Channels", func(b *testing.B) {
		benchCrawl(b, processors, plainPage, func(resp *tegenaria.Context, items chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
			host, page := benchPage(resp.Response().URL)
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
		tegenaria.EngineWithDownloader(&memoryDownloader{
			header: map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}, body: body,
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
	cpu := cpuTime(b)
	err := e.Run(context.Background(), "bench")
	cpu = cpuTime(b) - cpu
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
