package tegenaria

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// Spiders, middlewares and downloaders send on channels. The rest of the engine calls them by the funcs of this file, which
// return when all that the code has sent is taken: nothing else makes a channel for user code, or receives from it.
//
// User code may close a channel, and may send on it after it has returned, against the rules. So the engine never closes
// one. A fence follows the last value instead: a value that no user code has. When it arrives, all before it has been taken.

var requestFence, itemFence = new(Context), new(ItemMeta)

// sendFence sends a fence. It reports whether user code has closed the channel: that must not end the process.
func sendFence[T any](c chan<- *T, fence *T) (closed bool) {
	defer func() { closed = recover() != nil }()
	c <- fence
	return false
}

// callParser calls the parser of a job. One made by Handle needs no channels: its Output hands over to the engine itself.
func (p *pages) callParser(j *job, ctx *Context, parser Parser) error {
	if isHandled(parser) {
		return guard.Protect(func() error { return parser(ctx, nil, nil) })
	}
	return p.acceptor.withRequests(j.emission(), func(requests chan<- *Context) error {
		items, end := receive(itemFence, nil, func(item *ItemMeta) { p.items.add(j, item) })
		defer func() {
			if closed := end(); closed {
				p.report.closedByUser(j.emission())
			}
		}()
		return guard.Protect(func() error { return parser(ctx, items, requests) })
	})
}

// callStart calls the Start or StartRequest of the spider.
func (s *starter) callStart() (err error) {
	timed := s.callbacks.ofStart(s.spider)
	ready := func() { s.awaitRoom(); timed.ready() }
	take := func(ctx *Context) { timed.came(); s.accept(ctx) }
	seeds, end := receive(requestFence, ready, take)
	defer func() {
		count := timed.returned(err)
		if closed := end(); closed {
			s.report.closedByUser(emission{})
		}
		count()
	}()
	return guard.Protect(func() error {
		if starter, ok := s.spider.(Starter); ok {
			return starter.Start(s.stop.intake, seeds)
		}
		s.spider.StartRequest(seeds)
		return nil
	})
}

// receive makes a channel without room. Its values are given to take, one at a time, in a goroutine of its own; before each
// of them ready is called, unless nil. end returns when all that was sent is taken. It reports whether user code has closed
// the channel.
func receive[T any](fence *T, ready func(), take func(*T)) (c chan<- *T, end func() (closed bool)) {
	values := make(chan *T)
	received := guard.Go(func() { // until the fence: code that was given up sends to it until it returns
		for {
			if ready != nil {
				ready()
			}
			v, open := <-values
			if !open || v == fence {
				return
			}
			take(v)
		}
	})
	return values, func() bool {
		closed := sendFence(values, fence)
		<-received.Done()
		return closed
	}
}

// How many requests a channel holds for its receiver: one of code that is likely to send, and one of code that seldom does.
const usualRoom, seldomRoom = 64, 16

// requestChannel takes the requests of one call of user code, or of calls that follow each other. They are accepted in the
// order in which they were sent, and those that come at the same time together. It must not be copied.
type requestChannel struct {
	C     chan *Context
	batch batch // they are accepted with; without an acceptor they are thrown away

	running sync.WaitGroup
	mu      sync.Mutex // guards the fields below
	started bool       // there is a receiver
	closed  bool
}

// withRequests calls code with a channel for the requests that it sends.
func (a *acceptor) withRequests(from emission, code func(requests chan<- *Context) error) error {
	in := new(requestChannel)
	in.init(a, from, usualRoom)
	in.Start()
	defer in.close()
	return code(in.C)
}

// seldomRequests makes a channel for the requests of code that seldom sends any and does not take long: the watch starts
// the receiver if it does, or else close takes what there is. With a nil acceptor they are thrown away.
func (j *job) seldomRequests(to *acceptor) *requestChannel {
	in := &j.quiet
	if in.C != nil {
		in = new(requestChannel) // the watch may still look at the first one
	}
	in.init(to, j.emission(), seldomRoom)
	return in
}

func (in *requestChannel) init(to *acceptor, from emission, room int) {
	in.C, in.batch.acceptor, in.batch.from = make(chan *Context, room), to, from
}

// Start lets the channel be received from, unless it is already, or is closed.
func (in *requestChannel) Start() {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.started && !in.closed {
		in.started = true
		in.running.Add(1)
		go in.receive()
	}
}

// receive takes requests until the fence.
func (in *requestChannel) receive() {
	defer in.running.Done()
	deepen(0)
	defer in.batch.Store()
	for {
		var ctx *Context
		var open bool
		select {
		case ctx, open = <-in.C:
		default:
			in.batch.Store()
			ctx, open = <-in.C
		}
		if !open || ctx == requestFence {
			return
		}
		in.take(ctx)
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

func (in *requestChannel) take(ctx *Context) {
	if in.batch.acceptor != nil {
		in.batch.Add(ctx)
	}
}

// close returns when all requests that were sent are taken.
func (in *requestChannel) close() {
	in.mu.Lock()
	in.closed = true
	started := in.started
	in.mu.Unlock()
	var closed bool
	if started {
		closed = sendFence(in.C, requestFence)
		in.running.Wait()
	} else {
		closed = in.drain()
	}
	if closed && in.batch.acceptor != nil {
		in.batch.acceptor.report.closedByUser(in.batch.from)
	}
}

// drain takes the requests that were sent, without a receiver. It reports whether user code has closed the channel.
func (in *requestChannel) drain() (closed bool) {
	defer in.batch.Store()
	for {
		select {
		case ctx, open := <-in.C:
			if !open {
				return true
			}
			in.take(ctx)
		default:
			return false
		}
	}
}

// callDownloader calls a downloader and waits for its one result, which may come after Download has returned. The
// request's timeout bounds both.
func (f *fetcher) callDownloader(
	j *job, d *downloaderModule, ctx *Context, started time.Time,
) (got *Context, err error) {
	result := make(chan *Context, 2) // a second result is discarded: it must not block the sender
	own := ctx.Ctx
	ours := f.downloads.http != nil && d.Downloader == Downloader(f.downloads.http) && f.downloads.layers.top == nil
	by := d.Downloader
	if f.downloads.layers.top != nil {
		by = f.downloads.layers.top
	}
	if ours && j.loan == nil {
		err = guard.Protect(func() error { by.Download(ctx, result); return nil })
	} else { // user code runs in it
		theirs := j.theirs
		if j.theirs = nil; theirs == nil {
			theirs = new(asking)
		}
		theirs.Context, theirs.url = *ctx, ctx.Request.Url
		theirs.Start(own, result)
		theirs.Ctx = &theirs.Life
		limit := time.Duration(0) // the engine's own has a clock
		if !ours {
			if j.loan != nil { // in the place of the request's ResponseWriter
				r := *ctx.Request
				r.ResponseWriter, theirs.Request = j.loan, &r
			}
			if ctx.Request.extras().Timeout >= 0 {
				limit = ctx.Request.timeoutOrDefault()
			}
		}
		f.watch.Bound(&j.call, theirs, started, limit)
		defer theirs.Close()
		if j.caller == nil {
			err = guard.Protect(func() error { by.Download(&theirs.Context, result); return nil })
		} else if err = theirs.Apart(&j.call,
			func() error { by.Download(&theirs.Context, result); return nil }); err == guard.ErrGivenUp {
			err = ErrOutputClosed
		}
	}
	if err != nil {
		return nil, err
	}
	wait := ctx.Request.timeoutOrDefault() + guard.CancelGrace
	got, err = guard.Receive(own, result, started.Add(wait))
	switch {
	case err == guard.ErrSilent:
		err = &NoResultError{wait}
	case err == nil && got == nil:
		err = errors.New("the downloader sent a nil Context")
	}
	return got, err
}

// asking is the Context given to a downloader that is not the engine's own, or that writes to a ResponseWriter. The
// downloader may write to it when the engine does not wait for the result any more.
type asking struct {
	Context
	guard.Sender[*Context]
	url string
}

// TooLate is the error of a download that takes longer than its request may.
func (a *asking) TooLate(limit time.Duration) error { return &TimeoutError{URL: a.url, Limit: limit} }

// emitTo returns a func that sends requests to a channel, and the one that ends it: that waits for those that are being
// sent.
func emitTo(ctx context.Context, req chan<- *Context) (emit func(*Request) error, end func()) {
	sends := guard.NewInFlight()
	emit = func(r *Request) error {
		if !sends.Enter() {
			return ErrOutputClosed
		}
		defer sends.Leave()
		if !sendTo(ctx, req, NewContext(r)) {
			return context.Cause(ctx)
		}
		return nil
	}
	return emit, func() { <-sends.Close() }
}

// sendTo sends to the channel of a Parser, a Start or an ErrorHandler that is made of a func. It returns false if ctx ends
// before, or there is no channel.
func sendTo[T any](ctx context.Context, to chan<- T, v T) bool {
	if to == nil {
		return false
	}
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}
