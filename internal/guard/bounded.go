package guard

import (
	"context"
	"errors"
	"sync"
	"time"
)

// ErrSilent is the error of [Receive] where nothing came in time.
var ErrSilent = errors.New("guard: no result came in time")

// Receive waits for a result until due, or until ctx ends: then its cause is the error. A result that is there is taken in any case.
func Receive[T any](ctx context.Context, results <-chan T, due time.Time) (got T, err error) {
	select {
	case got = <-results:
		return got, nil
	default:
	}
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case got = <-results:
		return got, nil
	case <-ctx.Done():
		return got, context.Cause(ctx)
	case <-timer.C:
		return got, ErrSilent
	}
}

// Sender is the part of an [BoundedCall] that is the same whatever its code does: the code has a context of its own and sends results
// on a channel, and may go on doing so when it was given up. Start it before its first use, and close it when its results do not
// count any more. It must not be copied.
type Sender[T any] struct {
	Life    Context // of the code
	results chan T
	apart   bool // the code runs in a goroutine of its own

	mu       sync.Mutex    // guards the fields below
	returned bool          // the code has
	gone     chan struct{} // closed when the code has returned; nil unless Abandoned waits for that
}

// Start prepares for code that lives no longer than parent and sends to results.
func (s *Sender[T]) Start(parent context.Context, results chan T) {
	s.Life.Parent, s.results = parent, results
}

// Apart runs the code as [Protect] does, in a goroutine of its own, for a piece of c that is running. The error is [ErrGivenUp] if the
// call was given up and the code is left behind, and [ErrGoexit] if the code has ended its goroutine. Without Apart the code runs in
// the goroutine of the piece.
func (s *Sender[T]) Apart(c *Call, code func() error) error {
	s.apart = true
	var failed error // belongs to the code until it has returned
	running := Go(func() {
		defer s.end()
		failed = Protect(code)
	})
	select {
	case <-running.Done():
		if !running.Returned() {
			return ErrGoexit
		}
		return failed
	case <-c.whenLeft():
		return ErrGivenUp
	}
}

// Close cancels the code; its results do not count any more. Code in the goroutine of the piece has returned then.
func (s *Sender[T]) Close() {
	s.Life.Cancel(nil)
	if !s.apart {
		s.end()
	}
}

// Cancel cancels the code's context.
func (s *Sender[T]) Cancel(cause error) { s.Life.Cancel(cause) }

// end notes that the code has returned.
func (s *Sender[T]) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.returned = true
	if s.gone != nil {
		close(s.gone)
	}
}

// Abandoned is called when the code was given up. If it sends more results than the channel has room for, it does not wait for
// ever.
func (s *Sender[T]) Abandoned() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.returned || s.gone != nil {
		return
	}
	s.gone = make(chan struct{})
	Go(func() { // until the code returns
		for {
			select {
			case <-s.results:
			case <-s.gone:
				return
			}
		}
	})
}
