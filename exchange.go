package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
)

// fetcher takes a request through its gate, robots.txt and the middlewares to its downloader, and the response back.
type fetcher struct {
	*gates
	cfg    *config
	limits *Limits
	downloading
	loopback *fetch.Loopback
	report   *reporter
	stop     *stop
	acceptor *acceptor // takes the targets of redirects
	failures *failures
	robots   robotsGate

	middlewares Middlewares
	internalMWs Middlewares    // those that see the engine's own requests
	writers     *guard.Writers // of the requests' ResponseWriters
}

func newWriters() *guard.Writers {
	over := errors.New("the request has ended: nothing more may be written to its ResponseWriter")
	return guard.NewWriters(over, func(url string) error { return &WriterBusyError{URL: url} })
}

// exchange sends a job's request through the middlewares and the downloader. The error is the request's failure. The job waits if
// its slot or gate was closed and nothing was sent: the caller puts it in line again.
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
	if ctx.DownloadResult == nil && f.layers.answers {
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
		return herr, goesOn
	}
	if len(f.middlewares) > 0 {
		f.acceptor.lateInbox(j)
		if !j.run(f.watch, StageResponse, func() {
			defer j.closeRequests() // the job may never come to its parser
			if stack, err := f.middlewares.processResponse(j, ctx, j.inbox.C, nil); err != nil {
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

// processRequest has the middlewares process a request for a job, until one answers it; by notes which one, and may be nil.
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
		if err == nil && ctx.Request == nil {
			err = errNilRequest
		}
		keepRequest(ctx, asked)
		if err != nil || ctx.DownloadResult != nil {
			return stack, err
		}
	}
	return nil, nil
}

// processResponse has the middlewares process a response for a job, in the reverse order. Requests that they send go to req. If by
// is not nil, it notes which one has taken the body away, and none may take the response away.
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
		switch {
		case err != nil:
		case by != nil && resp == nil:
			err = errors.New("a middleware took the response of robots.txt away")
		case ctx.Request == nil:
			err = errNilRequest
		}
		keepRequest(ctx, asked)
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

// keepRequest puts the request back that a middleware has taken away.
func keepRequest(ctx *Context, asked *Request) {
	if ctx.Request == nil {
		ctx.Request = asked
	}
}

// received completes and counts a response.
func (f *fetcher) received(j *job, resp *Response) {
	resp.complete(j.ctx)
	j.mu.Lock()
	j.status = resp.Status
	j.mu.Unlock()
	f.report.hosts.Add(j.rec.Slot)
	if _, cut := errors.AsType[*TruncatedBodyError](resp.Transfer().Err); cut { // errors.As would allocate for each page
		f.report.counters.DamagedPage(resp.URL)
	}
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

// download asks the request's downloader and waits for its one result. The job waits if the slot does not let it
// start any more: middlewares and robots.txt may have taken long, and the site may have asked for a pause meanwhile.
func (f *fetcher) download(j *job) (herr *HandleError, way next) {
	ctx := j.ctx
	if ctx.Err() != nil { // given up while a middleware had it; its slot may be gone
		return j.failure(StageDownload, context.Cause(ctx.Ctx), nil), goesOn
	}
	d, err := f.downloaders.pick(ctx.Request.extras().downloader)
	if err != nil {
		return j.failure(StageDownload, err, nil), goesOn
	}
	// Before the slot is stamped, since the func may take its time. The slot may have been blocked when it returns: then
	// the job waits in line again, keeps its page of the budget, and is not announced a second time.
	if told := f.cfg.events.RequestStarted; told != nil && !j.announced {
		if !f.frontier.IsStartable(j) {
			return nil, waits
		}
		switch err := f.frontier.Reserve(j); {
		case errors.Is(err, frontier.ErrShort):
			return nil, waits
		case err != nil:
			return j.failure(StageDownload, whyNot(err), nil), goesOn
		}
		j.announced = true
		f.report.event(func() { told(ctx.Request) })
	}
	started, ok := f.frontier.Start(j)
	if !ok {
		return nil, waits
	}
	if err := f.frontier.Spend(j); err != nil {
		return j.failure(StageDownload, whyNot(err), nil), goesOn
	}
	j.started, j.downloader = started, d
	f.report.counters.Downloads.Add(1)
	if r := ctx.Request; r.ResponseWriter != nil && j.loan == nil {
		j.loan = f.writers.Lend(r.ResponseWriter, r.Url)
	}
	if !j.run(f.watch, StageDownload, func() { herr = f.askDownloader(j, d, started) }) {
		return nil, ends
	}
	j.loan.End()
	return herr, goesOn
}

// whyNot is the error of a job that the frontier does not let begin.
func whyNot(err error) error {
	if errors.Is(err, frontier.ErrOver) {
		return ErrOutputClosed
	}
	return IgnoreRequest(pageBudget)
}

// answered reports the answer of a job's download to its slot, and releases the slot: a pause that the answer asks for begins
// before another request can start. The worker stays.
func (f *fetcher) answered(j *job, a frontier.Answer) {
	if f.frontier.Answered(j, a, j.started) {
		f.report.blocked()
	}
}

// answerOf reads from the result of a download what its slot has to know.
func answerOf(ctx *Context, herr *HandleError) (a frontier.Answer) {
	if herr == nil && ctx.DownloadResult != nil {
		herr = ctx.DownloadResult.Error
	}
	resp := ctx.Response()
	if resp == nil {
		a.Overload = herr != nil && isOverload(herr.Err)
		return a
	}
	a.Came, a.OK = true, resp.Status == http.StatusOK
	// The host says that it has too much to do (RFC 6585 §4, RFC 9110 §15.6.4).
	a.Refused = resp.Status == http.StatusTooManyRequests || resp.Status == http.StatusServiceUnavailable
	if resp.transfer != nil {
		a.Latency = max(time.Duration(resp.Delay*float64(time.Second))-resp.transfer.Body, 0)
	}
	if a.Refused {
		a.After, _ = httpx.RetryAfter(fetch.FirstHeader(resp.Header, "Retry-After"), time.Now())
	}
	return a
}

// isOverload reports whether a failure looks like that of a host that has too much to do.
func isOverload(err error) bool {
	var silent *NoResultError
	return errors.As(err, &silent) || fetch.IsOverload(err)
}
