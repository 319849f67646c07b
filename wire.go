package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/buffer"
)

// wire makes a crawl of what is registered, or reports every mistake at once.
func (e *SpiderEngine) wire(ctx context.Context, cfg config, name string) (c *crawl, err error) {
	c = &crawl{engine: e, cfg: cfg, began: time.Now()}
	c.stop.init()
	var mistakes []error
	_, panicked := protect(func() error {
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
	c.domains, err = newDomainSet(cfg.domains)
	note(err)
	if c.spider != nil {
		c.parsers, err = newParserTable(c.spider, cfg.parsers)
		note(err)
	}
	for i, m := range cfg.middlewares {
		note(notNil(m, "RegisterDownloadMiddlewares", i))
	}
	for i, p := range cfg.pipelines {
		note(notNil(p, "RegisterPipelines", i))
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
	c.log = newLogger(cfg.logger, c.spider.GetName())
	c.wireParts()
	note(c.wireDownloaders())
	note(c.committerKeys())
	c.wireMachines()
	return mistakes
}

// mistakes lists the options that make no sense.
func (cfg *config) mistakes() error {
	var errs []error
	for _, n := range []struct {
		name  string
		value int
	}{
		{"EngineWithSchedulerNum", int(cfg.parseWorkers)}, {"EngineWithReadCacheNum", int(cfg.readers)},
		{"EngineWithConcurrency", cfg.concurrency}, {"EngineWithItemConcurrency", cfg.itemConcurrency},
	} {
		if n.value < 1 {
			errs = append(errs, fmt.Errorf("%s is %d; it must be 1 or more", n.name, n.value))
		}
	}
	if cfg.grace < 0 {
		errs = append(errs, fmt.Errorf("EngineWithGrace is %s; it must not be negative", cfg.grace))
	}
	return errors.Join(errs...)
}

// findSpider returns the spider of that name.
func findSpider(spiders []SpiderInterface, name string) (SpiderInterface, error) {
	var errs []error
	byName := make(map[string]SpiderInterface, len(spiders))
	for i, s := range spiders {
		if err := notNil(s, "RegisterSpiders", i); err != nil {
			errs = append(errs, err)
			continue
		}
		switch n := s.GetName(); {
		case n == "":
			errs = append(errs, fmt.Errorf("RegisterSpiders: spider %d has no name; set BaseSpider.Name", i+1))
		case byName[n] != nil:
			errs = append(errs, fmt.Errorf("RegisterSpiders: two spiders are called %q", n))
		default:
			byName[n] = s
		}
	}
	if byName[name] == nil {
		errs = append(errs, fmt.Errorf("no spider is called %q; register it with RegisterSpiders", name))
	}
	return byName[name], errors.Join(errs...)
}

// notNil refuses nil parts, nil pointers in an interface too.
func notNil(part any, where string, i int) error {
	v := reflect.ValueOf(part)
	if part == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("%s: argument %d is nil", where, i+1)
	}
	return nil
}

// wireParts sorts what is registered and finds what it can do.
func (c *crawl) wireParts() {
	c.middlewares = c.cfg.middlewares.sorted()
	c.pipelines = c.cfg.pipelines.sorted()
	for _, m := range c.middlewares {
		if f, ok := m.(RequestFilter); ok {
			c.filters = append(c.filters, f)
		}
		if f, ok := m.(ErrorMiddleware); ok {
			c.errorMWs = append(c.errorMWs, f)
		}
		if f, ok := m.(InternalMiddleware); ok && f.SeesInternal() {
			c.internalMWs = append(c.internalMWs, m)
		}
		c.parts = append(c.parts, m)
	}
	for _, p := range c.pipelines {
		c.parts = append(c.parts, p)
	}
	if c.cfg.downloader != nil {
		c.parts = append(c.parts, c.cfg.downloader)
	}
	for _, d := range c.cfg.downloaders {
		c.parts = append(c.parts, d.downloader)
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
}

// committerKeys refuses committers that cannot be told apart.
func (c *crawl) committerKeys() error {
	seen := make(map[string]bool)
	var errs []error
	for _, committer := range c.committers {
		key := committer.CommitKey()
		if key == "" || key == loopbackCheckpoint || seen[key] {
			errs = append(errs, fmt.Errorf("CommitKey %q is empty or taken; each Committer needs its own", key))
		}
		seen[key] = true
	}
	return errors.Join(errs...)
}

// wireDownloaders makes the default downloader unless the user gave one.
func (c *crawl) wireDownloaders() (err error) {
	cfg := &c.cfg
	c.bodies = newBodyBudget(c.limits.BodiesInFlight)
	c.loopback = &loopbackSet{}
	fallback := cfg.downloader
	if fallback == nil {
		c.http = newHTTPDownloader(downloadSettings{
			limits: c.limits, agent: cfg.politeness.agent(), allowPrivate: cfg.politeness.AllowPrivate,
			client: cfg.client, concurrency: cfg.concurrency, bodies: c.bodies, loopback: c.loopback,
			allowStatus: cfg.allowStatus,
		})
		fallback = c.http
	}
	c.downloaders, err = newDownloaderSet(fallback, cfg.downloaders)
	return err
}

// The Bloom filter in front of an exact set on disk, for about a million requests.
const (
	defaultBloomBits   = 1 << 23
	defaultBloomHashes = 6
)

// wireMachines makes the machines of the crawl.
func (c *crawl) wireMachines() {
	cfg := &c.cfg
	c.cache = cfg.cache
	if c.cache == nil {
		c.cache = newMemoryCache()
	}
	c.dupes, _ = cfg.dupeFilter.(*RFPDupeFilter)
	if cfg.dupeFilter == nil {
		c.dupes = NewRFPDupeFilter(defaultBloomBits, defaultBloomHashes)
	} else if c.dupes == nil {
		c.veto = cfg.dupeFilter
	}
	c.scratch = &sync.Pool{New: func() any {
		s := &scratch{}
		if c.dupes != nil {
			s.keyer = c.dupes.keyer()
		}
		return s
	}}
	c.counters, c.holders = newCounters(), &holders{}
	c.gone = make(chan struct{})
	c.ledger = newLedger()
	c.sched = newScheduler(*cfg, c.cache, c.ledger, c.limits, c.holders)
	c.sched.job = c.newJob
	c.robots = newRobotsGate(c)
	c.parseGate = newGate(int(cfg.parseWorkers))
	c.items, _ = buffer.NewPool[*itemTask](itemBufferCap, itemBuffers)
	c.settler = newSettler(c)
	c.watch = newWatch(c, c.limits.Callback)
	c.collect = cfg.collect
	c.plain = c.checkPlain()
}

// open prepares the parts and takes over what the cache holds.
func (c *crawl) open(ctx context.Context) (State, error) {
	job := Job{Spider: c.spider.GetName(), KeyVersion: keyVersion, QueueBytes: c.limits.QueueBytes}
	if c.dupes != nil {
		job.BloomBits, job.BloomHashes = c.dupes.bloomParameters()
	}
	state, err := c.cache.Begin(ctx, job)
	if err != nil {
		return state, &RunError{Op: "store", Err: err}
	}
	c.durable = state.Durable
	c.codec = &codec{durable: c.durable, parsers: c.parsers, metaTypes: c.cfg.metaTypes, bodyLimit: c.limits.Body}
	if state.Finished {
		return state, nil
	}
	c.loopback.add(decodeStrings(state.Checkpoints[loopbackCheckpoint])...)
	for _, part := range c.parts {
		opener, ok := part.(Opener)
		if ok {
			if _, err := protect(func() error { return opener.Open(c.work, c.spider) }); err != nil {
				return state, &RunError{Op: "start", Err: fmt.Errorf("opening %T: %w", part, err)}
			}
		}
		c.opened = append(c.opened, part)
	}
	if err := c.restore(ctx, state); err != nil {
		return state, &RunError{Op: "store", Err: err}
	}
	return state, c.resume(ctx, state)
}

// resume tells ledger and scheduler what waits in a durable cache.
func (c *crawl) resume(ctx context.Context, state State) error {
	pending := int64(0)
	for slot, err := range c.cache.Slots(ctx) {
		if err != nil {
			return &RunError{Op: "store", Err: err}
		}
		pending += int64(slot.Pending)
		c.sched.restore(slot)
	}
	c.ledger.resume(pending, state.Delayed)
	if state.Delayed > 0 {
		c.sched.lookAtDue()
	}
	return nil
}

// restore gives the committers their checkpoints. One that has none prepares a first one, which is stored
// before anything is staged.
func (c *crawl) restore(ctx context.Context, state State) error {
	first := make(map[string][]byte)
	for _, committer := range c.committers {
		key := committer.CommitKey()
		checkpoint, stored := state.Checkpoints[key]
		_, err := protect(func() error {
			if !stored {
				checkpoint = nil
			}
			if err := committer.Restore(ctx, checkpoint); err != nil || stored {
				return err
			}
			prepared, err := committer.Prepare(ctx, nil)
			first[key] = prepared
			return err
		})
		if err != nil {
			return fmt.Errorf("committer %s: restore: %w", key, err)
		}
	}
	if len(first) == 0 {
		return nil
	}
	return c.cache.Settle(ctx, Batch{Checkpoints: first})
}

// close closes the parts in reverse order of opening.
func (c *crawl) close(reason string) error {
	var errs []error
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.work), c.cfg.grace)
	defer cancel()
	for i := len(c.opened) - 1; i >= 0; i-- {
		closer, ok := c.opened[i].(Closer)
		if !ok {
			continue
		}
		if _, err := protect(func() error { return closer.Close(ctx, reason) }); err != nil {
			errs = append(errs, fmt.Errorf("tegenaria: closing %T: %w", c.opened[i], err))
		}
	}
	c.noMore()
	c.giveUp(context.Canceled)
	c.abandonStore()
	if c.http != nil {
		c.http.close()
	}
	c.took.Store(int64(time.Since(c.began)))
	if f := c.cfg.events.Closed; f != nil {
		c.event(func() { f(reason) })
	}
	return errors.Join(errs...)
}
