package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
)

// pageLoad drives the budget as a crawl does: workers download, wait for the memory of the page, take a place among the parsers, and
// settle.
type pageLoad struct {
	c    *crawl
	busy bool         // parsers fetch meanwhile
	most atomic.Int64 // that were in use
}

const (
	pagesBound = 1000
	pagesBody  = 400
	pagesMade  = 600
)

// pause waits in the time of the test.
func pause(d time.Duration) { <-time.NewTimer(d).C }

// page is the way of one page. The error is that of a crawl that was given up.
func (p *pageLoad) page(rng *rand.Rand) error {
	c := p.c
	j := c.pages.newVisit(Record{Slot: "a"})
	defer c.fetcher.bodies.Release(&j.hold)
	grow := func(n int64) error {
		err := c.fetcher.bodies.Grow(c.stop.work, &j.hold, n)
		used := c.fetcher.bodies.Used()
		for most := p.most.Load(); used > most && !p.most.CompareAndSwap(most, used); {
			most = p.most.Load()
		}
		pause(time.Duration(rng.IntN(10)) * time.Millisecond)
		return err
	}
	for left := 1 + rng.Int64N(pagesBody); left > 0; {
		n := 1 + rng.Int64N(left)
		if err := grow(n); err != nil {
			return err
		}
		left -= n
	}
	if err := grow(rng.Int64N(pagesMade)); err != nil {
		return err
	}
	if err := c.pages.permits.Acquire(c.stop.work, &j.permit); err != nil {
		return err
	}
	defer c.pages.permits.Release(&j.permit)
	if p.busy && rng.IntN(3) == 0 { // a Fetch
		c.pages.permits.Yield(&j.permit)
		pause(time.Duration(rng.IntN(10)) * time.Millisecond)
		j.Add(10)
		return c.pages.permits.Reacquire(c.stop.work, &j.permit)
	}
	pause(time.Duration(rng.IntN(10)) * time.Millisecond)
	return nil
}

// run drives so many pages with so many workers and parsers.
func (p *pageLoad) run(t *testing.T, seed uint64, workers, parsers, each int) {
	work, cancel := context.WithCancelCause(t.Context())
	c := &crawl{stop: stop{work: work, began: time.Now()}}
	c.fetcher = &fetcher{gates: &gates{bodies: fetch.NewBudget(pagesBound, nil)}}
	c.pages = &pages{stop: &c.stop, fetcher: c.fetcher, permits: frontier.NewParsePermits(parsers, workers)}
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
	free, lent := c.pages.permits.Count()
	if c.fetcher.bodies.Used() != 0 || c.fetcher.bodies.Waits() != 0 || lent != 0 || free != parsers {
		t.Errorf("%d bytes, %d waits and %d lent places are left, %d of %d places are free", c.fetcher.bodies.Used(), c.fetcher.bodies.Waits(), lent, free, parsers)
	}
}

// Downloads and pages that wait for the same room all come to their end, however few parsers there are, and together they exceed the
// bound by one page. A page that waits with a place among the parsers makes it fail: the one that may go over the bound finds none.
func TestWaitingPagesEnd(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	for round := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, round))
			p := &pageLoad{busy: round%2 == 1}
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

// What is made of a page counts with its request until that has settled, and nowhere then. A hold that can grow after its release
// makes it fail.
func TestSettledPagesDoNotCount(t *testing.T) {
	p := &pages{fetcher: &fetcher{gates: &gates{bodies: fetch.NewBudget(1000, nil)}}}
	j := p.newVisit(Record{})
	j.Add(1200)
	if used := p.fetcher.bodies.Used(); used != 1200 {
		t.Errorf("%d bytes are used", used)
	}
	p.fetcher.bodies.Release(&j.hold)
	if j.Add(100); p.fetcher.bodies.Used() != 0 {
		t.Errorf("after the end %d bytes are used", p.fetcher.bodies.Used())
	}
}

// A request gives its memory back when code of it is given up, that of an item too: others may wait for that memory for ever.
func TestLostRequestsHoldNoMemory(t *testing.T) {
	bodies := fetch.NewBudget(1000, nil)
	p := &pages{fetcher: &fetcher{gates: &gates{bodies: bodies}}}
	quiet := report.NewLog(report.Options{Slog: slog.New(slog.DiscardHandler)})
	over := guard.NewInFlight()
	over.Close()
	a := &abandonment{codec: &codec{}, bodies: bodies, report: &reporter{log: quiet, told: over}, limits: &Limits{},
		stop: &stop{work: t.Context()}, watch: guard.NewWatch(guard.Config{}), unreturned: new(unreturned)}
	v := p.newVisit(Record{})
	v.Add(1200)
	a.giveUp(&v.job, new(guard.Call), &ItemMeta{}, guard.Loss{})
	if used := bodies.Used(); used != 0 {
		t.Errorf("%d bytes are used", used)
	}
}

// world is a Downloader that answers with one page.
type world string

func (w world) Download(ctx *Context, result chan<- *Context) {
	header := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
	ctx.DownloadResult = &RequestResult{Response: NewResponse(ctx.Request, 200, header, []byte(w))}
	result <- ctx
}

func (world) CheckStatus(uint64, []uint64) bool { return true }

// ordinary is a page of 100 kB with as many tags as pages have.
func ordinary() world {
	var b strings.Builder
	for n := 0; b.Len() < 100<<10; n++ {
		fmt.Fprintf(&b, "<div class=entry id=e%d><h2><a href='/entry/%d?page=1&amp;sort=date'>The title of the entry</a></h2>\n<p>A few lines of text &mdash; with <b>words</b> in them, as they stand on such a page.</p></div>\n", n, n)
	}
	return world(b.String())
}

// crawlPages has as many parsers as pages read them.
func crawlPages(t *testing.T, w world, n int, limits Limits, parse func(resp *Response) error) {
	t.Helper()
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("http://a%d.test/", i))
	}
	spider := NewSpider("pages", Handle(func(_ context.Context, resp *Response, _ *Output[int]) error { return parse(resp) }), urls...)
	engine := NewSpiderEngine(EngineWithSpiders(spider), EngineWithDownloader(w), EngineWithLimits(limits),
		EngineWithConcurrency(n), EngineWithSchedulerNum(uint(n)), EngineWithPoliteness(Politeness{IgnoreRobots: true}))
	if err := engine.Run(t.Context(), "pages"); err != nil {
		t.Error(err)
	}
	if got := engine.Stats().Outcomes[Fetched]; got != int64(n) {
		t.Errorf("%d pages of %d were fetched", got, n)
	}
}

// Forty pages of 100 kB are parsed at the same time with the default limits. It fails if one of them waits for memory.
func TestFortyPagesParseAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 40
		var busy atomic.Int32
		var atOnce atomic.Bool
		crawlPages(t, ordinary(), n, Limits{BodiesInFlight: defaultBodiesInFlight - n*100<<10}, func(resp *Response) error {
			if busy.Add(1) == n {
				atOnce.Store(true)
			}
			resp.CSS("p")
			pause(time.Second)
			busy.Add(-1)
			return nil
		})
		if !atOnce.Load() {
			t.Error("some waited")
		}
	})
}

// Of pages that are too large for each other one is parsed at a time: the others wait before their parsers are called. It fails
// without the reservation.
func TestLargePagesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Int32
		large := world(strings.Repeat(string(ordinary()), 10))
		crawlPages(t, large, 8, Limits{BodiesInFlight: 1 << 20}, func(resp *Response) error {
			if n := busy.Add(1); n > 1 {
				t.Errorf("%d pages are parsed", n)
			}
			resp.CSS("p")
			pause(time.Second)
			busy.Add(-1)
			return nil
		})
	})
}

// A job and what the runtime keeps with it fill 1,024 bytes. Each page has one; with eight bytes more each would take 1,152.
func TestJobSize(t *testing.T) {
	if size := unsafe.Sizeof(visit{}); size > 1024-8 {
		t.Errorf("%d bytes", size)
	}
}

// To count a whole response takes no memory.
func TestReceivedMakesNoGarbage(t *testing.T) {
	f := &fetcher{cfg: new(config), limits: new(Limits), report: new(reporter)}
	j := &(&pages{fetcher: f}).newVisit(Record{Slot: "a.test"}).job
	j.ctx = NewContext(NewRequest("http://a.test/", GET, nil))
	resp := NewResponse(j.ctx.Request, 200, nil, []byte("a page"))
	if n := testing.AllocsPerRun(100, func() { f.received(j, resp) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
