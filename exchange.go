package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/loan"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// fetcher takes a request through the middlewares to its downloader, and the response back; pages has it pass its gate
// and robots.txt before.
type fetcher struct {
	*gates
	cfg       *config
	limits    *Limits
	downloads downloading
	loopback  *fetch.Loopback
	report    *reporter
	stop      *stop
	acceptor  *acceptor // takes the targets of redirects
	failures  *failures
	robots    robotsGate

	middlewares Middlewares
	internalMWs Middlewares   // those that see the engine's own requests
	writers     *loan.Writers // of the requests' ResponseWriters
}

func newWriters() *loan.Writers {
	over := errors.New("the request has ended: nothing more may be written to its ResponseWriter")
	return loan.NewWriters(over, func(url string) error { return &WriterBusyError{URL: url} })
}

// exchange sends a job's request through the middlewares and the downloader. The error is the request's failure. The
// job waits if its slot or gate was closed and nothing was sent: the caller puts it in line again.
func (f *fetcher) exchange(j *job) (herr *HandleError, way next) {
	ctx := j.ctx
	if own, ok := ctx.Ctx.(*guard.Joint); ok && own.User.Err() != nil { // it was given up while it waited
		return j.failure(StageDownload, context.Cause(own.User), nil), goesOn
	}
	if len(f.middlewares) > 0 && !j.prepared && !j.run(f.watch, StageRequest, func() {
		if stack, err := f.middlewares.processRequest(j, ctx, nil); err != nil {
			herr = j.failure(StageRequest, err, stack)
		}
	}) {
		return nil, ends
	}
	if j.prepared = true; herr != nil {
		return herr, goesOn
	}
	if ctx.DownloadResult == nil && j.copy != nil {
		f.robots.answerByCopy(j)
	}
	if ctx.DownloadResult == nil {
		stack, err, alive := f.answer(j, ctx)
		if !alive {
			return nil, ends
		}
		if err != nil {
			return j.failure(StageDownload, err, stack), goesOn
		}
	}
	var came frontier.Answer
	if ctx.DownloadResult == nil {
		// A middleware may have changed its proxy, and with that its gate.
		if len(f.middlewares) > 0 && !f.enter(j) {
			return nil, waits
		}
		if herr, way = f.download(j); way != goesOn {
			return nil, way
		}
		came = answerOf(ctx, herr)
	}
	// a pause that the answer asks for begins before another request can start
	if f.frontier.Answered(j, came, j.started) {
		f.report.blocked()
	}
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
		return herr, goesOn
	}
	if len(f.middlewares) > 0 {
		requests := j.lateRequests(f.acceptor)
		if !j.run(f.watch, StageResponse, func() {
			defer j.closeRequests() // the job may never come to its parser
			if stack, err := f.middlewares.processResponse(j, ctx, requests, nil); err != nil {
				herr = j.failure(StageResponse, err, stack)
			}
		}) {
			return nil, ends
		}
	}
	if herr == nil && ctx.Response() == nil {
		herr = j.failure(StageResponse, errNilResponse, nil)
	}
	return herr, goesOn
}

var errNilResponse = errors.New("response is nil")

// processRequest has the middlewares process a request for a job, until one answers it; by notes which one, and may be
// nil.
func (m Middlewares) processRequest(j *job, ctx *Context, by *robotsgate.Handiwork) (stack []byte, err error) {
	asked := ctx.Request
	for _, one := range m {
		stack, err = guard.Protect(func() error {
			err := one.ProcessRequest(ctx)
			if by != nil && ctx.DownloadResult != nil {
				by.Answered(middlewareName(one))
			}
			return err
		})
		if j.call.GivenUp() { // the others must not be called any more
			return nil, nil
		}
		err = keepRequest(ctx, asked, err)
		if err != nil || ctx.DownloadResult != nil {
			return stack, err
		}
	}
	return nil, nil
}

// processResponse has the middlewares process a response for a job, in the reverse order. Requests that they send go to
// req. If by is not nil, it notes which one has taken the body away, and none may take the response away.
func (m Middlewares) processResponse(j *job, ctx *Context, req chan<- *Context, by *robotsgate.Handiwork) ([]byte, error) {
	asked := ctx.Request
	for i := len(m) - 1; i >= 0; i-- {
		one, had := m[i], by != nil && ctx.Response().hasBody()
		stack, err := guard.Protect(func() error {
			err := one.ProcessResponse(ctx, req)
			if resp := ctx.Response(); had && resp != nil && !resp.hasBody() {
				by.Emptied(middlewareName(one))
			}
			return err
		})
		if j.call.GivenUp() { // the others must not be called any more
			return nil, nil
		}
		resp := ctx.Response()
		if err == nil && by != nil && resp == nil {
			err = errors.New("a middleware took the response of robots.txt away")
		}
		err = keepRequest(ctx, asked, err)
		if resp != nil {
			resp.complete(ctx) // it may be another one, or lack what was there
		}
		if err != nil {
			return stack, err
		}
	}
	return nil, nil
}

// middlewareName names a middleware.
func middlewareName(m MiddlewaresInterface) string { return cmp.Or(m.GetName(), fmt.Sprintf("%T", m)) }

var errNilRequest = errors.New("a middleware took the Context's Request away")

// keepRequest puts the request back that a middleware has taken away. It returns err, or if that is nil, the error of
// such a middleware.
func keepRequest(ctx *Context, asked *Request, err error) error {
	if ctx.Request != nil {
		return err
	}
	ctx.Request = asked
	return cmp.Or(err, errNilRequest)
}

// received completes and counts a response.
func (f *fetcher) received(j *job, resp *Response) {
	resp.complete(j.ctx)
	j.mu.Lock()
	j.status = int32(resp.Status)
	j.mu.Unlock()
	f.report.hosts.Add(j.rec.Slot)
	// errors.As would allocate for each page
	if _, cut := errors.AsType[*TruncatedBodyError](resp.Transfer().Err); cut {
		f.report.counters.DamagedPage(resp.URL)
		f.report.countForJob(j, func(c *jobCounts) { c.damaged++ })
	}
	f.report.countForJob(j, func(c *jobCounts) { c.responses = append(c.responses, resp.Status) })
	responses, bytes := f.report.counters.Response(resp.Status, resp.ContentLength)
	if told := f.cfg.events.Downloaded; told != nil {
		f.report.event(func() { told(j.ctx.Request, resp) })
	}
	if limit := int64(f.limits.Pages); limit > 0 && responses >= limit {
		f.stop.requestStop("limit: pages", nil)
	}
	if limit := f.limits.Bytes; limit > 0 && bytes >= limit {
		f.stop.requestStop("limit: bytes", nil)
	}
}

// follow looks at a response that passed the middlewares: a redirect ends the request and puts its
// target in its place, a status that is not allowed is a failure, anything else is the parser's.
//
// The job may end by that: a target that is refused goes to the ErrorHandlers, which may be given up.
func (f *fetcher) follow(j *job) (herr *HandleError, way next) {
	if !isRedirect(j.ctx.Request, j.ctx.Response()) {
		return f.checkStatus(j), goesOn
	}
	if !j.run(f.watch, StageRedirect, func() { herr = f.redirect(j) }) {
		return nil, ends
	}
	return herr, goesOn
}

// checkStatus makes a failure of a status that neither request nor engine allows.
func (f *fetcher) checkStatus(j *job) *HandleError {
	r, resp := j.ctx.Request, j.ctx.Response()
	if resp.Status < 0 {
		return j.failure(StageStatus, &UnexpectedStatusError{Status: resp.Status, URL: resp.URL}, nil)
	}
	allowed := f.cfg.AllowStatusCode
	if len(r.extras().AllowStatus) > 0 {
		allowed = append(slices.Clip(allowed), r.extras().AllowStatus...)
	}
	d := j.downloader
	if d == nil { // a middleware answered
		var err error
		if d, err = f.downloads.downloaders.pick(r.extras().Downloader); err != nil {
			return j.failure(StageStatus, err, nil)
		}
	}
	ok := false
	stack, err := guard.Protect(func() error { ok = d.CheckStatus(uint64(resp.Status), allowed); return nil })
	if err != nil {
		return j.failure(StageStatus, err, stack)
	}
	if !ok {
		return j.failure(StageStatus, &StatusError{Status: resp.Status, URL: resp.URL}, nil)
	}
	return nil
}

// isRedirect reports whether a response asks to be followed and the request allows it (RFC 9110 §15.4).
func isRedirect(r *Request, resp *Response) bool {
	return r.follows() && fetch.IsRedirect(resp.Status, resp.Header)
}

// redirect ends the job as redirected and accepts the target as a new request.
func (f *fetcher) redirect(j *job) *HandleError {
	next, again, err := f.redirectTarget(j)
	if err != nil {
		return j.failure(StageRedirect, err, nil)
	}
	ctx := j.ctx.resent()
	ctx.Request = next
	f.report.leadsOn(j) // a failure of the target names it
	f.acceptor.accept(emission{parent: j, by: &j.call, redirect: true, again: again}, ctx)
	if !j.call.GivenUp() {
		j.decide(Redirected, "")
	}
	return nil
}

// redirectTarget makes the request that a redirect asks for. It inherits parser, Meta and the chain;
// credentials do not cross origins. again is true if the chain has asked for the same page before.
func (f *fetcher) redirectTarget(j *job) (next *Request, again bool, err error) {
	r, resp := j.ctx.Request, j.ctx.Response()
	if len(r.Redirects) >= r.MaxRedirects {
		return nil, false, &TooManyRedirectsError{URL: r.Url, Limit: r.MaxRedirects}
	}
	asked := urlx.MergeParams(r.Url, r.Params)
	location := fetch.LocationURL(fetch.FirstHeader(resp.Header, "Location"))
	target, err := urlx.Resolve(asked, location)
	if err != nil {
		return nil, false, &RequestError{URL: location, Field: "Location", Err: urlx.Cause(err)}
	}
	target, _ = urlx.CutFragment(target)

	copied := *r
	next = &copied
	next.Url, next.Params = target, nil
	next.newExtras().err = nil
	next.Priority += 2
	next.Header, next.Cookies, next.Meta = maps.Clone(r.Header), maps.Clone(r.Cookies), maps.Clone(r.Meta)
	next.Redirects = append(slices.Clone(r.Redirects), r.Url)
	if fetch.BecomesGet(r.method(), resp.Status) {
		next.Method, next.Body, next.BodyReader = GET, nil, nil
		fetch.DropContent(next.Header)
	}
	if urlx.Origin(asked) != urlx.Origin(target) {
		next.Cookies = nil
		fetch.DropCredentials(next.Header, f.cfg.SecretHeaders)
	}
	again, err = f.extendChain(j, asked, next)
	return next, again, err
}

// extendChain keeps what a chain of redirects has asked for, so that a loop is seen: what is sent for the third time,
// unless a hop has set a cookie. asked is the URL that j was sent to. again is true if the chain has asked for the page
// of the target before, maybe by another spelling of its URL: such a target is no duplicate.
func (f *fetcher) extendChain(j *job, asked string, next *Request) (again bool, err error) {
	r := j.ctx.Request
	s := f.acceptor.scratch.Get().(*scratch)
	defer f.acceptor.scratch.Put(s)
	own, err := f.acceptor.dupes.key(s.keyer, r)
	if err != nil {
		return false, err
	}
	chain := &next.newExtras().chain
	if len(next.Redirects) == 1 {
		// a middleware may have changed r since
		accepted, err := f.acceptor.dupes.key(s.keyer, f.acceptor.codec.requestOf(&j.rec))
		chain.Filtered = err == nil && f.cfg.UniqueReq && !next.doNotFilter && r.method() == GET && j.rec.Key == accepted
	}
	keys := &s.keyer.keys
	*chain = chain.Hop(own, keys.Sent(r.method(), asked, r.Body),
		fetch.FirstHeader(j.ctx.Response().Header, "Set-Cookie") != "")
	if chain.Loops(keys.Sent(next.method(), next.Url, next.Body)) {
		return false, &RedirectLoopError{URL: next.Url}
	}
	target, err := f.acceptor.dupes.key(s.keyer, next)
	return err == nil && chain.Has(target), nil // the acceptor reports an error of the target
}
