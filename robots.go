package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"
)

// robotsGate has the requests of a crawl obey robots.txt: it is the gate with the engine's own downloads.
type robotsGate struct {
	*robotsgate.Gate[*job]
	crawl *crawl
}

func newRobotsGate(c *crawl) robotsGate {
	return robotsGate{robotsgate.New[*job](c.frontier.SetCrawlDelay), c}
}

// look asks the gate about a job.
func (g robotsGate) look(j *job, keep bool) robotsgate.Look {
	r := j.ctx.Request
	return g.Look(j, robotsgate.Place{Origin: urlx.Origin(r.Url), Path: urlx.Path(urlx.MergeParams(r.Url, r.Params)), Slot: j.rec.Slot}, keep)
}

// release requeues the jobs that have waited for a file. A slot whose file must not be asked for yet is blocked until then.
func (g robotsGate) release(released robotsgate.Released[*job]) {
	for _, w := range released.Waiting {
		if !released.RetryAt.IsZero() {
			g.crawl.frontier.Block(w.Slot, released.RetryAt)
		}
		g.crawl.frontier.Unpark(w.Slot)
		w.Job.requeue()
	}
	g.crawl.teller.blocked()
}

// abort ends the asking of a job whose download may never return.
func (g robotsGate) abort(j *job) { g.release(g.Abort(j)) }

// stop sends the jobs that wait back to the cache: a stopping crawl starts nothing new.
func (g robotsGate) stop() {
	for _, w := range g.Stop() {
		g.crawl.frontier.Unpark(w.Slot) // Fetch is served until the grace ends
		w.Job.done()
	}
}

// pass reports whether a job of the queue may be downloaded now. If not it has its outcome, or else it
// waits: then it will come again, and must not be touched any more.
func (g robotsGate) pass(j *job) (ok, waits bool) {
	if g.crawl.cfg.politeness.IgnoreRobots {
		return true, false
	}
	switch look := g.look(j, true); look.Answer {
	case robotsgate.Allow:
		return true, false
	case robotsgate.Forbid:
		j.decide(Robots, "forbidden")
	case robotsgate.Unreachable:
		if !g.Stopped() {
			j.decide(Robots, "unreachable")
		}
	case robotsgate.Wait:
		return false, true
	case robotsgate.Later:
		g.crawl.frontier.Block(j.rec.Slot, look.At)
		g.askAgain(j)
		return false, true
	case robotsgate.Ask:
		return g.passAsker(j)
	}
	return false, false
}

// passAsker asks for the file on behalf of a job of the queue.
func (g robotsGate) passAsker(j *job) (ok, waits bool) {
	c := g.crawl
	err := g.ask(j)
	switch {
	case j.call.GivenUp():
		return false, false
	case err != nil:
		c.guard(j, StageError, func() { c.teller.fail(j, j.failure(StageRobots, err, nil)); j.closeRequests() })
		return false, false
	case j.copy == nil && c.frontier.IsDelayed(j):
		// Its slot has a delay, and the download of robots.txt took the turn.
		c.fetcher.robots.askAgain(j)
		return false, true
	}
	return g.pass(j)
}

// askAgain puts a job back into its slot's queue, without its worker.
func (g robotsGate) askAgain(j *job) {
	j.open.Add(1)
	j.release()
	j.requeue()
}

// passInline is pass for an inline request. If it returns false without an error, the slot was given back, and the request
// has to stand in line again.
func (g robotsGate) passInline(j *job) (bool, error) {
	c := g.crawl
	if c.cfg.politeness.IgnoreRobots {
		return true, nil
	}
	switch look := g.look(j, false); look.Answer {
	case robotsgate.Allow:
		return true, nil
	case robotsgate.Forbid:
		return false, &RobotsError{URL: j.ctx.Request.Url}
	case robotsgate.Unreachable:
		return false, &RobotsError{URL: j.ctx.Request.Url, Unreachable: true}
	case robotsgate.Wait:
		j.release()
		defer g.crawl.reader.waitsForEngine(j)()
		select {
		case <-look.Changed:
			return false, nil
		case <-j.ctx.Done():
			return false, context.Cause(j.ctx.Ctx)
		}
	case robotsgate.Later:
		j.release()
		defer g.crawl.reader.waitsForEngine(j)()
		return false, frontier.Sleep(j.ctx, time.Until(look.At))
	}
	if err := g.ask(j); err != nil || j.call.GivenUp() {
		return false, err
	}
	if j.copy == nil && c.frontier.IsDelayed(j) {
		j.release()
		return false, nil
	}
	return g.passInline(j)
}

var errNotNow = errors.New("the slot does not let it start now")

const (
	robotsTimeout   = 15 * time.Second // for a robots.txt with its redirects
	robotsRedirects = 5                // RFC 9309 §2.3.1.2
)

// ask downloads the file and notes its rules. The error is one of the network. Nothing is asked if the slot was
// blocked since the job was granted it: then the job and those that wait for it are taken again later.
func (g robotsGate) ask(j *job) error {
	answer, err := g.fetchRobots(j)
	failed := answer.status == http.StatusTooManyRequests || answer.status >= 500
	switch {
	case errors.Is(err, errNotNow):
		g.abort(j)
		return nil
	case failed || err != nil:
		if released, ok := g.KeepOld(j); ok {
			g.release(released)
			return nil
		}
	}
	switch {
	case err != nil:
		err = &RobotsUnreachableError{Origin: urlx.Origin(j.ctx.Request.Url), Err: err}
		g.abort(j)
	case failed:
		released, isLost := g.Failed(j)
		if isLost { // its requests end without being asked
			g.crawl.frontier.NoteBlock(j.rec.Slot, frontier.Robots, time.Now().Add(robotsgate.Refresh))
		}
		g.release(released)
	case answer.status >= 300: // no such file, or redirects without end: RFC 9309 §2.3.1.2, §2.3.1.3
		g.known(j, robots.AllowAll().Agent(""), answer.copy)
	default:
		g.known(j, robots.Parse(answer.body).Agent(g.crawl.cfg.politeness.agent()), answer.copy)
	}
	return err
}

// known notes the rules that a job has brought. The longer one of Crawl-delay and Request-rate counts; neither is in RFC 9309.
func (g robotsGate) known(j *job, rules *robots.Group, copy *Response) {
	delay, _ := rules.CrawlDelay()
	rate, _ := rules.RequestRate()
	released := g.Known(j, robotsgate.Rules{Group: rules, Delay: max(delay, rate)}, robotsgate.Refresh)
	if !j.call.GivenUp() {
		takeCopy(j, copy)
	}
	for _, w := range released.Waiting {
		takeCopy(w.Job, copy)
	}
	g.release(released)
}

// robotsAnswer is the result of a download of robots.txt.
type robotsAnswer struct {
	status int
	body   []byte    // its beginning
	copy   *Response // as the server sent it; nil if it cannot answer another request
}

// fetchRobots downloads the robots.txt of a job's origin with the job's slot, worker and proxy. Redirects
// are followed here; those that lead nowhere count as a file that is not there (RFC 9309 §2.3.1.2). Of the
// middlewares only those see it that ask for the engine's own requests. The slot is stamped when the download
// begins; the error is errNotNow if it was blocked meanwhile and nothing was sent.
func (g robotsGate) fetchRobots(j *job) (answer robotsAnswer, err error) {
	url := urlx.Origin(j.ctx.Request.Url) + "/robots.txt"
	deadline := time.Now().Add(robotsTimeout)
	seen := map[string]bool{}
	for hop := 0; hop <= robotsRedirects; hop++ {
		if seen[url] {
			return robotsAnswer{status: http.StatusNotFound, copy: answer.copy}, nil
		}
		seen[url] = true
		r := NewRequest(url, GET, nil, RequestWithTimeout(max(time.Until(deadline), time.Millisecond)))
		r.Proxy, r.downloader = j.ctx.Request.Proxy, j.ctx.Request.downloader
		in := &internalContext{Context: j.ctx.Ctx}
		ctx := &Context{Request: r, Ctx: in, CtxId: j.ctx.CtxId}
		alive, err := g.internalExchange(j, in, ctx, hop == 0)
		g.crawl.fetcher.bodies.Release(&in.hold)
		if hop == 0 {
			answer.copy = in.copy
		}
		switch {
		case !alive:
			return answer, ErrOutputClosed
		case err != nil:
			return answer, err
		}
		resp := ctx.Response()
		if !redirects(resp) {
			answer.status = resp.Status
			answer.body, err = resp.beginning(internalBody)
			return answer, err
		}
		url, err = urlx.Resolve(url, fetch.FirstHeader(resp.Header, "Location"))
		if scheme := urlx.Scheme(url); err != nil || scheme != "http" && scheme != "https" {
			return robotsAnswer{status: http.StatusNotFound, copy: answer.copy}, nil
		}
		url, _ = urlx.CutFragment(url)
	}
	return robotsAnswer{status: http.StatusNotFound, copy: answer.copy}, nil
}

// robotsFailure names in the statistics why a robots.txt could not be asked for: as a rule the host is dead, and its robots.txt
// was asked for first.
func robotsFailure(err error) string {
	if why := fetch.Unreachable(err); why != "" {
		return "robots: " + why
	}
	return string(StageRobots)
}

// heed obeys the Retry-After of a robots.txt that was asked for with a job's slot. How often a robots.txt is asked for
// without one, its gate knows.
func (g robotsGate) heed(j *job, ctx *Context) {
	c := g.crawl
	if a := answerOf(ctx, nil); a.After > 0 {
		after := c.frontier.Heed(j.rec.Slot, a.After)
		g.Postpone(j, time.Now().Add(after)) // for those of other slots
		c.teller.blocked()
	}
}

// RobotsError is the failure of a Fetch that robots.txt forbids, or whose robots.txt cannot be read.
type RobotsError struct {
	URL         string
	Unreachable bool
}

// Error names the URL.
func (e *RobotsError) Error() string {
	if e.Unreachable {
		return "robots.txt for " + urlx.Redact(e.URL) + " is unreachable"
	}
	return "robots.txt forbids " + urlx.Redact(e.URL)
}

// RobotsUnreachableError is the failure of a request whose robots.txt could not be asked for because of the
// network, as that of a dead host: until it is known, nothing of that origin may be fetched (RFC 9309
// §2.3.1.4).
type RobotsUnreachableError struct {
	Origin string // "https://example.com"
	Err    error  // how the host failed
}

// Error names origin, cause and remedy.
func (e *RobotsUnreachableError) Error() string {
	return fmt.Sprintf("%s could not be asked for its robots.txt, so nothing of it is fetched: %v", e.Origin, e.Err)
}

// Unwrap returns the cause.
func (e *RobotsUnreachableError) Unwrap() error { return e.Err }
