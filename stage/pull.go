package stage

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Pull runs a single stage whose workers fetch their payloads themselves: what a worker has just got no other
// goroutine has to be woken for, and one that has done with a payload goes on with the next at once. It settles every
// payload by the end of its processor, and returns when there are no more and the last worker has left.
//
// next returns the next payload; false means that there is none any more, for any worker. Several workers call it at a
// time. It may block, and has to return false when ctx is done; a payload that comes all the same is settled without
// being processed.
//
// Up to max workers are started as by [DynamicWorkerPool]: while next has something to give and fewer than max are
// busy, one worker at least is in next. Errors, cancellation, [Detach] and [Payload] are those of
// [Pipeline.Process]; what the processor returns without an error is settled. Pull panics if max <= 0.
func Pull[T any](ctx context.Context, max int, next func(ctx context.Context) (T, bool), p Processor[T]) error {
	if max <= 0 {
		panic(fmt.Sprintf("stage: Pull: max is %d, must be 1 or more", max))
	}
	return PullUpTo(ctx, NewLimit(max), next, p)
}

// PullUpTo is [Pull] with a number of workers that can be raised while it runs.
func PullUpTo[T any](ctx context.Context, max *Limit, next func(ctx context.Context) (T, bool), p Processor[T]) error {
	r := &run[T]{mark: marker[T]()}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	c := newCrew(r.ctx, Params[T]{run: r}, p, max)
	c.next = next
	grow := c.grow
	max.grow.Store(&grow)
	defer max.grow.Store(nil)
	c.serve(1)
	return r.result(ctx)
}

// Limit is the most workers that [PullUpTo] starts. Make one with [NewLimit], for one call. It may be used concurrently.
type Limit struct {
	n    atomic.Int32
	grow atomic.Pointer[func()] // starts a worker if none is idle; nil before and after the call
}

// NewLimit makes a limit. It panics if n <= 0.
func NewLimit(n int) *Limit {
	if n <= 0 {
		panic(fmt.Sprintf("stage: NewLimit: n is %d, must be 1 or more", n))
	}
	l := &Limit{}
	l.n.Store(int32(n))
	return l
}

// Raise sets the limit to n if it is lower.
func (l *Limit) Raise(n int) {
	for {
		is := l.n.Load()
		if is >= int32(n) {
			return
		}
		if l.n.CompareAndSwap(is, int32(n)) {
			break
		}
	}
	if grow := l.grow.Load(); grow != nil {
		(*grow)()
	}
}
