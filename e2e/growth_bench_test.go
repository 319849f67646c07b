//go:build unix

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// BenchmarkGrowth measures how what the engine costs per page (an op is a page) grows with what it has to do, on one
// processor: with the requests that wait, with the hosts that they are spread over, with the downloads at once. Only
// pages that come when all of them are waiting count. A page has no links, so that their number stays.
func BenchmarkGrowth(b *testing.B) {
	for _, waiting := range []int{10_000, 100_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) { growth(b, waiting, 1000, 16) })
	}
	for _, hosts := range []int{1, 100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) { growth(b, 1_000_000, hosts, 16) })
	}
	for _, concurrency := range []int{1, 16, 128, 1024} {
		b.Run(fmt.Sprintf("concurrency=%d", concurrency), func(b *testing.B) { growth(b, 100_000, 1000, concurrency) })
	}
}

// growth crawls a first page with that many links, so many of which are waiting while the pages are crawled that count.
func growth(b *testing.B, waiting, hosts, concurrency int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const first = "http://first.example/page/0"
	const warm = 2000 // pages before those that count
	var crawled atomic.Int64
	var cpu time.Duration
	links := waiting + warm + b.N
	parser := tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
		if r.URL == first {
			for i := range links {
				if err := out.Follow("http://h" + strconv.Itoa(i%hosts) + ".example/page/" + strconv.Itoa(i+1)); err != nil {
					return err
				}
			}
			return nil
		}
		switch crawled.Add(1) {
		case warm:
			runtime.GC()
			b.ResetTimer()
			cpu = enginetest.CPUTime(b)
		case int64(warm + b.N):
			cpu = enginetest.CPUTime(b) - cpu
			b.StopTimer()
		}
		return nil
	})
	e := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("bench", parser, first)),
		tegenaria.EngineWithDownloader(&enginetest.MemoryDownloader{
			Header: map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}, Body: enginetest.PlainPage,
		}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: concurrency}),
		tegenaria.EngineWithConcurrency(concurrency),
		tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1 + warm + b.N}),
		tegenaria.EngineWithLogger(enginetest.Quiet()),
	)
	b.ReportAllocs()
	err := e.Run(context.Background(), "bench")
	if stopped := (*tegenaria.StoppedError)(nil); err != nil && !errors.As(err, &stopped) {
		b.Fatal(err)
	}
	if crawled.Load() < int64(warm+b.N) {
		b.Fatalf("%d pages", crawled.Load())
	}
	b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N), "cpu-ns/op")
}
