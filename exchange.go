package tegenaria

import (
	"context"
	"errors"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
)

// fetcher takes a request through its gate, robots.txt and the middlewares to its downloader, and the response back.
type fetcher struct {
	crawl       *crawl
	middlewares Middlewares
	errorMWs    []ErrorMiddleware
	internalMWs []MiddlewaresInterface
	downloaders downloaderSet
	http        *httpDownloader // the default downloader, nil if the user gave one
	loopback    *fetch.Loopback
	bodies      *fetch.Budget
	writers     *guard.Writers // of the requests' ResponseWriters
	robots      robotsGate
	gated       bool // addresses or proxies have a limit
}

func newFetcher(c *crawl) (f *fetcher, err error) {
	cfg := &c.cfg
	f = &fetcher{
		crawl: c, middlewares: cfg.middlewares.sorted(), loopback: new(fetch.Loopback),
		bodies:  fetch.NewBudget(c.limits.BodiesInFlight, func() { c.settler.hurry() }),
		writers: newWriters(), robots: newRobotsGate(c), gated: cfg.politeness.PerIP > 0 || cfg.politeness.PerProxy > 0,
	}
	for _, m := range f.middlewares {
		if e, ok := m.(ErrorMiddleware); ok {
			f.errorMWs = append(f.errorMWs, e)
		}
		if i, ok := m.(InternalMiddleware); ok && i.SeesInternal() {
			f.internalMWs = append(f.internalMWs, m)
		}
	}
	fallback := cfg.downloader
	if fallback == nil {
		f.http = newHTTPDownloader(c.limits, cfg.allowStatus, fetch.Config{
			Agent: cfg.politeness.agent(), AllowPrivate: cfg.politeness.AllowPrivate, Loopback: f.loopback,
			HTTP: cfg.client, TLS: cfg.tls, Concurrency: cfg.concurrency, Bodies: f.bodies,
		})
		fallback = f.http
	}
	f.downloaders, err = newDownloaderSet(fallback, cfg.downloaders)
	return f, err
}

// exchange sends the request through the middlewares and the downloader. It returns the failure, if there
// is one. alive is false if the job was abandoned; closed is true if its slot or gate is closed and nothing was sent.
func (f *fetcher) exchange(j *job) (herr *HandleError, alive, closed bool) {
	c := f.crawl
	ctx := j.ctx
	if own, ok := ctx.Ctx.(*guard.Joint); ok && own.User.Err() != nil { // it was given up while it waited
		return j.failure(StageDownload, context.Cause(own.User), nil), true, false
	}
	if len(f.middlewares) > 0 && !j.prepared && !c.guard(j, StageRequest, func() { herr = f.processRequest(j) }) {
		return nil, false, false
	}
	if j.prepared = true; herr != nil {
		return herr, true, false
	}
	if ctx.DownloadResult == nil && j.copy != nil {
		c.fetcher.robots.answerByCopy(j)
	}
	var came frontier.Answer
	if ctx.DownloadResult == nil {
		// A middleware may have changed its proxy, and with that its gate.
		if len(f.middlewares) > 0 && !f.enterGate(j) {
			return nil, true, true
		}
		if herr, alive, closed = f.download(j); !alive || closed {
			return nil, alive, closed
		}
		came = answerOf(ctx, herr)
	}
	f.answered(j, came)
	if herr == nil && ctx.DownloadResult.Error != nil {
		stack, err := guard.Protect(func() error { return ctx.DownloadResult.Error })
		herr = j.failure(StageDownload, err, stack)
	}
	resp := ctx.Response()
	if herr == nil && resp == nil {
		herr = j.failure(StageDownload, errNilResponse, nil)
	}
	if resp != nil {
		f.received(j, resp)
	}
	if herr != nil {
		return herr, true, false
	}
	if len(f.middlewares) > 0 {
		j.inbox = j.lateInbox()
		if !c.guard(j, StageResponse, func() { herr = f.processResponse(j) }) {
			return nil, false, false
		}
	}
	if herr == nil && ctx.Response() == nil {
		herr = j.failure(StageResponse, errNilResponse, nil)
	}
	return herr, true, false
}

var errNilResponse = errors.New("response is nil")

func (f *fetcher) processRequest(j *job) *HandleError {
	asked := j.ctx.Request
	for _, m := range f.middlewares {
		stack, err := guard.Protect(func() error { return m.ProcessRequest(j.ctx) })
		if j.call.GivenUp() { // the others must not be called any more
			return nil
		}
		if err == nil && j.ctx.Request == nil {
			err = errNilRequest
		}
		keepRequest(j.ctx, asked)
		if err != nil {
			return j.failure(StageRequest, err, stack)
		}
		if j.ctx.DownloadResult != nil {
			return nil
		}
	}
	return nil
}

func (f *fetcher) processResponse(j *job) *HandleError {
	defer j.closeRequests() // the job may never come to its parser
	asked := j.ctx.Request
	for i := len(f.middlewares) - 1; i >= 0; i-- {
		stack, err := guard.Protect(func() error { return f.middlewares[i].ProcessResponse(j.ctx, j.requests()) })
		if j.call.GivenUp() { // the others must not be called any more
			return nil
		}
		if err == nil && j.ctx.Request == nil {
			err = errNilRequest
		}
		keepRequest(j.ctx, asked)
		if resp := j.ctx.Response(); resp != nil {
			resp.complete(j.ctx) // it may be another one, or lack what was there
		}
		if err != nil {
			return j.failure(StageResponse, err, stack)
		}
	}
	return nil
}

var errNilRequest = errors.New("a middleware took the Context's Request away")

// keepRequest puts the request back that a middleware has taken away.
func keepRequest(ctx *Context, asked *Request) {
	if ctx.Request == nil {
		ctx.Request = asked
	}
}

// received completes and counts a response.
func (f *fetcher) received(j *job, resp *Response) {
	c := f.crawl
	resp.complete(j.ctx)
	j.mu.Lock()
	j.status = resp.Status
	j.mu.Unlock()
	responses, bytes := c.teller.counters.Response(resp.Status, resp.ContentLength)
	if f := c.cfg.events.Downloaded; f != nil {
		c.teller.event(func() { f(j.ctx.Request, resp) })
	}
	if limit := int64(c.limits.Pages); limit > 0 && responses >= limit {
		c.requestStop("limit: pages", nil)
	}
	if limit := c.limits.Bytes; limit > 0 && bytes >= limit {
		c.requestStop("limit: bytes", nil)
	}
}

// download asks the request's downloader and waits for its one result. closed is true if the slot does not let it
// start any more: middlewares and robots.txt may have taken long, and the site may have asked for a pause meanwhile.
func (f *fetcher) download(j *job) (herr *HandleError, alive, closed bool) {
	c := f.crawl
	ctx := j.ctx
	if ctx.Err() != nil { // given up while a middleware had it; its slot may be gone
		return j.failure(StageDownload, context.Cause(ctx.Ctx), nil), true, false
	}
	d, err := f.downloaders.pick(ctx.Request.downloader)
	if err != nil {
		return j.failure(StageDownload, err, nil), true, false
	}
	// Before the slot is stamped, since the func may take its time. The slot may have been blocked when it returns: then
	// the job stands in line again, has its page of the budget, and is not announced a second time.
	if f := c.cfg.events.RequestStarted; f != nil && !j.announced {
		if !c.frontier.IsStartable(j) {
			return nil, true, true
		}
		if err := c.frontier.Reserve(j); err != nil {
			return j.failure(StageDownload, whyNot(err), nil), true, errors.Is(err, frontier.ErrShort)
		}
		j.announced = true
		c.teller.event(func() { f(ctx.Request) })
	}
	started, ok := c.frontier.Start(j)
	if !ok {
		return nil, true, true
	}
	if err := c.frontier.Spend(j); err != nil {
		return j.failure(StageDownload, whyNot(err), nil), true, false
	}
	j.started, j.downloader = started, d
	c.teller.counters.Downloads.Add(1)
	lendWriter(j)
	alive = c.guard(j, StageDownload, func() { herr = f.askDownloader(j, d, started) })
	if alive {
		j.loan.End()
	}
	return herr, alive, false
}

// pageBudget is the reason of requests that are filtered because their slot has had its Politeness.MaxPages.
const pageBudget = "page-budget"

// whyNot is the error of a job that the frontier does not let begin.
func whyNot(err error) error {
	if errors.Is(err, frontier.ErrOver) {
		return ErrOutputClosed
	}
	return IgnoreRequest(pageBudget)
}

func (f *fetcher) askDownloader(j *job, d *downloaderModule, started time.Time) *HandleError {
	ctx := j.ctx
	var herr *HandleError
	d.Call(nil, func() error {
		got, stack, err := f.ask(j, d, ctx, started)
		if err != nil {
			herr = j.failure(StageDownload, err, stack)
			return err
		}
		if ctx.DownloadResult = got.DownloadResult; ctx.DownloadResult == nil {
			ctx.DownloadResult = &RequestResult{}
		}
		if ctx.DownloadResult.Error != nil {
			return ctx.DownloadResult.Error
		}
		return nil
	})
	return herr
}

// ask calls a downloader and waits for its one result, which may come after Download has returned. The
// request's timeout bounds both.
func (f *fetcher) ask(j *job, d *downloaderModule, ctx *Context, started time.Time) (got *Context, stack []byte, err error) {
	result := make(chan *Context, 2) // a second result is discarded: it must not block the sender
	var theirs *asking
	own, asked := ctx.Ctx, ctx
	ours := f.http != nil && d.Downloader == Downloader(f.http)
	if !ours || j.loan != nil { // user code runs in it
		theirs = &asking{Context: *ctx, url: ctx.Request.Url, result: result}
		theirs.life.Parent, theirs.Ctx, asked = own, &theirs.life, &theirs.Context
		if j.caller != nil {
			theirs.dropped = make(chan struct{})
		}
		limit := time.Duration(0) // the engine's own has a clock
		if !ours {
			if j.loan != nil { // in the place of the request's ResponseWriter
				r := *ctx.Request
				r.ResponseWriter, theirs.Request = j.loan, &r
			}
			if ctx.Request.timeout >= 0 {
				limit = ctx.Request.timeoutOrDefault()
			}
		}
		f.crawl.watch.Bound(&j.call, theirs, started, limit)
	}
	switch {
	case theirs == nil:
		stack, err = guard.Protect(func() error { d.Download(asked, result); return nil })
	case j.caller == nil:
		defer theirs.end()
		stack, err = guard.Protect(func() error { d.Download(asked, result); return nil })
	default:
		stack, err = theirs.apart(d)
	}
	if theirs != nil {
		defer theirs.life.Cancel(nil)
	}
	if err == nil {
		got, err = awaitResult(own, result, started, ctx.Request.timeoutOrDefault()+farewell)
	}
	return got, stack, err
}

// answered reports the answer of a job's download to its slot, and releases the slot: a pause that the answer asks for begins
// before another request can start. The worker stays.
func (f *fetcher) answered(j *job, a frontier.Answer) {
	if f.crawl.frontier.Answered(j, a, j.started) {
		f.crawl.teller.blocked()
	}
}
