package tegenaria

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/inbox"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
)

// robotsGate has the requests of a crawl obey robots.txt: it is the gate with the engine's own downloads.
type robotsGate struct {
	*robotsgate.Gate[*job]
	*fetcher
}

// newRobots makes the machine of a robotsGate.
func newRobots(p *Politeness, g *gates) *robotsgate.Gate[*job] {
	agent := cmp.Or(p.RobotsAgent, p.agent())
	parse := func(body []byte) robotsgate.Group { return robots.Parse(body).Agent(agent) }
	return robotsgate.New(parse, g.frontier.SetCrawlDelay, g.park)
}

// goOn requeues the jobs that have waited for a file. A slot whose file must not be asked for yet is blocked until
// then.
func (g robotsGate) goOn(released robotsgate.Released[*job]) {
	for _, w := range released.Waiting {
		if !released.RetryAt.IsZero() {
			g.frontier.Block(w.Slot, released.RetryAt)
		}
		g.frontier.Unpark(w.Slot)
		g.requeue(w.Job)
	}
	g.report.blocked()
}

// abort ends the asking of a job whose download may never return.
func (g robotsGate) abort(j *job) { g.goOn(g.Abort(j)) }

// look asks the gate about a job, and has the job ask for the file if no other job does. The answer is Ask if that has
// failed, or if the job was given up meanwhile. It is Later without an instant if the job's slot has a delay, and the
// download of robots.txt took the turn.
func (g robotsGate) look(j *job, keep bool) (robotsgate.Look, error) {
	if g.cfg.Politeness.IgnoreRobots {
		return robotsgate.Look{Answer: robotsgate.Allow}, nil
	}
	for {
		r := j.ctx.Request
		at := robotsgate.Place{Origin: urlx.MachineOrigin(r.Url), Path: urlx.Path(urlx.MergeParams(r.Url, r.Params)),
			Slot: j.rec.Slot}
		look := g.Look(j, at, keep)
		if look.Answer != robotsgate.Ask {
			return look, nil
		}
		err := g.ask(j, at.Origin)
		switch {
		case err != nil || j.call.GivenUp():
			return look, err
		case j.copy == nil && g.frontier.IsDelayed(j):
			return robotsgate.Look{Answer: robotsgate.Later}, nil
		}
	}
}

// pass has a job of the queue obey the file.
func (g robotsGate) pass(j *job) next {
	look, err := g.look(j, true)
	switch look.Answer {
	case robotsgate.Allow:
		return goesOn
	case robotsgate.Forbid:
		if j.rec.Depth == 0 {
			g.report.seedRefused(j.ctx.Request, Robots, "forbidden")
		}
		j.decide(Robots, "forbidden")
	case robotsgate.Unreachable:
		if !g.Stopped() {
			j.decide(Robots, "unreachable")
		}
	case robotsgate.Wait:
		return waits
	case robotsgate.Later:
		if !look.At.IsZero() {
			g.frontier.Block(j.rec.Slot, look.At)
		}
		j.parts.Add()
		g.release(j)
		g.requeue(j)
		return waits
	case robotsgate.Ask:
		if err != nil {
			j.run(g.watch, StageError, func() { g.failures.fail(j, j.failure(StageRobots, err, nil)); j.closeRequests() })
		}
	}
	return ends
}

// passInline is pass for an inline request. If it returns false without an error, the slot was given back, and the
// request has to wait in line again.
func (g robotsGate) passInline(j *job) (bool, error) {
	look, err := g.look(j, false)
	switch look.Answer {
	case robotsgate.Allow:
		return true, nil
	case robotsgate.Forbid, robotsgate.Unreachable:
		return false, look.Refused(j.ctx.Request.Url)
	case robotsgate.Wait:
		g.release(j)
		defer g.watch.PauseCallers(&j.call)()
		select {
		case <-look.Changed:
		case <-j.ctx.Done():
			return false, context.Cause(j.ctx.Ctx)
		}
	case robotsgate.Later:
		g.release(j)
		if !look.At.IsZero() {
			defer g.watch.PauseCallers(&j.call)()
			return false, frontier.Sleep(j.ctx, time.Until(look.At))
		}
	}
	return false, err
}

// ask fetches the file for a job with the job's slot, worker and proxy. The error is one of the network. Nothing is
// asked if the slot was blocked since the job was granted it: then the job and those that wait for it are taken again
// later.
func (g robotsGate) ask(j *job, origin string) error {
	var copy *Response
	end, err := g.Ask(j, origin, func(url string, left time.Duration, first bool) (robotsgate.Response, error) {
		return g.send(j, url, left, first, &copy)
	})
	if end.New {
		if !j.call.GivenUp() {
			takeCopy(j, copy)
		}
		for _, w := range end.Waiting {
			takeCopy(w.Job, copy)
		}
	}
	if end.Lost { // its requests end without being asked
		g.frontier.NoteBlock(j.rec.Slot, frontier.Robots, time.Now().Add(robotsgate.Refresh))
	}
	g.goOn(end.Released)
	return err
}

// send sends a request of the engine's own for a job, the first one or one that follows a redirect. Of the middlewares
// only those see it that ask for such requests. A copy of the first answer is kept for other requests.
func (g robotsGate) send(j *job, url string, left time.Duration, first bool,
	copy **Response) (answer robotsgate.Response, err error) {
	r := NewRequest(url, GET, nil, RequestWithTimeout(left))
	r.Proxy, r.newExtras().Downloader = j.ctx.Request.Proxy, j.ctx.Request.extras().Downloader
	in := &internalContext{Context: j.ctx.Ctx, by: g.downloads.own}
	ctx := &Context{Request: r, Ctx: in, CtxId: j.ctx.CtxId}
	err = g.exchange(j, ctx, first, copy)
	g.bodies.Release(&in.hold)
	if err != nil {
		return answer, bare(err)
	}
	resp := ctx.Response()
	answer.Status, answer.Header = resp.Status, resp.Header
	if !fetch.IsRedirect(resp.Status, resp.Header) {
		answer.Body, err = resp.beginning(internalBody)
	}
	return answer, err
}

// exchange is the fetcher's exchange for a request of the engine's own. The job's slot is stamped when the first
// download begins; the error is [robotsgate.ErrNotNow] if the slot was blocked meanwhile and nothing was sent, and
// [ErrOutputClosed] if the job was abandoned.
func (g robotsGate) exchange(j *job, ctx *Context, first bool, copy **Response) (err error) {
	var by robotsgate.Handiwork
	mws := g.internalMWs
	if len(mws) > 0 && !j.run(g.watch, StageRequest, func() { _, err = mws.processRequest(j, ctx, &by) }) {
		return ErrOutputClosed
	}
	if err == nil && ctx.DownloadResult == nil {
		err = g.get(j, ctx, first)
		if resp := ctx.Response(); err == nil && first && resp != nil {
			*copy = copyForOthers(resp, ctx.Request)
		}
	}
	switch result := ctx.DownloadResult; {
	case err != nil:
		return err
	case result == nil || result.Response == nil && result.Error == nil:
		return errNilResponse
	case result.Error != nil:
		_, err := guard.Protect(func() error { return result.Error })
		return err
	}
	ctx.DownloadResult.Response.complete(ctx)
	if len(mws) > 0 && !j.run(g.watch, StageResponse, func() {
		// requests that they send are discarded: they would have no parent
		var in inbox.Inbox[*Context, inbox.Discard[*Context]]
		in.Init(inbox.Discard[*Context]{Mark: fence}, inboxBuffer)
		in.Start()
		defer in.Close()
		_, err = mws.processResponse(j, ctx, in.C, &by)
	}) {
		return ErrOutputClosed
	}
	if err != nil {
		return err
	}
	resp := ctx.Response()
	if resp.Status < 0 {
		return &UnexpectedStatusError{Status: resp.Status, URL: resp.URL}
	}
	return by.Check(ctx.Request.Url, resp.Status, resp.Header, resp.hasBody())
}

// get has a part answer a request of the engine's own, or downloads it.
func (g robotsGate) get(j *job, ctx *Context, first bool) error {
	_, err, alive := g.answer(j, ctx)
	if alive && (err != nil || ctx.DownloadResult != nil) {
		return err
	}
	if alive && first {
		if _, ok := g.frontier.Start(j); !ok {
			return robotsgate.ErrNotNow
		}
		g.report.counters.Robots.Add(1)
	}
	if !alive || !j.run(g.watch, StageDownload, func() { err = g.download(j, ctx) }) {
		return ErrOutputClosed
	}
	return err
}

// download asks the job's downloader. The Retry-After of a robots.txt delays the job's slot and all requests for the
// file.
func (g robotsGate) download(j *job, ctx *Context) error {
	d, err := g.downloads.downloaders.pick(j.ctx.Request.extras().Downloader)
	if err != nil {
		return err
	}
	return d.Call(nil, func() error {
		got, _, err := g.fetcher.ask(j, d, ctx, g.fetcher.stop.now())
		if err != nil {
			return err
		}
		ctx.DownloadResult = got.DownloadResult
		if a := answerOf(ctx, nil); a.After > 0 {
			after := g.frontier.Heed(j.rec.Slot, a.After)
			g.Postpone(j, time.Now().Add(after)) // for those of other slots
			g.report.blocked()
		}
		return nil
	})
}

// A spider may ask for a robots.txt itself, as those that start from sitemaps do. The engine has just asked for the
// same file then, because of that very request: so it answers the request with a copy of what came, and the site is
// asked once. A copy lives no longer than the requests that wait for the file.

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

// answerByCopy answers the job with the copy that it was given, if there is one and the job's request, as the
// middlewares have left it, sends nothing that the engine's own did not send.
func (g robotsGate) answerByCopy(j *job) {
	resp := j.copy
	if j.copy = nil; resp == nil || !likeOwn(j.ctx.Request, resp.Request()) {
		return
	}
	g.bodies.Add(&j.root().hold, int64(len(resp.Bytes())))
	j.ctx.DownloadResult = &RequestResult{Response: copyOf(resp, j.ctx.Request)}
}

// likeOwn reports whether a request would be answered as the engine's own was.
func likeOwn(r, own *Request) bool {
	if r.Url != own.Url || r.method() != GET || len(r.Params) > 0 || len(r.Body) > 0 || len(r.Cookies) > 0 ||
		r.BodyReader != nil || r.ResponseWriter != nil || r.spool || r.extras().Downloader != own.extras().Downloader {
		return false
	}
	if (r.Proxy == nil) != (own.Proxy == nil) || r.Proxy != nil && *r.Proxy != *own.Proxy {
		return false
	}
	return robotsgate.SameHeader(r.Header, own.Header)
}

// RobotsError is the failure of a Fetch that robots.txt forbids, or whose robots.txt cannot be read.
//
//	URL         string // the URL of the request
//	Unreachable bool   // robots.txt cannot be read
type RobotsError = robotsgate.RefusedError

// RobotsUnreachableError is the failure of a request whose robots.txt could not be fetched because of a network error:
// the host is down, for example. No page of an origin may be requested before its robots.txt is known (RFC 9309
// §2.3.1.4). Unwrap returns Err.
//
//	Origin string // "https://example.com"
//	Err    error  // how the host failed
type RobotsUnreachableError = robotsgate.UnreachableError

// RobotsAnswerError is the failure of a request whose robots.txt was left empty by a middleware, which answered in the
// site's place or removed the body. An empty robots.txt allows everything, and the site has not said so. See
// [InternalMiddleware].
//
//	URL        string // of robots.txt
//	Middleware string // its name
//	Missing    string // "body", or "Location" of a redirect
type RobotsAnswerError = robotsgate.AnswerError
