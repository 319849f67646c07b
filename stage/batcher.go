package stage

import (
	"sync"
	"time"
)

// Batcher gathers the things that many goroutines add, and hands them on in batches, one after the other, in the one goroutine that calls
// Run. Batches begin a while apart, so that each of them gathers more, unless there is haste. B is the type of a batch, usually
// a slice or a struct of slices.
//
// Make one with [NewBatcher]. Add, Hurry and Close may be called concurrently, also while a batch is being handled.
type Batcher[B any] struct {
	apart time.Duration
	hasty func() bool
	wake  chan struct{} // one token: there is something to hand on
	haste chan struct{} // one token ends a pause

	mu     sync.Mutex // guards the fields below
	next   *B
	some   bool // there is something in next
	closed bool
}

// NewBatcher returns a Batcher whose batches begin apart after one another, or later. A batch begins earlier if Hurry is called, or
// if hasty returns true when the pause is about to begin or something is added. A nil hasty never does. It is called without
// locks of the Batcher.
func NewBatcher[B any](apart time.Duration, hasty func() bool) *Batcher[B] {
	if hasty == nil {
		hasty = func() bool { return false }
	}
	return &Batcher[B]{
		apart: apart, hasty: hasty,
		wake: make(chan struct{}, 1), haste: make(chan struct{}, 1), next: new(B),
	}
}

// Add has add put something into the next batch. It returns full if the batch is so large that it must not wait. It is called
// with the Batcher locked, and must not wait itself.
func (b *Batcher[B]) Add(add func(batch *B) (full bool)) {
	b.mu.Lock()
	full := add(b.next)
	first := !b.some
	b.some = true
	b.mu.Unlock()
	if first {
		token(b.wake)
	}
	if full || b.hasty() {
		b.Hurry()
	}
}

// Hurry ends the pause before the next batch.
func (b *Batcher[B]) Hurry() { token(b.haste) }

// Close lets Run return once everything that was added has been handled.
func (b *Batcher[B]) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	token(b.wake)
	b.Hurry()
}

// Run calls handle with each batch, until Close. handle leaves the batch empty: the Batcher uses its memory again.
func (b *Batcher[B]) Run(handle func(batch *B)) {
	var began time.Time // the newest batch
	spare := new(B)
	for range b.wake {
		for {
			b.pause(b.apart - time.Since(began))
			began = time.Now()
			b.mu.Lock()
			batch, some, closed := b.next, b.some, b.closed
			b.next, b.some = spare, false
			b.mu.Unlock()
			if some {
				handle(batch)
			}
			spare = batch
			b.mu.Lock()
			more := b.some
			b.mu.Unlock()
			if closed && !more {
				return
			}
			if !more {
				break
			}
		}
	}
}

// pause waits for that time, unless there is haste.
func (b *Batcher[B]) pause(wait time.Duration) {
	if wait <= 0 || b.hasty() {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.haste:
	}
}

// token puts one into a channel that has room for one, unless one is there: whoever takes it knows that something has come
// since.
func token(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
