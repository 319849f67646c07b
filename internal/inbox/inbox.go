// Package inbox receives what user code sends on a channel, until the code has returned.
//
// User code may send at any time, even after it has returned and against the rules, and may close the channel. So the channel is
// never closed by its owner. A fence follows the last value instead: a value that no user code has. When the fence arrives, all that
// was sent before it has been taken.
//
//	in := new(inbox.Inbox[*Context, *batch])
//	in.Init(batch, 64)
//	in.Start()               // or later, or never: then Close takes what there is room for
//	callUserCode(in.C)
//	in.Close()               // all that the code has sent is taken
package inbox

import "sync"

// Taker takes the values of one inbox, in one goroutine at a time.
type Taker[V any] interface {
	Add(v V)
	Store() // those that were added
	Fence() V
	ClosedByUser() // user code has closed the channel
}

// Discard takes values that nobody wants. Mark is its fence.
type Discard[V any] struct{ Mark V }

// Add discards a value.
func (d Discard[V]) Add(V) {}

// Store does nothing.
func (d Discard[V]) Store() {}

// Fence returns Mark.
func (d Discard[V]) Fence() V { return d.Mark }

// ClosedByUser does nothing.
func (d Discard[V]) ClosedByUser() {}

// Inbox receives the values of one call of user code, or of calls that follow each other. Init comes first. It must not be copied.
type Inbox[V comparable, T Taker[V]] struct {
	C  chan V // that the code sends to
	to T

	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	started bool       // there is a receiver
	closed  bool
}

// Init prepares an inbox with room for so many values that wait.
func (in *Inbox[V, T]) Init(to T, room int) { in.C, in.to = make(chan V, room), to }

// Start lets the inbox receive, unless it does already or is closed.
func (in *Inbox[V, T]) Start() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.started && !in.closed {
		in.started = true
		in.running.Add(1)
		go in.receive()
	}
}

// receive takes values until the fence. Those that come at the same time are taken together.
func (in *Inbox[V, T]) receive() {
	defer in.running.Done()
	deepen(0)
	fence := in.to.Fence()
	defer in.to.Store()
	for {
		v, open := in.next()
		if !open || v == fence {
			return
		}
		in.to.Add(v)
	}
}

// deepen makes the stack of a new goroutine large enough for taking a value, while there is next to nothing on it that would have to
// be moved.
//
//go:noinline
func deepen(i int) byte {
	var room [4 << 10]byte
	return room[i]
}

// next waits for a value, after those that have come are stored.
func (in *Inbox[V, T]) next() (v V, open bool) {
	select {
	case v, open = <-in.C:
	default:
		in.to.Store()
		v, open = <-in.C
	}
	return v, open
}

// Close waits until everything that was sent has been taken. The channel stays open: what is sent after that, against the rules, is
// not received.
func (in *Inbox[V, T]) Close() {
	in.mu.Lock()
	in.closed = true
	started := in.started
	in.mu.Unlock()
	if !started {
		in.drain()
		return
	}
	if SendFence(in.C, in.to.Fence()) {
		in.to.ClosedByUser()
	}
	in.running.Wait()
}

// drain takes the values that were sent, without a receiver.
func (in *Inbox[V, T]) drain() {
	defer in.to.Store()
	for {
		select {
		case v, open := <-in.C:
			if !open {
				in.to.ClosedByUser()
				return
			}
			in.to.Add(v)
		default:
			return
		}
	}
}

// SendFence sends the mark that follows the last value that user code sent. It reports whether user code has closed the channel,
// against the rules: that must not end the process.
func SendFence[V any](c chan<- V, fence V) (closed bool) {
	defer func() { closed = recover() != nil }()
	c <- fence
	return false
}
