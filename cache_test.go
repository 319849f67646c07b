package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/spidertest"
)

func TestMemoryCacheConforms(t *testing.T) {
	spidertest.TestCache(t, spidertest.CacheHarness{
		Open: func(*testing.T) tegenaria.CacheInterface { return tegenaria.NewMemoryCache() },
	})
}

// slowCache takes its time to read, and counts who reads at a time.
type slowCache struct {
	tegenaria.CacheInterface
	mu            sync.Mutex // guards the fields below
	reading, peak int
}

func (c *slowCache) Next(ctx context.Context, slot string, n int) ([]tegenaria.Record, tegenaria.SlotState, error) {
	c.count(1)
	enginetest.Sleep(time.Millisecond)
	c.count(-1)
	return c.CacheInterface.Next(ctx, slot, n)
}

func (c *slowCache) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading += n
	c.peak = max(c.peak, c.reading)
}

// As many workers read a cache at a time as EngineWithReadCacheNum says.
func TestReadersOfASlowCache(t *testing.T) {
	for _, c := range []struct {
		readers uint
		want    int
		took    time.Duration // 60 reads of a millisecond, so many at a time
	}{
		{1, 1, 60 * time.Millisecond}, {3, 3, 20 * time.Millisecond},
	} {
		t.Run(fmt.Sprint(c.readers), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := enginetest.NewWorld(), enginetest.NewSpider()
				s.Parse = enginetest.Nothing
				for i := range 60 {
					u := fmt.Sprintf("http://a%d.test/%d", i, i)
					w.Page(u, enginetest.Text("x"))
					s.FeedUrls = append(s.FeedUrls, u)
				}
				cache := &slowCache{CacheInterface: tegenaria.NewMemoryCache()}
				began := time.Now()
				enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache), tegenaria.EngineWithReadCacheNum(c.readers)))
				if cache.peak != c.want {
					t.Errorf("%d read at a time, want %d", cache.peak, c.want)
				}
				if took := time.Since(began); took < c.took || took > c.took+5*time.Millisecond {
					t.Errorf("it took %s, want %s and a little", took, c.took)
				}
			})
		})
	}
}

// endlessHost is a world with a host that has no end.
type endlessHost struct {
	*enginetest.World
	slow time.Duration // how long the others take to answer
}

func (w endlessHost) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	path, ok := strings.CutPrefix(ctx.Request.Url, "http://endless.test/")
	if !ok {
		if enginetest.Wait(ctx, w.slow) == nil {
			w.World.Download(ctx, result)
		}
		return
	}
	var links []string
	for i := range 20 {
		links = append(links, fmt.Sprintf("/%d-%d", shortened(path), i))
	}
	ctx.DownloadResult = &tegenaria.RequestResult{}
	if ctx.DownloadResult.Response, _ = enginetest.Page(links...)(ctx); enginetest.Wait(ctx, 20*time.Millisecond) != nil {
		return
	}
	result <- ctx
}

// shortened makes a short name of a long one.
func shortened(s string) uint64 {
	h := fnv.New64()
	h.Write([]byte(s))
	return h.Sum64()
}

// Nine hosts are chains of pages, the tenth has no end. The queue would be full before the chains are through; the
// endless host does not get more than its share, so all chains come to their end, and one warning names it. Alone at
// last, it ends the run with a *QueueFullError.
//
// It fails if Accept in memcache.go returns the *QueueFullError without refusing anything.
func TestH11EndlessHostLeavesRoomForOthers(t *testing.T) {
	for _, tt := range []struct {
		name  string
		sees  bool // RequestSettled is heard, so each link is a request
		delay time.Duration
		slow  time.Duration
	}{
		{"plain links", false, time.Second, 0},
		{"requests", true, time.Second, 0},
		{"others in flight", false, 0, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const chain = 40
				w := enginetest.NewWorld()
				seeds := []string{"http://endless.test/0"}
				for h := range 9 {
					seeds = append(seeds, fmt.Sprintf("http://chain%d.test/0", h))
					for i := range chain {
						answer := enginetest.Page(fmt.Sprintf("/%d", i+1))
						if i == chain-1 {
							answer = enginetest.Text("the last")
						}
						w.Page(fmt.Sprintf("http://chain%d.test/%d", h, i), answer)
					}
				}
				var log bytes.Buffer
				logger := logrus.New()
				logger.SetOutput(&log)
				var settled atomic.Int64
				events := tegenaria.Events{}
				if tt.sees {
					events.RequestSettled = func(_ *tegenaria.Request, outcome tegenaria.Outcome, reason string) {
						if reason == "queue-share" && outcome == tegenaria.Filtered {
							settled.Add(1)
						}
					}
				}
				s := enginetest.NewSpider(seeds...)
				s.Parse = tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
					return out.FollowLinks()
				})
				e := enginetest.NewEngine(endlessHost{w, tt.slow}, s, tegenaria.EngineWithLimits(tegenaria.Limits{QueueBytes: 1 << 20}), tegenaria.EngineWithLogger(logger),
					tegenaria.EngineWithEvents(events), tegenaria.EngineWithConcurrency(1+9*2),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Overrides: map[string]tegenaria.SlotPolicy{
						"endless.test": {PerSlot: 4}, "*.test": {Delay: tt.delay, PerSlot: 1}}}))
				err := enginetest.Run(t, e)
				var full *tegenaria.QueueFullError
				if !errors.As(err, &full) {
					t.Errorf("Run returned %v, want a *QueueFullError of the host that is left alone", err)
				}
				for h := range 9 {
					if last := fmt.Sprintf("http://chain%d.test/%d", h, chain-1); w.Count(last) != 1 {
						t.Errorf("%s was asked for %d times", last, w.Count(last))
					}
				}
				stats := e.Stats()
				refused := stats.Reasons["filtered: queue-share"]
				if refused == 0 || tt.sees && settled.Load() != refused {
					t.Errorf("%d requests refused, %d events", refused, settled.Load())
				}
				if stats.Discovered != stats.Settled+stats.Pending+stats.Delayed+stats.InFlight {
					t.Errorf("the ledger does not balance: %+v", stats)
				}
				warnings := 0
				for line := range strings.Lines(log.String()) {
					if strings.Contains(line, "queue-share") {
						warnings++
						if !strings.Contains(line, "endless.test") || !strings.Contains(line, "MaxPages") || !strings.Contains(line, "cache/disk") {
							t.Errorf("warning: %s", line)
						}
					}
				}
				if warnings != 1 {
					t.Errorf("%d warnings, want 1:\n%s", warnings, log.String())
				}
			})
		})
	}
}
