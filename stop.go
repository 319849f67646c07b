package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/lifecycle"
	"github.com/tegenaria/tegenaria/stage"
)

// stop is the part of a crawl that ends it: any station may ask for that. It knows how long the crawl has been running,
// and what it needs to know of how it went.
type stop struct {
	work         context.Context // of all user code and downloads; cancelled when the crawl gives up
	giveUp       context.CancelCauseFunc
	intake       context.Context // of Start; cancelled when the crawl stops
	noMore       context.CancelFunc
	storing      context.Context // of the cache and the committers; outlives the work
	abandonStore context.CancelFunc

	began    time.Time
	ending   *lifecycle.Ending
	took     atomic.Int64 // how long the run was, once it is over
	refusing atomic.Bool  // seeds are discarded, since the crawl stops
	unsown   atomic.Bool  // a seed was discarded: the crawl has not finished, though nothing is open any more
	failed   atomic.Bool  // the store failed: nothing is settled any more
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

// stageError returns an error that is a fault of the engine itself, and nil for any other: cancellation and abandoned
// calls are reported elsewhere.
func (s *stop) stageError(err error) error {
	if err == nil || s.work.Err() != nil || isA[*stage.AbandonedError](err) {
		return nil
	}
	return err
}

var errGraceOver = errtext.New("the crawl was stopped and its grace is over")

// requestStop asks the crawl to end gracefully. It returns at once and may be called from anywhere.
func (s *stop) requestStop(reason string, cause error) { s.ending.Ask(reason, cause) }

// closeSpider is requestStop for the reason that user code has given to CloseSpider: the crawl has not finished then,
// even if nothing was left to do.
func (s *stop) closeSpider(reason string) { s.ending.Insist(cmp.Or(reason, "closed by the spider")) }

// errInterrupted is the cause of a stop by a signal until the run ends, when it is known what waits.
var errInterrupted = errors.New("interrupted")

// storeFailed ends the crawl because the cache or a committer failed: nothing is settled that was not
// stored. A full memory queue lets the work in hand finish.
func (s *stop) storeFailed(err error) {
	if errors.Is(err, errStoreFailed) {
		return
	}
	if full, ok := errors.AsType[*QueueFullError](err); ok {
		s.requestStop("queue full", full)
		return
	}
	s.failed.Store(true)
	s.ending.Break(&RunError{Op: "store", Err: err})
	s.ending.Hurry(guard.CancelGrace)
}

var errStoreFailed = errtext.New("the store has failed before")
