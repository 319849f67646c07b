package tegenaria

import (
	"sync"
)

// inbox receives requests from user code until the code has returned. It belongs to one call of
// user code, or to the calls of one job that follow each other.
type inbox struct {
	ch      chan *Context
	to      taker    // nil: requests that it receives are discarded
	from    emission // of all that it receives
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	started bool       // there is a receiver
	closed  bool
}

// taker takes the requests of inboxes: the acceptor.
type taker interface {
	take(from emission) requests
	closedByUser(from emission)
}

// requests are taken from one sender.
type requests interface {
	add(ctx *Context)
	store() // those that were added
}

// How many requests an inbox holds for its receiver: one of a parser that sends on the channel, and one that is made for each page,
// of code that seldom sends.
const inboxBuffer, lateBuffer = 64, 16

// fence follows the last request that was sent: when it arrives, all before it have been accepted.
var fence = new(Context)

// newInbox makes an inbox that receives.
func newInbox(to taker, from emission) *inbox {
	in := &inbox{ch: make(chan *Context, inboxBuffer), to: to, from: from}
	in.Start()
	return in
}

// Start lets the inbox receive.
func (in *inbox) Start() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.started || in.closed {
		return
	}
	in.started = true
	in.running.Add(1)
	go in.receive()
}

// receive accepts until the fence. Requests that come at the same time are accepted together.
func (in *inbox) receive() {
	defer in.running.Done()
	deepen(0)
	if in.to == nil {
		for ctx := range in.ch {
			if ctx == fence {
				return
			}
		}
		return
	}
	b := in.to.take(in.from)
	defer b.store()
	for {
		ctx, open := in.next(b)
		if !open || ctx == fence {
			return
		}
		b.add(ctx)
	}
}

// deepen makes the stack of a new goroutine large enough for accepting a request, while there is next to nothing on it that
// would have to be moved.
//
//go:noinline
func deepen(i int) byte {
	var room [4 << 10]byte
	return room[i]
}

// next waits for a request, after those that have come are accepted.
func (in *inbox) next(b requests) (ctx *Context, open bool) {
	select {
	case ctx, open = <-in.ch:
	default:
		b.store()
		ctx, open = <-in.ch
	}
	return ctx, open
}

// close waits until everything sent has been accepted. The channel stays open: requests sent after that,
// against the rules, are not received.
func (in *inbox) close() {
	in.mu.Lock()
	in.closed = true
	started := in.started
	in.mu.Unlock()
	if !started {
		in.drain()
		return
	}
	if sendFence(in.ch, fence) && in.to != nil {
		in.to.closedByUser(in.from)
	}
	in.running.Wait()
}

// drain receives the requests that were sent, without a receiver.
func (in *inbox) drain() {
	var b requests
	for {
		select {
		case ctx, open := <-in.ch:
			if !open {
				in.to.closedByUser(in.from)
				return
			}
			if b == nil {
				b = in.to.take(in.from)
				defer b.store()
			}
			b.add(ctx)
		default:
			return
		}
	}
}

// sendFence sends the mark that follows the last value that user code sent. It reports whether user code has closed
// the channel, against the rules: that must not end the process.
func sendFence[T any](ch chan<- T, fence T) (closed bool) {
	defer func() { closed = recover() != nil }()
	ch <- fence
	return false
}

// closeRequests waits until all requests that the job's user code sent are accepted.
func (j *job) closeRequests() {
	if j.inbox != nil {
		j.inbox.close()
		j.inbox = nil
	}
}
