package enginetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spidertest"
)

// Crawl runs one plan and is the witness of what happens: what servers and user code see, never what
// the engine counts.
type Crawl struct {
	cache   tegenaria.CacheInterface // an empty one
	p       *Plan
	model   *harnessModel
	engine  *tegenaria.SpiderEngine
	gates   *harnessGates // nil: there is none
	release chan struct{} // closed when everything that refuses to return may go
	over    chan struct{} // closed when Run has returned
	endNow  chan struct{} // closed at the touch that ends the crawl
	pause   chan struct{}
	helpers sync.WaitGroup

	whole *Crawl // of what frozen made: takes its violations

	mu         sync.Mutex // guards the fields below
	violations []string
	trace      []string  // of a crawl that is run again
	last       time.Time // of anything that happened
	touches    int
	hits       map[int]int
	robots     map[string]int
	starts     map[string][]time.Time
	slowed     map[string]time.Time // when SlotDelay was called first
	running    map[string]int
	asked      map[string]int       // pages, by slot
	pausedAt   map[string]time.Time // when a slot's server said Retry-After, and until when that is
	pausedTo   map[string]time.Time
	downloads  int
	refused    int // callbacks that refuse to return
	stopping   bool
	serial     int
	sent       map[int]string // what was sent, by serial
	redirected map[int]int
	forked     map[int]int // pages that were given up while they were redirected, by serial
	settled    map[int][]string
	outcomes   map[tegenaria.Outcome]int64
	told       harnessTold
	requestOf  int // events RequestSettled
	accepted   int // events RequestAccepted
	ended      harnessEnds
	items      map[int]int
	itemsOf    int
	scraped    int64
	commit     harnessCommits
	closed     []string
}

// harnessItem is an item that parsers send.
type harnessItem struct {
	serial, page, n, attempt int
	ctx                      *tegenaria.Context
}

// NewCrawl returns the crawl of a plan with an empty cache. Run it once.
func NewCrawl(p *Plan, cache tegenaria.CacheInterface) *Crawl {
	c := &Crawl{
		p: p, cache: cache, model: newHarnessModel(p), last: time.Now(),
		release: make(chan struct{}), over: make(chan struct{}), endNow: make(chan struct{}), pause: make(chan struct{}),
		hits: make(map[int]int), robots: make(map[string]int), starts: make(map[string][]time.Time),
		slowed: make(map[string]time.Time), running: make(map[string]int), asked: make(map[string]int),
		pausedAt: make(map[string]time.Time), pausedTo: make(map[string]time.Time), sent: make(map[int]string),
		redirected: make(map[int]int), forked: make(map[int]int), settled: make(map[int][]string), outcomes: make(map[tegenaria.Outcome]int64),
		items: make(map[int]int),
	}
	c.told.init()
	c.commit.init()
	return c
}

// violation notes that something is wrong.
func (c *Crawl) violation(format string, args ...any) {
	if c.whole != nil {
		c = c.whole
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violationLocked(format, args...)
}

func (c *Crawl) violationLocked(format string, args ...any) {
	if len(c.violations) < 8 {
		c.violations = append(c.violations, fmt.Sprintf(format, args...))
	}
}

// log adds to the trace, which is kept of crawls that are run again.
func (c *Crawl) log(format string, args ...any) {
	if !c.p.traced {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace = append(c.trace, time.Now().Format("04:05.000000 ")+fmt.Sprintf(format, args...))
}

// touch notes that something has happened. The plan says at which touch the crawl is ended or paused.
func (c *Crawl) touch() {
	if c.p.heedful {
		c.checkSnapshot()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	c.touches++
	if c.touches == c.p.endTouch {
		close(c.endNow)
	}
	if c.touches == c.p.pauseTouch {
		close(c.pause)
	}
}

// refuse keeps a callback from returning until the crawl is over.
func (c *Crawl) refuse() {
	c.mu.Lock()
	c.refused++
	c.mu.Unlock()
	<-c.release
}

func (c *Crawl) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopping = true
}

// engineOf makes the engine of the plan.
func (c *Crawl) engineOf(client *http.Client) *tegenaria.SpiderEngine {
	p := c.p
	if p.oneSlot {
		p.policy.SlotBy = func(u *url.URL) string { return p.slot(u.Host) }
	}
	opts := []tegenaria.EngineOption{
		tegenaria.EngineWithLogger(Quiet()), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithSchedulerNum(p.parse), tegenaria.EngineWithReadCacheNum(p.readers),
		tegenaria.EngineWithConcurrency(p.concurrency), tegenaria.EngineWithItemConcurrency(p.itemers),
		tegenaria.EngineWithPoliteness(p.policy), tegenaria.EngineWithLimits(p.limits),
		tegenaria.EngineWithGrace(p.grace), tegenaria.EngineWithUniqueReq(p.unique),
		tegenaria.EngineWithEvents(c.events()),
		tegenaria.EngineWithPipelines(&harnessPipeline{c, 2, "second"}, &harnessPipeline{c, 1, "first"}),
	}
	if p.starter {
		opts = append(opts, tegenaria.EngineWithSpiders(harnessStarter{&harnessSpider{c}}))
	} else {
		opts = append(opts, tegenaria.EngineWithSpiders(&harnessSpider{c}))
	}
	if p.linger > 0 {
		opts = append(opts, tegenaria.EngineWithCache(&harnessCache{CacheInterface: c.cache, Crawl: c}))
	}
	if p.domains {
		opts = append(opts, tegenaria.EngineWithAllowedDomains("h0.test", "h1.test", "h2.test"))
	}
	if p.overHTTP {
		opts = append(opts, tegenaria.EngineWithHTTPClient(client))
	} else {
		opts = append(opts, tegenaria.EngineWithDownloader(harnessDownloader{c}))
	}
	if p.middle {
		opts = append(opts, tegenaria.EngineWithMiddlewares(&harnessMiddleware{c}))
	}
	if c.gates = newHarnessGates(c); c.gates != nil {
		opts = append(opts, tegenaria.EngineWithMiddlewares(c.gates))
	}
	if p.commits {
		opts = append(opts, tegenaria.EngineWithPipelines(harnessCommitter{c}))
	}
	return tegenaria.NewSpiderEngine(opts...)
}

// Run crawls and checks.
func (c *Crawl) Run() []string {
	p := c.p
	var client *http.Client
	var web *spidertest.Web
	if p.overHTTP {
		web = spidertest.NewWeb(c)
		client = &http.Client{Transport: harnessTransport{c, web.Client().Transport}}
	}
	c.engine = c.engineOf(client)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	var control sync.WaitGroup
	control.Go(func() { c.sample() })
	control.Go(func() { c.intervene(cancel) })
	control.Go(func() { c.pauseAndResume() })
	err := c.engine.Run(ctx, "harness")
	ended := time.Now()
	c.log("Run returned %v", err)
	close(c.over)
	control.Wait()
	if c.gates != nil {
		c.gates.check(err)
	}
	c.frozen().check(err, ended)
	close(c.release)
	c.helpers.Wait()
	if web != nil {
		web.Close()
	}
	// User code that was left behind comes to its end; what is still there then has leaked.
	Wait(context.Background(), 24*time.Hour)
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.violations) > 0 {
		c.violations = append(c.violations, c.trace...)
	}
	return c.violations
}

// frozen is what was seen until now: user code that was left behind may still go on.
func (c *Crawl) frozen() *Crawl {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := &Crawl{
		p: c.p, model: c.model, engine: c.engine, whole: c, last: c.last, refused: c.refused, stopping: c.stopping,
		hits: maps.Clone(c.hits), downloads: c.downloads, sent: maps.Clone(c.sent), redirected: maps.Clone(c.redirected), forked: maps.Clone(c.forked),
		settled: maps.Clone(c.settled), outcomes: maps.Clone(c.outcomes), requestOf: c.requestOf,
		accepted: c.accepted, ended: harnessEnds{c.ended.ofQueue, maps.Clone(c.ended.outcomes)},
		items: maps.Clone(c.items), scraped: c.scraped, closed: c.closed, told: harnessTold{started: c.told.started, cut: c.told.cut, givenUp: maps.Clone(c.told.givenUp)},
	}
	f.commit.staged = maps.Clone(c.commit.staged)
	return f
}

// sample checks the sums of the ledger while the crawl runs, and that the crawl comes to an end.
func (c *Crawl) sample() {
	const patience = 72 * time.Hour
	began := time.Now()
	every := c.p.sampleEvery
	for hung := false; ; {
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-c.over:
			timer.Stop()
			return
		}
		c.checkSnapshot()
		every += every / 4
		if time.Since(began) < patience {
			continue
		}
		if hung {
			panic(fmt.Sprintf("seed %d: Run does not return after Stop", c.p.seed))
		}
		hung, began = true, time.Now()
		c.violation("the crawl does not end: %+v\n%s", c.engine.Stats(), Stacks())
		c.stop()
		dead, cancel := context.WithCancel(context.Background())
		cancel()
		c.helpers.Go(func() { c.engine.Stop(dead) })
	}
}

// Stacks prints where the goroutines of the caller's bubble are in the engine.
func Stacks() string {
	buf := make([]byte, 1<<20)
	goroutines := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	_, bubble, _ := strings.Cut(goroutines[0], "synctest bubble ")
	bubble, _, _ = strings.Cut(bubble, "]")
	var b strings.Builder
	for _, g := range goroutines[1:] {
		head, frames, _ := strings.Cut(g, "\n")
		if bubble != "" && !strings.HasSuffix(head, "bubble "+bubble+"]:") || !strings.Contains(head, "bubble") {
			continue
		}
		fmt.Fprintf(&b, "%s\n", head)
		for line := range strings.SplitSeq(frames, "\n") {
			if file, ok := strings.CutPrefix(line, "\t"); ok && !strings.Contains(file, "/usr/") {
				file, _, _ = strings.Cut(file, " +0x")
				fmt.Fprintf(&b, "    %s\n", file[strings.LastIndex(file, "/")+1:])
			}
		}
	}
	return b.String()
}

func (c *Crawl) checkSnapshot() {
	s := c.engine.Stats()
	if s.Discovered != s.Settled+s.Pending+s.Delayed+s.InFlight {
		c.violation("snapshot: discovered %d != settled %d + pending %d + delayed %d + in flight %d",
			s.Discovered, s.Settled, s.Pending, s.Delayed, s.InFlight)
	}
	if min(s.Settled, s.Pending, s.Delayed, s.InFlight, s.Items) < 0 {
		c.violation("snapshot: negative count: %+v", s)
	}
	sum := int64(0)
	for _, n := range s.Outcomes {
		sum += n
	}
	if sum != s.Settled {
		c.violation("snapshot: outcomes %v, settled %d", s.Outcomes, s.Settled)
	}
}

// errHarnessCancel is the cause that Run's context is cancelled with.
var errHarnessCancel = errors.New("cancelled by plan")

// intervene ends the crawl as the plan says.
func (c *Crawl) intervene(cancel context.CancelCauseFunc) {
	p := c.p
	if p.ending == endNone || p.ending == endLimit && !p.stuck {
		return
	}
	late := time.NewTimer(time.Hour)
	defer late.Stop()
	select {
	case <-c.endNow:
	case <-late.C:
	case <-c.over:
		return
	}
	if Wait(context.Background(), p.endAfter) != nil {
		return
	}
	c.stop()
	c.log("ending %d", p.ending)
	for _, s := range p.stops {
		c.helpers.Go(func() { c.stopAgain(s) })
	}
	began := time.Now()
	within := p.grace
	switch p.ending {
	case endStop:
		c.engine.Stop(context.Background())
	case endStopDeadline:
		ctx, cancel := context.WithTimeout(context.Background(), p.deadline)
		defer cancel()
		if p.endTwice {
			c.helpers.Go(func() { c.engine.Stop(context.Background()) })
		}
		c.engine.Stop(ctx)
		within = min(within, p.deadline)
	case endCancel:
		cancel(errHarnessCancel)
		<-c.over
		within = time.Second
	default:
		return
	}
	if p.commits || p.linger > 0 {
		within += time.Second // for the store
	}
	if p.linger > 0 {
		within += 3*time.Second + p.linger // what lingers in the cache is told to end, and then waited for again
	}
	within += 2 * p.slowStarted // funcs of Events cannot be given up
	if took := time.Since(began); took > within {
		c.violation("ending took %s, allowed %s", took, within)
	}
}

// stopAgain calls Stop once more.
func (c *Crawl) stopAgain(s harnessStop) {
	Wait(context.Background(), s.after)
	ctx, cancel := context.WithCancel(context.Background())
	if s.deadline >= 0 {
		ctx, cancel = context.WithTimeout(ctx, s.deadline)
	}
	defer cancel()
	c.log("Stop again: %+v", s)
	c.engine.Stop(ctx)
}

func (c *Crawl) pauseAndResume() {
	if c.p.pauseTouch == 0 {
		return
	}
	select {
	case <-c.pause:
	case <-c.over:
		return
	}
	if c.engine.Pause() != nil {
		return
	}
	Wait(context.Background(), c.p.pauseFor)
	if c.engine.Resume() == nil {
		c.touch()
	}
}
