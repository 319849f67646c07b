package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
)

// internalContext is the context of a request of the engine's own. Its body goes to memory whatever the request says, so
// that middlewares see it, and counts in Limits.BodiesInFlight without waiting: a Fetch that holds a body may wait for
// it. Of a long one the beginning is read.
type internalContext struct {
	context.Context
	hold fetch.Hold
	copy *Response // of the server's answer to the first request, before middlewares have seen it; or nil
}

// internalBody is how much of a body is read: enough to see that it is too long to be read whole.
const internalBody = robots.MaxBytes + 1

// internal returns the context of a request of the engine's own; nil if it is another one.
func (c *Context) internal() *internalContext {
	if c.job != nil {
		return nil
	}
	own := c.Ctx
	if life, ok := own.(*guard.Context); ok { // a downloader is asked with that
		own = life.Parent
	}
	in, _ := own.(*internalContext)
	return in
}

// redirects reports whether a response is a redirect, even if its request does not allow one.
func redirects(resp *Response) bool {
	return isRedirect(&Request{AllowRedirects: true, MaxRedirects: 1}, resp)
}

// internalExchange is exchange for a request of the engine's own, the first with the job's slot or one that follows.
// alive is false if the job was abandoned.
func (g robotsGate) internalExchange(j *job, in *internalContext, ctx *Context, first bool) (alive bool, err error) {
	c := g.crawl
	var by handiwork
	if len(c.fetcher.internalMWs) > 0 {
		if alive = c.guard(j, StageRequest, func() { by, err = g.internalRequest(j, ctx) }); !alive || err != nil {
			return alive, err
		}
	}
	if ctx.DownloadResult == nil {
		if first {
			if _, ok := c.frontier.Start(j); !ok {
				return true, errNotNow
			}
			c.teller.counters.Robots.Add(1)
		}
		if alive = c.guard(j, StageDownload, func() { err = g.internalDownload(j, ctx) }); !alive || err != nil {
			return alive, err
		}
		if resp := ctx.Response(); first && resp != nil {
			in.copy = copyForOthers(resp, ctx.Request)
		}
	}
	switch result := ctx.DownloadResult; {
	case result == nil || result.Response == nil && result.Error == nil:
		return true, errNilResponse
	case result.Error != nil:
		_, err := guard.Protect(func() error { return result.Error })
		return true, err
	}
	ctx.DownloadResult.Response.complete(ctx)
	if len(c.fetcher.internalMWs) > 0 && !c.guard(j, StageResponse, func() { err = g.internalResponse(j, ctx, &by) }) {
		return false, nil
	}
	resp := ctx.Response()
	switch {
	case err != nil:
	case resp.Status < 0:
		err = &UnexpectedStatusError{Status: resp.Status, URL: resp.URL}
	default:
		err = by.check(ctx.Request.Url, resp)
	}
	return true, err
}

// handiwork notes which middlewares have changed a response to a request of the engine's own.
type handiwork struct {
	answered string // the middleware that answered instead of the server, "" if none did
	emptied  string // the one because of which the response has no body, "" if it has one or the server sent none
}

// check refuses a response that would allow everything because a middleware has lost the rest of it.
func (h *handiwork) check(url string, resp *Response) error {
	switch {
	case resp.Status >= 300 && resp.Status < 400 && h.answered != "" && !redirects(resp):
		return &RobotsAnswerError{URL: url, Middleware: h.answered, Missing: "Location"}
	case resp.Status < 300 && h.emptied != "" && !saysEmpty(resp):
		return &RobotsAnswerError{URL: url, Middleware: h.emptied, Missing: "body"}
	}
	return nil
}

// saysEmpty reports whether a response says that it is meant to have no body.
func saysEmpty(resp *Response) bool {
	return resp.Status == http.StatusNoContent || resp.Status == http.StatusResetContent ||
		strings.TrimSpace(fetch.FirstHeader(resp.Header, "Content-Length")) == "0"
}

// internalRequest has the middlewares process a request, until one answers it.
func (g robotsGate) internalRequest(j *job, ctx *Context) (by handiwork, err error) {
	asked := ctx.Request
	for _, m := range g.crawl.fetcher.internalMWs {
		if j.call.GivenUp() { // one of them was given up, and has returned after all
			break
		}
		_, err = guard.Protect(func() error {
			err := m.ProcessRequest(ctx)
			if ctx.DownloadResult != nil {
				by.answered = cmp.Or(m.GetName(), fmt.Sprintf("%T", m))
			}
			return err
		})
		if err == nil && ctx.Request == nil {
			err = errNilRequest
		}
		if ctx.Request == nil {
			ctx.Request = asked
		}
		if err != nil || ctx.DownloadResult != nil {
			break
		}
	}
	by.emptied = by.answered
	return by, err
}

func (g robotsGate) internalDownload(j *job, ctx *Context) error {
	c := g.crawl
	d, err := c.fetcher.downloaders.pick(j.ctx.Request.downloader)
	if err != nil {
		return err
	}
	return d.Call(nil, func() error {
		got, _, err := c.fetcher.ask(j, d, ctx, c.now())
		if err == nil {
			ctx.DownloadResult = got.DownloadResult
			g.heed(j, ctx)
		}
		return err
	})
}

// internalResponse has the middlewares process a response. Requests that they send are discarded: they would have no parent.
func (g robotsGate) internalResponse(j *job, ctx *Context, by *handiwork) error {
	c := g.crawl
	in := newInbox(nil, emission{})
	defer in.close()
	asked := ctx.Request
	for i := len(c.fetcher.internalMWs) - 1; i >= 0; i-- {
		if j.call.GivenUp() { // one of them was given up, and has returned after all
			return nil
		}
		m, had := c.fetcher.internalMWs[i], ctx.Response().hasBody()
		_, err := guard.Protect(func() error {
			err := m.ProcessResponse(ctx, in.ch)
			if resp := ctx.Response(); had && resp != nil && !resp.hasBody() {
				by.emptied = cmp.Or(m.GetName(), fmt.Sprintf("%T", m))
			}
			return err
		})
		resp := ctx.Response()
		switch {
		case err != nil:
			return err
		case resp == nil:
			return errors.New("a middleware took the response of robots.txt away")
		case ctx.Request == nil:
			ctx.Request = asked
			return errNilRequest
		}
		resp.complete(ctx)
	}
	if ctx.Response().hasBody() {
		by.emptied = ""
	}
	return nil
}

// A spider may ask for a robots.txt itself, as those that start from sitemaps do. The engine has just asked for the same
// file then, because of that very request: so it answers the request with a copy of what came, and the site is asked
// once. A copy lives no longer than the requests that wait for the file.

// copyForOthers returns a copy of the server's answer to the engine's own request for a robots.txt, nil if it is not
// whole or is a failure.
func copyForOthers(resp *Response, own *Request) *Response {
	body := resp.Bytes()
	switch {
	case resp.Status <= 0 || resp.Status >= 500 || resp.Status == http.StatusTooManyRequests:
		return nil
	case len(body) > robots.MaxBytes || len(body) == 0 && resp.hasBody(): // there may be more, or it is elsewhere
		return nil
	}
	return copyOf(resp, own)
}

// copyOf makes a response with the same content, for a request.
func copyOf(resp *Response, r *Request) *Response {
	same := NewResponse(r, resp.Status, maps.Clone(resp.Header), resp.Bytes())
	same.URL, same.Delay, same.transfer = resp.URL, resp.Delay, resp.transfer
	return same
}

// takeCopy keeps the copy of a robots.txt, if the job asks for that file itself.
func takeCopy(j *job, copy *Response) {
	if r := j.ctx.Request; copy != nil && r.Url == urlx.Origin(r.Url)+"/robots.txt" {
		j.copy = copy
	}
}

// answerByCopy answers the job with the copy that it was given, if there is one and the job's request, as the middlewares
// have left it, sends nothing that the engine's own did not send.
func (g robotsGate) answerByCopy(j *job) {
	resp := j.copy
	if j.copy = nil; resp == nil || !likeOwn(j.ctx.Request, resp.Request()) {
		return
	}
	g.crawl.fetcher.bodies.Add(&j.root().hold, int64(len(resp.Bytes())))
	j.ctx.DownloadResult = &RequestResult{Response: copyOf(resp, j.ctx.Request)}
}

// likeOwn reports whether a request would be answered as the engine's own was.
func likeOwn(r, own *Request) bool {
	if r.Url != own.Url || r.method() != GET || len(r.Params) > 0 || len(r.Body) > 0 || len(r.Cookies) > 0 ||
		r.BodyReader != nil || r.ResponseWriter != nil || r.spool || r.downloader != own.downloader {
		return false
	}
	if (r.Proxy == nil) != (own.Proxy == nil) || r.Proxy != nil && *r.Proxy != *own.Proxy {
		return false
	}
	for name, value := range r.Header {
		switch http.CanonicalHeaderKey(name) {
		case "Accept", "Accept-Language", "Referer":
		default:
			if own.Header[name] != value {
				return false
			}
		}
	}
	return true
}

// RobotsAnswerError is the failure of a request whose robots.txt a middleware has answered, or changed, so that nothing
// of it is left: that would allow everything, and the site has not said so. See [InternalMiddleware].
type RobotsAnswerError struct {
	URL        string // of robots.txt
	Middleware string // its name
	Missing    string // "body", or "Location" of a redirect
}

// Error names middleware, URL and remedy.
func (e *RobotsAnswerError) Error() string {
	if e.Missing == "Location" {
		return fmt.Sprintf("the middleware %q answered %s by a redirect without Location; store the header of a response with its status, or do not answer", e.Middleware, urlx.Redact(e.URL))
	}
	return fmt.Sprintf("the middleware %q left %s without a body, which would allow everything; hand on the body that ProcessResponse saw, "+
		"or say that there are no rules by the status 404 or the header Content-Length: 0", e.Middleware, urlx.Redact(e.URL))
}
