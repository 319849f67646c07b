package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/loan"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// fetcher takes a request to its response: it waits for the slot, passes the gate of its address or proxy and robots.txt, and then the
// middlewares and the downloader, there and back.
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
	robots    *robotsgate.Gate[*job]
	shared    SharedCache // nil: all slots are of this run

	middlewares          Middlewares
	internalMWs          Middlewares // those that see the engine's own requests
	internalListeners    []ReleaseListener
	callbacks            *callbacks
	timed, timedInternal middlewareTimes // of both
	writers              *loan.Writers   // of the requests' ResponseWriters
}

func newWriters() *loan.Writers {
	over := errors.New("the request has ended: nothing more may be written to its ResponseWriter")
	return loan.NewWriters(over, func(url string) error { return &WriterBusyError{URL: url} })
}

// A step of a request's way returns nil if the next step may follow, a [*HandleError] if the request has failed, or one
// of these errors. A step that runs user code returns [guard.ErrGivenUp] if that was given up, or must not run any more:
// then whoever gave it up ends the request, and nothing of it may be touched.
var (
	errDecided = errors.New("the request has its outcome, or goes back to the cache")
	errNotYet  = errors.New("the request may not start yet: it has to wait in line again")
	errInLine  = errors.New("the request waits in line again, and is another worker's now")
)

// fetch takes a job's request to its response: it waits for its slot and its gates, obeys robots.txt, and passes the
// middlewares and the downloader. Who waits depends on the request, see [exchange].
func (f *fetcher) fetch(j *job) error {
	for {
		err := f.attempt(j)
		if err != errNotYet {
			return err
		}
		if err := f.lineUp(j); err != nil {
			return err
		}
	}
}

// attempt is one attempt of fetch. The error is errNotYet if the job has to wait in line before the next one.
func (f *fetcher) attempt(j *job) error {
	if err := f.waitSlot(j); err != nil {
		return err
	}
	switch {
	case f.frontier.Starves(j):
		return f.refused(j, StageDownload, &refusal{Filtered, pageBudget, IgnoreRequest(pageBudget)})
	case f.frontier.IsShort(j), !f.enterEgress(j):
		return errNotYet
	}
	if err := f.obeyRobots(j); err != nil {
		return err
	}
	if f.capacityOf(j) > 0 && !f.enter(j) {
		return errNotYet
	}
	if !j.isInline() {
		f.watch.JoinPool(&j.call, pagePool)
	}
	return f.exchange(exchange{job: j, ctx: j.ctx})
}

// refused ends the way of a request that must not be sent: one of the queue has its outcome by that, and the caller of
// an inline one is told by an error.
func (f *fetcher) refused(j *job, at Stage, no *refusal) error {
	if j.isInline() {
		return j.failure(at, no.err)
	}
	if no.outcome == Robots && j.rec.Depth == 0 {
		f.report.seedRefused(j.ctx.Request, no.outcome, no.reason)
	}
	j.decide(no.outcome, no.reason)
	return errDecided
}

// exchange is one request on its way through the middlewares to a downloader, and back. Three kinds of requests take
// that way; what differs stands in this table, with the funcs that decide it.
//
//	                            of the queue        of Context.Fetch    for a robots.txt
//	waits in line               the request         the caller          the job that asks        lineUp, send
//	middlewares                 all                 all                 those with SeesInternal  exchange.middlewares
//	redirects                   accepted as         followed by         up to five, also to      follow, inlineOnce,
//	                            requests            the same call       other origins            robotsgate.Fetch
//	Retry                       queued again        tried again by      the gate's back-off      failures.fail,
//	                                                the same call                                inlineOnce, robotsgate.Ask
//	ErrorMiddlewares            yes                 yes                 those with SeesInternal  failures.errorMiddlewares, internalError
//	statistics, page budget     yes                 yes                 no                       begin, received
//	requests that               accepted            accepted            thrown away              processResponse
//	ProcessResponse sends
//	time limit                  the request's       the request's       15 s with redirects      send
type exchange struct {
	job  *job
	ctx  *Context     // of the request
	file *fileRequest // the request is the engine's own for a robots.txt; nil: it is the job's
}

// failure makes a failure of the job of an error; one of a request for robots.txt stays as it is.
func (x *exchange) failure(at Stage, err error) error {
	if x.file != nil {
		return bare(err)
	}
	return x.job.failure(at, err)
}

// exchange sends a request through the middlewares and the downloader. The error is errNotYet if its slot or gate was
// closed meanwhile and nothing was sent.
func (f *fetcher) exchange(x exchange) error {
	ctx := x.ctx
	if err := f.processRequest(&x); err != nil {
		return err
	}
	byMiddleware := ctx.DownloadResult != nil
	if err := f.answer(&x); err != nil {
		return err
	}
	err := f.result(&x)
	if err == errNotYet || err == guard.ErrGivenUp {
		return err
	}
	if resp := ctx.Response(); resp != nil {
		resp.complete(ctx)
		switch {
		case x.file == nil:
			f.received(x.job, resp)
		case err == nil && !byMiddleware && x.file.first:
			x.file.keepCopy(ctx.Request, resp)
		}
	}
	if err != nil {
		return err
	}
	return f.processResponse(&x)
}

// result downloads the request unless it was answered. The error is that of the result; it may come with a response.
func (f *fetcher) result(x *exchange) (err error) {
	var came frontier.Answer
	if x.ctx.DownloadResult == nil {
		if err = f.download(x); err == errNotYet || err == guard.ErrGivenUp {
			return err
		}
		came = answerOf(x.ctx, err)
	}
	f.heed(x, came)
	if err != nil {
		return err
	}
	switch result := x.ctx.DownloadResult; {
	case result != nil && result.Error != nil:
		return x.failure(StageDownload, guard.Protect(func() error { return result.Error }))
	case result == nil || result.Response == nil:
		return x.failure(StageDownload, errNilResponse)
	}
	return nil
}

// heed has the slot know what came, before another request can start: the site may have asked for a pause. The
// Retry-After of a robots.txt holds for all requests that need the file.
func (f *fetcher) heed(x *exchange, came frontier.Answer) {
	j := x.job
	switch {
	case x.file == nil:
		if f.frontier.Answered(j, came, j.started) {
			f.report.blocked()
		}
	case came.After > 0:
		after := f.frontier.Heed(j.slot(), came.After)
		f.robots.Postpone(j, time.Now().Add(after)) // for those of other slots
		f.report.blocked()
	}
}

var errNilResponse = errors.New("response is nil")

// middlewares returns those that see the request.
func (x *exchange) middlewares(f *fetcher) Middlewares {
	if x.file != nil {
		return f.internalMWs
	}
	return f.middlewares
}

// timed returns how long they take.
func (x *exchange) timed(f *fetcher) middlewareTimes {
	if x.file != nil {
		return f.timedInternal
	}
	return f.timed
}

// processRequest has the middlewares process the request, once, until one answers it.
func (f *fetcher) processRequest(x *exchange) error {
	j, mws := x.job, x.middlewares(f)
	if x.file == nil {
		if own, ok := x.ctx.Ctx.(*guard.Joint); ok && own.User.Err() != nil { // it was given up while it waited
			return j.failure(StageDownload, context.Cause(own.User))
		}
		if j.prepared {
			return nil
		}
		j.prepared = true
	}
	if len(mws) == 0 {
		return nil
	}
	return j.run(f.watch, StageRequest, func() error {
		if x.file == nil {
			f.begun(j)
		} else {
			x.file.begun = true
		}
		asked, timed := x.ctx.Request, x.timed(f).request
		for i, m := range mws {
			took := f.callbacks.begin(j.waits)
			err := guard.Protect(func() error {
				err := m.ProcessRequest(x.ctx)
				if x.file != nil && x.ctx.DownloadResult != nil {
					x.file.by.Answered(middlewareName(m))
				}
				return err
			})
			took.end(callbackAt(timed, i), err)
			if j.call.GivenUp() { // the others must not be called any more
				return nil
			}
			if err = keepRequest(x.ctx, asked, err); err != nil {
				return x.failure(StageRequest, err)
			}
			if x.ctx.DownloadResult != nil {
				return nil
			}
		}
		return nil
	})
}

// processResponse has the middlewares process the response, in the reverse order. None may take away that of a
// robots.txt.
func (f *fetcher) processResponse(x *exchange) error {
	j, mws := x.job, x.middlewares(f)
	if len(mws) == 0 {
		if resp := x.ctx.Response(); resp != nil {
			resp.page.Passed()
		}
		return nil
	}
	accepting := f.acceptor
	if x.file != nil {
		accepting = nil // the requests that they send would have no parent
	}
	requests := j.seldomRequests(accepting)
	err := j.runLate(f.watch, StageResponse, requests, func() error {
		defer requests.close()
		asked, timed := x.ctx.Request, x.timed(f).response
		for i, m := range slices.Backward(mws) {
			had := x.file != nil && x.ctx.Response().hasBody()
			took := f.callbacks.begin(j.waits)
			err := guard.Protect(func() error {
				err := m.ProcessResponse(x.ctx, requests.C)
				if resp := x.ctx.Response(); had && resp != nil && !resp.hasBody() {
					x.file.by.Emptied(middlewareName(m))
				}
				return err
			})
			took.end(callbackAt(timed, i), err)
			if j.call.GivenUp() { // the others must not be called any more
				return nil
			}
			resp := x.ctx.Response()
			if err == nil && x.file != nil && resp == nil {
				err = errors.New("a middleware took the response of robots.txt away")
			}
			err = keepRequest(x.ctx, asked, err)
			if resp != nil {
				resp.complete(x.ctx) // it may be another one, or lack what was there
			}
			if err != nil {
				return x.failure(StageResponse, err)
			}
		}
		return nil
	})
	if err == guard.ErrGivenUp {
		return err
	}
	resp := x.ctx.Response()
	if x.file == nil {
		j.root().keepSpool(resp) // it may be another one
	}
	if err == nil && resp == nil {
		err = x.failure(StageResponse, errNilResponse)
	}
	if err == nil {
		resp.page.Passed()
	}
	return err
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

// received counts a response.
func (f *fetcher) received(j *job, resp *Response) {
	j.root().keepSpool(resp)
	j.mu.Lock()
	j.status = int32(resp.Status)
	j.mu.Unlock()
	f.report.hosts.Add(j.slot())
	// errors.As would allocate for each page
	if _, cut := errors.AsType[*TruncatedBodyError](resp.Transfer().Err); cut {
		f.report.counters.DamagedPage(resp.URL)
		f.report.countForJob(j, func(c *jobCounts) { c.damaged++ })
	}
	status, length := resp.Status, resp.ContentLength
	if resp.cached != nil {
		length = 0
		if came := resp.cached.came; came != nil && came.Response != nil {
			status, length = came.Response.Status, came.Response.ContentLength
		}
	}
	f.report.countForJob(j, func(c *jobCounts) { c.responses = append(c.responses, status) })
	responses, bytes := f.report.counters.Response(status, length)
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
// A target that is refused goes to the ErrorHandlers, which may be given up.
func (f *fetcher) follow(j *job) error {
	if !isRedirect(j.ctx.Request, j.ctx.Response()) {
		return f.checkStatus(j)
	}
	return j.run(f.watch, StageRedirect, func() error { return f.redirect(j) })
}

// checkStatus makes a failure of a status that neither request nor engine allows.
func (f *fetcher) checkStatus(j *job) error {
	r, resp := j.ctx.Request, j.ctx.Response()
	if resp.Status < 0 {
		return j.failure(StageStatus, &UnexpectedStatusError{Status: resp.Status, URL: resp.URL})
	}
	allowed := f.cfg.AllowStatusCode
	if len(r.extras().AllowStatus) > 0 {
		allowed = append(slices.Clip(allowed), r.extras().AllowStatus...)
	}
	d := j.downloader
	if d == nil { // a middleware answered
		var err error
		if d, err = f.downloads.downloaders.pick(r.extras().Downloader); err != nil {
			return j.failure(StageStatus, err)
		}
	}
	ok := false
	err := guard.Protect(func() error { ok = d.CheckStatus(uint64(resp.Status), allowed); return nil })
	if err != nil {
		return j.failure(StageStatus, err)
	}
	if !ok {
		return j.failure(StageStatus, &StatusError{Status: resp.Status, URL: resp.URL})
	}
	return nil
}

// isRedirect reports whether a response asks to be followed and the request allows it (RFC 9110 §15.4).
func isRedirect(r *Request, resp *Response) bool {
	return r.follows() && fetch.IsRedirect(resp.Status, resp.Header)
}

// redirect ends the job as redirected and accepts the target as a new request.
func (f *fetcher) redirect(j *job) error {
	next, again, err := f.redirectTarget(j)
	if err != nil {
		return j.failure(StageRedirect, err)
	}
	ctx := j.ctx.resent()
	ctx.Request = next
	f.report.leadsOn(j) // a failure of the target names it
	f.acceptor.accept(emission{parent: j, by: &j.call, redirect: true, again: again}, ctx)
	if !j.call.GivenUp() {
		j.decide(Redirected, "")
	}
	return errDecided
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
