package tegenaria

import (
	"errors"
	"sync"
)

// inbox receives requests from user code until the code has returned. It belongs to one call of
// user code, or to the calls of one job that follow each other.
type inbox struct {
	ch      chan *Context
	to      *acceptor // nil: what it receives is discarded
	from    emission  // of all that it receives
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
func newInbox(to *acceptor, from emission) *inbox {
	in := newLateInbox(to, from)
	in.Start()
	return in
}

func newLateInbox(to *acceptor, from emission) *inbox {
	return &inbox{ch: make(chan *Context, inboxBuffer), to: to, from: from}
}

// lateInbox makes the job's inbox for code that seldom sends anything and does not take long: the watch starts the
// receiver if it does, or else close receives what there is.
func (j *job) lateInbox() *inbox {
	in := &j.quiet
	if in.ch != nil {
		return newLateInbox(j.crawl.acceptor, emission{parent: j}) // what knows the first one may still look at it
	}
	in.ch, in.to, in.from = make(chan *Context, inboxBuffer), j.crawl.acceptor, emission{parent: j}
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

// receive accepts until the fence. What comes at the same time is accepted together.
func (in *inbox) receive() {
	defer in.running.Done()
	b := batch{acceptor: in.to, from: in.from}
	defer b.store()
	for {
		ctx, open := in.next(&b)
		if !open || ctx == fence {
			return
		}
		if in.to != nil {
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
	if sendFence(in.ch, fence) && in.to != nil {
		in.to.crawl.acceptor.closedByUser(in.from)
	}
	in.running.Wait()
}

// drain receives what there is, without a receiver.
func (in *inbox) drain() {
	b := batch{acceptor: in.to, from: in.from}
	defer b.store()
	for {
		select {
		case ctx, open := <-in.ch:
			if !open {
				in.to.crawl.acceptor.closedByUser(in.from)
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
func (a *acceptor) closedByUser(from emission) {
	if from.parent != nil && from.parent.call.GivenUp() || from.failed != nil && from.failed.call.GivenUp() {
		return // what code that was given up still does has no effect
	}
	herr := &HandleError{Err: errClosedByUser, Stage: StageStart}
	if j := from.parent; j != nil && j.ctx != nil {
		herr.Stage, herr.CtxId, herr.Request = StageParse, j.ctx.CtxId, j.ctx.Request
	}
	a.crawl.teller.failed(herr)
}

// requests returns the channel that the job's user code sends requests to.
func (j *job) requests() chan<- *Context {
	if j.inbox == nil {
		j.inbox = newInbox(j.crawl.acceptor, emission{parent: j})
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

// maxBatch is how many requests the cache is asked about at a time.
const maxBatch = 64

// batch accepts requests of one sender together: a lock for each would cost more than all the rest.
type batch struct {
	acceptor *acceptor
	from     emission
	s        *scratch // nil while there is nothing to store
}

// add checks a request and keeps it until store, which a full batch calls by itself.
func (b *batch) add(ctx *Context) {
	a := b.acceptor
	c := a.crawl
	if b.s == nil {
		if !a.enter(b.from) {
			return
		}
		b.s = a.scratch.Get().(*scratch)
	}
	ctx = ctx.resent()
	rec, no := a.record(b.s, b.from, ctx)
	if no != nil {
		b.store() // what was sent before is accepted before
		if a.enter(b.from) {
			c.ledger.Discover(1)
			a.refuse(b.from, ctx, no)
			a.leave(b.from)
		}
		return
	}
	b.s.records, b.s.sent = append(b.s.records, rec), append(b.s.sent, ctx)
	if len(b.s.records) == maxBatch || ctx.Request.maxConnsPerHost > 0 {
		b.store()
	}
}

// store hands the batch to the cache.
func (b *batch) store() {
	s, a := b.s, b.acceptor
	if s == nil {
		return
	}
	b.s = nil
	defer a.leave(b.from)
	defer a.scratch.Put(s)
	defer s.reset()
	if len(s.records) == 0 {
		return
	}
	c := a.crawl
	c.ledger.Discover(int64(len(s.records)))
	a.store(b.from, s.records, s.sent[len(s.sent)-1].Request.maxConnsPerHost, func(verdicts []Verdict) {
		for i, verdict := range verdicts {
			switch f := c.cfg.events.RequestAccepted; {
			case verdict == VerdictKnown:
				c.teller.settled(s.sent[i].Request, Duplicate, "")
			case verdict == VerdictRefused:
				c.teller.settled(s.sent[i].Request, Filtered, queueShare)
			case f != nil:
				c.teller.event(func() { f(s.sent[i].Request) })
			}
		}
	})
}

// scratch is what accepting requests needs and the next ones can use again.
type scratch struct {
	keyer   *keyer
	url     []byte
	data    []byte // of all records
	records []Record
	sent    []*Context // what the records were made of, if it was more than references
}

// reset makes room. Nothing it held stays reachable.
func (s *scratch) reset() {
	clear(s.records)
	clear(s.sent)
	s.records, s.sent, s.data = s.records[:0], s.sent[:0], s.data[:0]
	if cap(s.data) > 1<<20 {
		s.data = nil // one giant request shall not stay for ever
	}
}
