package tegenaria

import (
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// maxNesting is how deep inline requests may nest: one that a middleware sends for another counts.
const maxNesting = 8

var errNesting = fmt.Errorf("Fetch is nested %d deep; does a middleware fetch for the requests that it sends itself?",
	maxNesting)

var errFetched = errors.New("the Context of a response that Fetch has returned is over: call Fetch of the Context that the parser was given")

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
	p.frontier.BeginFetch(of)
	if !of.ofItem() {
		p.places.Lend(&root.place)
	}
	resp, herr := p.inlineChain(caller, call, r)
	if !of.ofItem() {
		if err := p.places.Reclaim(root.ctx, &root.place); err != nil && herr == nil {
			herr = NewError(caller.CtxId, err, ErrorWithRequest(r), ErrorWithStage(StageParse))
		}
	}
	if err := p.reclaimSlot(of); err != nil && herr == nil {
		herr = NewError(caller.CtxId, err, ErrorWithRequest(r), ErrorWithStage(StageRequest))
	}
	if herr != nil {
		return resp, herr
	}
	return resp, nil
}

// inlineChain runs an inline request until it has a response that is not a redirect, or fails.
func (p *pages) inlineChain(caller *Context, call *frontier.Call[*job], r *Request) (*Response, *HandleError) {
	from := emission{parent: jobOf(caller)}
	for attempt := 0; ; {
		j, herr := p.inlineJob(caller, call, from, r, attempt)
		if herr != nil {
			return nil, herr
		}
		resp, next, herr, retry := p.inlineOnce(j)
		switch {
		case retry != nil:
			p.settleInline(j, Dropped, "retry")
			attempt++
			if err := frontier.Sleep(caller, retry.After); err != nil {
				return resp, j.failure(StageDownload, err, nil)
			}
		case herr != nil:
			return resp, herr
		case next != nil:
			from, r = emission{parent: j, redirect: true}, next
		default:
			return resp, nil
		}
	}
}

// inlineJob passes the request through the filters of accept and makes a job of it.
func (p *pages) inlineJob(
	caller *Context, call *frontier.Call[*job], from emission, r *Request, attempt int,
) (*job, *HandleError) {
	s := p.acceptor.scratch.Get().(*scratch)
	defer p.acceptor.scratch.Put(s)
	ctx := &Context{Request: r, Ctx: caller.Ctx}
	failed := func(err error) *HandleError {
		return NewError(caller.CtxId, err, ErrorWithRequest(r), ErrorWithStage(StageAccept)).unstack()
	}
	rec, no := p.inlineRecord(s, from, ctx)
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
	rec.Attempt, rec.Data = attempt, wire.AppendPlain(nil, []byte(r.Url))
	if r.ResponseWriter != nil {
		rec.Live = &liveParts{writer: r.ResponseWriter}
	}
	v := p.newVisit(rec)
	j := &v.job
	j.caller = jobOf(caller)
	j.call.Caller, j.inCall, j.claim.Inline = &j.caller.call, call, true
	ctx.Request = r
	j.begin(ctx, v, p.stop.work)
	if !p.inline.Add(call, j, ctx.CtxId) {
		return nil, failed(ErrOutputClosed)
	}
	return j, nil
}

// inlineRecord is record for a request that is never deduplicated and never stored.
func (p *pages) inlineRecord(s *scratch, from emission, ctx *Context) (rec Record, no *refusal) {
	host, _, no := p.acceptor.identify(s, ctx)
	if no != nil {
		return rec, no
	}
	r := ctx.Request
	rec.Depth = from.parent.rec.Depth
	r.Depth = rec.Depth
	if no := p.acceptor.scope.check(from, r, host); no != nil {
		return rec, no
	}
	rec.Priority, rec.Slot, rec.Parent = r.Priority, p.acceptor.slotOf(r, host), from.parent.root().rec.Key
	r.parent = rec.parentPage()
	if p.frontier.IsSpent(rec.Slot) {
		return rec, refuse(Filtered, pageBudget)
	}
	return rec, nil
}

// inlineOnce makes one exchange and settles its job. next is the target of a redirect.
func (p *pages) inlineOnce(j *job) (resp *Response, next *Request, herr *HandleError, retry *RetryError) {
	defer j.call.Life.Cancel(nil)
	herr = p.inlineExchange(j)
	resp = j.ctx.Response()
	if herr == nil && isRedirect(j.ctx.Request, resp) {
		target, _, err := p.fetcher.redirectTarget(j)
		if err == nil {
			p.settleInline(j, Redirected, "")
			return resp, target, nil, nil
		}
		herr = j.failure(StageRedirect, err, nil)
	}
	if herr == nil {
		herr = p.fetcher.checkStatus(j)
	}
	if herr != nil {
		given := j.call.GivenUp()
		alive := !given && j.run(p.watch, StageError, func() {
			herr = p.failures.errorMiddlewares(j, herr)
			if herr == nil {
				herr = j.failure(StageError, ErrIgnoreRequest, nil)
			}
			j.closeRequests()
		})
		if !alive {
			p.settleInline(j, Failed, "abandoned")
			if !given {
				herr = j.failure(StageError, ErrOutputClosed, nil)
			}
			return resp, nil, herr, nil
		}
	}
	if herr == nil {
		p.settleInline(j, Fetched, "")
		return resp, nil, nil, nil
	}
	if !p.inline.Awaits(j.root(), j) {
		return resp, nil, herr, nil // it was given up, and that was reported
	}
	if retry := asRetry(herr.Err); retry != nil && p.failures.mayRetry(j) {
		p.report.counters.Retries.Add(1)
		return resp, nil, nil, retry
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
	return resp, nil, herr, nil
}

// inlineExchange waits for robots.txt and the slot, then takes a worker for inline requests and makes the exchange.
func (p *pages) inlineExchange(j *job) *HandleError {
	defer p.fetcher.release(j)
	if p.shared != nil {
		done, err := p.turn(j)
		if err != nil {
			return j.failure(StageDownload, err, nil)
		}
		defer done()
	}
	for {
		if err := p.waitSlot(j); err != nil {
			return j.failure(StageDownload, err, nil)
		}
		if p.frontier.Starves(j) {
			return j.failure(StageDownload, IgnoreRequest(pageBudget), nil)
		}
		if !p.fetcher.enter(j) {
			if err := p.fetcher.waitAgain(j); err != nil {
				return j.failure(StageDownload, err, nil)
			}
			continue
		}
		passed, err := p.fetcher.robots.passInline(j)
		if err != nil {
			return j.failure(StageRobots, err, nil)
		}
		if !passed {
			continue
		}
		switch herr, way := p.fetcher.exchange(j); way {
		case ends:
			why := ErrOutputClosed
			if late := p.watch.Why(&j.call); late != nil {
				why = abandonedBy(StageDownload, late)
			}
			return j.failure(StageDownload, why, nil)
		case goesOn:
			return herr
		}
		if err := p.fetcher.waitAgain(j); err != nil {
			return j.failure(StageDownload, err, nil)
		}
	}
}

// turn waits for a slot that another program has.
func (p *pages) turn(j *job) (done func(), err error) {
	defer p.fetcher.inLine(j)()
	return p.shared.Turn(j.ctx, j.rec.Slot, j.ctx.Request.timeoutOrDefault())
}

// waitSlot waits in line for the job's slot and a worker for inline requests.
func (p *pages) waitSlot(j *job) error {
	if p.frontier.HasSlot(j) {
		return nil
	}
	defer p.fetcher.inLine(j)()
	return p.frontier.WaitSlot(j.ctx, j)
}

// settleInline counts the end of an inline request. Its memory is given back with its caller's.
func (p *pages) settleInline(j *job, outcome Outcome, reason string) {
	resp, root := j.ctx.Response(), j.root()
	spooled := resp != nil && resp.isSpooled()
	switch {
	case p.endInline(j, j.ctx.Request, resp, outcome, reason):
		if spooled {
			root.mu.Lock()
			root.spooled = append(root.spooled, resp)
			root.mu.Unlock()
		}
	case spooled:
		resp.closeSpool()
	}
}

// dropInline counts the end of an inline request that was given up: the goroutine it runs in may be at work
// still.
func (p *pages) dropInline(j *job) {
	p.endInline(j, p.acceptor.codec.requestOf(&j.rec), nil, Failed, "abandoned")
}

// endInline counts the end of an inline request, and reports it as r and its response. It returns false if the request
// was given up before.
func (p *pages) endInline(j *job, r *Request, resp *Response, outcome Outcome, reason string) bool {
	if !p.inline.End(j.root(), j) {
		return false
	}
	p.frontier.Overrule(j)
	if outcome == Fetched {
		p.report.counters.Read.Add(1)
		p.report.countForJob(j, func(c *jobCounts) { c.read++ })
	}
	p.report.settledAs(r, p.report.inDetail(r, resp), outcome, reason)
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

// reclaimSlot ends a Fetch of the job's ProcessRequest. The last of them waits until the job has its slot again.
func (p *pages) reclaimSlot(j *job) error {
	if !p.frontier.EndFetch(j) {
		return nil
	}
	defer p.fetcher.inLine(j)()
	p.watch.Pause(&j.call)
	defer p.watch.Resume(&j.call)
	return p.frontier.ReclaimSlot(j.ctx, j)
}
