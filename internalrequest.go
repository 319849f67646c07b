package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/robots"
)

// internalContext is the context of a request of the engine's own. Its body goes to memory whatever the request says, so
// that middlewares see it, and counts in Limits.BodiesInFlight without waiting: a Fetch that holds a body may wait for
// it. Of a long one the beginning is read.
type internalContext struct {
	context.Context
	hold fetch.Hold
	copy *Response // what the server has answered to the first request, before middlewares have seen it; or nil
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

// redirects reports whether a response names where to go on, whatever its request allows.
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
			if _, ok := c.fetcher.begins(j); !ok {
				return true, errNotNow
			}
			c.teller.counters.robots.Add(1)
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

// handiwork is what middlewares have made of a response to a request of the engine's own.
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
		strings.TrimSpace(firstHeader(resp.Header, "Content-Length")) == "0"
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

// internalResponse has the middlewares process a response. What they send is discarded: it would be nobody's.
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
