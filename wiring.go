package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/report"
)

// newCrawl makes a crawl of the registered parts, or reports every mistake at once.
func newCrawl(ctx context.Context, e *SpiderEngine, cfg config, name string) (c *crawl, err error) {
	c = &crawl{engine: e, cfg: cfg}
	c.began = time.Now()
	c.ending = c.newEnding()
	var mistakes []error
	_, panicked := guard.Protect(func() error {
		mistakes = c.wire(name)
		return nil
	})
	if err := errors.Join(append(mistakes, panicked)...); err != nil {
		return nil, &RunError{Op: "wiring", Err: err}
	}
	c.work, c.giveUp = context.WithCancelCause(context.WithoutCancel(ctx))
	c.intake, c.noMore = context.WithCancel(c.work)
	c.storing, c.abandonStore = context.WithCancel(context.WithoutCancel(ctx))
	return c, nil
}

// wire fills in the crawl and returns the mistakes it finds.
func (c *crawl) wire(name string) (mistakes []error) {
	cfg := &c.cfg
	note := func(err error) {
		if err != nil {
			mistakes = append(mistakes, err)
		}
	}
	note(cfg.mistakes())
	note(cfg.limits.mistakes())
	note(cfg.politeness.mistakes())
	c.limits = cfg.limits.withDefaults()
	var err error
	c.spider, err = findSpider(cfg.spiders, name)
	note(err)
	_, err = allowedDomains(cfg.domains)
	note(err)
	var parsers *parserTable
	if c.spider != nil {
		parsers, err = newParserTable(c.spider, cfg.parsers)
		note(err)
	}
	for i, m := range cfg.middlewares {
		note(notNil(m, "RegisterDownloadMiddlewares", i))
		note(hasFuncs(m))
	}
	for i, p := range cfg.pipelines {
		if err := notNil(p, "RegisterPipelines", i); err != nil {
			note(err)
			continue
		}
		note(mistakeOf(p))
	}
	if f, ok := cfg.downloader.(DownloaderFunc); ok {
		note(notNil(f, "EngineWithDownloader", 0))
	}
	for i, d := range cfg.downloaders {
		note(notNil(d.downloader, "RegisterDownloader", i))
		if d.name == "" {
			note(errors.New("RegisterDownloader: the name is empty; use EngineWithDownloader for the default one"))
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	c.wireMachines()
	c.fetcher, err = newFetcher(c)
	note(err)
	c.mill = newMill(c)
	c.reader = newReader(c, parsers)
	c.wireParts()
	note(c.committers.Mistakes(loopbackCheckpoint, closingCheckpoint))
	note(c.mill.pipelines.sharedPlaces())
	return mistakes
}

// wireParts lists the registered parts, in the order in which they are opened.
func (c *crawl) wireParts() {
	for _, m := range c.fetcher.middlewares {
		c.parts = append(c.parts, m)
	}
	for _, p := range c.mill.pipelines {
		c.parts = append(c.parts, p)
	}
	if c.cfg.downloader != nil {
		c.parts = append(c.parts, c.cfg.downloader)
	}
	for _, d := range c.cfg.downloaders {
		c.parts = append(c.parts, d.downloader)
	}
	for i := len(c.fetcher.layers.parts) - 1; i >= 0; i-- {
		c.parts = append(c.parts, c.fetcher.layers.parts[i])
	}
	if c.cfg.dupeFilter != nil {
		c.parts = append(c.parts, c.cfg.dupeFilter)
	}
	c.parts = append(c.parts, c.spider)
	for _, part := range c.parts {
		if committer, ok := part.(Committer); ok {
			c.committers = append(c.committers, committer)
		}
	}
	c.keepers = commit.KeepersOf(c.parts)
}

// wireMachines makes the machines of the crawl.
func (c *crawl) wireMachines() {
	cfg := &c.cfg
	c.cache = cfg.cache
	if c.cache == nil {
		c.cache = newMemoryCache()
	}
	c.ledger = frontier.NewLedger(int(outcomes))
	c.frontier = frontier.New(c.frontierConfig())
	c.teller = newTeller(c)
	c.watch = c.newWatch()
	c.entries = guard.NewDoor()
	c.flights = &flights{frontier: c.frontier, ledger: c.ledger, log: &c.teller.log}
	c.flights.cache, _ = c.cache.(FlightRecorder)
}

// frontierConfig configures the crawl's frontier. The funcs are called once all stations are made.
func (c *crawl) frontierConfig() frontier.Config[*job] {
	p := &c.cfg.politeness
	readers := c.cfg.readers
	if _, memory := c.cache.(*memoryCache); memory { // which is no slower than the frontier
		readers = 0
	}
	return frontier.Config[*job]{
		Source: cacheSource{c.cache, func(rec Record) *job { return newJob(c.reader, rec) }}, Ledger: c.ledger, Rules: p.rules(), Now: c.now,
		Fetchers: c.cfg.concurrency, Lane: 2 * int(c.cfg.parseWorkers), Readers: int(readers), Pages: int(c.limits.Pages),
		Throttle:      p.throttle(),
		MaxRetryAfter: cmp.Or(p.MaxRetryAfter, defaultMaxRetryAfter),
		MaxCrawlDelay: cmp.Or(p.MaxCrawlDelay, defaultMaxCrawlDelay),
		HandOver:      func() { c.acceptor.handOver() },
		Suspect:       func(j *job) { c.flights.suspect(j, true) },
		Keep:          func(slot string) { c.settler.keepSlot(slot) },
	}
}

// open prepares the parts and takes over the job of the cache. The code that it calls has its context cancelled when the
// crawl is to stop, since there is no work in hand that could be finished; code that does not return when the
// grace is over is left behind.
func (c *crawl) open() (state State, err error) {
	ctx, cancel := context.WithCancel(c.work) // parts may keep it: it ends with the work
	defer context.AfterFunc(c.intake, cancel)()
	job := Job{Spider: c.spider.GetName(), KeyVersion: identity.Version, QueueBytes: c.limits.QueueBytes}
	dupes := newDuplicates(c.cfg.dupeFilter, c.limits.Body)
	if dupes.keys != nil {
		job.BloomBits, job.BloomHashes = dupes.keys.bloomParameters()
	}
	var found State // belongs to Begin until it has returned
	err = c.opening(c.cache, func() (err error) {
		found, err = c.cache.Begin(ctx, job)
		return err
	})
	if err != nil {
		return state, &RunError{Op: "store", Err: err}
	}
	state = found
	c.acceptor = newAcceptor(c, state, dupes)
	c.settler = newSettler(c, state)
	c.failures = &failures{
		spider: c.spider, cfg: &c.cfg, limits: &c.limits, errorMWs: c.fetcher.errorMWs, ledger: c.ledger, watch: c.watch,
		acceptor: c.acceptor, teller: c.teller, stop: &c.stop, durable: state.Durable,
	}
	c.acceptor.refused, c.acceptor.failed = c.failures.failedEmission, c.failures.handleOutside
	c.fetcher.acceptor, c.fetcher.failures, c.mill.failures = c.acceptor, c.failures, c.failures
	c.reader.acceptor, c.reader.failures, c.reader.settler = c.acceptor, c.failures, c.settler
	c.teller.slotOf = c.acceptor.slotOf
	c.teller.job.Store(c.settler)
	if state.Finished && len(state.Checkpoints[closingCheckpoint]) == 0 {
		return state, nil
	}
	if err := c.acceptor.checkFirst(c.spider); err != nil {
		return state, &RunError{Op: "wiring", Err: err}
	}
	c.fetcher.loopback.Add(loopbackOf(state)...)
	for _, url := range seedsOf(c.spider) { // before any of them is sent: the page of one may link to another
		c.fetcher.loopback.Allow(url)
	}
	for _, part := range c.parts {
		if state.Finished && !isCommitter(part) { // only what is delivered was not ended
			continue
		}
		if opener, ok := part.(Opener); ok {
			if err := c.opening(part, func() error { return opener.Open(ctx, c.spider) }); err != nil {
				return state, &RunError{Op: "start", Err: err}
			}
		}
		c.opened = append(c.opened, part)
	}
	if err := c.restore(ctx, state); err != nil {
		return state, &RunError{Op: "store", Err: err}
	}
	if state.Finished {
		return state, nil
	}
	return state, c.resume(ctx, state)
}

// opening runs code of a registered part, or of the cache, that may be left behind.
func (c *crawl) opening(part any, code func() error) error {
	var failed error // belongs to the code until it has returned
	err := c.watch.Apart(&guard.Call{Owner: outsider{teller: c.teller}}, string(StageOpen), func() { _, failed = guard.Protect(code) })
	switch {
	case err == guard.ErrClosed:
		return fmt.Errorf("%s: %w", partName(part), context.Canceled)
	case err != nil:
		return &report.OpeningError{What: partName(part), Err: fmt.Errorf("it did not return when its context was cancelled: %w", abandonedBy(StageOpen, nil))}
	case failed != nil:
		return &report.OpeningError{What: partName(part), Err: failed}
	}
	return nil
}

// resume enters the requests that wait in a durable cache into ledger and frontier.
func (c *crawl) resume(ctx context.Context, state State) error {
	suspects := make(map[string]bool) // slots that have some
	for i := range state.Suspects {
		suspects[state.Suspects[i].Slot] = true
	}
	c.flights.takeSuspects(state, func(rec Record) *job { return newJob(c.reader, rec) })
	found := int64(0) // belongs to the loop until it has ended
	err := c.opening(c.cache, func() error {
		for slot, err := range c.cache.Slots(ctx) {
			if err != nil {
				return err
			}
			found += int64(slot.Pending)
			c.frontier.Restore(frontier.Saved(slot), suspects[slot.Name])
		}
		return nil
	})
	if err != nil {
		return &RunError{Op: "store", Err: err}
	}
	c.ledger.Resume(found, state.Delayed)
	if state.Delayed > 0 {
		c.frontier.LookAtDue()
	}
	return nil
}

// close closes the parts in reverse order of opening.
func (c *crawl) close(reason string) error {
	c.ending.Close(len(c.opened))
	c.mill.warnOfTypes()
	var errs []error
	complete := c.settler != nil && c.settler.complete
	ctx, cancel := context.WithTimeout(commit.OfClose(context.WithoutCancel(c.work), complete), c.cfg.grace)
	defer cancel()
	for i := len(c.opened) - 1; i >= 0; i-- {
		closer, ok := c.opened[i].(Closer)
		if !ok {
			continue
		}
		if err := c.closePart(ctx, cancel, closer, reason); err != nil {
			errs = append(errs, fmt.Errorf("tegenaria: closing %T: %w", closer, err))
		}
	}
	if complete && len(errs) == 0 && len(c.committers) > 0 && len(c.opened) > 0 {
		errs = append(errs, c.settler.closed())
	}
	c.noMore()
	c.giveUp(context.Canceled)
	c.abandonStore()
	if c.fetcher.http != nil {
		c.fetcher.http.close()
	}
	c.took.Store(int64(time.Since(c.began)))
	c.teller.close()
	c.teller.ended(reason, summaryOf(c, StatusStopped), c.mill.sent.Load(), c.reader.queries.Unmatched())
	if f := c.cfg.events.Closed; f != nil {
		c.teller.call(func() { f(reason) })
	}
	return errors.Join(errs...)
}

// partName names a registered part, or the cache, in messages.
func partName(part any) string {
	switch part.(type) {
	case CacheInterface:
		return fmt.Sprintf("the queue %T", part)
	case PipelinesInterface:
		return fmt.Sprintf("the output %T", part)
	case MiddlewaresInterface:
		return fmt.Sprintf("the middleware %T", part)
	case Downloader:
		return fmt.Sprintf("the downloader %T", part)
	}
	return fmt.Sprintf("%T", part)
}
