package stage

import (
	"context"
	"errors"
	"reflect"
)

// Source produces the payloads of a pipeline. Its methods are called from one goroutine, in the
// order Next, Payload, Next, Payload, …, Next, Error. Next may block, but should return when ctx is
// done: see [Pipeline.ProcessUntil] for what becomes of one that does not.
type Source[T any] interface {
	// Next advances to the next payload. It returns false when there is none or an error occurred.
	// It is not called any more after a cancellation.
	Next(ctx context.Context) bool
	// Payload returns the payload that Next advanced to.
	Payload() T
	// Error returns what ended the source, or nil at its regular end. It is called once, after
	// Next has returned false.
	Error() error
}

// Sink consumes what has passed all stages. Consume is called from one goroutine at a time (two
// only if a call was given up by [Detach]); it may block, which holds back the stages.
// An error that is not [ErrDrop] cancels the pipeline.
type Sink[T any] interface {
	Consume(ctx context.Context, payload T) error
}

// Processor is the work of a stage. Process returns the payload to send on, which may be another
// value that stands for the one it was given: then that one is settled later, once for both. It
// returns [ErrDrop] to take the payload out; any other error cancels the pipeline. With an error the
// returned payload is ignored and the given one is settled.
//
// In a pool Process is called concurrently. It should return when ctx is done, which it is when the
// run is cancelled or over, or the worker is given up. ctx is the same for all payloads of a worker:
// a context for one payload is derived from it.
type Processor[T any] interface {
	Process(ctx context.Context, payload T) (T, error)
}

// ProcessorFunc is a function as a [Processor].
type ProcessorFunc[T any] func(ctx context.Context, payload T) (T, error)

// Process calls f.
func (f ProcessorFunc[T]) Process(ctx context.Context, payload T) (T, error) { return f(ctx, payload) }

// ErrDrop is returned by a [Processor] to take its payload out of the pipeline without an error.
// An error that wraps it drops as well.
var ErrDrop = errors.New("stage: drop payload")

// Payload is optional for the payload type. MarkAsProcessed is called exactly once per payload that
// left the source (and per clone that [Broadcast] made): when the sink has consumed it, it was
// dropped, it failed, or it was given up. If a processor put another value in its place it is called
// on that one, unless the call was given up before.
//
// It is called from the goroutine that settles the payload, must not block and must not panic.
// When a worker is given up, that is while its processor may still be using the payload: payloads
// that go back to a pool here do not go together with [Detach] and [Pipeline.ProcessUntil].
type Payload interface {
	MarkAsProcessed()
}

// Cloner is required of the payload type by [Broadcast] with two processors or more. Clone returns
// a deep copy; it leaves the original as it was, also its read positions, must not block, and is
// called before any processor of the stage sees the original.
type Cloner[T any] interface {
	Clone() T
}

// Runner is how a stage dispatches payloads to its processor. One Runner may be in several runs at
// once, so what belongs to a run lives in Run.
//
// Run blocks until p.Input is closed or ctx is done, and all goroutines it started have left. It
// does not close p.Output: the pipeline does when Run has returned. After ctx is done it processes
// nothing further. What it leaves in p.Input is settled by the pipeline, and is an error as long as
// ctx is not done.
//
// Every payload that Run receives it sends to p.Output once or settles once with p.Settle.
type Runner[T any] interface {
	Run(ctx context.Context, p Params[T])
}

// Params are what a [Runner] gets from its pipeline. A Runner that wraps another one may pass it a
// copy with other channels, as long as it keeps the rule of the package: it closes the Input, also
// after a cancellation, and receives from the Output until Run has returned.
type Params[T any] struct {
	// Stage is the index of the stage, from 0.
	Stage int
	// Input is closed by its owner after the last payload and after a cancellation.
	Input <-chan T
	// Output is received from until it is closed: a send needs no select. Given a nil Output, the
	// runners of this package settle what has been processed.
	Output chan<- T
	// GiveUp is closed when Run has to return at once and leave behind what does not return, which
	// it reports with Abandoned. It is nil, which blocks forever, in [Pipeline.Process].
	GiveUp <-chan struct{}

	run *run[T]
}

// Fail reports an error of the stage, which cancels the pipeline. It never blocks; no error is lost.
// An error that is just the pipeline's cancellation itself, ctx.Err() or its cause, is not repeated.
func (p Params[T]) Fail(err error) { p.owner().fail(p.Stage, err) }

// Settle ends the life of a payload that is not sent on: it is marked as processed.
func (p Params[T]) Settle(payload T) { p.owner().settle(payload) }

// Abandoned adds n goroutines to those left behind in user code. A goroutine that comes back later
// takes itself off with -1. What is left when the run ends makes its [*AbandonedError].
func (p Params[T]) Abandoned(n int) { p.owner().abandoned(p.Stage, n) }

func (p Params[T]) owner() *run[T] {
	if p.run == nil {
		panic("stage: Params were not made by a Pipeline")
	}
	return p.run
}

// marker returns how to tell payloads of type T that they are processed, nil if they do not ask.
func marker[T any]() func(T) {
	t := reflect.TypeFor[T]()
	switch {
	case t.Implements(reflect.TypeFor[Payload]()):
		return func(payload T) { any(payload).(Payload).MarkAsProcessed() }
	case t.Kind() == reflect.Interface:
		return func(payload T) {
			if p, ok := any(payload).(Payload); ok {
				p.MarkAsProcessed()
			}
		}
	}
	return nil
}
