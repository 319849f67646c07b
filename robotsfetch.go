package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
)

var errNotNow = errors.New("the slot does not let it start now")

// internalContext is the context of a request of the engine's own. Its body goes to memory whatever the request says, so
// that middlewares see it, and counts in Limits.BodiesInFlight without waiting: a Fetch that holds a body may wait for
// it. Of a long one the beginning is read.
type internalContext struct {
	context.Context
	hold bodyHold
}

// internalBody is how much of a body is read: enough to see that it is too long to be read whole.
const internalBody = robots.MaxBytes + 1

// internal returns the context of a request of the engine's own; nil if it is another one.
func (c *Context) internal() *internalContext {
	if c.job != nil {
		return nil
	}
	own := c.Ctx
	if life, ok := own.(*lazyContext); ok { // a downloader is asked with that
		own = life.parent
	}
	in, _ := own.(*internalContext)
	return in
}

// robotsTimeout is for a robots.txt with its redirects.
const robotsTimeout = 15 * time.Second

// ask downloads the file and notes what it says. The error is one of the network. Nothing is asked if the slot was
// blocked since the job was granted it: the job and who waits for it come again.
func (g *robotsGate) ask(j *job, f *robotsFile) error {
	status, body, err := g.crawl.fetchRobots(j)
	failed := status == http.StatusTooManyRequests || status >= 500
	switch {
	case errors.Is(err, errNotNow):
		g.resolve(j, robotsUnknown, nil)
		return nil
	case (failed || err != nil) && g.keepOld(j, f):
		return nil
	case err != nil:
		err = &RobotsUnreachableError{Origin: urlx.Origin(j.ctx.Request.Url), Err: err}
		g.resolve(j, robotsUnknown, nil)
	case failed:
		g.serverError(j, f)
	case status >= 300: // no such file, or redirects without end: RFC 9309 §2.3.1.2, §2.3.1.3
		g.resolve(j, robotsKnown, robots.AllowAll().Agent(""))
	default:
		g.resolve(j, robotsKnown, robots.Parse(body).Agent(g.crawl.cfg.politeness.agent()))
	}
	return err
}

// keepOld lets the rules that are known stay in force where a new file cannot be had (RFC 9309 §2.4). False: none
// are known.
func (g *robotsGate) keepOld(j *job, f *robotsFile) bool {
	g.mu.Lock()
	old := f.group
	g.mu.Unlock()
	if old != nil {
		g.resolveFor(j, robotsKnown, old, robotsAgain)
	}
	return old != nil
}

// serverError lets the file be asked again after a while, or gives it up.
func (g *robotsGate) serverError(j *job, f *robotsFile) {
	state := robotsUnreachable
	g.mu.Lock()
	if f.tries < len(robotsBackoff) {
		state = robotsUnknown
		if at := time.Now().Add(robotsBackoff[f.tries]); at.After(f.retryAt) {
			f.retryAt = at
		}
		f.tries++
	}
	g.mu.Unlock()
	if state == robotsUnreachable { // its requests end without being asked
		g.crawl.sched.noteBlock(j.rec.Slot, BlockRobots, time.Now().Add(robotsRefresh))
	}
	g.resolve(j, state, nil)
}

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
		r := NewRequest(url, GET, nil, RequestWithTimeout(max(time.Until(deadline), time.Millisecond)))
		r.Proxy, r.downloader = j.ctx.Request.Proxy, j.ctx.Request.downloader
		in := &internalContext{Context: j.ctx.Ctx}
		ctx := &Context{Request: r, Ctx: in, CtxId: j.ctx.CtxId}
		alive, err := c.internalExchange(j, ctx, hop == 0)
		c.bodies.release(&in.hold)
		switch {
		case !alive:
			return 0, nil, ErrOutputClosed
		case err != nil:
			return 0, nil, err
		}
		resp := ctx.Response()
		if !redirects(resp) {
			body, err = resp.beginning(internalBody)
			return resp.Status, body, err
		}
		url, err = urlx.Resolve(url, firstHeader(resp.Header, "Location"))
		if scheme := urlx.Scheme(url); err != nil || scheme != "http" && scheme != "https" {
			return http.StatusNotFound, nil, nil
		}
		url, _ = urlx.CutFragment(url)
	}
	return http.StatusNotFound, nil, nil
}

// redirects reports whether a response names where to go on, whatever its request allows.
func redirects(resp *Response) bool {
	return isRedirect(&Request{AllowRedirects: true, MaxRedirects: 1}, resp)
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
	var by handiwork
	if len(c.internalMWs) > 0 {
		if alive = c.guard(j, StageRequest, func() { by, err = c.internalRequest(j, ctx) }); !alive || err != nil {
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
		if resp := ctx.Response(); first && resp != nil {
			c.robots.keepCopy(j, ctx.Request, resp)
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
	if len(c.internalMWs) > 0 && !c.guard(j, StageResponse, func() { err = c.internalResponse(j, ctx, &by) }) {
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
func (c *crawl) internalRequest(j *job, ctx *Context) (by handiwork, err error) {
	asked := ctx.Request
	for _, m := range c.internalMWs {
		if j.abandoned.Load() { // one of them was given up, and has returned after all
			break
		}
		_, err = protect(func() error {
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

// internalResponse has the middlewares process a response. What they send is discarded: it would be nobody's.
func (c *crawl) internalResponse(j *job, ctx *Context, by *handiwork) error {
	in := newInbox(nil, emission{})
	defer in.close()
	asked := ctx.Request
	for i := len(c.internalMWs) - 1; i >= 0; i-- {
		if j.abandoned.Load() { // one of them was given up, and has returned after all
			return nil
		}
		m, had := c.internalMWs[i], ctx.Response().hasBody()
		_, err := protect(func() error {
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

// hasBody reports whether the response has a body, in memory or spooled.
func (r *Response) hasBody() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sync()
	return len(r.body) > 0 || r.file != nil && r.file.Len() > 0
}

// beginning returns so many bytes of the body, or all of them if there are fewer.
func (r *Response) beginning(most int) ([]byte, error) {
	if body := r.Bytes(); len(body) > 0 {
		return body[:min(len(body), most)], nil
	}
	reader := r.Reader()
	defer reader.Close()
	return io.ReadAll(io.LimitReader(reader, int64(most)))
}
