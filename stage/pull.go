package stage

import (
	"context"
	"fmt"
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
	r := &run[T]{mark: marker[T]()}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)
	c := newCrew(r.ctx, Params[T]{run: r}, p, max)
	c.next = next
	c.serve(1)
	return r.result(ctx)
}
