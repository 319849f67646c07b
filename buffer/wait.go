package buffer

// waiter is a Put or Get that waits. Whoever takes it off its list sets value or err and then sends on
// ready; nothing else touches it until that was received.
type waiter[T any] struct {
	value      T // of a writer: what to store; of a reader: what it was given
	err        error
	ready      chan struct{} // one place, so that the sender never blocks
	list       *waitList[T]  // nil when on none
	prev, next *waiter[T]
}

// waitList holds waiters in the order they came.
type waitList[T any] struct {
	first, last *waiter[T]
}

func (l *waitList[T]) push(w *waiter[T]) {
	w.list, w.prev = l, l.last
	if l.last == nil {
		l.first = w
	} else {
		l.last.next = w
	}
	l.last = w
}

// pop takes the waiter that came first, nil if there is none.
func (l *waitList[T]) pop() *waiter[T] {
	w := l.first
	if w != nil {
		l.remove(w)
	}
	return w
}

func (l *waitList[T]) remove(w *waiter[T]) {
	if w.prev == nil {
		l.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		l.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.list, w.prev, w.next = nil, nil, nil
}
