package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/tegenaria/tegenaria/internal/guard"
)

var errNoCause = errors.New("a HandleError without a cause: set its Err")

// failure makes the HandleError of an error of a job. If err is a HandleError of this job it is completed;
// one of another request, such as that of a Fetch, is only the cause.
func (j *job) failure(stage Stage, err error, stack []byte) *HandleError {
	if known, ok := err.(*HandleError); ok && (known.Request == nil || known.Request == j.ctx.Request) {
		if known.Request == nil {
			known.Request = j.ctx.Request
		}
		known.CtxId, known.Stage = cmp.Or(known.CtxId, j.ctx.CtxId), cmp.Or(known.Stage, stage)
		if known.Err == nil {
			known.Err = errNoCause
		}
		return known.unstack()
	}
	herr := &HandleError{CtxId: j.ctx.CtxId, Err: err, Request: j.ctx.Request, Response: j.ctx.Response(), Stage: stage, Stack: stack}
	return herr.unstack()
}

// fail ends a job with an error: the ErrorMiddlewares see it first and may turn it into something else,
// then the verbs are obeyed, and an error that is still a failure goes to the ErrorHandlers. When the crawl
// gives up, the job is put back into the cache instead: it did not fail by itself.
func (t *teller) fail(j *job, herr *HandleError) {
	if t.crawl.work.Err() != nil {
		j.leaveUndecided()
		return
	}
	herr = t.errorMiddlewares(j, herr)
	switch {
	case j.call.GivenUp(): // a middleware was given up, and has returned after all
		return
	case herr == nil:
		j.decide(Dropped, "middleware")
		return
	}
	if t.obey(j, herr) {
		return
	}
	j.ctx.Error = herr.Err
	t.handle(j, herr)
	j.decide(Failed, failedReason(herr))
}

// obey carries out a verb among the error's causes. It returns false if the error has none and is a failure.
func (t *teller) obey(j *job, herr *HandleError) bool {
	c := t.crawl
	if reason, ok := asCloseSpider(herr.Err); ok {
		c.closedBy(j, reason, Dropped, reason)
		return true
	}
	if retry := asRetry(herr.Err); retry != nil {
		if j.rec.Attempt+1 >= c.limits.Attempts || !j.loan.Rewind(j.ctx.Request.ResponseWriter) {
			t.handle(j, herr)
			j.decide(GaveUp, reasonOf(retry.Err))
			return true
		}
		j.runAgain(retry)
		return true
	}
	if gaveUp := asGiveUp(herr.Err); gaveUp != nil {
		t.handle(j, herr)
		j.decide(GaveUp, reasonOf(gaveUp.reason))
		return true
	}
	if errors.Is(herr.Err, ErrIgnoreRequest) {
		j.crawl.teller.notice(herr.Err)
		j.decide(Filtered, ignoreReason(herr.Err))
		return true
	}
	return false
}

// errorMiddlewares lets the ErrorMiddlewares see a failure, in the order of responses.
func (t *teller) errorMiddlewares(j *job, herr *HandleError) *HandleError {
	c := t.crawl
	for i := len(c.fetcher.errorMWs) - 1; i >= 0; i-- {
		var next error
		stack, err := guard.Protect(func() error {
			next = c.fetcher.errorMWs[i].ProcessError(j.ctx, herr, j.requests())
			guard.Sound(next)
			return nil
		})
		switch {
		case j.call.GivenUp():
			return nil
		case err != nil:
			herr = j.failure(StageError, err, stack)
		case next == nil:
			return nil
		case next != error(herr):
			replaced := j.failure(herr.Stage, next, nil)
			if replaced.Response == nil {
				replaced.Response = herr.Response
			}
			herr = replaced
		}
	}
	return herr
}

// handle reports a failure to counters, log, events, ErrorChan, the engine's ErrorHandler and
// the spider's, which may send requests.
func (t *teller) handle(j *job, herr *HandleError) {
	parent := j
	if j.failures != nil {
		parent = j.caller
	}
	t.failed(herr)
	t.tellHandlers(parent, j, herr)
}

// tellHandlers calls the ErrorHandlers. Requests that they send come from parent, because failed has failed.
func (t *teller) tellHandlers(parent, failed *job, herr *HandleError) {
	c := t.crawl
	in := newInbox(c.acceptor, emission{parent: parent, failed: failed, why: herr.Err})
	defer in.close()
	if c.cfg.errorHandler != nil && !failed.call.GivenUp() {
		stack, err := guard.Protect(func() error { c.cfg.errorHandler(c.spider, herr); return nil })
		t.handlerPanicked(failed, herr, err, stack)
	}
	if failed.call.GivenUp() { // the code before was given up, and has returned after all
		return
	}
	stack, err := guard.Protect(func() error { return askErrorHandler(failed, herr, in.ch) })
	t.handlerPanicked(failed, herr, err, stack)
}

// handleAlone is handle for a failure of the start or of an emission: the caller has to go on when the
// ErrorHandlers do not return. It returns when they have, or were abandoned.
func (t *teller) handleAlone(j *job, herr *HandleError) {
	t.alone(j, func() { t.handle(j, herr) })
}

// alone runs code that calls the ErrorHandlers, and returns when it has returned or was abandoned.
func (t *teller) alone(j *job, code func()) {
	j.call.Owner, j.before.id = alone{j}, j.ctx.CtxId
	_ = t.crawl.watch.Apart(&j.call, string(StageError), code) // Abandon has reported code that was given up
}

// alone is a job that stands for a failure while the ErrorHandlers run. It holds nothing.
type alone struct{ *job }

// Doom keeps nothing open.
func (a alone) Doom() (kept bool) { return false }

// Abandon reports that the ErrorHandlers were given up.
func (a alone) Abandon(l guard.Loss) { a.crawl.teller.lost(l, a.job, a.before.id, nil) }

// handlerPanicked reports a panic of an ErrorHandler; the handlers are not asked again for it.
func (t *teller) handlerPanicked(failed *job, herr *HandleError, err error, stack []byte) {
	if err != nil && !failed.call.GivenUp() {
		t.failed(&HandleError{CtxId: herr.CtxId, Err: err, Request: herr.Request, Stage: StageError, Stack: stack})
	}
}

// lost reports a callback that was given up: of a job, or of none, and with this CtxId and item. It does not wait for user code,
// because the callback's slot and memory are given back after it. A job that was kept open stays open until it is reported.
func (t *teller) lost(l guard.Loss, j *job, id string, item *ItemMeta) {
	c := t.crawl
	at, r := Stage(l.At), j.asAccepted()
	c.teller.abandoned(at, r)
	herr := &HandleError{CtxId: id, Err: abandonedBy(at, l.TooLate), Request: r, Item: item, Stage: at}
	c.teller.failed(herr)
	if !l.Kept {
		return // no request failed
	}
	if j.ctx == nil || j.caller != nil || at == StageError || at == StageEvent || c.work.Err() != nil {
		// It is the Fetch of a caller, or it is put back into the cache; or else the ErrorHandlers themselves, or a func of
		// Events, do not return.
		j.done()
		return
	}
	standIn := j.standIn(herr)
	teller := &job{crawl: c, caller: standIn, failures: &failures{}, rec: j.rec, ctx: standIn.ctx}
	told := t.handlers.Go(func() { // run waits for it
		defer j.done() // the request is open until then: the handlers may send it again
		t.alone(teller, func() { t.tellHandlers(standIn, teller, herr) })
		teller.failures.runAll()
	})
	if !told {
		j.done()
	}
}

// standIn makes a job that takes the place of one that was abandoned, whose requests are refused: the requests that
// ErrorHandlers send because of herr come from it.
func (j *job) standIn(herr *HandleError) *job {
	other := newJob(j.crawl, j.rec)
	other.standsFor, other.sent = j, j.sent
	other.ctx = &Context{Request: herr.Request, CtxId: herr.CtxId, Ctx: context.Background()}
	return other
}

// asAccepted returns a copy of the job's request as it was accepted, which no other code has; nil if there is none. What
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
	r.Priority, r.Depth, r.Attempt, r.parent = j.rec.Priority, j.rec.Depth, j.rec.Attempt, j.rec.parentPage()
	return r
}

// isHeld reports whether code that was left behind may have the job's request and response.
func (j *job) isHeld() bool { return j.call.GivenUp() || j.leaked.Load() }

// request returns the job's request: a copy, if code that was left behind may have the one in its Context.
func (j *job) request() *Request {
	if j.isHeld() {
		return j.asAccepted()
	}
	return j.ctx.Request
}

// response returns the job's response; nil if code that was left behind may have it.
func (j *job) response() *Response {
	if j.isHeld() {
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
func (t *teller) whyLost(j *job) error {
	if late := t.crawl.watch.Why(&j.call); late != nil {
		return abandonedBy(StageDownload, late)
	}
	return ErrOutputClosed
}

// failures collects the emissions that were refused while the ErrorHandlers of another one ran, so that
// a handler whose own requests are refused neither recurses nor starts goroutines without end.
type failures struct {
	mu   sync.Mutex
	list []func()
}

// failedEmission reports an emission that was refused to the ErrorHandlers. It stays open until they have
// returned, since they may send another request in its place.
func (t *teller) failedEmission(from emission, ctx *Context, no *refusal) {
	c := t.crawl
	var request *Request
	id := ""
	if ctx != nil {
		request, id = ctx.Request, ctx.CtxId
	}
	outer := (*failures)(nil)
	if from.failed != nil {
		outer = from.failed.failures
	}
	loop := outer
	if loop == nil {
		loop = &failures{}
	}
	j := &job{crawl: c, caller: from.parent, failures: loop, ctx: &Context{Request: request, CtxId: id, Ctx: context.Background()}}
	if request != nil {
		j.sent = request.clone()
	}
	j.rec.Depth = c.acceptor.depthOf(from)
	if from.failed != nil {
		j.rec.Attempt = from.failed.rec.Attempt + 1
	}
	run := func() {
		herr := NewError(id, no.err, ErrorWithRequest(request), ErrorWithStage(StageAccept)).unstack()
		if j.rec.Attempt < c.limits.Attempts {
			t.handleAlone(j, herr)
		} else {
			c.teller.failed(herr)
		}
		c.teller.settled(j.request(), no.outcome, no.reason)
		c.ledger.Refuse(1, uint8(no.outcome), no.reason)
	}
	if outer != nil {
		outer.mu.Lock()
		outer.list = append(outer.list, run)
		outer.mu.Unlock()
		return
	}
	run()
	loop.runAll()
}

// runAll ends the emissions that were collected, and those that come of it.
func (f *failures) runAll() {
	for {
		f.mu.Lock()
		if len(f.list) == 0 {
			f.mu.Unlock()
			return
		}
		run := f.list[0]
		f.list = f.list[1:]
		f.mu.Unlock()
		run()
	}
}

func reasonOf(err error) string {
	var short interface{ Reason() string }
	switch {
	case err == nil:
		return "retry"
	case errors.As(err, &short):
		return short.Reason()
	}
	return err.Error()
}

// reasonFor returns the error that a request was given up for, without what decided that.
func reasonFor(herr *HandleError) error {
	err := rootCause(herr)
	if retry := asRetry(err); retry != nil && retry.Err != nil {
		err = retry.Err
	} else if gaveUp := asGiveUp(err); gaveUp != nil && gaveUp.reason != nil {
		err = gaveUp.reason
	}
	return err
}
