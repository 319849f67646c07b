package tegenaria

import (
	"context"
	"errors"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
)

// wire makes a crawl of what is registered, or reports every mistake at once.
func (e *SpiderEngine) wire(ctx context.Context, cfg config, name string) (c *crawl, err error) {
	c = &crawl{engine: e, cfg: cfg, began: time.Now()}
	c.stop.init()
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
	}
	for i, p := range cfg.pipelines {
		note(notNil(p, "RegisterPipelines", i))
		note(mistakeOf(p))
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
	c.teller = newTeller(c)
	c.wireMachines()
	c.fetcher, err = newFetcher(c)
	note(err)
	c.reader, c.mill = newReader(c, parsers), newMill(c)
	c.wireParts()
	note(c.committers.mistakes())
	return mistakes
}

// wireParts lists what is registered, in the order in which it is opened.
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

// wireMachines makes the machines of the crawl.
func (c *crawl) wireMachines() {
	cfg := &c.cfg
	c.cache = cfg.cache
	if c.cache == nil {
		c.cache = newMemoryCache()
	}
	c.flights, _ = c.cache.(FlightRecorder)
	c.gone = make(chan struct{})
	c.ledger = frontier.NewLedger(int(outcomes))
	c.sched = newScheduler(*cfg, c.cache, c.ledger, c.limits, c.now)
	c.sched.job, c.sched.hungry, c.sched.handOver = c.newJob, &c.hungry, func() { c.acceptor.handOver() }
	c.sched.suspect = func(j *job) { c.suspect(j, true) }
	c.sched.keep = func(slot string) { c.settler.keepSlot(slot) }
	c.watch = c.newWatch()
}
