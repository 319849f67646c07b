package tegenaria

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/robots"
)

// httpDownloader is the engine's own Downloader. It follows no redirects, and keeps one set of connections for itself
// and one for each proxy.
type httpDownloader struct {
	client      *fetch.Client
	limits      Limits
	agent       string // User-Agent of requests that have none
	allowStatus []uint64
	watch       *guard.Watch // of the run; nil: there is none
	isDefault   bool         // requests that name no downloader are for it
}

var _ Downloader = (*httpDownloader)(nil)

// newHTTPDownloader makes a downloader within these limits, which have their defaults. allowStatus are codes of 400 and
// over that reach the parsers of all requests; c says how connections are made, its Limits aside.
func newHTTPDownloader(limits Limits, allowStatus []uint64, c fetch.Config) *httpDownloader {
	c.Limits = fetch.Limits{
		Body: limits.Body, Spool: limits.Spool, Ratio: limits.Ratio, Header: limits.Header,
		HeaderFields: limits.HeaderFields, Connect: limits.Connect, Handshake: limits.Handshake,
		FirstByte: limits.FirstByte, Idle: limits.Idle, MinRate: limits.MinRate,
	}
	return &httpDownloader{client: fetch.New(c), limits: limits, agent: c.Agent, allowStatus: allowStatus}
}

// Download fetches one request in the caller's goroutine. A request that is too slow fails with a
// [*TimeoutError], and a body above its limit with a [*BodyTooLargeError], both without a Response;
// a body that breaks off with a [*TruncatedBodyError] and the Response as far as it came.
//
// gzip, deflate, br and zstd are asked for and removed. A request with an Accept-Encoding of its own, or with a Range,
// asks for no others.
//
// A body for the request's ResponseWriter goes there as it comes, and the Response is empty; Limits.Body
// does not apply to it, the timeout does. The writer gets no bodies of redirects that are followed, nor
// of status codes that are not allowed: they are in the Response as usual.
func (d *httpDownloader) Download(ctx *Context, result chan<- *Context) {
	ctx.downloaded(d.exchange(ctx, d.client.Do))
	result <- ctx
}

// CheckStatus allows codes below 400 and those of the list.
func (d *httpDownloader) CheckStatus(statusCode uint64, allowStatus []uint64) bool {
	return statusCode < http.StatusBadRequest || slices.Contains(allowStatus, statusCode)
}

// close closes all connections, and those that are still being made. A Download that is running fails.
func (d *httpDownloader) close() { d.client.Close() }

// exchange has a Context's request answered, and makes a Response of the answer.
func (d *httpDownloader) exchange(
	ctx *Context, answered func(context.Context, fetch.Request) (*fetch.Answer, error),
) (*Response, error) {
	if ctx.Request == nil {
		return nil, errNoRequest
	}
	answer, err := answered(ctx.parent(), d.request(ctx, ctx.Request))
	if answer == nil {
		if unfit, ok := errors.AsType[*fetch.RequestError](err); ok {
			err = (*RequestError)(unfit)
		}
		return nil, err
	}
	resp := NewResponse(ctx.Request, answer.Status, answer.Header, answer.Body)
	resp.URL, resp.Delay, resp.ContentLength = answer.URL, answer.Took.Seconds(), int(answer.Length)
	resp.ctx, resp.transfer = ctx, answer.Transfer
	if answer.File != nil {
		resp.Buffer = nil
		resp.page.AdoptSpool(answer.File, d.limits.Body)
	}
	return resp, err
}

// request translates a request for package fetch.
func (d *httpDownloader) request(ctx *Context, r *Request) fetch.Request {
	j := jobOf(ctx)
	asked := fetch.Request{
		URL: r.Url, Method: r.method(), Params: r.Params, Header: r.Header, Cookies: r.Cookies, Body: r.Body,
		Follows: r.follows(), Spool: r.spool, Partial: r.partial,
		// the engine's own request, or an inline one
		Wire: ctx.wire, Hold: ctx.hold(), Unbounded: j == nil || j.caller != nil,
	}
	if r.Proxy != nil {
		asked.Proxy = &r.Proxy.ProxyUrl
	}
	if r.extras().Timeout >= 0 {
		asked.Timeout = r.timeoutOrDefault()
	}
	if r.ResponseWriter != nil {
		asked.Writer = &bodyWriter{down: d, ctx: ctx}
	}
	if r.BodyReader != nil {
		asked.ReadBody = func() ([]byte, error) {
			err := r.readBody(d.limits.Body)
			return r.Body, err
		}
	}
	if j != nil {
		asked.Progress = progress{j.claim.Progress()}
	}
	if ctx.internal() != nil {
		asked.Beginning = internalBody
	}
	return asked
}

// bodyWriter is the ResponseWriter of a request that the engine's own downloader asks for.
type bodyWriter struct {
	down *httpDownloader
	ctx  *Context
}

// Takes reports whether the body of a response with this status goes to the ResponseWriter.
func (w *bodyWriter) Takes(status int) bool {
	code := uint64(max(status, 0))
	return w.down.CheckStatus(code, w.down.allowStatus) || slices.Contains(w.ctx.Request.extras().AllowStatus, code)
}

// WriteWithin writes to the ResponseWriter. It is user code: when it takes longer than is left of the request's time,
// or than Limits.Callback, the request is given up.
func (w *bodyWriter) WriteWithin(p []byte, left time.Duration, late error) (int, error) {
	j := jobOf(w.ctx)
	if j == nil || j.loan == nil {
		return w.ctx.Request.ResponseWriter.Write(p)
	}
	if callback := w.down.limits.Callback; callback > 0 && (left == 0 || callback < left) {
		left, late = callback, &CallbackTimeoutError{Stage: StageDownload, Limit: callback}
	}
	if left > 0 {
		w.down.watch.Limited(&j.call, left, late)
		defer w.down.watch.Limited(&j.call, 0, nil)
	}
	return j.loan.Write(p)
}

// internalContext is the context of a request of the engine's own. Its body goes to memory whatever the request says,
// so that middlewares see it, and counts in Limits.BodiesInFlight without waiting: a Fetch that holds a body may wait
// for it. Of a long one the beginning is read.
type internalContext struct {
	context.Context
	hold fetch.Hold
	by   *httpDownloader // makes responses
}

// internalBody is how much of a body is read: enough to see that it is too long to be read whole.
const internalBody = robots.MaxBytes + 1

// proxyHost names a proxy without its credentials.
func proxyHost(p *Proxy) string {
	if u, err := url.Parse(p.ProxyUrl); err == nil && u.Host != "" {
		return u.Host
	}
	return "unknown"
}
