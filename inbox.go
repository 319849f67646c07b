package tegenaria

import (
	"errors"
	"sync"
)

// inbox receives requests from user code until the code has returned. It belongs to one call of
// user code, or to the calls of one job that follow each other.
type inbox struct {
	ch      chan *Context
	crawl   *crawl   // nil: what it receives is discarded
	from    emission // of all that it receives
	running sync.WaitGroup

	mu      sync.Mutex // guards what follows
	started bool       // there is a receiver
	closed  bool
}

// inboxBuffer is how many requests an inbox holds for its receiver.
const inboxBuffer = 16

// fence follows the last request that was sent: what came before it has been accepted.
var fence = new(Context)

// newInbox makes an inbox that receives.
func newInbox(c *crawl, from emission) *inbox {
	in := newLateInbox(c, from)
	in.start()
	return in
}

func newLateInbox(c *crawl, from emission) *inbox {
	return &inbox{ch: make(chan *Context, inboxBuffer), crawl: c, from: from}
}

// lateInbox makes the job's inbox for code that seldom sends anything and does not take long: the watch starts the
// receiver if it does, or else close receives what there is.
func (j *job) lateInbox() *inbox {
	in := &j.quiet
	if in.ch != nil {
		return newLateInbox(j.crawl, emission{parent: j}) // what knows the first one may still look at it
	}
	in.ch, in.crawl, in.from = make(chan *Context, inboxBuffer), j.crawl, emission{parent: j}
	return in
}

func (in *inbox) start() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.started || in.closed {
		return
	}
	in.started = true
	in.running.Add(1)
	go in.receive()
}

// receive accepts until the fence. What comes at the same time is accepted together.
func (in *inbox) receive() {
	defer in.running.Done()
	b := batch{crawl: in.crawl, from: in.from}
	defer b.store()
	for {
		ctx, open := in.next(&b)
		if !open || ctx == fence {
			return
		}
		if in.crawl != nil {
			b.add(ctx)
		}
	}
}

// next waits for a request, but not before what has come is accepted.
func (in *inbox) next(b *batch) (ctx *Context, open bool) {
	select {
	case ctx, open = <-in.ch:
	default:
		b.store()
		ctx, open = <-in.ch
	}
	return ctx, open
}

// close waits until everything sent has been accepted. The channel stays open: whoever still sends, against
// the rules, is not heard.
func (in *inbox) close() {
	in.mu.Lock()
	in.closed = true
	started := in.started
	in.mu.Unlock()
	if !started {
		in.drain()
		return
	}
	if sendFence(in.ch, fence) && in.crawl != nil {
		in.crawl.closedByUser(in.from)
	}
	in.running.Wait()
}

// drain receives what there is, without a receiver.
func (in *inbox) drain() {
	b := batch{crawl: in.crawl, from: in.from}
	defer b.store()
	for {
		select {
		case ctx, open := <-in.ch:
			if !open {
				in.crawl.closedByUser(in.from)
				return
			}
			b.add(ctx)
		default:
			return
		}
	}
}

// sendFence sends what follows the last thing that user code sent. It reports whether user code has closed
// the channel, against the rules: that must not end the process.
func sendFence[T any](ch chan<- T, fence T) (closed bool) {
	defer func() { closed = recover() != nil }()
	ch <- fence
	return false
}

var errClosedByUser = errors.New("a callback closed the channel that it sends to; the engine owns the channels and ends them itself")

// closedByUser reports a channel that user code has closed.
func (c *crawl) closedByUser(from emission) {
	if from.parent != nil && from.parent.abandoned.Load() || from.failed != nil && from.failed.abandoned.Load() {
		return // what code that was given up still does has no effect
	}
	herr := &HandleError{Err: errClosedByUser, Stage: StageStart}
	if j := from.parent; j != nil && j.ctx != nil {
		herr.Stage, herr.CtxId, herr.Request = StageParse, j.ctx.CtxId, j.ctx.Request
	}
	c.teller.failed(herr)
}

// requests returns the channel that the job's user code sends requests to.
func (j *job) requests() chan<- *Context {
	if j.inbox == nil {
		j.inbox = newInbox(j.crawl, emission{parent: j})
	}
	return j.inbox.ch
}

// closeRequests waits until all requests that the job's user code sent are accepted.
func (j *job) closeRequests() {
	if j.inbox != nil {
		j.inbox.close()
		j.inbox = nil
	}
}
