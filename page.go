package tegenaria

import (
	"context"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/stage"
)

// pages takes a page from its slot to the end of its parser, and the pages that its parser fetches inline.
type pages struct {
	limits    *Limits
	frontier  *frontier.Frontier[*job]
	ledger    *frontier.Ledger
	watch     *guard.Watch
	flights   *flights
	report    *reporter
	stop      *stop
	settler   *settler
	abandoned *abandonment
	acceptor  *acceptor
	failures  *failures
	items     *items
	fetcher   *fetcher

	histories []PageHistory // they know what earlier runs have read
	stored    []StoredPages // they have pages of earlier runs
	skips     []UnchangedPages
	parsers   *parserTable
	callbacks *callbacks
	bounds    page.Bounds // of what is made of a page
	queries   *page.Queries
	permits   *frontier.ParsePermits
	work      *work
	inline    *frontier.Inline[*job] // those that wait for a call of Fetch
}

// page takes a job from its slot to the end of its parser, in one goroutine: a body that a worker has just read is
// still in the cache of its processor. The job comes with its slot and the right to fetch, and releases both before it is parsed.
func (p *pages) page(worker context.Context, v *visit) (*visit, error) {
	j := &v.job
	j.call.Worker = stage.CallOf(worker)
	err := guard.ErrGivenUp // unless fetch returns: user code may end this goroutine by runtime.Goexit
	defer func() {
		switch {
		case err == errInLine:
		case j.call.GivenUp(): // and has returned after all
			p.abandoned.unreturned.done(&j.call)
		default:
			p.watch.Leave(&j.call)
		}
	}()
	p.flights.begin(j)
	if err = p.fetch(v); err == errInLine {
		return nil, stage.ErrDrop
	}
	p.fetcher.ended(j)
	p.fetcher.release(j)
	if err == nil {
		_ = j.run(p.watch, StageParse, func() error { p.runParser(j); return nil })
		p.permits.Release(&j.permit)
	}
	p.followStored(j)
	return nil, stage.ErrDrop // nothing is passed on; the worker calls v.MarkAsProcessed, which ends the job's way
}

// fetch takes a job to its response, which goes on to its parser if the error is nil: then it holds a permit to parse, and
// the memory for its page. A job that has failed has its outcome when fetch returns.
func (p *pages) fetch(v *visit) error {
	j := &v.job
	if j.ctx == nil {
		ctx, err := p.acceptor.codec.decode(j.rec.Data, j.rec.Live)
		if err != nil {
			j.begin(NewContext(NewRequest("", GET, nil)), v, p.stop.work)
			p.stop.storeFailed(fmt.Errorf("decoding a stored request: %w", err))
			return errDecided
		}
		if j.rec.Attempt > 0 || ctx.CtxId != "" && p.abandoned.unreturned.has(ctx.CtxId) {
			ctx.CtxId = "" // code of an earlier attempt may still stage items under the user's
		}
		j.begin(ctx, v, p.stop.work)
	}
	if p.stop.work.Err() != nil {
		return errDecided
	}
	err := p.fetcher.fetch(j)
	if err == nil {
		err = p.fetcher.follow(j)
	}
	switch {
	case err == errInLine || err == guard.ErrGivenUp:
		return err
	case err == nil && j.undecided():
		if p.reserve(j, j.ctx.Response()) != nil || p.permit(j) != nil {
			return errDecided // the crawl gives up: the job goes back to the cache
		}
		return nil
	}
	if herr, failed := err.(*HandleError); failed { // or else it has its outcome: a redirect was followed
		_ = j.run(p.watch, StageError, func() error { p.failures.fail(j, herr); return nil })
	}
	return errDecided
}

// reserve waits until there is memory for what is likely to be made of the page, as a download waits for its body: the
// parser and all that it calls wait for none. The error is that of a crawl that gives up.
func (p *pages) reserve(j *job, resp *Response) error {
	if resp == nil {
		return nil
	}
	h := (*pageHost)(resp)
	if h.Run() == nil {
		return nil
	}
	n := resp.page.Reserve(h)
	if n == 0 {
		return nil
	}
	if p.fetcher.bodies.TryGrow(&j.hold, n) {
		return nil
	}
	wait := p.frontier.Waits(j, frontier.PlaceMemory)
	err := p.fetcher.bodies.Grow(p.stop.work, &j.hold, n)
	wait.DoneAs(p.work.withoutMemory())
	return err
}

// permit waits for a permit to parse. The error is that of a crawl that gives up. A job that has to wait leaves its gate before: what
// has the permits may wait for that in Fetch, and need not have yielded them.
func (p *pages) permit(j *job) error {
	if p.permits.TryAcquire(&j.permit) {
		return nil
	}
	p.fetcher.ended(j)
	p.frontier.LeaveGate(j)
	wait := p.frontier.Waits(j, p.work.withoutPermits())
	err := p.permits.Acquire(p.stop.work, &j.permit)
	wait.DoneAs(p.work.withoutPermits())
	return err
}

// runParser lets the request's parser read the response. What it sends is received until it returns; then the job
// has its outcome.
func (p *pages) runParser(j *job) {
	parser, err := p.parserOf(j.ctx.Request)
	if err != nil {
		p.failures.fail(j, j.failure(StageParse, err))
		return
	}
	p.report.counters.Read.Add(1)
	p.report.countForJob(j, func(c *jobCounts) { c.read++ })
	p.report.leadsOn(j)
	timed := p.callbacks.ofParser(p.parsers, j.ctx.Request)
	url := j.ctx.Request.Url // an ErrorHandler of its items may change it
	p.setChange(j)
	skipped := p.sendAgain(j)
	if !skipped {
		took := p.callbacks.begin(j.waits)
		err = p.callParser(j, j.ctx, parser)
		took.end(timed, err)
	}
	if j.call.GivenUp() {
		return
	}
	if err == nil {
		err = j.lostItem()
	}
	switch {
	case p.stop.work.Err() != nil: // it may have left something out
		j.leaveUndecided()
	case err != nil:
		herr := j.failure(StageParse, err)
		if reason, ok := asCloseSpider(herr.Err); ok {
			p.failures.closedBy(j, reason, Fetched, "")
		} else {
			p.failures.fail(j, herr)
		}
	case skipped:
		p.report.counters.Unchanged.Add(1)
		p.report.countForJob(j, func(c *jobCounts) { c.parsed++ })
		j.decide(Fetched, "")
	default:
		p.report.counters.ParsedPage(url)
		p.report.countForJob(j, func(c *jobCounts) { c.parsed++ })
		j.decide(Fetched, "")
	}
}

// parserOf finds the parser of a request: the one it was sent with, the named one, or the spider's.
func (p *pages) parserOf(r *Request) (Parser, error) {
	if r.parser != nil && !r.named {
		return r.parser, nil
	}
	parser, ok := p.parsers.Lookup(r.parserName)
	if !ok {
		return nil, fmt.Errorf("no parser is registered as %q; use RegisterParser or the spider's Parsers()", r.parserName)
	}
	return parser, nil
}
