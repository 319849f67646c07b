package tegenaria_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// slowCache takes its time to read, and counts who reads at a time.
type slowCache struct {
	tegenaria.CacheInterface
	mu            sync.Mutex // guards what follows
	reading, peak int
}

func (c *slowCache) Next(ctx context.Context, slot string, n int) ([]tegenaria.Record, tegenaria.SlotState, error) {
	c.count(1)
	sleep(time.Millisecond)
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
				w, s := newWorld(), newSpider()
				s.parse = nothing
				for i := range 60 {
					u := fmt.Sprintf("http://a%d.test/%d", i, i)
					w.page(u, text("x"))
					s.FeedUrls = append(s.FeedUrls, u)
				}
				cache := &slowCache{CacheInterface: tegenaria.NewMemoryCache()}
				began := time.Now()
				mustRun(t, newEngine(w, s, tegenaria.EngineWithCache(cache), tegenaria.EngineWithReadCacheNum(c.readers)))
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
