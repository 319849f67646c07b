package stage

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// FIFO returns a stage with one worker: payloads leave in the order they came.
func FIFO[T any](p Processor[T]) Runner[T] {
	return pool[T]{processor: p, initial: 1, max: 1}
}

// FixedWorkerPool returns a stage of n workers that share input and output, all there from the
// start. The order of payloads is not kept. It panics if n <= 0.
func FixedWorkerPool[T any](p Processor[T], n int) Runner[T] {
	if n <= 0 {
		panic(fmt.Sprintf("stage: FixedWorkerPool: n is %d, must be 1 or more", n))
	}
	return pool[T]{processor: p, initial: n, max: n}
}

// DynamicWorkerPool returns a stage of up to max workers that share input and output. A worker
// starts when all others are busy, so that until max is reached one is always ready to receive;
// then it stays for the rest of the run. The order of payloads is not kept. It panics if max <= 0.
func DynamicWorkerPool[T any](p Processor[T], max int) Runner[T] {
	if max <= 0 {
		panic(fmt.Sprintf("stage: DynamicWorkerPool: max is %d, must be 1 or more", max))
	}
	return pool[T]{processor: p, initial: 1, max: max}
}

// pool is the Runner of all three.
type pool[T any] struct {
	processor    Processor[T]
	initial, max int
}

func (p pool[T]) Run(ctx context.Context, params Params[T]) {
	newCrew(ctx, params, p.processor, NewLimit(p.max)).serve(p.initial)
}

// crew are the workers of one stage in one run.
type crew[T any] struct {
	ctx       context.Context
	run       *run[T]
	params    Params[T]                           // without an Output what has been processed is settled
	next      func(ctx context.Context) (T, bool) // where payloads come from; nil: the Input
	processor Processor[T]
	max       *Limit

	staff sync.WaitGroup // one for each worker that has not left nor been given up
	size  atomic.Int32   // places taken; never falls
	idle  atomic.Int32   // workers that are receiving or about to

	mu      sync.Mutex   // guards workers
	workers []*worker[T] // by place; nil while the worker is being made
}

func newCrew[T any](ctx context.Context, params Params[T], p Processor[T], max *Limit) *crew[T] {
	return &crew[T]{ctx: ctx, run: params.owner(), params: params, processor: p, max: max}
}

// serve starts the first workers and returns when all have left or been given up.
func (c *crew[T]) serve(initial int) {
	c.workers = make([]*worker[T], initial)
	c.size.Store(int32(initial))
	c.idle.Store(int32(initial))
	c.run.enlist(c)
	for place := range initial {
		c.start(place)
	}
	c.staff.Wait()
}

func (c *crew[T]) start(place int) {
	w := &worker[T]{crew: c, place: place}
	ctx, cancel := context.WithCancelCause(c.ctx)
	w.ctx, w.cancel = context.WithValue(ctx, callKey{}, w), cancel
	c.mu.Lock()
	c.workers[place] = w
	c.mu.Unlock()
	c.staff.Add(1)
	go w.work()
}

// receive returns the next payload. ok is false if there is none any more.
func (c *crew[T]) receive() (payload T, more bool) {
	switch {
	case c.next == nil:
		payload, more = <-c.params.Input
	case c.ctx.Err() == nil:
		payload, more = c.next(c.ctx)
	}
	return payload, more
}

// received is called by a worker that has stopped receiving. The last one to do so fetches help.
func (c *crew[T]) received() {
	if c.idle.Add(-1) <= 0 && c.size.Load() < c.max.n.Load() {
		c.grow()
	}
}

// ready is called by a worker that will receive next.
func (c *crew[T]) ready() { c.idle.Add(1) }

func (c *crew[T]) grow() {
	c.mu.Lock()
	place := len(c.workers)
	if int32(place) >= c.max.n.Load() || c.idle.Load() > 0 {
		c.mu.Unlock()
		return
	}
	c.workers = append(c.workers, nil)
	c.idle.Add(1)
	c.size.Store(int32(place + 1))
	c.mu.Unlock()
	c.start(place)
}

// giveUp gives up every call that is running.
func (c *crew[T]) giveUp() {
	c.mu.Lock()
	workers := append([]*worker[T](nil), c.workers...)
	c.mu.Unlock()
	for _, w := range workers {
		if w != nil {
			w.giveUp(w.current())
		}
	}
}

// worker is one goroutine of a crew.
type worker[T any] struct {
	claim
	crew    *crew[T]
	place   int
	ctx     context.Context
	cancel  context.CancelCauseFunc
	payload T // what it is processing; read by giveUp, once that has won the claim
}

func (w *worker[T]) number() int { return w.place }

func (w *worker[T]) work() {
	c := w.crew
	for payload, more := c.receive(); more; payload, more = c.receive() {
		c.received()
		w.payload = payload
		w.take()
		out, err := payload, ErrDrop
		if c.ctx.Err() == nil {
			out, err = c.processor.Process(w.ctx, payload)
		}
		if !w.release() {
			c.run.abandoned(c.params.Stage, -1)
			return
		}
		var none T
		w.payload = none
		c.finish(payload, out, err)
		c.ready()
	}
	c.staff.Done()
}

func (w *worker[T]) giveUp(seen uint64) bool {
	if !w.revoke(seen) {
		return false
	}
	c := w.crew
	c.run.abandoned(c.params.Stage, 1)
	w.cancel(ErrDetached)
	c.run.settle(w.payload)
	c.ready()
	c.start(w.place)
	c.staff.Done()
	return true
}

// finish passes on what has been processed.
func (c *crew[T]) finish(payload, out T, err error) {
	switch {
	case err == nil && c.params.Output != nil:
		c.params.Output <- out
	case err == nil:
		c.run.settle(out)
	case errors.Is(err, ErrDrop):
		c.run.settle(payload)
	default:
		c.run.fail(c.params.Stage, err)
		c.run.settle(payload)
	}
}
