package tegenaria

import (
	"context"
	"fmt"
	"sync"
)

// tellers are the goroutines in which ErrorHandlers are told of callbacks that were given up: whoever gave them
// up must not wait for user code.
type tellers struct {
	mu      sync.Mutex // guards what follows
	closed  bool
	running sync.WaitGroup
}

// tell runs f unless the run is ending.
func (t *tellers) tell(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.running.Go(f)
	}
	return !t.closed
}

// wait lets no more of them begin, and returns when they have ended.
func (t *tellers) wait() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.running.Wait()
}

// lost tells about a callback that was given up (design law L8). It does not wait for user code: it is called
// before what the callback holds is given back.
func (c *crawl) lost(lost *call) {
	at, r := lost.stage, lost.job.asAccepted()
	c.teller.abandoned(at, r)
	herr := &HandleError{Err: abandonedAt(at), Request: r, Stage: at}
	if late := c.watch.whyLate(lost); late != nil {
		herr.Err = late
	}
	herr.CtxId = lost.id
	if t, ok := lost.owner.(*itemTask); ok {
		item := t.came // the callback may be at work on the item itself
		herr.CtxId, herr.Item = item.CtxId, &item
	}
	c.teller.failed(herr)
	if !lost.held {
		return // no request failed
	}
	j := lost.job
	if j.ctx == nil || j.caller != nil || at == StageError || at == StageEvent || c.work.Err() != nil {
		// It is the Fetch of a caller, or it goes back to the cache; or else the ErrorHandlers themselves, or who
		// listens to Events, do not return.
		j.done()
		return
	}
	standIn := j.standIn(herr)
	teller := &job{crawl: c, caller: standIn, failures: &failures{}, rec: j.rec, ctx: standIn.ctx}
	told := c.tellers.tell(func() {
		defer j.done() // the request is open until then: the handlers may send it again
		c.alone(teller, func() { c.tellHandlers(standIn, teller, herr) })
		teller.failures.runAll()
	})
	if !told {
		j.done()
	}
}

// standIn makes a job that takes the place of one that was abandoned, of which nothing more is taken: the requests that
// ErrorHandlers send because of herr come from it.
func (j *job) standIn(herr *HandleError) *job {
	other := j.crawl.newJob(j.rec, nil)
	other.standsFor, other.sent = j, j.sent
	other.ctx = &Context{Request: herr.Request, CtxId: herr.CtxId, Ctx: context.Background()}
	return other
}

// asAccepted returns the job's request as it was accepted, in a copy that nobody else has; nil if there is none. What
// user code that was given up has in its hands it may still be writing to.
func (j *job) asAccepted() *Request {
	switch {
	case j == nil:
		return nil
	case j.sent != nil:
		return j.sent.clone()
	case len(j.rec.Data) == 0:
		return nil
	}
	ctx, err := j.crawl.acceptor.codec.decode(j.rec.Data, j.rec.Live)
	if err != nil { // it was decoded before
		return nil
	}
	r := ctx.Request
	r.Priority, r.Depth, r.Attempt = j.rec.Priority, j.rec.Depth, j.rec.Attempt
	return r
}

// request returns the job's request: a copy, if code that was left behind may have the one in its Context.
func (j *job) request() *Request {
	if j.abandoned.Load() || j.left.Load() {
		return j.asAccepted()
	}
	return j.ctx.Request
}

// response returns the job's response; nil if code that was left behind may have it.
func (j *job) response() *Response {
	if j.abandoned.Load() || j.left.Load() {
		return nil
	}
	return j.ctx.Response()
}

// id returns the CtxId of the job's Context, which code that was left behind may have.
func (j *job) id() string {
	if j.abandoned.Load() {
		return j.call.id
	}
	return j.ctx.CtxId
}

// whyLate returns the error of a call that was given up because it was over a limit of its own; nil for any other.
func (w *watch) whyLate(c *call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.dropped || !c.over || c.limit == 0 {
		return nil
	}
	return fmt.Errorf("%w; %w", c.tooLate, abandonedAt(c.stage))
}

// whyLost returns the error of a Fetch whose call was given up, or could not begin.
func (w *watch) whyLost(c *call) error {
	if late := w.whyLate(c); late != nil {
		return late
	}
	return ErrOutputClosed
}
