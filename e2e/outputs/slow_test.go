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
	"slices"
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
	staged  atomic.Int64
	written atomic.Int64
}

func (s *slowSink) GetPriority() int { return 0 }

func (s *slowSink) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	s.staged.Add(1)
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
	s.written.Add(int64(len(ids)))
	return []byte{}, nil
}

// A sink that is slow slows the crawl: what waits for it is bounded, however many batches there are.
func TestSlowSinks(t *testing.T) {
	page := "<!doctype html><title>page</title>" + strings.Repeat("<p>"+strings.Repeat("text ", 100), 100)
	for _, each := range []time.Duration{time.Millisecond, time.Second} {
		t.Run(each.String(), func(t *testing.T) {
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
			sink := &slowSink{each: each}
			parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
				if err := out.Item(strings.Repeat(page.URL, 100)); err != nil {
					return err
				}
				return out.FollowLinks()
			}
			looks := 4
			if deep.Checks() {
				looks = 16
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			done := make(chan error, 1)
			go func() {
				done <- tegenaria.NewSpiderEngine(tegenaria.EngineWithCache(cache), tegenaria.EngineWithSlog(slog.New(slog.DiscardHandler)),
					tegenaria.EngineWithSpiders(tegenaria.NewSpider("slow", tegenaria.Handle(parse), site.URL)), tegenaria.EngineWithPipelines(sink),
					tegenaria.EngineWithConcurrency(16), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 16}),
				).Run(ctx, "slow")
			}()
			var heaps []uint64 // each quarter of a second
			var waiting []int64
			for tick := time.NewTicker(250 * time.Millisecond); ; {
				select {
				case err := <-done:
					tick.Stop()
					if ctx.Err() == nil {
						t.Fatalf("it has ended: %v", err)
					}
					if deep.Checks() && slices.Max(heaps) > 64 || slices.Max(waiting) > 3000 {
						t.Error("too much waits")
					}
					t.Logf("heap %d MiB, pages that wait %d, written %d", heaps, waiting, sink.written.Load())
					return
				case <-tick.C:
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					heaps, waiting = append(heaps, m.HeapAlloc>>20), append(waiting, served.Load()-sink.written.Load())
					if len(heaps) == looks {
						cancel()
					}
				}
			}
		})
	}
}
