package tegenaria

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// farewell is how long code that was told to return may take.
const farewell = guard.Farewell

// stop is the part of a crawl that ends it: first nothing new is begun; then, when the grace is over or
// the crawl is told to hurry, the work is cancelled, and code that does not return is abandoned.
type stop struct {
	gone     chan struct{} // closed when the engine has let go of the crawl
	took     atomic.Int64  // how long the run was, once it is over
	refusing atomic.Bool   // seeds are discarded
	unsown   atomic.Bool   // one was: the crawl is not finished when nothing is open any more
	failed   atomic.Bool   // the store failed: nothing is settled any more
	asked    chan struct{} // closed when the crawl is to stop
	hurry    chan struct{} // one token says that it is to stop at once
	over     chan struct{} // closed when everything has ended
	closing  chan struct{} // closed when the parts are about to be closed; nothing is opened any more

	mu      sync.Mutex // guards the fields below
	leaveBy time.Time  // code that has not returned by then is abandoned: the earliest moment that was asked for
	reason  string     // why it was asked to stop, the first wins
	cause   error
	broken  error // the error that Run returns
}

func (s *stop) init() {
	s.asked, s.hurry = make(chan struct{}), make(chan struct{}, 1)
	s.over, s.closing, s.gone = make(chan struct{}), make(chan struct{}), make(chan struct{})
}

// requestStop asks the crawl to end gracefully. It returns at once and may be called from anywhere.
func (c *crawl) requestStop(reason string, cause error) {
	c.stop.mu.Lock()
	if c.reason != "" {
		c.stop.mu.Unlock()
		return
	}
	c.reason, c.cause = reason, cause
	c.stop.mu.Unlock()
	c.refusing.Store(true)
	c.noMore()
	for _, j := range c.frontier.Stop() {
		j.done()
	}
	c.fetcher.robots.stop()
	c.ledger.Stop()
	close(c.asked)
}

// cancelNow ends the grace of a stopping crawl; code that does not return within bye is abandoned. Calls that follow can only
// bring that moment forward. Once the parts are being closed it cancels that.
func (c *crawl) cancelNow(bye time.Duration) {
	at := c.now().Add(bye)
	c.stop.mu.Lock()
	if c.leaveBy.IsZero() || at.Before(c.leaveBy) {
		c.leaveBy = at
	}
	c.stop.mu.Unlock()
	select {
	case c.hurry <- struct{}{}:
	default: // it has been hurried
	}
}

// breakDown makes Run fail with err.
func (c *crawl) breakDown(err error) {
	c.stop.mu.Lock()
	if c.broken == nil {
		c.broken = err
	}
	c.stop.mu.Unlock()
	c.requestStop("failed", err)
}

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
	c.breakDown(&RunError{Op: "store", Err: err})
	c.cancelNow(farewell)
}

var errStoreFailed = errors.New("tegenaria: the store has failed before")

// supervise waits for the events that end a crawl: Run's context, a time limit, a stop and its grace.
func (c *crawl) supervise(ctx context.Context) {
	var timers []*time.Timer
	defer func() {
		for _, t := range timers {
			t.Stop()
		}
	}()
	after := func(d time.Duration) <-chan time.Time {
		timers = append(timers, time.NewTimer(d))
		return timers[len(timers)-1].C
	}
	var limit, grace, last, settle <-chan time.Time
	if c.limits.Time > 0 {
		limit = after(c.limits.Time)
	}
	bye := min(c.cfg.grace/4, farewell)
	done, asked := ctx.Done(), c.asked
	var leave time.Time // when last fires, or has fired
	leaveAt := func(at time.Time) {
		if leave.IsZero() || at.Before(leave) && last != nil {
			leave, last = at, after(at.Sub(c.now()))
		}
	}
	giveUp := func(cause error) {
		asked, grace = nil, nil
		if c.work.Err() == nil {
			c.giveUp(cause)
			leaveAt(c.now().Add(bye))
		}
	}
	for {
		select {
		case <-c.over:
			return
		case <-limit:
			limit = nil
			c.requestStop("limit: time", nil)
		case <-done:
			done = nil
			c.requestStop("cancelled", context.Cause(ctx))
			giveUp(context.Cause(ctx))
		case <-asked:
			asked = nil
			grace = after(c.cfg.grace - bye)
		case <-grace:
			giveUp(errGraceOver)
		case <-c.hurry:
			c.requestStop("stopped", nil)
			giveUp(errGraceOver)
			c.stop.mu.Lock()
			at := c.leaveBy
			c.stop.mu.Unlock()
			leaveAt(at)
		case <-last:
			last = nil
			c.watch.Close()
			settle = after(farewell)
		case <-settle:
			settle = nil
			c.abandonStore()
		}
	}
}

var errGraceOver = errors.New("tegenaria: the crawl was stopped and its grace is over")

// end says how the crawl ended.
func (c *crawl) end(ctx context.Context) error {
	finished := c.isFinished()
	c.stop.mu.Lock()
	reason, cause, err := c.reason, c.cause, c.broken
	if finished && err == nil {
		reason = "finished"
		c.reason = reason
	}
	c.stop.mu.Unlock()
	switch {
	case err != nil:
	case reason == "finished":
	case ctx.Err() != nil && reason == "cancelled":
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

// finishedBefore notes that an earlier run has finished the job, and how.
func (c *crawl) finishedBefore(reason string) {
	c.stop.mu.Lock()
	defer c.stop.mu.Unlock()
	c.reason = reason
}

// isFinished reports whether nothing was left to do.
func (c *crawl) isFinished() bool {
	return c.ledger.IsFinished() && !c.failed.Load() && !c.unsown.Load()
}

// settleFinished stores that the job is complete, if it is. The crawl can still be told to hurry.
func (c *crawl) settleFinished() {
	c.stop.mu.Lock()
	broken := c.broken != nil
	c.stop.mu.Unlock()
	if broken || !c.isFinished() {
		return
	}
	if err := c.settler.finished(); err != nil {
		c.storeFailed(err)
	}
}

// notOpened ends a run whose parts could not be opened.
func (c *crawl) notOpened(ctx context.Context, err error) error {
	if !c.refusing.Load() {
		c.breakDown(err)
		return c.end(ctx)
	}
	told := errors.Is(err, context.Canceled) || c.work.Err() != nil && errors.Is(err, context.Cause(c.work))
	var left *AbandonedError
	if told && !errors.As(err, &left) {
		err = nil // it has only returned when it was told to
	}
	return errors.Join(c.end(ctx), err)
}

// awaitEnd waits for the crawl's end; over is false if ctx ended first. The error says that there is no end
// although the work has to be over after that time.
func (c *crawl) awaitEnd(ctx context.Context, work time.Duration) (over bool, err error) {
	began := time.Now()
	bound := time.NewTimer(work + farewell + farewell/2) // a batch that is being stored has a farewell too
	defer bound.Stop()
	closing := c.closing
	for {
		select {
		case <-c.gone:
			return true, nil
		case <-ctx.Done():
			return false, nil
		case <-closing:
			closing = nil
			bound.Reset(c.cfg.grace + time.Duration(len(c.opened)+1)*farewell)
		case <-bound.C:
			return false, &StopError{Waited: time.Since(began)}
		}
	}
}
