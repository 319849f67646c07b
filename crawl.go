package tegenaria

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/stage"
)

// crawl is one run of one spider: everything that a run has of its own. Read from the top, this file tells the
// way of a request: start and acceptor put requests into the cache, the frontier takes them out, pages are
// fetched and parsed, items pass the buffer and the pipelines, the settler ends them.
type crawl struct {
	engine *SpiderEngine
	cfg    config
	limits Limits // with defaults
	spider SpiderInterface
	registered
	stop

	ledger   *frontier.Ledger
	frontier *frontier.Frontier[*job]
	watch    *guard.Watch
	entries  *guard.Door // of requests and items that are accepted
	flights  *flights

	acceptor *acceptor
	fetcher  *fetcher
	reader   *reader
	mill     *mill
	settler  *settler
	teller   *teller
	failures *failures
	losses   losses
}

// registered is what the user has given to the engine, and the crawl opens and closes.
type registered struct {
	parts      []any // everything, in order: openers, closers, committers
	opened     []any // those of them that are open
	committers commit.Parts
	keepers    commit.Keepers
	cache      CacheInterface
}

// run makes the crawl, and returns when all of it has ended except code that was abandoned.
func (c *crawl) run(ctx context.Context) error {
	var settling, piping, supervising sync.WaitGroup
	supervising.Go(func() { c.ending.Supervise(ctx) })
	watching, unwatch := context.WithCancel(context.Background())
	over := func() {
		unwatch()
		c.ending.Over()
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
	case c.refusing.Load(): // it was asked to stop meanwhile
		over()
		return c.end(ctx)
	}
	if f := c.cfg.events.Started; f != nil {
		c.teller.event(func() { f(c.spider) })
	}
	c.teller.begins(state, c.spider)
	supervising.Go(func() { c.teller.progress(watching) })
	c.teller.blocked() // those that an earlier run has left
	settling.Go(func() { c.settler.batches.Run(c.settler.settle) })
	piping.Go(func() { c.fail1(c.mill.run()) })
	started := startSeeds(c, state.Started)

	c.fail1(c.runRequests())
	<-started // nothing new can come any more
	c.mill.close()
	piping.Wait()
	c.watch.Wait()
	c.mill.drain()
	c.acceptor.close()
	c.reader.dropFetches()
	c.awaitWork()
	c.losses.end(c)
	c.settler.batches.Close()
	settling.Wait()
	c.settleFinished()
	over()
	return c.end(ctx)
}

// awaitWork waits until nothing is in hand any more: what is still in flight is lost. A cache that does not return is left behind.
func (c *crawl) awaitWork() {
	finished, drained := c.ledger.Over()
	select {
	case <-finished:
	case <-drained:
	case <-c.storing.Done():
		guard.Await(drained)
	}
}

// restore gives the parts that store results or state what an earlier run of the job has stored of them, and stores the first
// checkpoints of those that have none.
func (c *crawl) restore(ctx context.Context, state State) error {
	first, err := c.committers.Restore(commit.OfRun(ctx, c.spider.GetName(), !state.Durable), state.Checkpoints, c.opening)
	if err == nil && state.Durable && !state.Finished {
		err = c.keepers.Restore(state.Checkpoints, c.opening)
	}
	if err == nil && len(first) > 0 {
		err = c.opening(c.cache, func() error { return c.cache.Settle(ctx, Batch{Checkpoints: first}) })
	}
	return err
}

// runRequests moves requests from the cache through fetch and parse until the ledger is empty, or the
// crawl has stopped and its work in hand is done.
func (c *crawl) runRequests() error {
	// The frontier's claims say how many fetch, and the reader's places how many parse; a parser that waits in Fetch
	// lends its place. There is a worker for each of them, and one to wait for the next request.
	return c.stageError(stage.Pull(c.work, c.pageWorkers(), c.take, stage.ProcessorFunc[*job](c.reader.page)))
}

// pageWorkers is how many workers crawl pages.
func (c *crawl) pageWorkers() int { return int(c.cfg.parseWorkers) + 2*c.cfg.concurrency + 1 }

// The rows of the watch.
const (
	pageRow = iota
	itemRow
)

// newWatch makes the watch of the crawl's user code.
func (c *crawl) newWatch() *guard.Watch {
	limit := c.limits.Callback
	return guard.NewWatch(guard.Config{
		Limit:   limit,
		TooLate: func(at string) error { return &CallbackTimeoutError{Stage: Stage(at), Limit: limit} },
		Overdue: func() { c.acceptor.handOverPages() },
		Untimed: []string{string(StageStart), string(StageOpen), string(StageDownload)},
		Rows:    []int{pageRow: c.pageWorkers(), itemRow: c.cfg.itemConcurrency},
	})
}

// nearItems is how many items may wait before a worker that could go on lets the pipelines go first. Fewer are not worth
// a change of goroutines; many would be far by the time they come to their turn, and their pages with them.
const nearItems = 16

// take asks the frontier for the next job; a failing cache ends the crawl.
func (c *crawl) take(ctx context.Context) (*job, bool) {
	if c.ledger.Items.Load() > nearItems {
		runtime.Gosched()
	}
	j, ok, err := c.frontier.Take(ctx)
	if err != nil {
		c.storeFailed(err)
	}
	return j, ok
}

// fail1 notes a fault of the engine itself.
func (c *crawl) fail1(err error) {
	if err != nil {
		c.ending.Break(&RunError{Op: "engine", Err: err})
	}
}

// cacheSource is a cache as the source of a frontier.
type cacheSource struct {
	cache  CacheInterface
	newJob func(Record) *job
}

func (s cacheSource) Next(ctx context.Context, slot string) (j *job, left frontier.Head, ok bool, err error) {
	records, state, err := s.cache.Next(ctx, slot, 1)
	left = frontier.Head{Priority: state.Priority, More: state.Pending > 0}
	if err != nil || len(records) == 0 {
		return nil, left, false, err
	}
	return s.newJob(records[0]), left, true, nil
}

func (s cacheSource) Due(ctx context.Context, now time.Time) ([]frontier.Moved, time.Time, error) {
	slots, next, err := s.cache.Due(ctx, now)
	moved := make([]frontier.Moved, len(slots))
	for i, slot := range slots {
		moved[i] = frontier.Moved{Slot: slot.Name, Priority: slot.Priority}
	}
	return moved, next, err
}
