package tegenaria

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
)

// newRobots makes the gate that has the requests of a crawl obey robots.txt.
func newRobots(p *Politeness, g *gates) *robotsgate.Gate[*job] {
	agent := cmp.Or(p.RobotsAgent, p.agent())
	parse := func(body []byte) robotsgate.Group { return robots.Parse(body).Agent(agent) }
	return robotsgate.New(parse, g.frontier.SetCrawlDelay, g.park)
}

// obeyRobots has a job obey robots.txt, and has it ask for the file if no other job does. The error is errNotYet if an
// inline request has waited without its slot.
func (f *fetcher) obeyRobots(j *job) error {
	if f.cfg.Politeness.IgnoreRobots {
		return nil
	}
	defer f.report.blocked()
	for {
		url := j.ctx.Request.Url
		switch look := f.robots.Look(j, placeOf(j), !j.isInline()); look.Answer {
		case robotsgate.Allow:
			return nil
		case robotsgate.Forbid:
			return f.refused(j, StageRobots, &refusal{Robots, "forbidden", look.Refused(url)})
		case robotsgate.Unreachable:
			if !j.isInline() && f.robots.Stopped() {
				return errDecided // it goes back to the cache
			}
			return f.refused(j, StageRobots, &refusal{Robots, "unreachable", look.Refused(url)})
		case robotsgate.Wait:
			return f.awaitRobots(j, look.Changed)
		case robotsgate.Later:
			return f.later(j, look.At)
		case robotsgate.Ask:
			wait := f.frontier.Waits(j, frontier.PlaceRobots)
			err := f.askRobots(j)
			wait.Done()
			if err != nil {
				return err
			}
			if j.copy == nil && f.frontier.IsDelayed(j) { // the download of robots.txt took the turn
				return f.later(j, time.Time{})
			}
		}
	}
}

// placeOf returns what a job asks for, as robots.txt sees it.
func placeOf(j *job) robotsgate.Place {
	r := j.ctx.Request
	path := urlx.Path(urlx.MergeParams(r.Url, r.Params))
	return robotsgate.Place{Origin: urlx.MachineOrigin(r.Url), Path: path, Slot: j.slot()}
}

// awaitRobots has a job wait for another one that asks for the file: the gate has kept a job of the queue.
func (f *fetcher) awaitRobots(j *job, known <-chan struct{}) error {
	if !j.isInline() {
		return errInLine
	}
	f.release(j)
	defer f.watch.PauseCallers(&j.call)()
	select {
	case <-known:
		return errNotYet
	case <-j.ctx.Done():
		return j.failure(StageRobots, context.Cause(j.ctx.Ctx))
	}
}

// later has a job give its slot back and wait in line again, not before an instant unless that is zero.
func (f *fetcher) later(j *job, at time.Time) error {
	if j.isInline() {
		f.release(j)
		if at.IsZero() {
			return errNotYet
		}
		defer f.watch.PauseCallers(&j.call)()
		if err := frontier.Sleep(j.ctx, time.Until(at)); err != nil {
			return j.failure(StageRobots, err)
		}
		return errNotYet
	}
	if !at.IsZero() {
		f.frontier.Block(j.slot(), at)
	}
	j.parts.Add()
	f.release(j)
	f.requeue(j)
	return errInLine
}

// goOn requeues the jobs that have waited for a file. A slot whose file must not be asked for yet is blocked until
// then.
func (f *fetcher) goOn(released robotsgate.Released[*job]) {
	for _, w := range released.Waiting {
		if !released.RetryAt.IsZero() {
			f.frontier.Block(w.Slot, released.RetryAt)
		}
		f.frontier.Unpark(w.Slot)
		f.requeue(w.Job)
	}
	f.report.blocked()
}

// abortRobots ends the asking of a job whose download may never return.
func (f *fetcher) abortRobots(j *job) { f.goOn(f.robots.Abort(j)) }

// askRobots fetches the file for a job with the job's slot, worker and proxy. The error is one of the network. Nothing
// is asked if the slot was blocked since the job was granted it: then the job and those that wait for it are taken again
// later. If a middleware puts the request for the file off, the error puts the job off.
func (f *fetcher) askRobots(j *job) error {
	first := fileRequest{first: true}
	var off *notNowError // of a middleware that puts the request for the file off
	ask := func(url string, left time.Duration, isFirst bool) (robotsgate.Response, error) {
		file := &first
		if !isFirst {
			file = new(fileRequest)
		}
		resp, err := f.send(j, file, url, left)
		if off = asNotNow(err); off != nil {
			err = robotsgate.ErrNotNow
		}
		return resp, err
	}
	end, err := f.robots.Ask(j, placeOf(j).Origin, ask)
	if end.New {
		if !j.call.GivenUp() {
			takeCopy(j, first.copy)
		}
		for _, w := range end.Waiting {
			takeCopy(w.Job, first.copy)
		}
	}
	if end.Lost { // its requests end without being asked
		f.frontier.NoteBlock(j.slot(), frontier.Robots, time.Now().Add(robotsgate.Refresh))
	}
	f.goOn(end.Released)
	switch {
	case j.call.GivenUp():
		return guard.ErrGivenUp
	case err != nil:
		return j.failure(StageRobots, err)
	case off != nil:
		return j.failure(StageRobots, off)
	}
	return nil
}

// fileRequest is a request of the engine's own for a robots.txt.
type fileRequest struct {
	first bool                  // it does not follow a redirect
	by    robotsgate.AnsweredBy // what the middlewares have made of the response
	copy  *Response             // of the answer to the first one, for other requests
	begun bool                  // middlewares have processed it
}

// send sends a request of the engine's own for a job. Of the middlewares only those see it that ask for such requests.
func (f *fetcher) send(j *job, file *fileRequest, url string, left time.Duration) (answer robotsgate.Response, err error) {
	r := NewRequest(url, GET, nil, RequestWithTimeout(left))
	r.Proxy, r.newExtras().Downloader = j.ctx.Request.Proxy, j.ctx.Request.extras().Downloader
	in := &internalContext{Context: j.ctx.Ctx, by: f.downloads.own}
	ctx := &Context{Request: r, Ctx: in, CtxId: j.ctx.CtxId}
	defer func() {
		if file.begun {
			f.released(f.internalListeners, ctx)
		}
	}()
	err = f.exchange(exchange{job: j, ctx: ctx, file: file})
	f.bodies.Release(&in.hold)
	if err != nil {
		if isA[*BlockedError](err) {
			f.report.counters.Blocked.Add(1)
		}
		if err = f.internalError(j, ctx, err); isA[*BlockedError](err) {
			return robotsgate.Response{Status: http.StatusServiceUnavailable}, nil // it has rules, which are not known
		}
		return answer, err
	}
	resp := ctx.Response()
	if resp.Status < 0 {
		return answer, &UnexpectedStatusError{Status: resp.Status, URL: resp.URL}
	}
	if err := file.by.Check(ctx.Request.Url, resp.Status, resp.Header, resp.hasBody()); err != nil {
		return answer, err
	}
	answer.Status, answer.Header = resp.Status, resp.Header
	if !fetch.IsRedirect(resp.Status, resp.Header) {
		answer.Body, err = resp.beginning(internalBody)
	}
	return answer, err
}

// internalError has the middlewares that see the engine's own requests see the failure of one, and returns what they make of it.
func (f *fetcher) internalError(j *job, ctx *Context, failed error) error {
	mws := all[ErrorMiddleware](f.internalMWs)
	if len(mws) == 0 || failed == guard.ErrGivenUp || failed == robotsgate.ErrNotNow || asNotNow(failed) != nil {
		return failed
	}
	herr := NewError(ctx.CtxId, failed, ErrorWithRequest(ctx.Request), ErrorWithResponse(ctx.Response()), ErrorWithStage(StageDownload))
	requests := j.seldomRequests(nil) // they would have no parent
	err := j.runLate(f.watch, StageError, requests, func() error {
		defer requests.close()
		var next error = herr
		for _, m := range slices.Backward(mws) {
			err := guard.Protect(func() error { next = m.ProcessError(ctx, next, requests.C); return nil })
			if err != nil || next == nil { // nobody can swallow it: without the file nothing may be fetched
				return cmp.Or(err, failed)
			}
		}
		return next
	})
	return bare(err)
}

// A spider may ask for a robots.txt itself, as those that start from sitemaps do. The engine has just asked for the
// same file then, because of that very request: so it answers the request with a copy of what came, and the site is
// asked once. A copy lives no longer than the requests that wait for the file.

// keepCopy keeps a copy of the server's answer to the engine's own request, unless it is not whole or is a failure.
func (file *fileRequest) keepCopy(own *Request, resp *Response) {
	body := resp.Bytes()
	switch {
	case resp.Status <= 0 || resp.Status >= 500 || resp.Status == http.StatusTooManyRequests:
	case len(body) > robots.MaxBytes || len(body) == 0 && resp.hasBody(): // there may be more, or it is elsewhere
	default:
		file.copy = copyOf(resp, own)
	}
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
func (f *fetcher) answerByCopy(j *job) {
	resp := j.copy
	if j.copy = nil; resp == nil || !likeOwn(j.ctx.Request, resp.Request()) {
		return
	}
	f.bodies.Add(&j.root().hold, int64(len(resp.Bytes())))
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
