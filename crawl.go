package tegenaria

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/buffer"
	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/typecheck"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/wire"
	"github.com/tegenaria/tegenaria/stage"
)

// crawl is one run of one spider, and owns all that the run has of its own. Its run is the way of a request: start and
// acceptor put requests into the cache, the frontier takes them out, pages are fetched and parsed, items pass the
// buffer and the pipelines, the settler ends them. A station knows those above it in the list of stations, and none
// knows the crawl.
type crawl struct {
	cfg    config
	limits Limits // with defaults
	spider SpiderInterface
	errs   *report.Subscriptions // of ErrorChan
	stop   stop

	// What the user has given to the engine, and the crawl opens and closes.
	parts       []any // everything, in order: openers, closers, committers
	opened      []any // those of them that are open
	committers  commit.Parts
	listeners   settlementListeners
	skips       []UnchangedPages
	keepers     commit.Keepers
	cache       CacheInterface
	shared      SharedCache     // the cache, if other programs work on its job too; otherwise nil
	recorder    RefusalRecorder // the cache, if it is one
	worker      string          // the name of this program among them, "": there are no others, or the cache gives none
	parsers     *parserTable
	domains     *urlx.HostSet // of EngineWithAllowedDomains; nil allows all
	middlewares Middlewares   // sorted
	internalMWs Middlewares   // those that see the engine's own requests
	pipelines   ItemPipelines
	typeChecks  []*typecheck.Check // of what they take
	downloads   downloading

	// Machines, made before the cache begins: the methods of the engine reach them.
	ledger     *frontier.Ledger
	frontier   *frontier.Frontier[*job]
	workers    *stage.Limit // that crawl pages
	watch      *guard.Watch
	unreturned *unreturned     // of the engine
	entries    *guard.InFlight // of requests and items that are accepted
	bodies     *fetch.Budget
	loopback   *fetch.Loopback
	buffer     *buffer.Pool[*itemTask]
	report     *reporter
	flights    *flights
	gates      *gates
	robots     *robotsgate.Gate[*job]
	work       work
	changes    *changes
	callbacks  *callbacks // nil: not measured

	// Stations, made when the cache has begun, in this order. Each knows those before it. What leads back is a func
	// that a machine or an earlier station calls.
	codec       *codec
	settler     *settler
	abandonment *abandonment
	acceptor    *acceptor
	failures    *failures
	items       *items
	fetcher     *fetcher
	pages       *pages
	start       *starter

	adder atomic.Pointer[adder] // nil until requests can be accepted
}

// run makes the crawl, and returns when all of it has ended except code that was abandoned.
func (c *crawl) run(ctx context.Context) error {
	var settling, piping, supervising sync.WaitGroup
	supervising.Go(func() { c.stop.ending.Supervise(ctx) })
	watching, unwatch := context.WithCancel(context.Background())
	over := func() {
		unwatch()
		c.stop.ending.Over()
		supervising.Wait()
		c.watch.Close()
	}
	state, err := c.open()
	switch {
	case err != nil:
		over()
		return c.notOpened(ctx, err)
	case state.Finished:
		over()
		return c.endedBefore(state.Reason)
	case c.stop.refusing.Load(): // it was asked to stop meanwhile
		over()
		return c.end(ctx)
	}
	c.adder.Store(&adder{pending: int64(c.limits.Pending), ledger: c.ledger, acceptor: c.acceptor, stop: &c.stop})
	if f := c.cfg.events.Started; f != nil {
		c.report.event(func() { f(c.spider) })
	}
	c.report.begins(state, c.spider, c.jobCounts())
	if changed := c.changes.restoredFrom(); changed != "" {
		c.report.log.Info("in force from an earlier run of the job, in place of its settings: "+changed, nil)
	}
	supervising.Go(func() { c.report.progress(watching) })
	c.report.blocked() // those that an earlier run has left
	settling.Go(func() { c.settler.batches.Run(c.settler.settle) })
	piping.Go(func() { c.fail1(c.items.run()) })
	if c.shared != nil {
		c.ledger.Share(true)
		c.shared.Join()
	}
	if c.shared == nil || state.Started {
		c.start.begin(state.Started)
	}

	c.fail1(c.runRequests())
	c.frontier.EndPlaces()
	c.start.begin(true) // unless it has begun
	<-c.start.gone      // nothing new can come any more
	c.items.close()
	piping.Wait()
	c.watch.Wait()
	c.items.drain()
	c.acceptor.close()
	c.pages.closeFetches()
	c.awaitWork()
	c.settler.batches.Close()
	settling.Wait()
	c.gates.leaveAll()
	if err := c.committers.Discard(c.unreturned.staged(true)); err != nil {
		c.stop.storeFailed(err)
	}
	c.settleFinished()
	over()
	return c.end(ctx)
}

// awaitWork waits until nothing is in hand any more: what is still in flight is lost. A cache that does not return is
// left behind.
func (c *crawl) awaitWork() {
	finished, drained := c.ledger.Over()
	select {
	case <-finished:
	case <-drained:
	case <-c.stop.storing.Done():
		guard.Await(drained)
	}
}

// runRequests moves requests from the cache through fetch and parse until the ledger is empty, or the
// crawl has stopped and its work in hand is done.
func (c *crawl) runRequests() error {
	// The frontier's claims say how many fetch, and the permits to parse how many do; a parser that waits in Fetch
	// yields its permit. There is a worker for each of them, and one to wait for the next request.
	return c.stop.stageError(stage.PullUpTo(c.stop.work, c.workers, c.take, stage.ProcessorFunc[*visit](c.pages.page)))
}

// nearItems is how many items may wait before a worker that could go on lets the pipelines go first. Fewer are not
// worth a change of goroutines; many would be far by the time they come to their turn, and their pages with them.
const nearItems = 16

// take asks the frontier for the next job; a failing cache ends the crawl.
func (c *crawl) take(ctx context.Context) (*visit, bool) {
	if c.ledger.Items.Load() > nearItems {
		runtime.Gosched()
	}
	j, ok, err := c.frontier.Take(ctx)
	if err != nil {
		c.stop.storeFailed(err)
	}
	if !ok {
		return nil, false
	}
	return j.call.Owner.(*visit), true
}

// fail1 notes a fault of the engine itself.
func (c *crawl) fail1(err error) {
	if err != nil {
		c.stop.ending.Break(&RunError{Op: "engine", Err: err})
	}
}

// wireMachines makes the machines of the crawl. The funcs that they are given are called once the stations are made.
func (c *crawl) wireMachines() (err error) {
	cfg := &c.cfg
	c.cache = cfg.cache
	if c.cache == nil {
		c.cache = newMemoryCache()
	}
	c.shared, _ = c.cache.(SharedCache)
	c.recorder, _ = c.cache.(RefusalRecorder)
	if named, ok := c.cache.(NamedWorker); ok {
		c.worker = named.WorkerName()
	}
	done := func(j *job) { c.settler.done(j) }
	c.ledger = frontier.NewLedger(int(outcomes))
	if cfg.keepAlive {
		c.ledger.Enter() // until the crawl is to stop
	}
	c.work = work{parsers: int64(cfg.SchedulerNum), workers: int64(cfg.ItemConcurrency), ledger: c.ledger,
		permits: frontier.NewParsePermits(int(cfg.SchedulerNum), cfg.Concurrency)}
	c.frontier = frontier.New(c.frontierConfig())
	c.changes = &changes{frontier: c.frontier, resize: c.setConcurrency, configured: cfg.Concurrency}
	cfg.log.Spider, cfg.log.Alone, cfg.log.IsOurs = c.spider.GetName(), len(cfg.spiders) == 1, report.IsOurs
	c.report = &reporter{
		cfg: cfg, limits: &c.limits, errs: c.errs, ledger: c.ledger, frontier: c.frontier, stop: &c.stop,
		log: report.NewLog(cfg.log), events: cfg.events, told: guard.NewInFlight(),
	}
	if cfg.timeCallbacks {
		c.callbacks = newCallbacks()
	}
	c.workers = stage.NewLimit(c.pageWorkers(cfg.Concurrency))
	c.watch = guard.NewWatch(c.watchConfig())
	c.entries = guard.NewInFlight()
	c.buffer, _ = buffer.NewPool[*itemTask](itemBufferCap, itemBuffers) // its sizes are right
	c.loopback = &fetch.Loopback{Denied: cfg.Politeness.DenyLoopback}
	c.bodies = fetch.NewBudget(c.limits.BodiesInFlight, func() { c.settler.hurry() })
	own := newHTTPDownloader(c.limits, cfg.AllowStatusCode, fetch.Config{
		Agent: cfg.Politeness.agent(), AllowPrivate: cfg.Politeness.AllowPrivate, Loopback: c.loopback,
		HTTP: cfg.client, TLS: cfg.tls, Concurrency: cfg.Concurrency, Bodies: c.bodies,
	})
	own.watch = c.watch
	c.downloads, err = newDownloading(cfg, own)
	c.flights = &flights{frontier: c.frontier, ledger: c.ledger, log: &c.report.log, done: done}
	c.flights.cache, _ = c.cache.(FlightRecorder)
	if c.shared != nil {
		c.shared.Attach(sharedRun(c))
	}
	c.gates = &gates{
		politeness: &cfg.Politeness, frontier: c.frontier, watch: c.watch, bodies: c.bodies, flights: c.flights,
		client: c.downloads.http, capacities: c.downloads.downloaders.capacities, done: done,
		keepers: all[Gatekeeper](c.middlewares), listeners: all[ReleaseListener](c.middlewares), together: c.shared != nil,
	}
	c.robots = newRobots(&cfg.Politeness, c.gates)
	return err
}

// keepersApart returns the middlewares that may have requests wait apart.
func (c *crawl) keepersApart() gatekeepers {
	if c.gates.together {
		return nil
	}
	return c.gates.keepers
}

// pageWorkers is how many workers crawl pages at most, if so many downloads run at once.
func (c *crawl) pageWorkers(concurrency int) int {
	return int(c.cfg.SchedulerNum) + c.cfg.Concurrency + concurrency + 1
}

// setConcurrency changes how many downloads run at once.
func (c *crawl) setConcurrency(n int) {
	c.watch.Grow(pagePool, c.pageWorkers(n))
	c.workers.Raise(c.pageWorkers(n))
	c.frontier.SetFetchers(n)
}

// watchConfig configures the watch of the crawl's user code.
func (c *crawl) watchConfig() guard.Config {
	limit := c.limits.Callback
	return guard.Config{
		Limit:   limit,
		TooLate: func(at string) error { return &CallbackTimeoutError{Stage: Stage(at), Limit: limit} },
		Overdue: func() { c.acceptor.handOverPages() },
		Untimed: []string{string(StageStart), string(StageOpen), string(StageDownload)},
		Pools:   []int{pagePool: c.pageWorkers(c.cfg.Concurrency), itemPool: c.cfg.ItemConcurrency},
	}
}

// frontierConfig configures the crawl's frontier.
func (c *crawl) frontierConfig() frontier.Config[*job] {
	p := &c.cfg.Politeness
	readers := c.cfg.ReadCacheNum
	if _, memory := c.cache.(*memoryCache); memory { // which is no slower than the frontier
		readers = 0
	}
	var mayStart func() bool
	if c.shared != nil {
		mayStart = c.shared.MayStart
	}
	between := frontier.PlaceEngine
	if len(c.middlewares) > 0 {
		between = frontier.PlaceMiddlewares
	}
	return frontier.Config[*job]{
		MayStart: mayStart, AtWork: c.work.withoutRequests, Short: c.work.withoutMemory, Between: between,
		Source: cacheSource{func() CacheInterface { return c.cache }, c.newJob}, Ledger: c.ledger, Rules: p.rules(),
		Now:      c.stop.now,
		Fetchers: c.cfg.Concurrency, Inline: 2 * int(c.cfg.SchedulerNum), Readers: int(readers), Pages: int(c.limits.Pages),
		Throttle:      p.throttle(),
		MaxRetryAfter: cmp.Or(p.MaxRetryAfter, defaultMaxRetryAfter),
		MaxCrawlDelay: cmp.Or(p.MaxCrawlDelay, defaultMaxCrawlDelay),
		HandOver:      func() { c.acceptor.handOverPages(); c.settler.hurry() }, // a worker has nothing to do
		Suspect:       func(j *job) { c.flights.suspect(j, true) },
		Keep:          func(slot string) { c.settler.keepSlot(slot) },
	}
}

// newJob makes the job of a record.
func (c *crawl) newJob(rec Record) *job { return &c.pages.newVisit(rec).job }

// cacheSource is a cache as the source of a frontier.
type cacheSource struct {
	cache  func() CacheInterface // open may put another one in its place
	newJob func(Record) *job
}

func (s cacheSource) Next(ctx context.Context, slot string) (j *job, left frontier.Head, ok bool, err error) {
	records, state, err := s.cache().Next(ctx, slot, 1)
	left = frontier.Head{Priority: state.Priority, More: state.Pending > 0}
	if err != nil || len(records) == 0 {
		return nil, left, false, err
	}
	return s.newJob(records[0]), left, true, nil
}

func (s cacheSource) Due(ctx context.Context, now time.Time) ([]frontier.Moved, time.Time, error) {
	slots, next, err := s.cache().Due(ctx, now)
	moved := make([]frontier.Moved, len(slots))
	for i, slot := range slots {
		moved[i] = frontier.Moved{Slot: slot.Name, Priority: slot.Priority}
	}
	return moved, next, err
}

// build makes the stations, each of what is there already.
func (c *crawl) build(state State, dupes *duplicates) {
	stop, limits := &c.stop, &c.limits
	c.report.state.Store(&state)
	c.codec = &codec{
		durable: state.Durable, parsers: c.parsers, values: wire.Values{Types: c.cfg.metaTypes}, bodyLimit: limits.Body,
		names: namerOf(c.spider),
	}
	_, memory := c.cache.(*memoryCache)
	c.settler = &settler{
		cache: c.cache, codec: c.codec, committers: c.committers, callbacks: c.callbacks,
		timed: ofParts(c.callbacks, StageSettle, c.committers), listeners: c.listeners, unreturned: c.unreturned,
		keepers: c.keepers, ledger: c.ledger, frontier: c.frontier, gates: c.gates, flights: c.flights, bodies: c.bodies,
		loopback: c.loopback, report: c.report, stop: stop,
		work: &c.work, durable: state.Durable, stamped: c.shared == nil, earlier: state.Counters, complete: state.Finished,
		inMemory: memory && len(c.committers) == 0 && len(c.listeners) == 0,
		batches: stage.NewBatcher[settling](settlePause,
			func() bool { return c.frontier.IsHungry() || c.bodies.IsShort() }),
	}
	c.abandonment = &abandonment{
		codec: c.codec, bodies: c.bodies, report: c.report, limits: limits, stop: stop, watch: c.watch, unreturned: c.unreturned,
		durable: state.Durable,
	}
	c.acceptor = &acceptor{
		cfg: &c.cfg, cache: c.cache, codec: c.codec, ledger: c.ledger, frontier: c.frontier, watch: c.watch,
		entries:  c.entries,
		loopback: c.loopback, settler: c.settler, report: c.report, stop: stop, work: &c.work, stores: !memory,
		dupes: dupes, hosts: identity.NewHostNames(),
		scope:  scope{domains: c.domains, filters: all[RequestFilter](c.middlewares), limits: limits, stop: stop},
		linked: c.listeners.wantLinks(), resends: len(c.skips) > 0, keepers: c.keepersApart(),
		onError: onError{
			refused: func(from emission, ctx *Context, no *refusal) { c.failures.failedEmission(from, ctx, no) },
			outside: func(herr *HandleError) { c.failures.handleOutside(herr) },
		},
	}
	if state.Durable {
		c.acceptor.refusals.cache = c.recorder
	}
	c.acceptor.prepare()
	errorMWs := all[ErrorMiddleware](c.middlewares)
	c.failures = &failures{
		spider: c.spider, handler: c.cfg.errorHandler, attempts: limits.Attempts,
		errorMWs: errorMWs, callbacks: c.callbacks, timed: ofParts(c.callbacks, StageError, errorMWs), ledger: c.ledger, watch: c.watch, acceptor: c.acceptor,
		report: c.report, stop: stop, durable: state.Durable,
	}
	c.items = &items{
		spider: c.spider, cfg: &c.cfg, limits: limits, ledger: c.ledger, watch: c.watch, entries: c.entries,
		settler: c.settler, abandoned: c.abandonment, failures: c.failures, report: c.report, stop: stop, buffer: c.buffer,
		pipelines: c.pipelines, typeChecks: c.typeChecks, feeds: c.pipelines.areFeeds(), work: &c.work,
		callbacks: c.callbacks, timed: ofParts(c.callbacks, StagePipeline, c.pipelines),
	}
	c.fetcher = &fetcher{
		gates: c.gates, cfg: &c.cfg, limits: limits, downloads: c.downloads, loopback: c.loopback, report: c.report,
		stop: stop, acceptor: c.acceptor, failures: c.failures, middlewares: c.middlewares, internalMWs: c.internalMWs,
		robots: c.robots, shared: c.shared, writers: newWriters(),
		callbacks: c.callbacks, timed: c.callbacks.ofMiddlewares(c.middlewares),
		timedInternal: c.callbacks.ofMiddlewares(c.internalMWs), internalListeners: all[ReleaseListener](c.internalMWs),
	}
	c.pages = &pages{
		limits: limits, frontier: c.frontier, ledger: c.ledger, watch: c.watch, flights: c.flights, report: c.report,
		stop: stop, settler: c.settler, abandoned: c.abandonment, acceptor: c.acceptor, failures: c.failures, items: c.items,
		fetcher: c.fetcher, parsers: c.parsers, callbacks: c.callbacks, histories: all[PageHistory](c.parts),
		stored: all[StoredPages](c.parts), skips: c.skips,
		bounds: page.NewBounds(limits.Nodes, limits.Attributes, limits.Body), queries: page.NewQueries(),
		permits: c.work.permits,
		inline:  frontier.NewInline[*job](c.ledger, maxNesting), work: &c.work,
	}
	c.start = &starter{
		outsider: outsider{report: c.report}, spider: c.spider, pending: int64(limits.Pending), ledger: c.ledger,
		watch: c.watch, settler: c.settler, acceptor: c.acceptor, failures: c.failures, stop: stop,
		gone: make(chan struct{}), callbacks: c.callbacks,
	}
}
