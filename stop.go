package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
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
	outsider{teller: c.teller}.Abandon(guard.Loss{At: string(StageClose)})
	return fmt.Errorf("it did not return when its context was cancelled: %w", abandonedBy(StageClose, nil))
}

// A callback that does not return in time is given up. That ends at its job: what it sends is refused, its worker is replaced, and all
// that the job holds is given back at once; but the request stays in flight, as one that is lost, until the code returns or the run
// ends. Code that returns after all has its request fail. Requests that are lost when all else is over are ended by their records.

// loss is a part of a job whose code was given up.
type loss struct {
	guard.Loss
	job   *job
	item  *itemTask   // nil: the part is the job's way
	call  *guard.Call // of the code
	atEnd bool        // it was given up because the crawl gave up
}

// failure makes the HandleError of a loss whose code has not returned.
func (l *loss) failure(r *Request) *HandleError {
	herr := &HandleError{CtxId: l.job.id, Err: abandonedBy(Stage(l.At), l.TooLate), Request: r, Stage: Stage(l.At)}
	if l.item != nil {
		came := l.item.came // the code may be at work on the item itself
		herr.CtxId, herr.Item = came.CtxId, &came
	}
	return herr
}

// losses are the parts whose code was given up and has not returned.
type losses struct {
	mu   sync.Mutex // guards the fields below
	list []loss
	left bool // some were lost when the run ended
}

// add notes a loss. The part itself is closed when the worker is replaced, as at its end.
func (ls *losses) add(l loss) {
	ls.mu.Lock()
	ls.list = append(ls.list, l)
	ls.mu.Unlock()
	l.job.parts.Lose()
	if l.call.Worker.Worker() < 0 { // it was lost before
		l.job.end()
	}
}

// find takes the loss out whose code has returned. It returns false if the run has ended: the job is over.
func (ls *losses) find(call *guard.Call, ledger *frontier.Ledger) (l loss, ok bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	i := slices.IndexFunc(ls.list, func(l loss) bool { return l.call == call })
	if i < 0 || !ls.list[i].job.parts.Find(ledger) {
		return l, false
	}
	l = ls.list[i]
	ls.list = slices.Delete(ls.list, i, i+1)
	return l, true
}

// end ends the requests that are lost when all else is over. Their code may be at work on all that it was given, so nothing is
// looked at but their records.
func (ls *losses) end(c *crawl) {
	ls.mu.Lock()
	list := ls.list
	ls.list = nil
	ls.mu.Unlock()
	var jobs []*loss // one of each job
	for i := range list {
		l := &list[i]
		c.teller.failed(l.failure(c.acceptor.codec.requestOf(&l.job.rec)))
		if l.item != nil && !l.item.ended {
			c.teller.counters.Failed.Add(1)
		}
		k := slices.IndexFunc(jobs, func(other *loss) bool { return other.job == l.job })
		switch {
		case k >= 0:
			jobs[k].atEnd = jobs[k].atEnd || l.atEnd
		case l.job.parts.AreLost():
			jobs = append(jobs, l)
		}
	}
	ls.left = len(jobs) > 0
	c.ledger.EndLost(int64(len(jobs)))
	for _, l := range jobs {
		c.settler.endLost(l)
	}
}
