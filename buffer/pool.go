package buffer

import (
	"context"
	"math"
	"sync"
)

// emptyRounds is how many Gets must find a pool empty, with no need for its last buffer in
// between, before the pool gives that buffer back.
const emptyRounds = 10

// Pool is an elastic first-in-first-out queue whose Put and Get block. It is safe for any number
// of concurrent writers and readers; those that wait are served in the order they came, without
// using the processor meanwhile. Every operation takes constant time. Make one with [NewPool].
//
// # How it grows and shrinks
//
// A pool has room for BufferNumber × BufferCap values. A Put that finds all buffers full adds a
// buffer and succeeds, until there are MaxBufferNumber of them: only then does it wait. So n
// values put without a Get make exactly ⌈n / BufferCap⌉ buffers.
//
// A Get that finds all buffers empty is an empty round. After ten of them in which the last
// buffer was not needed, the pool gives this buffer back and counts anew. One always stays.
type Pool[T any] struct {
	bufferCap int
	maxNumber int
	waiters   sync.Pool // of *waiter[T]

	mu     sync.Mutex // guards everything below
	values fifo[T]
	number int // buffers, 1 to maxNumber
	empty  int // empty rounds since the last buffer was needed or given back
	closed bool
	// At most one of these is not empty: getters wait only while there are no values, putters only
	// while there is no room.
	getters, putters waitList[T]
}

// NewPool returns an empty pool of one buffer for bufferCap values that may grow to
// maxBufferNumber such buffers. A number below 1, or a product that does not fit an int, is an
// [*IllegalParameterError].
func NewPool[T any](bufferCap, maxBufferNumber int) (*Pool[T], error) {
	if bufferCap < 1 {
		return nil, &IllegalParameterError{Name: "bufferCap", Value: bufferCap, Want: "1 or more"}
	}
	if maxBufferNumber < 1 {
		return nil, &IllegalParameterError{Name: "maxBufferNumber", Value: maxBufferNumber, Want: "1 or more"}
	}
	if bufferCap > math.MaxInt/maxBufferNumber {
		return nil, &IllegalParameterError{Name: "maxBufferNumber", Value: maxBufferNumber,
			Want: "a product with bufferCap that fits an int"}
	}
	p := &Pool[T]{bufferCap: bufferCap, maxNumber: maxBufferNumber, number: 1}
	p.waiters.New = func() any { return &waiter[T]{ready: make(chan struct{}, 1)} }
	p.values.init(bufferCap)
	return p, nil
}

// BufferCap returns how many values one buffer holds.
func (p *Pool[T]) BufferCap() int { return p.bufferCap }

// MaxBufferNumber returns how many buffers the pool may have.
func (p *Pool[T]) MaxBufferNumber() int { return p.maxNumber }

// BufferNumber returns how many buffers the pool has now: 1 to MaxBufferNumber.
func (p *Pool[T]) BufferNumber() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.number
}

// Total returns how many values the pool holds now. Values of writers that wait are not in it.
func (p *Pool[T]) Total() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.values.n
}

// Put adds v as the newest value and waits while the pool is full and cannot grow. If it returns
// an error, v was not stored: [ErrClosedBufferPool] if the pool is closed or gets closed while Put
// waits, else the cause of ctx ([context.Cause]) if that is done before there is room or was
// already done at the call.
func (p *Pool[T]) Put(ctx context.Context, v T) error {
	done := ctx.Err() != nil
	p.mu.Lock()
	switch {
	case p.closed:
		p.mu.Unlock()
		return ErrClosedBufferPool
	case done:
		p.mu.Unlock()
		return context.Cause(ctx)
	case p.tryPut(v):
		p.mu.Unlock()
		return nil
	}
	w := p.waiters.Get().(*waiter[T])
	w.value = v
	_, err := p.wait(ctx, &p.putters, w)
	return err
}

// TryPut is a Put that does not wait: false means that the pool is full and cannot grow, or closed.
func (p *Pool[T]) TryPut(v T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.closed && p.tryPut(v)
}

// tryPut adds v if that takes no waiting. The caller holds mu.
func (p *Pool[T]) tryPut(v T) bool {
	switch {
	case p.getters.first != nil:
		w := p.getters.pop()
		w.value = v
		w.ready <- struct{}{}
		return true
	case p.values.n == p.number*p.bufferCap && p.number == p.maxNumber:
		return false
	case p.values.n == p.number*p.bufferCap:
		p.number++
	}
	p.store(v)
	return true
}

// Get takes the oldest value and waits while there is none. [ErrClosedBufferPool] means that the
// pool is closed and drained; else an error is the cause of ctx ([context.Cause]), which was done
// before there was a value or already at the call. No value is lost with an error.
func (p *Pool[T]) Get(ctx context.Context) (T, error) {
	var zero T
	done := ctx.Err() != nil
	p.mu.Lock()
	switch {
	case p.closed && p.values.n == 0:
		p.mu.Unlock()
		return zero, ErrClosedBufferPool
	case done:
		p.mu.Unlock()
		return zero, context.Cause(ctx)
	case p.values.n > 0:
		v := p.values.pop()
		if w := p.putters.pop(); w != nil {
			p.store(w.value)
			w.ready <- struct{}{}
		}
		p.mu.Unlock()
		return v, nil
	}
	p.countEmptyRound()
	return p.wait(ctx, &p.getters, p.waiters.Get().(*waiter[T]))
}

// Close ends the pool: Puts that wait and all later ones get [ErrClosedBufferPool]; Gets take the
// values that are left, then get it too. It returns true the first time and false ever after.
func (p *Pool[T]) Close() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.closed = true
	for _, list := range []*waitList[T]{&p.getters, &p.putters} {
		for w := list.pop(); w != nil; w = list.pop() {
			w.err = ErrClosedBufferPool
			w.ready <- struct{}{}
		}
	}
	return true
}

// Closed reports whether Close was called.
func (p *Pool[T]) Closed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// store adds a value for which there is room. The caller holds mu.
func (p *Pool[T]) store(v T) {
	p.values.push(v)
	if p.values.n > (p.number-1)*p.bufferCap {
		p.empty = 0
	}
}

// countEmptyRound counts a Get that found nothing. The caller holds mu.
func (p *Pool[T]) countEmptyRound() {
	if p.number == 1 {
		return
	}
	if p.empty++; p.empty == emptyRounds {
		p.empty = 0
		p.number--
		p.values.trim(p.number)
	}
}

// wait releases mu, which the caller holds, and returns when w was served, the pool was closed or
// ctx is done. What it returns for a writer is only the error.
func (p *Pool[T]) wait(ctx context.Context, list *waitList[T], w *waiter[T]) (T, error) {
	list.push(w)
	p.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
		p.mu.Lock()
		if w.list != nil {
			list.remove(w)
			w.err = context.Cause(ctx)
			p.mu.Unlock()
		} else {
			// Served or closed in the same moment: that stands, or a value would be lost.
			p.mu.Unlock()
			<-w.ready
		}
	}
	v, err := w.value, w.err
	var zero T
	w.value, w.err = zero, nil
	p.waiters.Put(w)
	if err != nil {
		return zero, err
	}
	return v, nil
}
