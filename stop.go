package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/lifecycle"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/stage"
)

// contexts are those of a crawl, and what ends them.
type contexts struct {
	work         context.Context // of all user code and downloads; cancelled when the crawl gives up
	giveUp       context.CancelCauseFunc
	intake       context.Context // of Start; cancelled when the crawl stops
	noMore       context.CancelFunc
	storing      context.Context // of the cache and the committers; outlives the work
	abandonStore context.CancelFunc
}

// stop is the part of a crawl that ends it: any station may ask for that. It knows how long the crawl has been running, and what it needs
// to know of how it went.
type stop struct {
	contexts
	began    time.Time
	ending   *lifecycle.Ending
	took     atomic.Int64 // how long the run was, once it is over
	refusing atomic.Bool  // seeds are discarded
	unsown   atomic.Bool  // one was: the crawl is not finished when nothing is open any more
	failed   atomic.Bool  // the store failed: nothing is settled any more
}

// newEnding makes what ends the crawl. The funcs are called once the crawl is made.
func (c *crawl) newEnding() *lifecycle.Ending {
	return lifecycle.NewEnding(lifecycle.Steps{
		Limit: c.cfg.limits.Time, Grace: c.cfg.grace, Farewell: guard.Farewell, Now: c.now, Over: errGraceOver,
		Stop: func() {
			c.refusing.Store(true)
			c.noMore()
			for _, j := range c.frontier.Stop() {
				j.done()
			}
			c.fetcher.robots.stop()
			c.ledger.Stop()
			c.teller.stopping() // now that requests which have not begun are not waited for
		},
		Cancel: func(cause error) (cancelled bool) {
			if c.work.Err() != nil {
				return false
			}
			c.giveUp(cause)
			return true
		},
		Leave:   func() { c.watch.Close() },
		Abandon: func() { c.abandonStore() },
	})
}

// now is the time of the clock that never jumps; it is cheaper than the wall clock's.
func (s *stop) now() time.Time { return s.began.Add(time.Since(s.began)) }

// elapsed is the time since the beginning, or that of the whole run once it is over.
func (s *stop) elapsed() time.Duration {
	if d := s.took.Load(); d > 0 {
		return time.Duration(d)
	}
	return time.Since(s.began)
}

// stageError returns an error that is a fault of the engine itself, and nil for any other: cancellation and abandoned calls are
// reported elsewhere.
func (s *stop) stageError(err error) error {
	var abandoned *stage.AbandonedError
	if err == nil || s.work.Err() != nil || errors.As(err, &abandoned) {
		return nil
	}
	return err
}

var errGraceOver = errors.New("tegenaria: the crawl was stopped and its grace is over")

// requestStop asks the crawl to end gracefully. It returns at once and may be called from anywhere.
func (s *stop) requestStop(reason string, cause error) { s.ending.Ask(reason, cause) }

// closeSpider is requestStop for the reason that user code has given to CloseSpider: the crawl has not finished then, even if
// nothing was left to do.
func (s *stop) closeSpider(reason string) { s.ending.Insist(cmp.Or(reason, "closed by the spider")) }

// closedBy is closeSpider for user code that had a job, whose outcome it decides. A job of a durable crawl that has sent nothing goes
// back to the cache instead: the next run asks for its page again, with another password for example.
func (c *crawl) closedBy(j *job, reason string, outcome Outcome, why string) {
	c.closeSpider(reason)
	if c.settler.durable && !j.root().sends.Load() {
		j.leaveUndecided()
		return
	}
	j.decide(outcome, why)
}

// EngineWithSignals makes Run and [Crawl] obey SIGINT (Ctrl-C) and SIGTERM, as Execute does: the first one stops the crawl
// gracefully, and the items of the work in hand are still yielded; the second one cancels the work in hand; the third one
// returns without waiting for it.
func EngineWithSignals() EngineOption {
	return func(e *SpiderEngine) { e.config.signals = true }
}

// obeySignals stops the engine's crawl that is on when a signal comes, until the func that it returns is called.
func obeySignals(e *SpiderEngine) (end func()) {
	signals, over := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	var listening sync.WaitGroup
	listening.Go(func() {
		for told := 0; ; {
			select {
			case <-signals:
			case <-over:
				return
			}
			c := e.current()
			if c == nil {
				continue
			}
			switch told++; told {
			case 1:
				c.requestStop(lifecycle.Requested, errInterrupted)
			case 2:
				c.ending.Hurry(guard.Farewell)
			default:
				c.ending.Hurry(0)
			}
		}
	})
	return func() {
		close(over)
		listening.Wait()
		signal.Stop(signals)
	}
}

// errInterrupted is the cause of a stop by a signal until the run ends, when it is known what waits.
var errInterrupted = errors.New("interrupted")

// interrupted completes the cause of a stop by a signal.
func (c *crawl) interrupted(cause error) error {
	if cause != errInterrupted {
		return cause
	}
	n := c.ledger.Counts()
	return &InterruptedError{Waiting: n.Pending + n.Delayed + n.InFlight, Durable: c.settler != nil && c.settler.durable}
}

// storeFailed ends the crawl because the cache or a committer failed: nothing is settled that was not
// stored. A full memory queue lets the work in hand finish.
func (s *stop) storeFailed(err error) {
	if errors.Is(err, errStoreFailed) {
		return
	}
	var full *QueueFullError
	if errors.As(err, &full) {
		s.requestStop("queue full", full)
		return
	}
	s.failed.Store(true)
	s.ending.Break(&RunError{Op: "store", Err: err})
	s.ending.Hurry(guard.Farewell)
}

var errStoreFailed = errors.New("tegenaria: the store has failed before")

// end says how the crawl ended.
func (c *crawl) end(ctx context.Context) error {
	finished := c.isFinished() && c.ending.Finish(lifecycle.Finished)
	reason, cause, err := c.ending.Why()
	switch {
	case err != nil:
	case finished:
		if c.teller.isEmpty() && !c.cfg.emptyOK && c.settler.earlier["read"] == 0 {
			err = c.teller.noPages.err(c.spider.GetName())
		}
	case ctx.Err() != nil && reason == lifecycle.Cancelled:
		err = cause
	default:
		reason = cmp.Or(reason, "abandoned") // nobody has stopped it: only requests are left whose code has not returned
		err = &StoppedError{Reason: reason, Err: c.interrupted(cause)}
	}
	closing := c.close(reason)
	if counts := c.abandoned(); counts != nil {
		err = errors.Join(err, &AbandonedError{counts})
	}
	return errors.Join(err, closing)
}

// abandoned returns how many callbacks were given up, by stage; nil if none.
func (c *crawl) abandoned() map[Stage]int {
	var counts map[Stage]int
	for at, n := range c.watch.Counts() {
		if counts == nil {
			counts = make(map[Stage]int)
		}
		counts[Stage(at)] = n
	}
	return counts
}

// isFinished reports whether nothing was left to do.
func (c *crawl) isFinished() bool {
	return c.ledger.IsFinished() && !c.failed.Load() && !c.unsown.Load() && !c.losses.left
}

// settleFinished stores that the job is complete, if it is. One that the spider has closed is not, though nothing may be left to do:
// that is found out by the next run. The crawl can still be asked to hurry.
func (c *crawl) settleFinished() {
	if _, _, broken := c.ending.Why(); broken != nil || c.ending.Insisted() || !c.isFinished() {
		return
	}
	if err := c.settler.finished(); err != nil {
		c.storeFailed(err)
	}
}

// endedBefore ends the run of a job that was complete before it began.
func (c *crawl) endedBefore(reason string) error {
	c.ending.Finish(reason)
	text := "this job was finished before, and nothing is crawled: to crawl again, begin a new one, in another directory or with disk.Fresh()"
	if n := c.settler.earlier["outcome/"+Failed.String()] + c.settler.earlier["outcome/"+GaveUp.String()]; n > 0 {
		text += "; " + report.Count(n, "request") + " failed: disk.Cache.Replay lets them run again, but for those that were refused when they were sent"
	}
	c.teller.log.Warn(text)
	return c.close(reason)
}

// notOpened ends a run whose parts could not be opened.
func (c *crawl) notOpened(ctx context.Context, err error) error {
	if !c.refusing.Load() {
		c.ending.Break(err)
		return c.end(ctx)
	}
	told := errors.Is(err, context.Canceled) || c.work.Err() != nil && errors.Is(err, context.Cause(c.work))
	var left *AbandonedError
	if told && !errors.As(err, &left) {
		err = nil // it has only returned because its context was cancelled
	}
	return errors.Join(c.end(ctx), err)
}

// closePart closes one part. If Close does not return shortly after its context has ended, it is no longer waited for. When the
// crawl is asked to hurry, cut cancels ctx, which all parts share.
func (c *crawl) closePart(ctx context.Context, cut context.CancelFunc, closer Closer, reason string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error // belongs to the part until it has returned
	part := guard.Go(func() { _, err = guard.Protect(func() error { return closer.Close(ctx, reason) }) })
	select {
	case <-part.Done():
	case <-c.ending.Hurried():
		cut()
	case <-ctx.Done():
	}
	if guard.Await(part.Done()) && part.Returned() {
		return err
	}
	c.watch.Count(string(StageClose))
	outsider{crawl: c}.Abandon(guard.Loss{At: string(StageClose)})
	return fmt.Errorf("it did not return when its context was cancelled: %w", abandonedBy(StageClose, nil))
}
