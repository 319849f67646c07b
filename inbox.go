package tegenaria

import (
	"errors"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// inbox receives requests from user code until the code has returned. It belongs to one call of
// user code, or to the calls of one job that follow each other.
type inbox struct {
	ch      chan *Context
	to      *acceptor // nil: requests that it receives are discarded
	from    emission  // of all that it receives
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	started bool       // there is a receiver
	closed  bool
}

// How many requests an inbox holds for its receiver: one of a parser that sends on the channel, and one that is made for each page,
// of code that seldom sends.
const inboxBuffer, lateBuffer = 64, 16

// fence follows the last request that was sent: when it arrives, all before it have been accepted.
var fence = new(Context)

// newInbox makes an inbox that receives.
func newInbox(to *acceptor, from emission) *inbox {
	in := &inbox{ch: make(chan *Context, inboxBuffer), to: to, from: from}
	in.Start()
	return in
}

// lateInbox makes the job's inbox for code that seldom sends anything and does not take long: the watch starts the
// receiver if it does, or else close receives what there is.
func (j *job) lateInbox() *inbox {
	in := &j.quiet
	if in.ch != nil {
		in = new(inbox) // the watch may still look at the first one
	}
	in.ch, in.to, in.from = make(chan *Context, lateBuffer), j.pages.acceptor, j.emission()
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

// deepen makes the stack of a new goroutine large enough for accepting a request, while there is next to nothing on it that
// would have to be moved.
//
//go:noinline
func deepen(i int) byte {
	var room [4 << 10]byte
	return room[i]
}

// next waits for a request, after those that have come are accepted.
func (in *inbox) next(b *batch) (ctx *Context, open bool) {
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
		in.from.closedByUser(in.to.teller)
	}
	in.running.Wait()
}

// drain receives the requests that were sent, without a receiver.
func (in *inbox) drain() {
	b := batch{acceptor: in.to, from: in.from}
	defer b.store()
	for {
		select {
		case ctx, open := <-in.ch:
			if !open {
				in.from.closedByUser(in.to.teller)
				return
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

var errClosedByUser = errors.New("a callback closed the channel that it sends to; the engine owns the channels and ends them itself")

// closedByUser reports a channel that user code has closed.
func (from emission) closedByUser(t *teller) {
	if from.by != nil && from.by.GivenUp() {
		return // code that was given up has no effect any more
	}
	herr := &HandleError{Err: errClosedByUser, Stage: StageStart}
	if j := from.parent; j != nil && j.ctx != nil {
		herr.Stage, herr.CtxId, herr.Request = StageParse, j.ctx.CtxId, j.ctx.Request
	}
	t.failed(herr)
}

// emission says that a request comes from the job's own callback.
func (j *job) emission() emission { return emission{parent: j, by: &j.call} }

// requests returns the channel that the job's user code sends requests to.
func (j *job) requests() chan<- *Context {
	if j.inbox == nil {
		j.inbox = newInbox(j.pages.acceptor, j.emission())
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

// starter runs StartRequest, or Start where the spider has it, and receives the seeds.
type starter struct {
	outsider
	crawl *crawl
	gone  chan struct{} // closed when the start has ended or was abandoned
	once  sync.Once
	call  guard.Call // if it was given up, requests that it still sends are discarded
}

func (s *starter) end() { s.once.Do(func() { close(s.gone) }) }

// Abandon reports that the start was given up.
func (s *starter) Abandon(l guard.Loss) {
	s.outsider.Abandon(l)
	s.end()
}

// startSeeds begins to send the seeds, unless an earlier run of a durable job has done so. The channel is closed
// when all seeds are accepted.
func startSeeds(c *crawl, doneBefore bool) <-chan struct{} {
	s := &starter{outsider: outsider{teller: c.teller}, crawl: c, gone: make(chan struct{})}
	if doneBefore {
		c.ledger.Started()
		s.end()
		return s.gone
	}
	s.call.Owner = s
	if !c.watch.Enter(&s.call, string(StageStart)) {
		s.end()
		return s.gone
	}
	seeds := make(chan *Context)
	received := guard.Go(func() { s.receive(seeds) }) // until the fence; a start that was given up keeps it until it returns
	guard.Go(func() {                                 // run waits for gone
		err := guard.ErrGoexit
		defer func() { // also where the code ends its goroutine
			if sendFence(seeds, fence) {
				emission{}.closedByUser(c.teller)
			}
			<-received.Done()
			if c.watch.Exit(&s.call) {
				s.finish(err)
				s.end()
			}
		}()
		err = s.send(seeds)
	})
	return s.gone
}

// send calls the user's code.
func (s *starter) send(seeds chan<- *Context) error {
	c := s.crawl
	stack, err := guard.Protect(func() error {
		if starter, ok := c.spider.(Starter); ok {
			return starter.Start(c.intake, seeds)
		}
		c.spider.StartRequest(seeds)
		return nil
	})
	var panicked *PanicError
	if errors.As(err, &panicked) && stack != nil {
		c.failures.handleOutside(&HandleError{Err: err, Stage: StageStart, Stack: stack})
		if _, ok := c.spider.(Starter); !ok {
			return nil // the seeds that it sent before are crawled
		}
	}
	return err
}

// receive accepts seeds while there is room: they alone feel backpressure.
func (s *starter) receive(seeds <-chan *Context) {
	c := s.crawl
	for {
		for {
			room := c.ledger.Room(int64(c.limits.Pending))
			if room == nil || c.refusing.Load() {
				break
			}
			select {
			case <-room:
			case <-c.ending.Asked():
			}
		}
		ctx, open := <-seeds
		if !open || ctx == fence {
			return
		}
		if !s.call.GivenUp() {
			c.acceptor.accept(emission{}, ctx)
		}
	}
}

// finish notes how the start ended.
func (s *starter) finish(err error) {
	c := s.crawl
	switch reason, closing := asCloseSpider(err); {
	case closing:
		c.closeSpider(reason)
	case err != nil && c.intake.Err() != nil && errors.Is(err, c.intake.Err()):
		// Its context was cancelled.
	case err != nil:
		c.ending.Break(&RunError{Op: "start", Err: err})
	case !c.refusing.Load():
		c.settler.started()
	}
	if _, told := c.spider.(Starter); told && c.refusing.Load() {
		c.unsown.Store(true) // it may have more seeds that it did not send
	}
	c.ledger.Started()
}

// outsider is user code that belongs to no job: that of the start, of parts that are opened or closed, and of the ErrorHandlers of a
// request that was not accepted.
type outsider struct {
	teller  *teller
	request *Request // a copy of the request that has failed; nil if there is none
	id      string   // its CtxId
}

// Slow reports that the code has been running for long.
func (o outsider) Slow(at string, took time.Duration) {
	o.teller.slow(Stage(at), o.request, took)
}

// Abandon reports that the code was given up.
func (o outsider) Abandon(l guard.Loss) {
	at := Stage(l.At)
	o.teller.abandoned(at, o.request)
	o.teller.failed(&HandleError{CtxId: o.id, Err: abandonedBy(at, l.TooLate), Request: o.request, Stage: at})
}
