package tegenaria

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/tegenaria/tegenaria/internal/frontier"
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
	t.failed(herr)
	t.tellHandlers(j, failureOf(j), &j.call, herr)
}

// failedRequest is what the ErrorHandlers are told of: the requests that they send may be the one that has failed again.
type failedRequest struct {
	request        *Request
	depth, attempt int
	refused        *refusals // of an emission that was not accepted, see failedEmission; or nil
}

// failureOf is a job's own request, or an item of it.
func failureOf(j *job) *failedRequest {
	return &failedRequest{request: j.ctx.Request, depth: j.rec.Depth, attempt: j.rec.Attempt}
}

// tellHandlers calls the ErrorHandlers, in the call by. Requests that they send come from parent.
func (t *teller) tellHandlers(parent *job, failed *failedRequest, by *guard.Call, herr *HandleError) {
	c := t.crawl
	in := newInbox(c.acceptor, emission{parent: parent, by: by, failed: failed, why: herr.Err})
	defer in.close()
	if c.cfg.errorHandler != nil && !by.GivenUp() {
		stack, err := guard.Protect(func() error { c.cfg.errorHandler(c.spider, herr); return nil })
		t.handlerPanicked(by, herr, err, stack)
	}
	if by.GivenUp() { // the code before was given up, and has returned after all
		return
	}
	stack, err := guard.Protect(func() error { return askErrorHandler(c, by, herr, in.ch) })
	t.handlerPanicked(by, herr, err, stack)
}

// handleApart is handle for a failure of the start or of an emission: the caller has to go on when the
// ErrorHandlers do not return. It returns false if they were abandoned.
func (t *teller) handleApart(parent *job, failed *failedRequest, herr *HandleError) bool {
	call := &guard.Call{Owner: outsider{t.crawl, named(herr.Request), herr.CtxId}}
	return guard.ErrLeft != t.crawl.watch.Apart(call, string(StageError), func() {
		t.failed(herr)
		t.tellHandlers(parent, failed, call, herr)
	})
}

// named returns a request with the name of another one: its URL and its method.
func named(r *Request) *Request {
	if r == nil {
		return nil
	}
	return &Request{Url: r.Url, Method: r.Method}
}

// handlerPanicked reports a panic of an ErrorHandler; the handlers are not asked again for it.
func (t *teller) handlerPanicked(by *guard.Call, herr *HandleError, err error, stack []byte) {
	if err != nil && !by.GivenUp() {
		t.failed(&HandleError{CtxId: herr.CtxId, Err: err, Request: herr.Request, Stage: StageError, Stack: stack})
	}
}

// whyLost returns the error of a Fetch whose call was given up, or could not begin.
func (t *teller) whyLost(j *job) error {
	if late := t.crawl.watch.Why(&j.call); late != nil {
		return abandonedBy(StageDownload, late)
	}
	return ErrOutputClosed
}

// refusals collects the emissions that were refused while the ErrorHandlers of another one ran, so that
// a handler whose own requests are refused neither recurses nor starts goroutines without end.
type refusals struct {
	mu   sync.Mutex
	list []func()
}

// failedEmission reports an emission that was refused to the ErrorHandlers. It stays open until they have
// returned, since they may send another request in its place.
func (t *teller) failedEmission(from emission, ctx *Context, no *refusal) {
	c := t.crawl
	failed := &failedRequest{depth: c.acceptor.depthOf(from)}
	id := ""
	if ctx != nil {
		failed.request, id = ctx.Request, ctx.CtxId
	}
	outer := (*refusals)(nil)
	if from.failed != nil {
		outer, failed.attempt = from.failed.refused, from.failed.attempt+1
	}
	if failed.refused = outer; outer == nil {
		failed.refused = new(refusals)
	}
	run := func() {
		told, copied := failed.request, named(failed.request)
		herr := NewError(id, no.err, ErrorWithRequest(told), ErrorWithStage(StageAccept)).unstack()
		if failed.attempt >= c.limits.Attempts {
			t.failed(herr)
		} else if !t.handleApart(from.parent, failed, herr) {
			told = copied
		}
		t.settled(told, no.outcome, no.reason)
		c.ledger.Refuse(1, uint8(no.outcome), no.reason)
	}
	if outer != nil {
		outer.mu.Lock()
		outer.list = append(outer.list, run)
		outer.mu.Unlock()
		return
	}
	run()
	failed.refused.runAll()
}

// runAll ends the emissions that were collected, and those that come of it.
func (f *refusals) runAll() {
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

// A callback that does not return in time is given up. That ends at its job: what it sends is refused, its worker is replaced, and all
// that the job holds is given back at once; but the request stays in flight, as one that is lost, until the code returns or the run
// ends. Code that returns after all has its request fail. Requests that are lost when all else is over are ended by their records.

// loss is a part of a job whose code was given up.
type loss struct {
	guard.Loss
	job   *job
	item  *itemTask   // nil: the part is the job's way
	call  *guard.Call // of the code
	atEnd bool        // it was given up because the crawl gave up
}

// failure makes the HandleError of a loss whose code has not returned.
func (l *loss) failure(r *Request) *HandleError {
	herr := &HandleError{CtxId: l.job.id, Err: abandonedBy(Stage(l.At), l.TooLate), Request: r, Stage: Stage(l.At)}
	if l.item != nil {
		came := l.item.came // the code may be at work on the item itself
		herr.CtxId, herr.Item = came.CtxId, &came
	}
	return herr
}

// losses are the parts whose code was given up and has not returned.
type losses struct {
	mu   sync.Mutex // guards the fields below
	list []loss
	left bool // some were lost when the run ended
}

// add notes a loss. The part itself is closed when the worker is replaced, as at its end.
func (ls *losses) add(l loss) {
	ls.mu.Lock()
	ls.list = append(ls.list, l)
	ls.mu.Unlock()
	l.job.parts.Lose()
	if l.call.Worker.Worker() < 0 { // it was lost before
		l.job.end()
	}
}

// find takes the loss out whose code has returned. It returns false if the run has ended: the job is over.
func (ls *losses) find(call *guard.Call, ledger *frontier.Ledger) (l loss, ok bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	i := slices.IndexFunc(ls.list, func(l loss) bool { return l.call == call })
	if i < 0 || !ls.list[i].job.parts.Find(ledger) {
		return l, false
	}
	l = ls.list[i]
	ls.list = slices.Delete(ls.list, i, i+1)
	return l, true
}

// end ends the requests that are lost when all else is over. Their code may be at work on all that it was given, so nothing is
// looked at but their records.
func (ls *losses) end(c *crawl) {
	ls.mu.Lock()
	list := ls.list
	ls.list = nil
	ls.mu.Unlock()
	var jobs []*loss // one of each job
	for i := range list {
		l := &list[i]
		c.teller.failed(l.failure(c.acceptor.codec.requestOf(&l.job.rec)))
		if l.item != nil && !l.item.ended {
			c.teller.counters.Failed.Add(1)
		}
		k := slices.IndexFunc(jobs, func(other *loss) bool { return other.job == l.job })
		switch {
		case k >= 0:
			jobs[k].atEnd = jobs[k].atEnd || l.atEnd
		case l.job.parts.AreLost():
			jobs = append(jobs, l)
		}
	}
	ls.left = len(jobs) > 0
	c.ledger.EndLost(int64(len(jobs)))
	for _, l := range jobs {
		c.settler.endLost(l)
	}
}

// askErrorHandler calls the ErrorHandler of the spider whose request has failed. The error is that of a func of OnError, which may close
// the spider.
func askErrorHandler(c *crawl, by *guard.Call, herr *HandleError, req chan<- *Context) error {
	s, ok := c.spider.(*Spider)
	if !ok {
		c.spider.ErrorHandler(herr, req)
		return nil
	}
	err := s.tell(herr, req)
	reason, closing := asCloseSpider(err)
	if closing && !by.GivenUp() {
		c.closeSpider(reason)
	}
	if closing {
		return nil
	}
	return err
}
