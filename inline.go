package tegenaria

import (
	"errors"
	"fmt"
	"maps"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// maxNesting is how deep inline requests may nest: one that a middleware sends for another counts.
const maxNesting = 8

var errNesting = fmt.Errorf("Fetch is nested %d deep; does a middleware fetch for the requests that it sends itself?",
	maxNesting)

var errFetched = errors.New("the Context of a response that Fetch has returned is over: call Fetch of the Context " +
	"that the parser was given")

// fetchInline is Context.Fetch: one request and its redirects, in the goroutine of the caller, which waits
// for it anyway.
func (p *pages) fetchInline(caller *Context, r *Request) (*Response, error) {
	of := jobOf(caller)
	root := of.root()
	if of != root && caller.Err() != nil && root.ctx.Err() == nil {
		return nil, NewError(caller.CtxId, errFetched, ErrorWithRequest(r), ErrorWithStage(StageAccept))
	}
	call, err := p.inline.Enter(root, of.inCall)
	if err != nil {
		why := ErrOutputClosed
		if err == frontier.ErrNested {
			why = errNesting
		}
		return nil, NewError(caller.CtxId, why, ErrorWithRequest(r), ErrorWithStage(StageAccept))
	}
	defer p.leave(call)
	of.waits.Begin()
	defer of.waits.End()
	p.frontier.BeginFetch(of)
	if !of.ofItem() {
		p.permits.Yield(&root.permit)
	}
	resp, err := p.inlineChain(caller, call, r)
	if !of.ofItem() {
		p.watch.Pause(&of.call) // it waits for other parsers
		resume := p.watch.PauseCallers(&of.call)
		gone := p.permits.Reacquire(root.ctx, &root.permit)
		resume()
		p.watch.Resume(&of.call)
		if gone != nil && err == nil {
			err = NewError(caller.CtxId, gone, ErrorWithRequest(r), ErrorWithStage(StageParse))
		}
	}
	if gone := p.reacquireSlot(of); gone != nil && err == nil {
		err = NewError(caller.CtxId, gone, ErrorWithRequest(r), ErrorWithStage(StageRequest))
	}
	return resp, err
}

// inlineChain runs an inline request until it has a response that is not a redirect, or fails.
func (p *pages) inlineChain(caller *Context, call *frontier.Call[*job], r *Request) (*Response, error) {
	from := emission{parent: jobOf(caller), inline: true}
	given := asGiven(r)
	for attempt := 0; ; {
		j, err := p.inlineJob(caller, call, from, r, attempt)
		if err != nil {
			return nil, err
		}
		err = p.inlineOnce(j)
		resp := j.ctx.Response()
		switch again := err.(type) {
		case *RetryError:
			attempt++
			if err := frontier.Sleep(caller, again.After); err != nil {
				return resp, j.failure(StageDownload, err)
			}
			r = given()
		case *notNowError:
			goesOn := p.watch.PauseCallers(&j.call)
			err := again.wait(caller)
			goesOn()
			if err != nil {
				return resp, j.failure(StageDownload, err)
			}
			r = given()
		case *redirectError:
			from, r = emission{parent: j, redirect: true, inline: true}, again.target
			given = asGiven(r)
		default:
			return resp, err
		}
	}
}

// asGiven returns a func that makes a request anew as it is now: without what middlewares put into it, such as the cookies of an identity
// that it has no more.
func asGiven(r *Request) func() *Request {
	if r == nil {
		return nil
	}
	was := *r
	header, meta := maps.Clone(r.Header), maps.Clone(r.Meta)
	return func() *Request {
		again := was
		again.Body, again.BodyReader = r.Body, r.BodyReader // which may have been read
		again.Header, again.Meta = maps.Clone(header), maps.Clone(meta)
		return &again
	}
}

// redirectError is the end of an inline request that was redirected: its caller asks for the target next.
type redirectError struct{ target *Request }

func (e *redirectError) Error() string { return "redirected to " + urlx.Redact(e.target.Url) }

// inlineJob passes the request through the filters of accept and makes a job of it.
func (p *pages) inlineJob(
	caller *Context, call *frontier.Call[*job], from emission, r *Request, attempt int,
) (*job, error) {
	s := p.acceptor.scratch.Get().(*scratch)
	defer p.acceptor.scratch.Put(s)
	failed := func(err error) *HandleError {
		return NewError(caller.CtxId, err, ErrorWithRequest(r), ErrorWithStage(StageAccept))
	}
	ctx := &Context{Request: r, Ctx: caller.Ctx}
	rec, no := p.acceptor.record(s, from, ctx)
	if no != nil {
		err := no.err
		if err == nil {
			err = errors.New(no.outcome.String() + ": " + no.reason)
		}
		herr := failed(err)
		if p.inline.Count(call) {
			p.report.settled(r, no.outcome, no.reason)
			p.ledger.Settle(uint8(no.outcome), no.reason)
			p.report.failed(herr)
		}
		return nil, herr
	}
	rec.Attempt = attempt
	v := p.newVisit(rec)
	j := &v.job
	j.caller = jobOf(caller)
	j.call.Caller, j.inCall, j.claim.Inline = &j.caller.call, call, true
	j.begin(ctx, v, p.stop.work)
	if !p.inline.Add(call, j, ctx.CtxId) {
		return nil, failed(ErrOutputClosed)
	}
	return j, nil
}

// inlineOnce makes one exchange and settles its job. The error is a [*RetryError] or a [*redirectError] if the caller
// has to make another one: then it may be a [*notNowError], too.
func (p *pages) inlineOnce(j *job) error {
	defer j.call.Life.Cancel(nil)
	defer p.fetcher.release(j)
	defer p.fetcher.ended(j)
	err := p.inlineExchange(j)
	if err == nil && isRedirect(j.ctx.Request, j.ctx.Response()) {
		target, _, failed := p.fetcher.redirectTarget(j)
		if failed == nil {
			p.settleInline(j, Redirected, "")
			return &redirectError{target}
		}
		err = j.failure(StageRedirect, failed)
	}
	if err == nil {
		err = p.fetcher.checkStatus(j)
	}
	if err == nil {
		p.settleInline(j, Fetched, "")
		return nil
	}
	if off := p.putOffInline(j, err); off != nil {
		return off
	}
	herr, err := p.inlineFailure(j, err)
	if err != nil {
		p.settleInline(j, Failed, "abandoned")
		return err
	}
	if !p.inline.Awaits(j.root(), j) {
		return herr // it was given up, and that was reported
	}
	if off := p.putOffInline(j, herr); off != nil {
		return off
	}
	j.failedAt(herr.Stage)
	if isA[*BlockedError](herr.Err) && herr.Response != nil {
		p.report.counters.Blocked.Add(1)
	}
	if retry := asRetry(herr.Err); retry != nil && p.failures.mayRetry(j) {
		p.report.counters.Retries.Add(1)
		p.settleInline(j, Dropped, "retry")
		return retry
	}
	if reason, ok := asCloseSpider(herr.Err); ok {
		p.stop.closeSpider(reason)
	}
	outcome, reason := outcomeOf(herr)
	if robots, ok := errors.AsType[*RobotsError](herr.Err); ok {
		if outcome, reason = Robots, "forbidden"; robots.Unreachable {
			reason = "unreachable"
		}
	}
	if retry := asRetry(herr.Err); retry != nil {
		// The verb has been obeyed: it must not reach the caller's own request if the caller returns this.
		gaveUp := *herr
		gaveUp.Err = errors.New(reason)
		if retry.Err != nil {
			gaveUp.Err = retry.Err
		}
		herr = &gaveUp
	}
	p.report.notice(herr.Err)
	p.report.failed(herr)
	p.settleInline(j, outcome, reason)
	return herr
}

// putOffInline takes back an inline request that a middleware puts off, and returns what its caller waits for. It returns nil
// unless the error asks for that.
func (p *pages) putOffInline(j *job, failed error) *notNowError {
	off := asNotNow(failed)
	if off == nil || j.call.GivenUp() || !j.loan.Rewind(j.ctx.Request.ResponseWriter) || !p.inline.End(j.root(), j) {
		return nil
	}
	p.frontier.Overrule(j)
	p.ledger.ForgetInline()
	return off
}

// inlineFailure has the ErrorMiddlewares see the failure of an inline request. The error is that of the caller if user
// code of the request was given up.
func (p *pages) inlineFailure(j *job, failed error) (herr *HandleError, err error) {
	if failed == guard.ErrGivenUp {
		why := ErrOutputClosed
		if late := p.watch.Why(&j.call); late != nil {
			why = abandonedBy(StageDownload, late)
		}
		return nil, j.failure(StageDownload, why)
	}
	herr = failed.(*HandleError)
	if j.call.GivenUp() {
		return nil, herr
	}
	if j.run(p.watch, StageError, func() error {
		herr = p.failures.errorMiddlewares(j, herr)
		return nil
	}) != nil {
		return nil, j.failure(StageError, ErrOutputClosed)
	}
	if herr == nil {
		herr = j.failure(StageError, ErrIgnoreRequest)
	}
	return herr, nil
}

// inlineExchange waits for robots.txt and the slot, then takes a worker for inline requests and makes the exchange.
func (p *pages) inlineExchange(j *job) error {
	done, err := p.fetcher.turn(j)
	if err != nil {
		return j.failure(StageDownload, err)
	}
	defer done()
	return p.fetcher.fetch(j)
}

// turn waits for a slot that another program has.
func (f *fetcher) turn(j *job) (done func(), err error) {
	if f.shared == nil {
		return func() {}, nil
	}
	defer f.inLine(j)()
	return f.shared.LeaseHost(j.ctx, j.slot(), j.ctx.Request.timeoutOrDefault())
}

// settleInline counts the end of an inline request. Its memory is given back with its caller's.
func (p *pages) settleInline(j *job, outcome Outcome, reason string) {
	resp := j.ctx.Response()
	p.settler.noteInline(j, outcome, reason)
	if !p.endInline(j, j.ctx.Request, resp, outcome, reason, j.call.GivenUp()) && resp != nil && resp.isSpooled() {
		resp.closeSpool()
	}
}

// dropInline counts the end of an inline request that was given up: the goroutine it runs in may be at work
// still.
func (p *pages) dropInline(j *job) {
	p.fetcher.ended(j)
	p.endInline(j, p.acceptor.codec.requestOf(&j.rec), nil, Failed, "abandoned", true)
}

// endInline counts the end of an inline request, and reports it as r and its response. It returns false if the request
// was given up before.
func (p *pages) endInline(j *job, r *Request, resp *Response, outcome Outcome, reason string, givenUp bool) bool {
	if !p.inline.End(j.root(), j) {
		return false
	}
	p.frontier.Overrule(j)
	if outcome == Fetched {
		p.report.counters.Read.Add(1)
		p.report.countForJob(j, func(c *jobCounts) { c.read++ })
	}
	p.report.settledAs(r, p.report.inDetail(r, resp), outcome, reason)
	if p.report.events.RequestEnded != nil {
		j.mu.Lock()
		status := int(j.status)
		j.mu.Unlock()
		p.report.requestEnded(p.report.endOf(j, r, outcome, reason, status, givenUp))
	}
	p.ledger.Settle(uint8(outcome), reason)
	return true
}

// leave ends a call of Fetch, and closes the job that it was for unless that was done because its code was abandoned.
func (p *pages) leave(call *frontier.Call[*job]) {
	if p.inline.Leave(call) {
		p.settler.done(call.Page())
	}
}

// closeFetches ends all calls that are under way, and lets none begin: the crawl is over, and the jobs that wait for
// them can be settled as they are. User code that was left behind may still be in one.
func (p *pages) closeFetches() {
	for _, j := range p.inline.Close() {
		p.dropFetches(j)
	}
}

// dropFetches ends the calls of a job that are under way: they have no effect any more.
func (p *pages) dropFetches(j *job) {
	calls, awaited := p.inline.Drop(j)
	for _, inline := range awaited {
		p.dropInline(inline)
	}
	for range calls {
		p.settler.done(j)
	}
}

// reacquireSlot ends a Fetch of the job's ProcessRequest. The last of them waits until the job has its slot again.
func (p *pages) reacquireSlot(j *job) error {
	if !p.frontier.EndFetch(j) {
		return nil
	}
	defer p.fetcher.inLine(j)()
	p.watch.Pause(&j.call)
	defer p.watch.Resume(&j.call)
	return p.frontier.ReacquireSlot(j.ctx, j)
}
