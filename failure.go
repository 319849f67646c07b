package tegenaria

import (
	"cmp"
	"errors"
	"slices"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
)

var errNoCause = errors.New("a HandleError without a cause: set its Err")

// failures ends jobs, items and emissions with an error: it asks the ErrorMiddlewares, obeys the verbs, and calls the
// ErrorHandlers, which may send requests. It is made when the cache has begun.
type failures struct {
	spider    SpiderInterface
	handler   func(spider SpiderInterface, err *HandleError) // of EngineWithErrorHandler; nil: there is none
	attempts  int                                            // that a request may have
	errorMWs  []ErrorMiddleware
	callbacks *callbacks
	timed     []*callback // the ErrorMiddlewares; nil: not measured
	ledger    *frontier.Ledger
	watch     *guard.Watch
	acceptor  *acceptor // that takes what the ErrorHandlers send
	report    *reporter
	stop      *stop
	durable   bool // the job is
}

// failure makes the HandleError of an error of a job. If err is a HandleError of this job it is completed;
// one of another request, such as that of a Fetch, is only the cause.
func (j *job) failure(stage Stage, err error) *HandleError {
	if known, ok := err.(*HandleError); ok && (known.Request == nil || known.Request == j.ctx.Request) {
		if known.Request == nil {
			known.Request = j.ctx.Request
		}
		known.CtxId, known.Stage = cmp.Or(known.CtxId, j.ctx.CtxId), cmp.Or(known.Stage, stage)
		if known.Err == nil {
			known.Err = errNoCause
		}
		if known.Stack == nil {
			known.Stack = guard.Stack(known.Err)
		}
		return known
	}
	return NewError(j.ctx.CtxId, err, ErrorWithRequest(j.ctx.Request), ErrorWithResponse(j.ctx.Response()),
		ErrorWithStage(stage))
}

// fail ends a job with an error: the ErrorMiddlewares see it first and may turn it into something else,
// then the verbs are obeyed, and an error that is still a failure goes to the ErrorHandlers. When the crawl
// gives up, the job is put back into the cache instead: it did not fail by itself.
func (f *failures) fail(j *job, herr *HandleError) {
	if f.stop.work.Err() != nil {
		j.leaveUndecided()
		return
	}
	if f.putOff(j, herr) {
		return
	}
	j.failedAt(herr.Stage)
	if isA[*BlockedError](herr.Err) && herr.Response != nil {
		f.report.counters.Blocked.Add(1)
	}
	herr = f.errorMiddlewares(j, herr)
	switch {
	case j.call.GivenUp(): // a middleware was given up, and has returned after all
		return
	case herr == nil:
		j.decide(Dropped, "middleware")
		return
	case f.putOff(j, herr):
		return
	}
	if reason, ok := asCloseSpider(herr.Err); ok {
		f.closedBy(j, reason, Dropped, reason)
		return
	}
	if retry := asRetry(herr.Err); retry != nil && f.mayRetry(j) {
		j.runAgain(again{retry: retry})
		return
	}
	outcome, reason := outcomeOf(herr)
	switch outcome {
	case Filtered:
		f.report.notice(herr.Err)
	case Failed:
		j.ctx.Error = herr.Err
		fallthrough
	default:
		f.handle(j, herr)
	}
	j.decide(outcome, reason)
}

// putOff has a job come again as it was accepted, if the error asks for that and its ResponseWriter can be rewound.
func (f *failures) putOff(j *job, herr *HandleError) bool {
	off := asNotNow(herr.Err)
	if off == nil || !j.loan.Rewind(j.ctx.Request.ResponseWriter) {
		return false
	}
	j.runAgain(again{gate: off.gate})
	return true
}

// mayRetry reports whether a job can run again, and takes back what its ResponseWriter has got.
func (f *failures) mayRetry(j *job) bool {
	return j.rec.Attempt+1 < f.attempts && j.loan.Rewind(j.ctx.Request.ResponseWriter)
}

// outcomeOf returns how a request ends that has an error and cannot run again: by the verb among the error's causes, or
// as a failure.
func outcomeOf(herr *HandleError) (outcome Outcome, reason string) {
	if retry := asRetry(herr.Err); retry != nil {
		return GaveUp, reasonOf(retry.Err)
	}
	if gaveUp := asGiveUp(herr.Err); gaveUp != nil {
		return GaveUp, reasonOf(gaveUp.reason)
	}
	if errors.Is(herr.Err, ErrIgnoreRequest) {
		return Filtered, ignoreReason(herr.Err)
	}
	return Failed, failedReason(herr)
}

// errorMiddlewares lets the ErrorMiddlewares see a failure, in the order of responses.
func (f *failures) errorMiddlewares(j *job, herr *HandleError) *HandleError {
	if len(f.errorMWs) == 0 {
		return herr
	}
	_ = f.acceptor.withRequests(j.emission(), func(requests chan<- *Context) error {
		for i, m := range slices.Backward(f.errorMWs) {
			if herr = f.errorMiddleware(i, m, j, herr, requests); herr == nil {
				break
			}
		}
		return nil
	})
	return herr
}

// errorMiddleware lets one, the i-th, see a failure. It returns what the next one sees; nil: the failure is none, or the middleware was
// given up.
func (f *failures) errorMiddleware(
	i int, m ErrorMiddleware, j *job, herr *HandleError, requests chan<- *Context,
) *HandleError {
	var next error
	took := f.callbacks.begin(j.waits)
	err := guard.Protect(func() error {
		next = m.ProcessError(j.ctx, herr, requests)
		guard.Sound(next)
		return nil
	})
	took.end(callbackAt(f.timed, i), err)
	switch {
	case j.call.GivenUp(), err == nil && next == nil:
		return nil
	case err != nil:
		return j.failure(StageError, err)
	case next == error(herr):
		return herr
	}
	replaced := j.failure(herr.Stage, next)
	if replaced.Response == nil {
		replaced.Response = herr.Response
	}
	return replaced
}

// handle reports a failure to counters, log, events, ErrorChan, the engine's ErrorHandler and
// the spider's, which may send requests.
func (f *failures) handle(j *job, herr *HandleError) {
	f.report.failed(herr)
	f.tellHandlers(j, failureOf(j), &j.call, herr)
}

// failureOf is a job's own request, or an item of it.
func failureOf(j *job) *failedRequest {
	return &failedRequest{request: j.ctx.Request, depth: j.rec.Depth, attempt: j.rec.Attempt}
}

// tellHandlers calls the ErrorHandlers, in the call by. Requests that they send come from parent.
func (f *failures) tellHandlers(parent *job, failed *failedRequest, by *guard.Call, herr *HandleError) {
	if f.handler != nil && !by.GivenUp() {
		took := f.callbacks.begin(nil)
		err := guard.Protect(func() error { f.handler(f.spider, herr); return nil })
		took.end(f.callbacks.of(StageError, "EngineWithErrorHandler"), err)
		f.handlerPanicked(by, herr, err)
	}
	if by.GivenUp() { // the code before was given up, and has returned after all
		return
	}
	from := emission{parent: parent, by: by, failed: failed, why: herr.Err}
	err := f.acceptor.withRequests(from, func(requests chan<- *Context) error {
		if s, ok := f.spider.(*Spider); ok && s.failed == nil {
			return nil
		}
		took := f.callbacks.begin(nil)
		err := guard.Protect(func() error { return f.askErrorHandler(by, herr, requests) })
		took.end(f.callbacks.of(StageError, "ErrorHandler"), err)
		return err
	})
	f.handlerPanicked(by, herr, err)
}

// handleApart is handle for a failure of the start or of an emission: the caller has to go on when the
// ErrorHandlers do not return. It returns false if they were abandoned.
func (f *failures) handleApart(parent *job, failed *failedRequest, herr *HandleError) bool {
	call := &guard.Call{Owner: outsider{f.report, named(herr.Request), herr.CtxId}}
	return guard.ErrGivenUp != f.watch.Apart(call, string(StageError), func() {
		f.report.failed(herr)
		f.tellHandlers(parent, failed, call, herr)
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
func (f *failures) handlerPanicked(by *guard.Call, herr *HandleError, err error) {
	if err != nil && !by.GivenUp() {
		f.report.failed(NewError(herr.CtxId, err, ErrorWithRequest(herr.Request), ErrorWithStage(StageError)))
	}
}

// failedEmission reports an emission that was refused to the ErrorHandlers. It stays open until they have
// returned, since they may send another request in its place.
func (f *failures) failedEmission(from emission, ctx *Context, no *refusal) {
	failed, id := &failedRequest{depth: f.acceptor.depthOf(from)}, ""
	if ctx != nil {
		failed.request, id = ctx.Request, ctx.CtxId
	}
	if outer := from.failed; outer != nil {
		failed.refused, failed.attempt = outer.refused, outer.attempt+1
	}
	if failed.refused == nil {
		failed.refused = new(refusals)
	}
	failed.refused.end(func() {
		told, copied := failed.request, named(failed.request)
		herr := NewError(id, no.err, ErrorWithRequest(told), ErrorWithStage(StageAccept))
		if failed.attempt >= f.attempts {
			f.report.failed(herr)
		} else if !f.handleApart(from.parent, failed, herr) {
			told = copied
		}
		f.report.settled(told, no.outcome, no.reason)
		f.ledger.Refuse(1, uint8(no.outcome), no.reason)
	})
}

// closedBy is closeSpider for user code that had a job, whose outcome it decides. A job of a durable crawl that has
// sent nothing goes back to the cache instead: the next run asks for its page again, with another password for example.
func (f *failures) closedBy(j *job, reason string, outcome Outcome, why string) {
	f.stop.closeSpider(reason)
	if f.durable && !j.root().sends.Load() {
		j.leaveUndecided()
		return
	}
	j.decide(outcome, why)
}

// handleOutside tells the ErrorHandlers about a panic that is not a request's failure.
func (f *failures) handleOutside(herr *HandleError) {
	refused := new(refusals)
	refused.end(func() { f.handleApart(nil, &failedRequest{refused: refused}, herr) })
}

// askErrorHandler calls the ErrorHandler of the spider whose request has failed. The error is that of a func of
// OnError, which may close the spider.
func (f *failures) askErrorHandler(by *guard.Call, herr *HandleError, req chan<- *Context) error {
	s, ok := f.spider.(*Spider)
	if !ok {
		f.spider.ErrorHandler(herr, req)
		return nil
	}
	err := s.tell(herr, req)
	reason, closing := asCloseSpider(err)
	if closing && !by.GivenUp() {
		f.stop.closeSpider(reason)
	}
	if closing {
		return nil
	}
	return err
}
