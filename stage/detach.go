package stage

import (
	"context"
	"errors"
	"sync/atomic"
)

// ErrDetached is the cause with which a worker's context is cancelled when its call is given up.
var ErrDetached = errors.New("stage: worker given up")

// Call is one payload in the hands of one worker, from the moment Process (or Consume) is called
// until it returns.
type Call struct {
	worker detacher
	seen   uint64
}

type callKey struct{}

type detacher interface {
	current() uint64
	giveUp(seen uint64) bool
	number() int
}

// CallOf returns the call that the worker to which ctx belongs is in at the moment: taken inside
// Process, the call of this very payload. ctx is the one Process got or one derived from it; any
// other gives a Call that can not be given up.
func CallOf(ctx context.Context) Call {
	worker, ok := ctx.Value(callKey{}).(detacher)
	if !ok {
		return Call{}
	}
	return Call{worker: worker, seen: worker.current()}
}

// Detach gives the call up and reports whether it did: false if the processor has returned or the
// call was given up before. Exactly one of return and Detach wins.
//
// The payload is settled at once, the worker's context is cancelled with [ErrDetached], and a new
// worker takes its place: the old one is not waited for, what it returns later is thrown away. So
// even the processor of a [FIFO] may run twice at the same time then. If the old worker still has
// not returned when the run ends, the run's error holds an [*AbandonedError].
//
// Detach may be called from any goroutine and more than once.
func (c Call) Detach() bool {
	return c.worker != nil && c.worker.giveUp(c.seen)
}

// Worker returns the number of the worker that makes the call, from 0 on. No two workers of a stage have the same one
// at a time, but for one that was given up and the one that took its place. It is −1 for a Call that cannot be
// given up.
func (c Call) Worker() int {
	if c.worker == nil {
		return -1
	}
	return c.worker.number()
}

// Detach gives up whatever call the worker of ctx is in at the moment, as [Call.Detach] does.
// ctx is the one a processor or sink got, or one derived from it; with any other Detach does
// nothing.
//
// A worker and its context serve one payload after the other. Where Detach may come late, as from
// a timer, take the [Call] inside Process instead and detach that: it never hits the next payload.
func Detach(ctx context.Context) bool { return CallOf(ctx).Detach() }

// claim decides which goroutine answers for a payload while user code runs: the goroutine that runs it, or
// somebody who gave it up. Its state is a phase and a count of the claims, so that an old look at it
// is never taken for a new one.
type claim struct{ state atomic.Uint64 }

const (
	phaseFree  = 0 // no user code is running
	phaseTaken = 1
	phaseGone  = 2 // given up, for good
	phaseMask  = 3
	claimStep  = 4
)

func (c *claim) current() uint64 { return c.state.Load() }

// take is called by the goroutine before it enters user code, never after a release that failed.
func (c *claim) take() { c.state.Store(c.state.Load()&^phaseMask + claimStep | phaseTaken) }

// release is called by the goroutine when the user code has returned. It returns false if the code was given up.
func (c *claim) release() bool {
	seen := c.state.Load()
	return seen&phaseMask == phaseTaken && c.state.CompareAndSwap(seen, seen&^phaseMask)
}

// revoke gives up the claim that seen shows. It returns true if the caller answers for the payload now.
func (c *claim) revoke(seen uint64) bool {
	return seen&phaseMask == phaseTaken && c.state.CompareAndSwap(seen, seen&^phaseMask|phaseGone)
}
