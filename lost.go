package tegenaria

import (
	"context"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// lost tells about a callback that was given up: of a job, or of none, and with this CtxId and item. It does not wait for
// user code: it is called before what the callback holds is given back. A job that was kept open is so until it is told.
func (c *crawl) lost(l guard.Loss, j *job, id string, item *ItemMeta) {
	at, r := Stage(l.At), j.asAccepted()
	c.teller.abandoned(at, r)
	herr := &HandleError{CtxId: id, Err: abandonedBy(at, l.TooLate), Request: r, Item: item, Stage: at}
	c.teller.failed(herr)
	if !l.Kept {
		return // no request failed
	}
	if j.ctx == nil || j.caller != nil || at == StageError || at == StageEvent || c.work.Err() != nil {
		// It is the Fetch of a caller, or it goes back to the cache; or else the ErrorHandlers themselves, or who
		// listens to Events, do not return.
		j.done()
		return
	}
	standIn := j.standIn(herr)
	teller := &job{crawl: c, caller: standIn, failures: &failures{}, rec: j.rec, ctx: standIn.ctx}
	told := c.tellers.Go(func() { // run waits for it
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
	if j.call.GivenUp() || j.left.Load() {
		return j.asAccepted()
	}
	return j.ctx.Request
}

// response returns the job's response; nil if code that was left behind may have it.
func (j *job) response() *Response {
	if j.call.GivenUp() || j.left.Load() {
		return nil
	}
	return j.ctx.Response()
}

// id returns the CtxId of the job's Context, which code that was left behind may have.
func (j *job) id() string {
	if j.call.GivenUp() {
		return j.before.id
	}
	return j.ctx.CtxId
}

// whyLost returns the error of a Fetch whose call was given up, or could not begin.
func (c *crawl) whyLost(j *job) error {
	if late := c.watch.Why(&j.call); late != nil {
		return abandonedBy(StageDownload, late)
	}
	return ErrOutputClosed
}

// abandonedBy is the error of one callback that was given up, because of a limit of its own unless tooLate is nil.
func abandonedBy(at Stage, tooLate error) error {
	abandoned := &AbandonedError{map[Stage]int{at: 1}}
	if tooLate != nil {
		return fmt.Errorf("%w; %w", tooLate, abandoned)
	}
	return abandoned
}

// abandoned returns how many callbacks were given up, by stage; nil if none.
func (c *crawl) abandoned() map[Stage]int {
	var counts map[Stage]int
	for at, n := range c.watch.Counts() {
		if counts == nil {
			counts = make(map[Stage]int)
		}
		counts[Stage(at)] = n
	}
	return counts
}

// outsider is user code that belongs to no job, as that of the start and of parts that are opened.
type outsider struct{ crawl *crawl }

// Slow is never called: such code has all the time it wants.
func (o outsider) Slow(at string, took time.Duration) { o.crawl.teller.slow(Stage(at), nil, took) }

// Doom keeps nothing open.
func (o outsider) Doom() (kept bool) { return false }

// Abandon tells that the code was given up.
func (o outsider) Abandon(l guard.Loss) { o.crawl.lost(l, nil, "", nil) }
