package guard

import (
	"errors"
	"time"
)

// Apart is code in a goroutine of its own, which may be left behind. Make one with [Go].
type Apart struct {
	done     chan struct{}
	returned bool // set before done is closed
}

// Go runs code in a goroutine of its own. Whoever calls it waits for Done, or leaves the code behind.
func Go(code func()) *Apart {
	a := &Apart{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		code()
		a.returned = true
	}()
	return a
}

// Done returns a channel that is closed when the code has returned, or has ended its goroutine.
func (a *Apart) Done() <-chan struct{} { return a.done }

// Returned reports, once Done is closed, whether the code has returned; false if it has ended its goroutine by
// runtime.Goexit.
func (a *Apart) Returned() bool { return a.returned }

// Await waits for done to be closed, as long as a [CancelGrace]. It returns false if that was too short.
func Await(done <-chan struct{}) bool {
	grace := time.NewTimer(CancelGrace)
	defer grace.Stop()
	select {
	case <-done:
		return true
	case <-grace.C:
		return false
	}
}

// Why code has not come to its end.
var (
	ErrClosed  = errors.New("guard: the watch is closed")
	ErrGivenUp = errors.New("guard: the code was given up")
)

// Apart runs a single piece of a call in a goroutine of its own: the caller goes on when the code is given up, and its
// owner has been notified. The error is nil if the code has returned, [ErrGivenUp] if it was given up, or [ErrClosed] if it did not
// run.
func (w *Watch) Apart(c *Call, at string, code func()) error {
	left := c.whenLeft()
	if !w.Enter(c, at) {
		return ErrClosed
	}
	var alive bool // once the code has returned
	a := Go(func() {
		code()
		alive = w.Exit(c)
	})
	select {
	case <-a.Done():
		switch {
		case !a.Returned():
			w.goexit(c)
		case alive:
			return nil
		}
	case <-left:
	}
	<-left
	return ErrGivenUp
}
