package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/lifecycle"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/report"
)

// newEnding makes what ends the crawl. The funcs are called once the crawl is made.
func (c *crawl) newEnding() *lifecycle.Ending {
	return lifecycle.NewEnding(lifecycle.Steps{
		Limit: c.cfg.Limits.Time, Grace: c.cfg.Grace, CancelGrace: guard.CancelGrace, Now: c.stop.now, Over: errGraceOver,
		Told: func(reason string, insisted bool) {
			if (insisted || strings.HasPrefix(reason, "limit: ")) && c.shared != nil {
				c.shared.Stopped(reason)
			}
		},
		Stop: func() {
			c.stop.refusing.Store(true)
			c.stop.noMore()
			for _, j := range c.frontier.Stop() { // there are some only once the stations are made
				c.settler.done(j)
			}
			for _, w := range c.robots.Stop() { // they go back to the cache: a stopping crawl starts nothing new
				c.frontier.Unpark(w.Slot) // Fetch is served until the grace ends
				c.settler.done(w.Job)
			}
			if c.cfg.keepAlive {
				c.ledger.Leave()
			}
			c.report.stopping() // now that requests which have not begun are not waited for
			c.ledger.Stop()     // from here on the run may end, and its last lines in the log follow
		},
		Cancel: func(cause error) (cancelled bool) {
			if c.stop.work.Err() != nil {
				return false
			}
			c.stop.giveUp(cause)
			return true
		},
		Leave:   func() { c.watch.Close() },
		Abandon: func() { c.stop.abandonStore() },
	})
}

// end says how the crawl ended.
func (c *crawl) end(ctx context.Context) error {
	finished := c.isFinished() && c.finish()
	reason, cause, err := c.stop.ending.Why()
	switch {
	case err != nil:
	case finished:
		if !c.cfg.EmptyOK && !c.wasIdle() {
			err = c.report.fruitless(c.spider.GetName(), c.shared != nil)
		}
	case ctx.Err() != nil && reason == lifecycle.Cancelled:
		err = cause
	default:
		err = &StoppedError{Reason: reason, Err: c.interrupted(cause)}
	}
	closing := c.close(reason)
	if counts := c.abandoned(); counts != nil {
		err = errors.Join(err, &AbandonedError{counts})
	}
	return errors.Join(err, closing)
}

// finish notes that nothing was left to do, and reports whether the run has ended so. One that waits for requests has
// ended for the reason that it was stopped for.
func (c *crawl) finish() bool {
	if c.cfg.keepAlive {
		_, _, broken := c.stop.ending.Why()
		return broken == nil && !c.stop.ending.Insisted()
	}
	return c.stop.ending.Finish(lifecycle.Finished)
}

// wasIdle reports whether the crawl has waited for requests, and none has come.
func (c *crawl) wasIdle() bool { return c.cfg.keepAlive && c.ledger.Counts().Discovered == 0 }

// abandoned returns how many callbacks were given up, by stage; nil if none.
func (c *crawl) abandoned() (counts map[Stage]int) {
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
	return c.ledger.IsFinished() && !c.stop.failed.Load() && !c.stop.unsown.Load()
}

// settleFinished stores that the job is complete, if it is. One that the spider has closed is not, though nothing may
// be left to do: that is found out by the next run. A durable one that waits for requests is not either: its next run
// waits again. The crawl can still be asked to hurry.
func (c *crawl) settleFinished() {
	if c.cfg.keepAlive && c.settler.durable {
		return
	}
	if _, _, broken := c.stop.ending.Why(); broken != nil || c.stop.ending.Insisted() || !c.isFinished() {
		return
	}
	if err := c.settler.finished(); err != nil {
		c.stop.storeFailed(err)
	}
}

// endedBefore ends the run of a job that was complete before it began.
func (c *crawl) endedBefore(reason string) error {
	c.stop.ending.Finish(reason)
	anew := fmt.Sprintf("begin a new one, in another directory or with %s", remedy.Fresh)
	failed := fmt.Sprintf("%s lets them run again, but for those that were refused when they were sent", remedy.Requeue)
	if c.shared != nil {
		anew, failed = "begin a job of another name", "its cache's DeadLetters lists them"
	}
	text := "this job was finished before, and nothing is crawled: to crawl again, " + anew
	if len(c.opened) > 0 {
		text += "; the outputs of this program were not closed then, which is done now"
	}
	n := c.report.earlier()["outcome/"+Failed.String()] + c.report.earlier()["outcome/"+GaveUp.String()]
	if n > 0 {
		text += "; " + report.Count(n, "request") + " failed: " + failed
	}
	c.report.log.Lines([]report.Line{{Warn: true, Text: text, Numbers: report.Numbers{"failed": n}}})
	return c.close(reason)
}

// notOpened ends a run whose parts could not be opened.
func (c *crawl) notOpened(ctx context.Context, err error) error {
	if !c.stop.refusing.Load() {
		c.stop.ending.Break(err)
		return c.end(ctx)
	}
	told := errors.Is(err, context.Canceled) || c.stop.work.Err() != nil && errors.Is(err, context.Cause(c.stop.work))
	if told && !isA[*AbandonedError](err) {
		err = nil // it has only returned because its context was cancelled
	}
	return errors.Join(c.end(ctx), err)
}

// closePart closes one part. If Close does not return shortly after its context has ended, it is no longer waited for.
// When the crawl is asked to hurry, cut cancels ctx, which all parts share.
func (c *crawl) closePart(ctx context.Context, cut context.CancelFunc, closer Closer, reason string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var err error // belongs to the part until it has returned
	part := guard.Go(func() { err = guard.Protect(func() error { return closer.Close(ctx, reason) }) })
	select {
	case <-part.Done():
	case <-c.stop.ending.Hurried():
		cut()
	case <-ctx.Done():
	}
	if guard.Await(part.Done()) && part.Returned() {
		return err
	}
	c.watch.Count(string(StageClose))
	outsider{report: c.report}.Abandon(guard.Loss{At: string(StageClose)})
	return fmt.Errorf("it did not return when its context was cancelled: %w", abandonedBy(StageClose, nil))
}

// committerTime is how long each committer of a complete job may take to close: it may have work to do that waits for the end of the
// job, on all that was crawled.
const committerTime = 15 * time.Minute

// close closes the parts in reverse order of opening. All together have the grace, but for committers of a complete job.
func (c *crawl) close(reason string) error {
	c.stop.ending.Close(len(c.opened))
	var errs []error
	complete := c.settler != nil && c.settler.complete
	all, cancel := context.WithCancel(commit.OfClose(context.WithoutCancel(c.stop.work), complete))
	defer cancel()
	grace := c.cfg.Grace
	for i := len(c.opened) - 1; i >= 0; i-- {
		closer, ok := c.opened[i].(Closer)
		if !ok {
			continue
		}
		own, began := complete && isCommitter(closer), time.Now()
		limit := grace
		if own {
			limit = max(grace, committerTime)
		}
		ctx, done := context.WithTimeout(all, limit)
		err := c.closePart(ctx, cancel, closer, reason)
		if done(); !own {
			grace = max(0, grace-time.Since(began))
		}
		if err != nil {
			errs = append(errs, errtext.Failed(fmt.Sprintf("closing %T", closer), "", "", err))
		}
	}
	if complete && len(errs) == 0 && len(c.committers) > 0 && len(c.opened) > 0 {
		errs = append(errs, c.settler.closed())
	}
	c.stop.noMore()
	c.stop.giveUp(context.Canceled)
	c.stop.abandonStore()
	c.downloads.own.close()
	c.stop.took.Store(int64(time.Since(c.stop.began)))
	c.report.close()
	sent, unmatched := false, []page.Unmatched(nil)
	if c.pages != nil {
		c.items.warnOfTypes()
		sent, unmatched = c.items.sent.Load(), c.pages.queries.Unmatched()
	}
	c.report.ended(reason, c.summary(StatusStopped), c.places(), c.jobCounts(), sent, unmatched)
	if f := c.cfg.events.Closed; f != nil {
		c.report.call(func() { f(reason) })
	}
	return errors.Join(errs...)
}

// interrupted completes the cause of a stop by a signal.
func (c *crawl) interrupted(cause error) error {
	if cause != errInterrupted {
		return cause
	}
	n := c.ledger.Counts()
	return &InterruptedError{Waiting: n.Pending + n.Delayed + n.InFlight, Durable: c.report.isDurable()}
}
