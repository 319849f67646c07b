package tegenaria

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/page"
)

// pages drives the budget as a crawl does: workers download, take a place among the parsers, make something of the page,
// and settle.
type pages struct {
	c    *crawl
	ctx  context.Context
	busy bool         // parsers fetch, and items are in the pipelines meanwhile
	most atomic.Int64 // that were in use
}

const (
	pagesBound = 1000
	pagesBody  = 400
	pagesMade  = 600
)

// look notes how much is in use.
func (p *pages) look() {
	used := p.c.fetcher.bodies.Used()
	for most := p.most.Load(); used > most && !p.most.CompareAndSwap(most, used); {
		most = p.most.Load()
	}
}

// growPage asks for the memory of something that is made of a page.
func growPage(r *Response, n int64) error { return r.page.Grow((*pageHost)(r), n) }

// pause waits in the time of the test.
func pause(d time.Duration) { <-time.NewTimer(d).C }

// page is the way of one page. The error is that of a crawl that was given up.
func (p *pages) page(rng *rand.Rand) error {
	c := p.c
	j := newJob(c, Record{Slot: "a"})
	j.ctx = &Context{Request: NewRequest("http://a.test/", GET, nil), Ctx: p.ctx, job: j}
	resp := &Response{ctx: j.ctx}
	defer c.fetcher.bodies.Release(&j.hold)
	grow := func(left int64, take func(n int64) error) error {
		for left > 0 {
			n := 1 + rng.Int64N(left)
			if err := take(n); err != nil {
				return err
			}
			left -= n
			p.look()
			pause(time.Duration(rng.IntN(10)) * time.Millisecond)
		}
		return nil
	}
	if err := grow(1+rng.Int64N(pagesBody), func(n int64) error { return c.fetcher.bodies.Grow(p.ctx, &j.hold, n) }); err != nil {
		return err
	}
	if err := c.reader.places.Acquire(p.ctx, &j.place); err != nil {
		return err
	}
	defer c.reader.places.Release(&j.place)
	for range 1 + rng.IntN(3) {
		if p.busy && rng.IntN(3) == 0 { // a Fetch
			c.reader.places.Lend(&j.place)
			pause(time.Duration(rng.IntN(10)) * time.Millisecond)
			c.fetcher.bodies.Add(&j.hold, 10)
			if err := c.reader.places.Reclaim(j.ctx, &j.place); err != nil {
				return err
			}
		}
		if p.busy && rng.IntN(3) == 0 { // an item, whose pipeline reads the page; the parser waits for it
			j.open.Add(1)
			if err := growPage(resp, 10); err != nil {
				return err
			}
			j.open.Add(-1)
		}
		if err := grow(1+rng.Int64N(pagesMade/3), func(n int64) error { return growPage(resp, n) }); err != nil {
			return err
		}
	}
	return nil
}

// run drives so many pages with so many workers and parsers.
func (p *pages) run(t *testing.T, seed uint64, workers, parsers, each int) {
	work, cancel := context.WithCancelCause(t.Context())
	p.ctx = work
	c := &crawl{began: time.Now(), contexts: contexts{work: work}, fetcher: &fetcher{bodies: fetch.NewBudget(pagesBound, nil)}, reader: &reader{bounds: page.NewBounds(0, 0, pagesBody, pagesBound), places: frontier.NewParsers(parsers, workers)}}
	c.reader.crawl = c
	c.cfg.concurrency = workers
	c.limits = Limits{BodiesInFlight: pagesBound, Body: pagesBody}
	c.watch = guard.NewWatch(guard.Config{})
	p.c = c
	var wg sync.WaitGroup
	for i := range workers {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for range each {
				if err := p.page(rng); err != nil && work.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	if seed%4 == 3 { // the crawl is given up in the middle
		pause(200 * time.Millisecond)
		cancel(errors.New("given up"))
	}
	wg.Wait()
	cancel(nil)
	free, lent := c.reader.places.Count()
	if c.fetcher.bodies.Used() != 0 || c.fetcher.bodies.Waits() != 0 || lent != 0 || free != parsers {
		t.Errorf("%d bytes, %d waits and %d lent places are left, %d of %d places are free", c.fetcher.bodies.Used(), c.fetcher.bodies.Waits(), lent, free, parsers)
	}
}

// Downloads and parsers that wait for the same room all come to their end, however few parsers there are, and together they
// exceed the bound by one page. A parser that waits and keeps its place among the parsers, which lendToWait lends, makes it
// fail: the page that may go over the bound finds none.
func TestH01WaitingParsersEnd(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	for round := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, round))
			p := &pages{busy: round%2 == 1}
			p.run(t, seed+round, 2+rng.IntN(16), 1+rng.IntN(3), 10)
			if most := p.most.Load(); !p.busy && most > pagesBound+pagesBody+pagesMade {
				t.Errorf("round %d: %d bytes were in use, %d is the bound", round, most, pagesBound)
			}
		})
		if t.Failed() {
			return
		}
	}
}

// One page may take so much and no more; what is made of a page that has settled counts nowhere. A hold that can grow after
// its release makes it fail.
func TestH01OnePageHasABound(t *testing.T) {
	c := &crawl{began: time.Now(), contexts: contexts{work: t.Context()}, fetcher: &fetcher{bodies: fetch.NewBudget(1000, nil)}, reader: &reader{bounds: page.NewBounds(0, 0, 600, 1000), places: frontier.NewParsers(1, 0)}, limits: Limits{BodiesInFlight: 1000, Body: 600}}
	c.reader.crawl = c
	c.watch = guard.NewWatch(guard.Config{})
	j := newJob(c, Record{})
	j.ctx = &Context{Request: NewRequest("http://a.test/", GET, nil), Ctx: t.Context(), job: j}
	resp := &Response{ctx: j.ctx}
	if err := growPage(resp, 1200); err != nil || c.fetcher.bodies.Used() != 1200 {
		t.Fatalf("%d bytes are used, %v", c.fetcher.bodies.Used(), err)
	}
	var limit *html.LimitError
	if err := growPage(resp, 1); !errors.As(err, &limit) || limit.Limit != 1200 || c.fetcher.bodies.Used() != 1200 {
		t.Errorf("%v, %d bytes are used", err, c.fetcher.bodies.Used())
	}
	if err := growPage(resp, -200); err != nil || c.fetcher.bodies.Used() != 1000 {
		t.Errorf("%v, %d bytes are used", err, c.fetcher.bodies.Used())
	}
	c.fetcher.bodies.Release(&j.hold)
	for _, n := range []int64{100, -100, 50} {
		if err := growPage(resp, n); err != nil || c.fetcher.bodies.Used() != 0 {
			t.Errorf("after the end: %v, %d bytes are used", err, c.fetcher.bodies.Used())
		}
	}
	if growPage(&Response{}, 1<<60) != nil {
		t.Error("a response outside of a crawl has a bound")
	}
}

// A parser with two goroutines, of which one waits for memory when the other sends an item: the pipeline may stand behind the
// one that waits, and the page that is over the bound behind that pipeline. So its waiting ends. It fails if job.tryOpen does not
// call Budget.Hurry.
func TestH01WaitEndsWhenAnItemIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &crawl{began: time.Now(), contexts: contexts{work: t.Context()}, fetcher: &fetcher{bodies: fetch.NewBudget(1000, nil)}, reader: &reader{bounds: page.NewBounds(0, 0, 600, 1000), places: frontier.NewParsers(2, 2)}, limits: Limits{BodiesInFlight: 1000, Body: 600}}
		c.reader.crawl = c
		c.cfg.concurrency = 2
		c.watch = guard.NewWatch(guard.Config{})
		page := func() (*job, *Response) {
			j := newJob(c, Record{})
			j.ctx = &Context{Request: NewRequest("http://a.test/", GET, nil), Ctx: t.Context(), job: j}
			if err := c.reader.places.Acquire(t.Context(), &j.place); err != nil {
				t.Fatal(err)
			}
			return j, &Response{ctx: j.ctx}
		}
		large, largeResp := page()
		j, resp := page()
		if err := growPage(largeResp, 1100); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- growPage(resp, 100) }()
		synctest.Wait()
		if !c.fetcher.bodies.IsShort() {
			t.Fatal("it does not wait")
		}
		if !j.tryOpen() {
			t.Fatal("the job is over")
		}
		synctest.Wait()
		select {
		case err := <-done:
			if err != nil || c.fetcher.bodies.Used() != 1200 {
				t.Errorf("%v, %d bytes are used", err, c.fetcher.bodies.Used())
			}
		default:
			t.Error("it waits on")
			c.fetcher.bodies.Release(&large.hold)
			<-done
		}
		if c.fetcher.bodies.Release(&large.hold); c.fetcher.bodies.IsShort() {
			t.Error("somebody waits")
		}
		c.fetcher.bodies.Release(&j.hold)
		if c.fetcher.bodies.Used() != 0 {
			t.Errorf("%d bytes are left", c.fetcher.bodies.Used())
		}
	})
}
