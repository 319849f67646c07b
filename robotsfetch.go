package tegenaria

import (
	"errors"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
)

// capWriter keeps the beginning of a body, and ends its download where there is more.
type capWriter struct{ body []byte }

var (
	errEnough = errors.New("the rest does not matter")
	errNotNow = errors.New("the slot does not let it start now")
)

func (w *capWriter) Write(p []byte) (int, error) {
	n := min(len(p), robots.MaxBytes+1-len(w.body))
	w.body = append(w.body, p[:n]...)
	if n < len(p) {
		return n, errEnough
	}
	return n, nil
}

// robotsTimeout is for a robots.txt with its redirects.
const robotsTimeout = 15 * time.Second

// fetchRobots downloads the robots.txt of a job's origin with the job's slot, worker and proxy. Redirects
// are followed here; those that lead nowhere count as a file that is not there (RFC 9309 §2.3.1.2). Of the
// middlewares only those see it that ask for the engine's own requests. The slot is stamped when the download
// begins; errNotNow tells that it was blocked meanwhile, and that nothing was sent.
func (c *crawl) fetchRobots(j *job) (status int, body []byte, err error) {
	url := urlx.Origin(j.ctx.Request.Url) + "/robots.txt"
	deadline := time.Now().Add(robotsTimeout)
	seen := map[string]bool{}
	for hop := 0; hop <= robotsRedirects; hop++ {
		if seen[url] {
			return http.StatusNotFound, nil, nil
		}
		seen[url] = true
		into := &capWriter{}
		r := NewRequest(url, GET, nil, RequestWithResponseWriter(into), RequestWithTimeout(max(time.Until(deadline), time.Millisecond)))
		r.Proxy = j.ctx.Request.Proxy
		ctx := &Context{Request: r, Ctx: j.ctx.Ctx, CtxId: j.ctx.CtxId}
		alive, err := c.internalExchange(j, ctx, hop == 0)
		resp := ctx.Response()
		switch {
		case !alive:
			return 0, nil, ErrOutputClosed
		case len(into.body) > robots.MaxBytes:
			return http.StatusOK, into.body, nil // the rest of an endless file does not matter
		case err != nil:
			return 0, nil, err
		case !isRedirect(r, resp):
			return resp.Status, append(into.body, resp.Bytes()...), nil
		}
		url, err = urlx.Resolve(url, firstHeader(resp.Header, "Location"))
		if scheme := urlx.Scheme(url); err != nil || scheme != "http" && scheme != "https" {
			return http.StatusNotFound, nil, nil
		}
		url, _ = urlx.CutFragment(url)
	}
	return http.StatusNotFound, nil, nil
}

// robotsFailure names in the statistics why a robots.txt could not be asked for: as a rule the host is dead, and
// its robots.txt is but what was asked first.
func robotsFailure(err error) string {
	var dns *net.DNSError
	var dial *net.OpError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "robots: no such host"
	case errors.As(err, &dns):
		return "robots: no answer from DNS"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "robots: host does not answer"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "robots: connection refused"
	case errors.As(err, &dial) && dial.Op == "dial":
		return "robots: host cannot be reached"
	}
	return string(StageRobots)
}

// internalExchange is exchange for a request of the engine's own, the first with the job's slot or one that follows.
// alive is false if the job was abandoned.
func (c *crawl) internalExchange(j *job, ctx *Context, first bool) (alive bool, err error) {
	if len(c.internalMWs) > 0 {
		if alive = c.guard(j, StageRequest, func() { err = c.internalRequest(ctx) }); !alive || err != nil {
			return alive, err
		}
	}
	if ctx.DownloadResult == nil {
		if first {
			if _, ok := c.begins(j); !ok {
				return true, errNotNow
			}
			c.counters.robots.Add(1)
		}
		if alive = c.guard(j, StageDownload, func() { err = c.internalDownload(j, ctx) }); !alive || err != nil {
			return alive, err
		}
	}
	switch result := ctx.DownloadResult; {
	case result == nil || result.Response == nil && result.Error == nil:
		return true, errNilResponse
	case result.Error != nil:
		_, err := protect(func() error { return result.Error })
		return true, err
	}
	ctx.DownloadResult.Response.complete(ctx)
	if len(c.internalMWs) > 0 && !c.guard(j, StageResponse, func() { err = c.internalResponse(ctx) }) {
		return false, nil
	}
	if resp := ctx.Response(); err == nil && resp.Status < 0 {
		err = &UnexpectedStatusError{Status: resp.Status, URL: resp.URL}
	}
	return true, err
}

func (c *crawl) internalRequest(ctx *Context) error {
	for _, m := range c.internalMWs {
		if _, err := protect(func() error { return m.ProcessRequest(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

func (c *crawl) internalDownload(j *job, ctx *Context) error {
	d, err := c.downloaders.pick(j.ctx.Request.downloader)
	if err != nil {
		return err
	}
	return d.Call(nil, func() error {
		got, _, err := c.ask(j, d, ctx, c.now())
		if err == nil {
			ctx.DownloadResult = got.DownloadResult
			c.heed(j, ctx)
		}
		return err
	})
}

// internalResponse discards what the middlewares send: it would be nobody's.
func (c *crawl) internalResponse(ctx *Context) error {
	in := newInbox(nil, emission{})
	defer in.close()
	for i := len(c.internalMWs) - 1; i >= 0; i-- {
		if _, err := protect(func() error { return c.internalMWs[i].ProcessResponse(ctx, in.ch) }); err != nil {
			return err
		}
		resp := ctx.Response()
		if resp == nil {
			return errors.New("a middleware took the response of robots.txt away")
		}
		resp.complete(ctx)
	}
	return nil
}
