package buffer

import "sync"

// Buffer is a first-in-first-out buffer of fixed size whose methods never block. It is safe for
// concurrent use. Make one with [NewBuffer].
type Buffer[T any] struct {
	mu     sync.Mutex // guards everything below
	ring   []T
	head   int // index of the oldest value
	n      int // values held
	closed bool
}

// NewBuffer returns an empty buffer for capacity values. A capacity below 1 is an
// [*IllegalParameterError].
func NewBuffer[T any](capacity int) (*Buffer[T], error) {
	if capacity < 1 {
		return nil, &IllegalParameterError{Name: "capacity", Value: capacity, Want: "1 or more"}
	}
	return &Buffer[T]{ring: make([]T, capacity)}, nil
}

// Cap returns how many values the buffer can hold.
func (b *Buffer[T]) Cap() int { return len(b.ring) }

// Len returns how many values the buffer holds now.
func (b *Buffer[T]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.n
}

// Put adds v as the newest value. It returns false if the buffer is full, and [ErrClosedBuffer] if
// it is closed; in both cases v was not stored.
func (b *Buffer[T]) Put(v T) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, ErrClosedBuffer
	}
	if b.n == len(b.ring) {
		return false, nil
	}
	i := b.head + b.n
	if i >= len(b.ring) {
		i -= len(b.ring)
	}
	b.ring[i] = v
	b.n++
	return true, nil
}

// Get takes the oldest value. ok is false if there is none; err is then [ErrClosedBuffer] if the
// buffer is closed, so that no more will come, and nil if it is only empty.
func (b *Buffer[T]) Get() (v T, ok bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		if b.closed {
			err = ErrClosedBuffer
		}
		return v, false, err
	}
	var zero T
	v, b.ring[b.head] = b.ring[b.head], zero
	b.n--
	if b.head++; b.head == len(b.ring) {
		b.head = 0
	}
	return v, true, nil
}

// Close refuses further values; those inside can still be taken. It returns true the first time
// and false ever after.
func (b *Buffer[T]) Close() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	first := !b.closed
	b.closed = true
	return first
}

// Closed reports whether Close was called.
func (b *Buffer[T]) Closed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}
