package tegenaria

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/stage"
)

// crawl is one run of one spider: everything that a run has of its own. Read from the top it tells the
// way of a request: start and accept put requests into the cache, the scheduler takes them out, pages are
// fetched and parsed, items pass the buffer and the pipelines, the settler ends them.
type crawl struct {
	engine *SpiderEngine
	cfg    config
	limits Limits // with defaults
	spider SpiderInterface
	parts  []any         // everything registered, in order: openers, closers, committers
	opened []any         // those of them that are open
	gone   chan struct{} // closed when the engine has let go of the crawl

	cache   CacheInterface
	flights FlightRecorder // the cache; nil if it is none
	hungry  atomic.Bool    // downloads could begin if there were requests: no output holds any back

	unrecorded atomic.Bool // flights cannot be recorded, which was logged

	teller *teller
	ledger *frontier.Ledger
	sched  *scheduler

	committers committers
	acceptor   *acceptor
	fetcher    *fetcher
	reader     *reader
	mill       *mill
	settler    *settler
	watch      *guard.Watch

	began        time.Time
	took         atomic.Int64    // how long the run was, once it is over
	work         context.Context // of all user code and downloads; cancelled when the crawl gives up
	giveUp       context.CancelCauseFunc
	intake       context.Context // of Start; cancelled when the crawl stops
	noMore       context.CancelFunc
	storing      context.Context // of the cache and the committers; outlives the work
	abandonStore context.CancelFunc
	stop
}

// run makes the crawl and returns when nothing of it is left but what was abandoned.
func (c *crawl) run(ctx context.Context) error {
	var settling, piping, supervising sync.WaitGroup
	supervising.Go(func() { c.supervise(ctx) })
	over := func() {
		close(c.over)
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
		c.finishedBefore(state.Reason)
		return c.close(state.Reason)
	case c.refusing.Load(): // it was asked to stop meanwhile
		over()
		return c.end(ctx)
	}
	if f := c.cfg.events.Started; f != nil {
		c.teller.event(func() { f(c.spider) })
	}
	c.tellBlocks() // what an earlier run has left
	settling.Go(c.settler.run)
	piping.Go(func() { c.fail1(c.mill.run()) })
	started := c.start(state.Started)

	c.fail1(c.runRequests())
	<-started // nothing new can come any more
	c.mill.close()
	piping.Wait()
	c.watch.Wait()
	<-c.teller.handlers.Close()
	c.mill.drain()
	c.acceptor.close()
	c.reader.fetching.drop()
	c.settler.close()
	settling.Wait()
	c.settleFinished()
	over()
	return c.end(ctx)
}

// now is the time of the clock that never jumps; it is cheaper than the wall clock's.
func (c *crawl) now() time.Time { return c.began.Add(time.Since(c.began)) }

// runRequests moves requests from the cache through fetch and parse until the ledger is empty, or the
// crawl has stopped and its work in hand is done.
func (c *crawl) runRequests() error {
	// The scheduler's claims say how many fetch and the places how many parse; a parser that waits in Fetch
	// lends its place. There is room for all of them, and for one that waits for what comes next.
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

// stageError keeps what is a fault of the engine itself: cancellation and abandoned calls are told
// elsewhere.
func (c *crawl) stageError(err error) error {
	var abandoned *stage.AbandonedError
	if err == nil || c.work.Err() != nil || errors.As(err, &abandoned) {
		return nil
	}
	return err
}

// nearItems is how many items may wait before a worker that could go on lets the pipelines go first. Fewer are not worth
// a change of goroutines; many would be far by the time they come to their turn, and their pages with them.
const nearItems = 16

// take asks the scheduler for the next job; a failing cache ends the crawl.
func (c *crawl) take(ctx context.Context) (*job, bool) {
	if c.ledger.Items.Load() > nearItems {
		runtime.Gosched()
	}
	j, err := c.sched.take(ctx)
	if err != nil {
		c.storeFailed(err)
	}
	return j, j != nil
}

// fail1 notes a fault of the engine itself.
func (c *crawl) fail1(err error) {
	if err != nil {
		c.breakDown(&RunError{Op: "engine", Err: err})
	}
}

// guard runs user code that the watch keeps an eye on. It returns false if the code was abandoned, or must not run any
// more because the crawl gives up; the job is not to be touched.
func (c *crawl) guard(j *job, at Stage, code func()) bool {
	call := &j.call
	if call.GivenUp() {
		return false
	}
	if !call.Joined() {
		c.watch.Join(call)
		defer c.watch.Leave(call)
	}
	if j.ctx != nil {
		j.before = snapshot{j.ctx.CtxId, j.ctx.Response()}
	}
	if at == StageResponse && j.inbox != nil {
		return c.watch.Run(call, string(at), j.inbox, code)
	}
	return c.watch.Run(call, string(at), nil, code)
}
