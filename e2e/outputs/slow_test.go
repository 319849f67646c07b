//go:build unix

package outputs_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// slowSink is a committer that needs its time for each batch.
type slowSink struct {
	each    time.Duration
	look    func() // before a batch is written
	written atomic.Int64
}

func (s *slowSink) GetPriority() int { return 0 }

func (s *slowSink) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return nil
}
func (s *slowSink) CommitKey() string                     { return "slow" }
func (s *slowSink) Restore(context.Context, []byte) error { return nil }
func (s *slowSink) Discard(string)                        {}

func (s *slowSink) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	timer := time.NewTimer(s.each)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
	}
	s.look()
	s.written.Add(int64(len(ids)))
	return []byte{}, nil
}

// A sink that is slow slows the crawl: what waits for it is bounded, however many batches there are.
func TestSlowSinks(t *testing.T) {
	page := "<!doctype html><title>page</title>" + strings.Repeat("<p>"+strings.Repeat("text ", 100), 100)
	for _, test := range []struct {
		each    time.Duration
		batches int
	}{
		{time.Millisecond, deep.Rounds(50, 1000)},
		{time.Duration(deep.Rounds(100, 1000)) * time.Millisecond, deep.Rounds(5, 10)},
	} {
		t.Run(test.each.String(), func(t *testing.T) {
			t.Parallel()
			var served atomic.Int64
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := served.Add(1)
				fmt.Fprintf(w, `<a href="/%d">next</a><a href="/%d">next</a>%s`, 2*n+1, 2*n+2, page) // it has no end
			}))
			defer site.Close()
			cache, err := disk.Open(filepath.Join(t.TempDir(), "job"))
			if err != nil {
				t.Fatal(err)
			}
			defer cache.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var heap, waiting int64 // the most
			left := test.batches
			sink := &slowSink{each: test.each}
			sink.look = func() {
				if deep.Checks() {
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					heap = max(heap, int64(m.HeapAlloc>>20))
				}
				waiting = max(waiting, served.Load()-sink.written.Load())
				if left--; left == 0 {
					cancel()
				}
			}
			parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
				if err := out.Item(strings.Repeat(page.URL, 100)); err != nil {
					return err
				}
				return out.FollowLinks()
			}
			err = tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(cache), tegenaria.EngineWithSlog(slog.New(slog.DiscardHandler)),
				tegenaria.EngineWithSpiders(tegenaria.NewSpider("slow", tegenaria.Handle(parse), site.URL)), tegenaria.EngineWithPipelines(sink),
				tegenaria.EngineWithConcurrency(16), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 16}),
			).Run(ctx, "slow")
			if ctx.Err() == nil {
				t.Fatalf("it has ended: %v", err)
			}
			if heap > 64 || waiting > 3000 {
				t.Error("too much waits")
			}
			t.Logf("heap at most %d MiB, pages that wait at most %d, written %d", heap, waiting, sink.written.Load())
		})
	}
}
