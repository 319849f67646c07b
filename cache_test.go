package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
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
func TestEndlessHostLeavesRoomForOthers(t *testing.T) {
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
					if strings.Contains(line, "queue-share") && strings.Contains(line, "level=warning") {
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
func TestDueWhileAnotherWorkerAsks(t *testing.T) {
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
func TestFetchWhileAnEmptyQueueIsRead(t *testing.T) {
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
func TestQueueHoldsUnreportedRequests(t *testing.T) {
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

// sharedCache is a cache on whose job other programs may work.
type sharedCache struct {
	tegenaria.CacheInterface
	barred atomic.Bool
	run    tegenaria.SharedRun
	joined func() // what happens once the run has joined; nil: StartRequest is its, and nothing is left elsewhere

	handedOn atomic.Int64

	other *sharedCache // has the slot b.test; nil: every slot is the own

	stopped func(reason string) // hears that the run was stopped, if it is not nil
}

func (c *sharedCache) Attach(run tegenaria.SharedRun) { c.run = run }
func (c *sharedCache) MayStart() bool                 { return !c.barred.Load() }

func (c *sharedCache) LeaseHost(ctx context.Context, slot string, _ time.Duration) (func(), error) {
	if c.other == nil || slot != "b.test" {
		return func() {}, nil
	}
	return c.other.run.Hold(ctx, slot)
}

func (c *sharedCache) Stopped(reason string) {
	if c.stopped != nil {
		c.stopped(reason)
	}
}

func (c *sharedCache) Join() {
	joined := c.joined
	if joined == nil {
		joined = func() { c.run.Start(); c.run.Finish(0) }
	}
	time.AfterFunc(time.Second, joined)
}

func (c *sharedCache) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	verdicts := make([]tegenaria.Verdict, len(records))
	for i := range records {
		if c.other != nil && records[i].Slot == "b.test" {
			verdicts[i] = tegenaria.VerdictHandedOn
			c.handedOn.Add(1)
			letter := records[i]
			letter.Data = slices.Clone(letter.Data)
			time.AfterFunc(time.Minute, func() { c.other.arrive(ctx, []tegenaria.Record{letter}) })
			continue
		}
		verdict, err := c.CacheInterface.Accept(ctx, records[i:i+1])
		if err != nil {
			return nil, err
		}
		verdicts[i] = verdict[0]
	}
	return verdicts, nil
}

// arrive takes in requests that the other program has found.
func (c *sharedCache) arrive(ctx context.Context, records []tegenaria.Record) {
	if verdicts, err := c.CacheInterface.Accept(ctx, records); err == nil {
		c.run.Arrive(records, verdicts)
	}
}

// Two programs work on a job. What one hands on is counted by the other, also that it is known; StartRequest is called by one of them, and
// each goes on until nothing is left at the other either. A program that has had nothing to do is no error if the other had.
func TestSharedCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		for _, host := range []string{"a", "b"} {
			w.Page("http://"+host+".test/", enginetest.Page("http://b.test/", "http://b.test/1", "http://b.test/2", "/3"))
			for i := 1; i <= 3; i++ {
				w.Page(fmt.Sprint("http://", host, ".test/", i), enginetest.Page())
			}
		}
		const long = 24 * time.Hour
		second := &sharedCache{CacheInterface: tegenaria.NewMemoryCache()}
		first := &sharedCache{CacheInterface: tegenaria.NewMemoryCache(), other: second}
		first.joined = func() { first.run.Start(); time.AfterFunc(long, func() { first.run.Finish(0) }) }
		second.joined = func() { time.AfterFunc(long, func() { second.run.Finish(0) }) }
		idle := &sharedCache{CacheInterface: tegenaria.NewMemoryCache()}
		idle.joined = func() { idle.run.Finish(5) }
		var running sync.WaitGroup
		began := time.Now()
		for _, c := range []struct {
			cache *sharedCache
			want  map[tegenaria.Outcome]int64
			told  int
			took  time.Duration
		}{
			{first, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2}, 2, long},
			{second, map[tegenaria.Outcome]int64{tegenaria.Fetched: 4, tegenaria.Duplicate: 3}, 4, long},
			{idle, map[tegenaria.Outcome]int64{}, 0, 0},
		} {
			running.Go(func() {
				var told atomic.Int64
				s := enginetest.NewSpider("http://a.test/")
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(c.cache), tegenaria.EngineWithEvents(tegenaria.Events{
					RequestAccepted: func(*tegenaria.Request) { told.Add(1) },
				}))
				stats := enginetest.MustRun(t, e)
				enginetest.WantOutcomes(t, stats, c.want)
				if int(told.Load()) != c.told {
					t.Errorf("%d requests accepted, want %d", told.Load(), c.told)
				}
				if took := time.Since(began); took < c.took || took > c.took+time.Hour {
					t.Errorf("it took %v, want %v and a little", took, c.took)
				}
			})
		}
		running.Wait()
	})
}

// A request that is added for a slot of another program is handed on, and that program fetches it, or finds that it is known.
func TestAddToSharedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		for _, url := range []string{"http://a.test/", "http://a.test/1", "http://b.test/1"} {
			w.Page(url, enginetest.Page())
		}
		second := &sharedCache{CacheInterface: tegenaria.NewMemoryCache()}
		first := &sharedCache{CacheInterface: tegenaria.NewMemoryCache(), other: second}
		e := enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithCache(first))
		first.joined = func() {
			first.run.Start()
			for _, add := range []struct {
				url  string
				want bool
			}{{"http://b.test/1", true}, {"http://b.test/1", true}, {"http://a.test/1", true}, {"http://a.test/1", false}} {
				if added, err := e.Add(t.Context(), tegenaria.NewRequest(add.url, tegenaria.GET, nil)); err != nil || added != add.want {
					t.Errorf("%s: added %t, %v", add.url, added, err)
				}
			}
			time.AfterFunc(time.Hour, func() { first.run.Finish(0) })
		}
		second.joined = func() { time.AfterFunc(time.Hour, func() { second.run.Finish(0) }) }
		var running sync.WaitGroup
		for _, one := range []struct {
			engine *tegenaria.SpiderEngine
			want   map[tegenaria.Outcome]int64
		}{
			{e, map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Duplicate: 1}},
			{enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithCache(second)),
				map[tegenaria.Outcome]int64{tegenaria.Fetched: 1, tegenaria.Duplicate: 1}},
		} {
			running.Go(func() { enginetest.WantOutcomes(t, enginetest.MustRun(t, one.engine), one.want) })
		}
		running.Wait()
		if n := first.handedOn.Load(); n != 2 {
			t.Errorf("%d requests were handed on, want 2", n)
		}
	})
}

// countedCache is a shared cache that says how its job is doing.
type countedCache struct {
	*sharedCache
	counts []tegenaria.JobCounts // one for each call
}

func (c *countedCache) JobCounts(context.Context) (tegenaria.JobCounts, error) {
	if len(c.counts) == 0 {
		return tegenaria.JobCounts{}, errors.New("the database is away")
	}
	counts := c.counts[0]
	c.counts = c.counts[1:]
	return counts, nil
}

// The log of a program that shares a job says at its begin and end how the whole job is doing, beside what is its own,
// and between what its cache says. A cache that cannot say it changes nothing.
func TestSharedCacheLogs(t *testing.T) {
	for _, tt := range []struct {
		name   string
		counts []tegenaria.JobCounts
		want   []string
	}{
		{"a job that others have begun", []tegenaria.JobCounts{
			{Programs: 3, Waiting: 12911, Counters: map[string]int64{"settled": 4032, "responses": 4000}},
			{Programs: 3, Waiting: 12, Counters: map[string]int64{"responses": 17000, "items_scraped": 16999}},
		}, []string{
			`"job_settled":4032,"job_waiting":12911,"level":"info","msg":"job goes on with 3 workers: 12,911 requests waiting, 4,032 done before (of this worker 0 and 0), no limits`,
			`"level":"warning","msg":"worker two is gone","seconds":30`,
			`{"job_items":16999,"job_pages":17000,"job_waiting":12,"level":"info","msg":"all workers of the job: 17,000 pages, 16,999 items; 12 requests waiting"`,
		}},
		{"a new job", []tegenaria.JobCounts{{Programs: 1}, {Programs: 1, Counters: map[string]int64{"responses": 1}}},
			[]string{`"msg":"crawl begins: 1 seed`, `"msg":"all workers of the job: 1 page, 0 items"`}},
		{"a cache that cannot say it", nil, []string{`"msg":"crawl begins: 1 seed`, `"msg":"finished: 1 page`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cache := &countedCache{&sharedCache{CacheInterface: tegenaria.NewMemoryCache()}, tt.counts}
				cache.joined = func() {
					cache.run.Log(true, "worker two is gone", map[string]any{"seconds": 30})
					cache.run.Start()
					cache.run.Finish(0)
				}
				var out bytes.Buffer
				logger := logrus.New()
				logger.SetOutput(&out)
				logger.SetFormatter(&logrus.JSONFormatter{})
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page())
				enginetest.MustRun(t, enginetest.NewEngine(w, enginetest.NewSpider("http://a.test/"), tegenaria.EngineWithCache(cache),
					tegenaria.EngineWithLogger(logger)))
				cache.run.Log(true, "too late", nil)
				for _, want := range tt.want {
					if !strings.Contains(out.String(), want) {
						t.Errorf("the log lacks\n%s\nin\n%s", want, out.String())
					}
				}
				if tt.counts == nil && strings.Contains(out.String(), "all workers") || strings.Contains(out.String(), "too late") {
					t.Errorf("the log says too much:\n%s", out.String())
				}
			})
		})
	}
}

// Seeds wait for those of the job that wait elsewhere: the ones that were handed on, until it is said that they do not wait any more.
func TestSharedCachePending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enginetest.NewSpider()
		for i := range 12 {
			s.FeedUrls = append(s.FeedUrls, fmt.Sprint("http://b.test/", i))
		}
		elsewhere := &sharedCache{CacheInterface: tegenaria.NewMemoryCache()}
		cache := &sharedCache{CacheInterface: tegenaria.NewMemoryCache(), other: elsewhere}
		elsewhere.run.Arrive = func([]tegenaria.Record, []tegenaria.Verdict) {}
		var handedOn []int64
		cache.joined = func() {
			cache.run.Start()
			for _, open := range []int64{5, 2, 0, 0} {
				enginetest.Wait(t.Context(), time.Minute)
				handedOn = append(handedOn, cache.handedOn.Load())
				cache.run.Open(open)
			}
			cache.run.Finish(1)
		}
		stats := enginetest.MustRun(t, enginetest.NewEngine(enginetest.NewWorld(), s, tegenaria.EngineWithCache(cache),
			tegenaria.EngineWithLimits(tegenaria.Limits{Pending: 5})))
		if want := []int64{5, 5, 8, 12}; !slices.Equal(handedOn, want) {
			t.Errorf("seeds handed on after each minute: %d, want %d", handedOn, want)
		}
		enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{})
	})
}

// Nothing starts while the cache forbids it, and the crawl goes on when it may.
func TestSharedCacheBars(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := enginetest.NewWorld(), enginetest.NewSpider()
		s.Parse = enginetest.Nothing
		w.Page("http://a.test/", enginetest.Text("x"))
		s.FeedUrls = []string{"http://a.test/"}
		cache := &sharedCache{CacheInterface: tegenaria.NewMemoryCache()}
		cache.barred.Store(true)
		began := time.Now()
		time.AfterFunc(time.Hour, func() {
			cache.run.Halt(errors.New("nothing is in flight"))
			cache.barred.Store(false)
			cache.run.Resume()
		})
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache)))
		if took := time.Since(began); took < time.Hour || took > time.Hour+time.Second {
			t.Errorf("it took %v, want an hour and a little", took)
		}
	})
}

// A job that is lost ends the run with its error, and so does one that may be taken over while a download is in flight.
func TestSharedCacheLoses(t *testing.T) {
	for name, tell := range map[string]func(tegenaria.SharedRun, error){
		"lost":   func(run tegenaria.SharedRun, err error) { run.Lose(err) },
		"halted": func(run tegenaria.SharedRun, err error) { run.Halt(err) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, s := enginetest.NewWorld(), enginetest.NewSpider()
				s.Parse = enginetest.Nothing
				var ended error
				cache, gone := &sharedCache{CacheInterface: tegenaria.NewMemoryCache()}, errors.New("gone")
				w.Page("http://a.test/", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
					time.AfterFunc(time.Second, func() { tell(cache.run, gone) })
					ended = enginetest.Wait(ctx, 30*time.Second)
					return nil, ended
				})
				s.FeedUrls = []string{"http://a.test/"}
				began := time.Now()
				err := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache)).Run(t.Context(), s.GetName())
				if !errors.Is(err, gone) || ended == nil || time.Since(began) > 10*time.Second {
					t.Errorf("%v after %v; the download: %v", err, time.Since(began), ended)
				}
			})
		})
	}
}

// What a callback fetches from a slot of another program is sent when that one has the slot free, which it holds until
// the download is over. Its delay passes before the next start.
func TestSharedCacheTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		w.Page("http://a.test/", enginetest.Text("x"))
		for _, path := range []string{"1", "2", "fetched"} {
			w.Page("http://b.test/"+path, enginetest.After(5*time.Second, enginetest.Text("x")))
		}
		second := &sharedCache{CacheInterface: tegenaria.NewMemoryCache()}
		second.joined = func() { second.run.Start() }
		first := &sharedCache{CacheInterface: tegenaria.NewMemoryCache(), other: second}
		politeness := tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: 8 * time.Second, PerSlot: 1, IgnoreRobots: true})
		theirs := enginetest.NewSpider("http://b.test/1", "http://b.test/2")
		theirs.Parse = enginetest.Nothing
		ended := make(chan error, 1)
		other := enginetest.NewEngine(w, theirs, tegenaria.EngineWithCache(second), politeness, tegenaria.EngineWithConcurrency(1))
		go func() { ended <- other.Run(t.Context(), theirs.GetName()) }()
		s := enginetest.NewSpider("http://a.test/")
		s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			_, err := ctx.Fetch(tegenaria.NewRequest("http://b.test/fetched", tegenaria.GET, nil))
			return err
		}
		_ = enginetest.Wait(t.Context(), 2*time.Second) // the other begins
		if err := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(first), politeness).Run(t.Context(), s.GetName()); err != nil {
			t.Error(err)
		}
		second.run.Finish(0)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		var got []string
		for _, visit := range w.Log {
			got = append(got, fmt.Sprint(visit.At.Sub(w.Log[0].At), " ", visit.Url))
		}
		want := []string{"0s http://b.test/1", "2s http://a.test/", "8s http://b.test/fetched", "21s http://b.test/2"}
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
			t.Errorf("downloads %q, want %q", got, want)
		}
	})
}

// Limits.Pages of a run with a shared cache allows nothing by itself: downloads begin as the cache allows them.
func TestSharedCachePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld()
		w.Page("http://a.test/", enginetest.After(5*time.Second, enginetest.Text("x")))
		w.Page("http://b.test/", enginetest.Text("x"))
		cache := &sharedCache{CacheInterface: tegenaria.NewMemoryCache()}
		want := func(left int64, busy bool) {
			if gotLeft, gotBusy := cache.run.Budget(0); gotLeft != left || gotBusy != busy {
				t.Errorf("%d left, busy %v; want %d, %v", gotLeft, gotBusy, left, busy)
			}
		}
		var joined time.Time
		cache.joined = func() {
			joined = time.Now()
			cache.run.Start()
			time.AfterFunc(time.Minute, func() {
				want(0, false)
				cache.run.Budget(1)
			})
			time.AfterFunc(time.Minute+time.Second, func() { want(0, true) })
			time.AfterFunc(2*time.Minute, func() {
				want(0, false)
				cache.run.Stop("limit: pages")
			})
		}
		s := enginetest.NewSpider("http://a.test/", "http://b.test/")
		s.Parse = enginetest.Nothing
		e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(cache), tegenaria.EngineWithConcurrency(1), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 2}))
		wantStopped(t, e.Run(t.Context(), s.GetName()), "limit: pages")
		if len(w.Log) != 1 || w.Log[0].At.Sub(joined) != time.Minute {
			t.Errorf("downloads: %v, want one, a minute after %v", w.Log, joined)
		}
	})
}

// CloseSpider and limits stop the job: the cache hears the reason, and the runs that it tells stop for the same one.
// Stop stops one run alone.
func TestSharedCacheStops(t *testing.T) {
	for name, c := range map[string]struct {
		limits tegenaria.Limits
		closes bool // the parser returns CloseSpider
		stops  bool // Stop is called
		want   string
		told   bool
	}{
		"CloseSpider":          {closes: true, want: "enough", told: true},
		"pages":                {limits: tegenaria.Limits{Pages: 1}, want: "limit: pages", told: true},
		"time":                 {limits: tegenaria.Limits{Time: 10 * time.Second}, want: "limit: time", told: true},
		"Stop":                 {stops: true, want: "stopped"},
		"Stop and CloseSpider": {stops: true, closes: true, want: "enough", told: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld()
				w.Page("http://a.test/", enginetest.After(5*time.Second, enginetest.Text("x")))
				endless := func() *sharedCache {
					cache := &sharedCache{CacheInterface: tegenaria.NewMemoryCache()}
					cache.joined = func() {
						cache.run.Start()
						cache.run.Budget(cache.run.Pages)
					}
					return cache
				}
				first, second := endless(), endless()
				var told []string
				first.stopped = func(reason string) {
					told = append(told, reason)
					time.AfterFunc(time.Minute, func() { second.run.Stop(reason) })
				}
				idle := enginetest.NewSpider()
				idle.Parse = enginetest.Nothing
				other := enginetest.NewEngine(w, idle, tegenaria.EngineWithCache(second))
				ended := make(chan error, 1)
				go func() { ended <- other.Run(t.Context(), idle.GetName()) }()
				s := enginetest.NewSpider("http://a.test/")
				s.Parse = func(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
					if c.closes {
						return tegenaria.CloseSpider("enough")
					}
					return nil
				}
				e := enginetest.NewEngine(w, s, tegenaria.EngineWithCache(first), tegenaria.EngineWithLimits(c.limits))
				if c.stops {
					time.AfterFunc(3*time.Second, func() { _ = e.Stop(t.Context()) })
				}
				wantStopped(t, e.Run(t.Context(), s.GetName()), c.want)
				if c.told != (len(told) > 0) || c.told && told[0] != c.want {
					t.Errorf("the cache was told %q", told)
				}
				if !c.told {
					time.AfterFunc(time.Hour, func() { second.run.Stop(c.want) })
				}
				wantStopped(t, <-ended, c.want)
			})
		})
	}
}

// wantStopped checks that a run was stopped for a reason.
func wantStopped(t *testing.T, err error, reason string) {
	t.Helper()
	var stopped *tegenaria.StoppedError
	if !errors.As(err, &stopped) || stopped.Reason != reason {
		t.Errorf("%v, want a StoppedError %q", err, reason)
	}
}
