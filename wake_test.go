package tegenaria_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// lateCache is a memory cache that does its work late, or tells of it late. Calls are named after their slot, and
// numbered: "accept a.test 1", "next a.test 1"; "due 1".
type lateCache struct {
	tegenaria.CacheInterface
	began      time.Time
	work, tell map[string]time.Duration // not before then, since the crawl began

	mu    sync.Mutex // guards calls
	calls map[string]int
}

func newLateCache(work, tell map[string]time.Duration) *lateCache {
	return &lateCache{CacheInterface: tegenaria.NewMemoryCache(), began: time.Now(), work: work, tell: tell, calls: make(map[string]int)}
}

// call waits until the work may be done; told waits until it may be told of.
func (c *lateCache) call(kind string) (told func()) {
	c.mu.Lock()
	c.calls[kind]++
	name := fmt.Sprint(kind, " ", c.calls[kind])
	c.mu.Unlock()
	enginetest.Sleep(time.Until(c.began.Add(c.work[name])))
	return func() { enginetest.Sleep(time.Until(c.began.Add(c.tell[name]))) }
}

func (c *lateCache) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	defer c.call("accept " + records[0].Slot)()
	return c.CacheInterface.Accept(ctx, records)
}

func (c *lateCache) Next(ctx context.Context, slot string, n int) ([]tegenaria.Record, tegenaria.SlotState, error) {
	defer c.call("next " + slot)()
	return c.CacheInterface.Next(ctx, slot, n)
}

func (c *lateCache) Due(ctx context.Context, now time.Time) ([]tegenaria.SlotState, time.Time, error) {
	defer c.call("due")()
	return c.CacheInterface.Due(ctx, now)
}

// wakeCrawl is a crawl in which another worker waits for all when c.test's has read the cache than when it began: the
// download of c.test ends after 31 ms. The worker that waited until then is at b.test's queue from 25 ms to 32 ms.
type wakeCrawl struct {
	*enginetest.World
	spider *enginetest.Spider
	began  time.Time
}

// newWakeCrawl makes the crawl. start sends what else there is, and parse parses it.
func newWakeCrawl(start func(c *wakeCrawl, req chan<- *tegenaria.Context), parse func(c *wakeCrawl, ctx *tegenaria.Context) error) *wakeCrawl {
	c := &wakeCrawl{enginetest.NewWorld(), enginetest.NewSpider(), time.Now()}
	c.Page("http://b.test/", enginetest.Text("b")).Page("http://d.test/", enginetest.Text("d")).Page("http://c.test/", enginetest.After(31*time.Millisecond, enginetest.Text("c")))
	c.spider.Start = func(req chan<- *tegenaria.Context) {
		req <- enginetest.Send("http://c.test/")
		req <- enginetest.Send("http://d.test/")
		start(c, req)
	}
	c.spider.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		if ctx.Request.Url != "http://d.test/" {
			return parse(c, ctx)
		}
		c.until(25 * time.Millisecond)
		req <- enginetest.Send("http://b.test/")
		c.until(100 * time.Millisecond)
		return nil
	}
	return c
}

// until waits until so long after the crawl began.
func (c *wakeCrawl) until(d time.Duration) { enginetest.Sleep(time.Until(c.began.Add(d))) }

// finish crawls. The cache is late as told, and with b.test's queue.
func (c *wakeCrawl) finish(t *testing.T, work, tell map[string]time.Duration) {
	t.Helper()
	tell["next b.test 1"] = 32 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	e := enginetest.NewEngine(c, c.spider, tegenaria.EngineWithCache(newLateCache(work, tell)), tegenaria.EngineWithReadCacheNum(8),
		tegenaria.EngineWithConcurrency(8), tegenaria.EngineWithSchedulerNum(8))
	if err := e.Run(ctx, "test"); err != nil {
		t.Errorf("Run: %v, %+v", err, e.Stats())
	}
	enginetest.CheckLedger(t, e)
}

// begins returns when the download of a page began, since the crawl did.
func (c *wakeCrawl) begins(t *testing.T, url string) time.Duration {
	t.Helper()
	for _, v := range c.Visits() {
		if v.Url == url {
			return v.At.Sub(c.began)
		}
	}
	t.Errorf("%s was not downloaded", url)
	return 0
}

// What has become due, in a slot that has to wait, and what becomes due later are not forgotten when another worker asks
// the cache what is due than the one that waits for the instant. It fails if moveDue wakes nobody.
func TestH12DueWhileAnotherWorkerAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWakeCrawl(func(c *wakeCrawl, req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/0")
			req <- enginetest.Send("http://a.test/1", tegenaria.RequestWithNotBefore(c.began.Add(30*time.Millisecond)))
			req <- enginetest.Send("http://e.test/", tegenaria.RequestWithNotBefore(c.began.Add(500*time.Millisecond)))
		}, func(_ *wakeCrawl, ctx *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/0" {
				ctx.SlotDelay(time.Second)
			}
			return nil
		})
		c.Page("http://a.test/0", enginetest.Text("a"))
		c.finish(t, nil, map[string]time.Duration{"due 1": 40 * time.Millisecond})
		for url, want := range map[string]time.Duration{"http://a.test/1": time.Second, "http://e.test/": 500 * time.Millisecond} {
			if at := c.begins(t, url); at != want {
				t.Errorf("%s began after %s, want %s", url, at, want)
			}
		}
	})
}

// A Fetch gets its slot though another worker had it while it found its queue empty, and it got a delay meanwhile. Two
// signals see to that where Frontier.pop releases the slot, and one of them is enough: it fails only if neither head nor
// release signals there.
func TestH12FetchWhileAnEmptyQueueIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var err error
		c := newWakeCrawl(func(c *wakeCrawl, req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/0")
			c.until(5 * time.Millisecond)
			req <- enginetest.Send("http://a.test/1") // told of when it has been downloaded: the engine takes it for another one
		}, func(c *wakeCrawl, ctx *tegenaria.Context) error {
			if ctx.Request.Url == "http://a.test/0" {
				c.until(35 * time.Millisecond)
				ctx.SlotDelay(time.Second)
				_, err = ctx.Fetch(tegenaria.NewRequest("http://a.test/2", tegenaria.GET, nil))
			}
			return nil
		})
		for i := range 3 {
			c.Page(fmt.Sprint("http://a.test/", i), enginetest.Text("a"))
		}
		c.finish(t, map[string]time.Duration{"next a.test 1": 10 * time.Millisecond},
			map[string]time.Duration{"accept a.test 2": 30 * time.Millisecond, "next a.test 3": 45 * time.Millisecond})
		if err != nil {
			t.Errorf("Fetch: %v", err)
		}
		if at := c.begins(t, "http://a.test/2"); at != 1010*time.Millisecond {
			t.Errorf("the page of Fetch began after %s, want 1.01s", at)
		}
	})
}

// A request that the cache holds and has not told of yet begins as soon as another worker learns of it. It fails if head
// wakes nobody.
func TestH12QueueHoldsMoreThanWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newWakeCrawl(func(c *wakeCrawl, req chan<- *tegenaria.Context) {
			c.until(28 * time.Millisecond)
			req <- enginetest.Send("http://a.test/1")
			c.until(35 * time.Millisecond)
			req <- enginetest.Send("http://a.test/2")
		}, func(*wakeCrawl, *tegenaria.Context) error { return nil })
		c.Page("http://a.test/1", enginetest.After(5*time.Second, enginetest.Text("a"))).Page("http://a.test/2", enginetest.Text("a"))
		c.finish(t, map[string]time.Duration{"next a.test 1": 40 * time.Millisecond},
			map[string]time.Duration{"accept a.test 2": 10 * time.Second})
		if at := c.begins(t, "http://a.test/2"); at != 40*time.Millisecond {
			t.Errorf("the second page began after %s, want 40ms", at)
		}
	})
}
