package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// newCrawl makes a crawl of the registered parts, or reports every mistake at once.
func newCrawl(ctx context.Context, e *SpiderEngine, cfg config, name string) (c *crawl, err error) {
	c = &crawl{cfg: cfg, errs: &e.errs, unreturned: &e.unreturned}
	c.stop.began = time.Now()
	c.stop.ending = c.newEnding()
	if err := guard.Protect(func() error { return c.wire(name) }); err != nil {
		return nil, &RunError{Op: "wiring", Err: err}
	}
	c.stop.work, c.stop.giveUp = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), inCallback{}, true))
	c.stop.intake, c.stop.noMore = context.WithCancel(context.WithValue(c.stop.work, inCallback{}, nil)) // no worker waits for Start
	c.stop.storing, c.stop.abandonStore = context.WithCancel(context.WithoutCancel(ctx))
	return c, nil
}

// wire fills in the crawl. The error joins all mistakes that it finds.
func (c *crawl) wire(name string) error {
	cfg := &c.cfg
	var mistakes []error
	note := func(err error) { mistakes = append(mistakes, err) }
	note(cfg.mistakes())
	note(cfg.Limits.mistakes())
	note(cfg.Politeness.mistakes())
	c.limits = cfg.Limits.withDefaults()
	var err error
	c.spider, err = findSpider(cfg.spiders, name)
	note(err)
	c.domains, err = allowedDomains(cfg.AllowedDomains)
	note(err)
	if c.spider != nil {
		c.parsers, err = newParserTable(c.spider, cfg.parsers)
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
	if err := errors.Join(mistakes...); err != nil {
		return err
	}
	c.middlewares = cfg.middlewares.sorted()
	c.internalMWs = c.middlewares.internal()
	c.pipelines, c.typeChecks = cfg.pipelines.forRun()
	if cfg.collected != nil {
		c.typeChecks = append(c.typeChecks, cfg.collected)
	}
	err = c.wireMachines()
	c.wireParts()
	return errors.Join(err, c.committers.Mistakes(loopbackCheckpoint, closingCheckpoint, clockCheckpoint),
		c.pipelines.sharedPlaces(), c.pipelines.outputsBeside())
}

// wireParts lists the registered parts, in the order in which they are opened.
func (c *crawl) wireParts() {
	c.parts = slices.Concat(all[any](c.middlewares), all[any](c.pipelines))
	if c.cfg.downloader != nil {
		c.parts = append(c.parts, c.cfg.downloader)
	}
	for _, d := range c.cfg.downloaders {
		c.parts = append(c.parts, d.downloader)
	}
	for i := len(c.downloads.layers.parts) - 1; i >= 0; i-- {
		c.parts = append(c.parts, c.downloads.layers.parts[i])
	}
	if c.cfg.dupeFilter != nil {
		c.parts = append(c.parts, c.cfg.dupeFilter)
	}
	c.parts = append(c.parts, c.spider)
	c.committers = all[commit.Part](c.parts)
	c.listeners = all[SettlementListener](c.parts)
	c.skips = skipsOf(c.parts)
	c.keepers = commit.KeepersOf(append([]any{c.changes}, c.parts...))
}

// open prepares the parts and takes over the job of the cache. The code that it calls has its context cancelled when
// the crawl is to stop, since there is no work in hand that could be finished; code that does not return when the grace
// is over is left behind.
func (c *crawl) open() (state State, err error) {
	ctx, cancel := context.WithCancel(c.stop.work) // parts may keep it: it ends with the work
	defer context.AfterFunc(c.stop.intake, cancel)()
	job := Job{Spider: c.spider.GetName(), KeyVersion: identity.Version, QueueBytes: c.limits.QueueBytes}
	dupes := newDuplicates(c.cfg.dupeFilter, c.limits.Body)
	if dupes.keys != nil {
		job.BloomBits, job.BloomHashes = dupes.keys.seen.Bits, dupes.keys.seen.Hashes
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
	if behind := clockBehind(state, time.Now()); behind > 0 && c.shared == nil {
		c.cache = aheadCache{c.cache, behind}
		if behind >= clockNotice {
			c.report.log.Lines([]report.Line{{Warn: true, Numbers: report.Numbers{"seconds": behind.Seconds()},
				Text: fmt.Sprintf("the clock is %s behind the time at which this job was stored: it was set back, and stored "+
					"pauses are shortened by as much", behind.Round(time.Second))}})
		}
	}
	c.build(state, dupes)
	ctx = commit.OfRun(c.report.log.In(ctx), c.spider.GetName(), c.worker, !state.Durable)
	if state.Finished && len(state.Checkpoints[closingCheckpoint]) == 0 {
		return state, nil
	}
	if err := c.codec.checkFirst(c.spider); err != nil {
		return state, &RunError{Op: "wiring", Err: err}
	}
	c.loopback.Add(loopbackOf(state.Checkpoints[loopbackCheckpoint])...)
	for _, url := range seedsOf(c.spider) { // before any of them is sent: the page of one may link to another
		c.loopback.Allow(url)
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
		if user, ok := part.(NetworkUser); ok {
			give := func() error {
				user.UseNetwork(network{c.downloads.own.client, c.acceptor, c.fetcher})
				return nil
			}
			if err := c.opening(part, give); err != nil {
				return state, &RunError{Op: "start", Err: err}
			}
		}
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
	err := c.watch.Apart(&guard.Call{Owner: outsider{report: c.report}}, string(StageOpen),
		func() { failed = guard.Protect(code) })
	switch {
	case err == guard.ErrClosed:
		return fmt.Errorf("%s: %w", partName(part), context.Canceled)
	case err != nil:
		return &report.OpeningError{What: partName(part),
			Err: fmt.Errorf("it did not return when its context was cancelled: %w", abandonedBy(StageOpen, nil))}
	case failed != nil:
		return &report.OpeningError{What: partName(part), Err: failed}
	}
	return nil
}

// restore gives the parts that store results or state what an earlier run of the job has stored of them, and stores the
// first checkpoints of those that have none, together with the note that they are not closed yet.
func (c *crawl) restore(ctx context.Context, state State) error {
	first, err := c.committers.Restore(ctx, state.Checkpoints, c.opening)
	if err == nil && state.Durable && !state.Finished {
		if len(c.committers) > 0 && len(state.Checkpoints[closingCheckpoint]) == 0 {
			first[closingCheckpoint] = []byte("open")
		}
		err = c.keepers.Restore(state.Checkpoints, c.opening)
	}
	if err == nil && len(first) > 0 {
		err = c.opening(c.cache, func() error { return c.cache.Settle(ctx, Batch{Checkpoints: first}) })
	}
	return err
}

// resume enters the requests that wait in a durable cache into ledger and frontier.
func (c *crawl) resume(ctx context.Context, state State) error {
	suspects := make(map[string]bool) // slots that have some
	for i := range state.Suspects {
		suspects[slots.Name(state.Suspects[i].Slot)] = true
	}
	c.flights.takeSuspects(state, c.newJob)
	found := int64(0) // belongs to the loop until it has ended
	err := c.opening(c.cache, func() error {
		for slot, err := range c.cache.Slots(ctx) {
			if err != nil {
				return err
			}
			found += int64(slot.Pending)
			c.frontier.Restore(frontier.Saved(slot), suspects[slots.Name(slot.Name)])
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

// partName names a registered part, or the cache, in messages.
func partName(part any) string {
	if ahead, ok := part.(aheadCache); ok {
		part = ahead.CacheInterface
	}
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

// mistakes are what is wrong with the options of a run.
type mistakes []error

// addIf adds a mistake that was made if wrong is true.
func (m *mistakes) addIf(wrong bool, format string, args ...any) {
	if wrong {
		*m = append(*m, fmt.Errorf(format, args...))
	}
}

// mistakeOf returns the mistake in how a part was made, if it remembers one; nil otherwise.
func mistakeOf(part any) error {
	type ours interface{ mistake() error }  // a part made by this package
	type users interface{ Mistake() error } // see PipelinesInterface
	switch m := part.(type) {
	case ours:
		return m.mistake()
	case users:
		return m.Mistake()
	}
	return nil
}

// notNil refuses nil parts, nil pointers and funcs in an interface too.
func notNil(part any, where string, i int) error {
	v := reflect.ValueOf(part)
	if part == nil || (v.Kind() == reflect.Pointer || v.Kind() == reflect.Func) && v.IsNil() {
		return fmt.Errorf("%s: argument %d is nil", where, i+1)
	}
	return nil
}
