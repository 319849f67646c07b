// Package inbox receives what user code sends on a channel, until the code has returned.
//
// User code may send at any time, even after it has returned and against the rules, and may close the channel. So the channel is
// never closed by its owner. A fence follows the last value instead: a value that no user code has. When the fence arrives, all that
// was sent before it has been taken.
//
//	in := new(inbox.Inbox[*Context, emission])
//	in.Init(acceptor, from, 64)
//	in.Start()               // or later, or never: then Close takes what there is room for
//	callUserCode(in.C)
//	in.Close()               // all that the code has sent is taken
package inbox

import "sync"

// Taker takes what inboxes receive. F says where it comes from.
type Taker[V, F any] interface {
	Take(from F) Batch[V]
	Fence() V
	ClosedByUser(from F) // user code has closed the channel
}

// Batch takes values of one sender together.
type Batch[V any] interface {
	Add(v V)
	Store() // those that were added
}

// Discard takes values that nobody wants. Mark is its fence.
type Discard[V, F any] struct{ Mark V }

// Take returns a batch that takes nothing.
func (d Discard[V, F]) Take(F) Batch[V] { return d }

// Add discards a value.
func (d Discard[V, F]) Add(V) {}

// Store does nothing.
func (d Discard[V, F]) Store() {}

// Fence returns Mark.
func (d Discard[V, F]) Fence() V { return d.Mark }

// ClosedByUser does nothing.
func (d Discard[V, F]) ClosedByUser(F) {}

// Inbox receives the values of one call of user code, or of calls that follow each other. Init comes first. It must not be copied.
type Inbox[V comparable, F any] struct {
	C    chan V // that the code sends to
	to   Taker[V, F]
	from F

	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	started bool       // there is a receiver
	closed  bool
}

// Init prepares an inbox with room for so many values that wait.
func (in *Inbox[V, F]) Init(to Taker[V, F], from F, room int) {
	in.C, in.to, in.from = make(chan V, room), to, from
}

// Start lets the inbox receive, unless it does already or is closed.
func (in *Inbox[V, F]) Start() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.started && !in.closed {
		in.started = true
		in.running.Add(1)
		go in.receive()
	}
}

// receive takes values until the fence. Those that come at the same time are taken together.
func (in *Inbox[V, F]) receive() {
	defer in.running.Done()
	deepen(0)
	b, fence := in.to.Take(in.from), in.to.Fence()
	defer b.Store()
	for {
		v, open := in.next(b)
		if !open || v == fence {
			return
		}
		b.Add(v)
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
func (in *Inbox[V, F]) next(b Batch[V]) (v V, open bool) {
	select {
	case v, open = <-in.C:
	default:
		b.Store()
		v, open = <-in.C
	}
	return v, open
}

// Close waits until everything that was sent has been taken. The channel stays open: what is sent after that, against the rules, is
// not received.
func (in *Inbox[V, F]) Close() {
	in.mu.Lock()
	in.closed = true
	started := in.started
	in.mu.Unlock()
	if !started {
		in.drain()
		return
	}
	if SendFence(in.C, in.to.Fence()) {
		in.to.ClosedByUser(in.from)
	}
	in.running.Wait()
}

// drain takes the values that were sent, without a receiver.
func (in *Inbox[V, F]) drain() {
	var b Batch[V]
	for {
		select {
		case v, open := <-in.C:
			if !open {
				in.to.ClosedByUser(in.from)
				return
			}
			if b == nil {
				b = in.to.Take(in.from)
				defer b.Store()
			}
			b.Add(v)
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
