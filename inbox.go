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
}

// fence follows the last request that was sent: what came before it has been accepted.
var fence = new(Context)

func newInbox(c *crawl, from emission) *inbox {
	in := &inbox{ch: make(chan *Context), crawl: c, from: from}
	in.running.Add(1)
	go in.receive()
	return in
}

func (in *inbox) receive() {
	defer in.running.Done()
	for ctx := range in.ch {
		if ctx == fence {
			return
		}
		if in.crawl != nil {
			in.crawl.accept(in.from, ctx)
		}
	}
}

// close waits until everything sent has been accepted. The channel stays open: whoever still sends, against
// the rules, blocks.
func (in *inbox) close() {
	if sendFence(in.ch, fence) && in.crawl != nil {
		in.crawl.closedByUser(in.from)
	}
	in.running.Wait()
}

// sendFence sends what follows the last thing that user code sent. It tells whether user code has closed
// the channel, against the rules: that must not end the process.
func sendFence[T any](ch chan<- T, fence T) (closed bool) {
	defer func() { closed = recover() != nil }()
	ch <- fence
	return false
}

var errClosedByUser = errors.New("a callback closed the channel that it sends to; the engine owns the channels and ends them itself")

// closedByUser reports a channel that user code has closed.
func (c *crawl) closedByUser(from emission) {
	herr := &HandleError{Err: errClosedByUser, Stage: StageStart}
	if j := from.parent; j != nil && j.ctx != nil {
		herr.Stage, herr.CtxId, herr.Request = StageParse, j.ctx.CtxId, j.ctx.Request
	}
	c.report(herr)
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
