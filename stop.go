package tegenaria

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/lifecycle"
)

// farewell is how long code that was told to return may take.
const farewell = guard.Farewell

// stop is the part of a crawl that ends it, and what it needs to know of how the crawl went.
type stop struct {
	ending   *lifecycle.Ending
	took     atomic.Int64 // how long the run was, once it is over
	refusing atomic.Bool  // seeds are discarded
	unsown   atomic.Bool  // one was: the crawl is not finished when nothing is open any more
	failed   atomic.Bool  // the store failed: nothing is settled any more
}

// newEnding makes what ends the crawl. The funcs are called once the crawl is made.
func (c *crawl) newEnding() *lifecycle.Ending {
	return lifecycle.NewEnding(lifecycle.Steps{
		Limit: c.cfg.limits.Time, Grace: c.cfg.grace, Farewell: farewell, Now: c.now, Over: errGraceOver,
		Stop: func() {
			c.refusing.Store(true)
			c.noMore()
			for _, j := range c.frontier.Stop() {
				j.done()
			}
			c.fetcher.robots.stop()
			c.ledger.Stop()
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

var errGraceOver = errors.New("tegenaria: the crawl was stopped and its grace is over")

// requestStop asks the crawl to end gracefully. It returns at once and may be called from anywhere.
func (c *crawl) requestStop(reason string, cause error) { c.ending.Ask(reason, cause) }

// storeFailed ends the crawl because the cache or a committer failed: nothing is settled that was not
// stored. A full memory queue lets the work in hand finish.
func (c *crawl) storeFailed(err error) {
	if errors.Is(err, errStoreFailed) {
		return
	}
	var full *QueueFullError
	if errors.As(err, &full) {
		c.requestStop("queue full", full)
		return
	}
	c.failed.Store(true)
	c.ending.Break(&RunError{Op: "store", Err: err})
	c.ending.Hurry(farewell)
}

var errStoreFailed = errors.New("tegenaria: the store has failed before")

// end says how the crawl ended.
func (c *crawl) end(ctx context.Context) error {
	if c.isFinished() {
		c.ending.Finish(lifecycle.Finished)
	}
	reason, cause, err := c.ending.Why()
	switch {
	case err != nil:
	case reason == lifecycle.Finished:
	case ctx.Err() != nil && reason == lifecycle.Cancelled:
		err = cause
	default:
		err = &StoppedError{Reason: reason, Err: cause}
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
	return c.ledger.IsFinished() && !c.failed.Load() && !c.unsown.Load()
}

// settleFinished stores that the job is complete, if it is. The crawl can still be told to hurry.
func (c *crawl) settleFinished() {
	if _, _, broken := c.ending.Why(); broken != nil || !c.isFinished() {
		return
	}
	if err := c.settler.finished(); err != nil {
		c.storeFailed(err)
	}
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
		err = nil // it has only returned when it was told to
	}
	return errors.Join(c.end(ctx), err)
}
