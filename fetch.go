package tegenaria

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/stage"
)

// page takes a job from its slot to the end of its parser, in one goroutine: what a worker has just read is
// still near. It comes with its slot and the right to fetch; before it is parsed it gives both back.
func (c *crawl) page(worker context.Context, j *job) (*job, error) {
	j.call.Worker = stage.CallOf(worker)
	c.beginFlight(j)
	parse, waits := c.fetchJob(j)
	if waits { // it stands in line again and must not be touched
		return nil, stage.ErrDrop
	}
	j.letGo()
	switch {
	case parse:
		c.parse(j)
	case j.call.GivenUp():
		j.closeRequests() // its user code has returned after all
		j.closeSpools()
	}
	c.watch.Leave(&j.call)
	return nil, stage.ErrDrop
}

// fetchJob makes the exchange. parse tells that the job goes on to its parser and holds a place there; waits that
// it will come again.
func (c *crawl) fetchJob(j *job) (parse, waits bool) {
	if j.ctx == nil {
		ctx, err := c.acceptor.codec.decode(j.rec.Data, j.rec.Live)
		if err != nil {
			j.begin(NewContext(NewRequest("", GET, nil)))
			c.storeFailed(fmt.Errorf("decoding a stored request: %w", err))
			return false, false
		}
		j.begin(ctx)
	}
	switch {
	case c.work.Err() != nil:
		return false, false
	case c.sched.starves(j):
		j.decide(Filtered, pageBudget)
		return false, false
	case !c.enterGate(j):
		c.standBack(j)
		return false, true
	}
	ok, waits := c.robots.pass(j)
	c.tellBlocks()
	if !ok {
		return false, waits
	}
	c.watch.Sit(&j.call, pageRow)
	herr, alive, closed := c.exchange(j)
	if closed {
		c.watch.Leave(&j.call)
		c.standBack(j)
		return false, true
	}
	if !alive {
		return false, false
	}
	if herr == nil {
		if herr, alive = c.follow(j); !alive {
			return false, false
		}
	}
	if herr == nil && j.undecided() {
		if c.parseGate.acquire(c.work, false) != nil {
			return false, false // the crawl gives up: the job goes back to the cache
		}
		j.beginParsing()
		return true, false
	}
	c.guard(j, StageError, func() {
		if herr != nil {
			c.fail(j, herr)
		}
		j.closeRequests()
	})
	return false, false
}

// guard runs user code that the watch keeps an eye on. It returns false if the code was abandoned, or must not run any
// more because the crawl gives up; the job is not to be touched.
func (c *crawl) guard(j *job, at Stage, code func()) bool {
	call := &j.call
	if call.GivenUp() {
		return false
	}
	if !call.Joined() {
		c.watch.Join(call)
		defer c.watch.Leave(call)
	}
	if j.ctx != nil {
		j.before = snapshot{j.ctx.CtxId, j.ctx.Response()}
	}
	if at == StageResponse && j.inbox != nil {
		return c.watch.Run(call, string(at), j.inbox, code)
	}
	return c.watch.Run(call, string(at), nil, code)
}

// exchange sends the request through the middlewares and the downloader. It returns the failure, if there
// is one; alive is false if the job was abandoned; closed tells that its slot or gate is, and that nothing was sent.
func (c *crawl) exchange(j *job) (herr *HandleError, alive, closed bool) {
	ctx := j.ctx
	if own, ok := ctx.Ctx.(*userContext); ok && own.user.Err() != nil { // it was given up while it waited
		return j.failure(StageDownload, context.Cause(own.user), nil), true, false
	}
	if len(c.middlewares) > 0 && !j.prepared && !c.guard(j, StageRequest, func() { herr = c.processRequest(j) }) {
		return nil, false, false
	}
	if j.prepared = true; herr != nil {
		return herr, true, false
	}
	if ctx.DownloadResult == nil && j.copy != nil {
		c.answerByCopy(j)
	}
	var came answer
	if ctx.DownloadResult == nil {
		// A middleware may have changed its proxy, and with that its gate.
		if len(c.middlewares) > 0 && !c.enterGate(j) {
			return nil, true, true
		}
		if herr, alive, closed = c.download(j); !alive || closed {
			return nil, alive, closed
		}
		came = answerOf(ctx, herr)
	}
	c.answered(j, came)
	if herr == nil && ctx.DownloadResult.Error != nil {
		stack, err := guard.Protect(func() error { return ctx.DownloadResult.Error })
		herr = j.failure(StageDownload, err, stack)
	}
	resp := ctx.Response()
	if herr == nil && resp == nil {
		herr = j.failure(StageDownload, errNilResponse, nil)
	}
	if resp != nil {
		c.received(j, resp)
	}
	if herr != nil {
		return herr, true, false
	}
	if len(c.middlewares) > 0 {
		j.inbox = j.lateInbox()
		if !c.guard(j, StageResponse, func() { herr = c.processResponse(j) }) {
			return nil, false, false
		}
	}
	if herr == nil && ctx.Response() == nil {
		herr = j.failure(StageResponse, errNilResponse, nil)
	}
	return herr, true, false
}

var errNilResponse = errors.New("response is nil")

func (c *crawl) processRequest(j *job) *HandleError {
	asked := j.ctx.Request
	for _, m := range c.middlewares {
		stack, err := guard.Protect(func() error { return m.ProcessRequest(j.ctx) })
		if j.call.GivenUp() { // the others must not be called any more
			return nil
		}
		if err == nil && j.ctx.Request == nil {
			err = errNilRequest
		}
		j.keepRequest(asked)
		if err != nil {
			return j.failure(StageRequest, err, stack)
		}
		if j.ctx.DownloadResult != nil {
			return nil
		}
	}
	return nil
}

func (c *crawl) processResponse(j *job) *HandleError {
	defer j.closeRequests() // the job may never come to its parser
	asked := j.ctx.Request
	for i := len(c.middlewares) - 1; i >= 0; i-- {
		stack, err := guard.Protect(func() error { return c.middlewares[i].ProcessResponse(j.ctx, j.requests()) })
		if j.call.GivenUp() { // the others must not be called any more
			return nil
		}
		if err == nil && j.ctx.Request == nil {
			err = errNilRequest
		}
		j.keepRequest(asked)
		if resp := j.ctx.Response(); resp != nil {
			resp.complete(j.ctx) // it may be another one, or lack what was there
		}
		if err != nil {
			return j.failure(StageResponse, err, stack)
		}
	}
	return nil
}

var errNilRequest = errors.New("a middleware took the Context's Request away")

// keepRequest puts the request back that a middleware has taken away.
func (j *job) keepRequest(asked *Request) {
	if j.ctx.Request == nil {
		j.ctx.Request = asked
	}
}

// received completes and counts a response.
func (c *crawl) received(j *job, resp *Response) {
	resp.complete(j.ctx)
	j.mu.Lock()
	j.status = resp.Status
	j.mu.Unlock()
	responses, bytes := c.teller.counters.response(resp.Status, resp.ContentLength)
	if f := c.cfg.events.Downloaded; f != nil {
		c.teller.event(func() { f(j.ctx.Request, resp) })
	}
	if limit := int64(c.limits.Pages); limit > 0 && responses >= limit {
		c.requestStop("limit: pages", nil)
	}
	if limit := c.limits.Bytes; limit > 0 && bytes >= limit {
		c.requestStop("limit: bytes", nil)
	}
}

// complete fills in what a response that was made by hand lacks.
func (r *Response) complete(ctx *Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ctx, r.req = ctx, ctx.Request
	if r.Header == nil {
		r.Header = make(map[string][]string)
	}
	if r.URL == "" {
		r.URL = ctx.Request.Url
	}
	if r.Buffer == nil && r.file == nil {
		r.Buffer = new(bytes.Buffer)
	}
	r.sync()
}

// download asks the request's downloader and waits for its one result. closed tells that the slot does not let it
// start any more: middlewares and robots.txt may have taken long, and the site have asked for a pause meanwhile.
func (c *crawl) download(j *job) (herr *HandleError, alive, closed bool) {
	ctx := j.ctx
	if ctx.Err() != nil { // given up while a middleware had it; its slot may be gone
		return j.failure(StageDownload, context.Cause(ctx.Ctx), nil), true, false
	}
	d, err := c.downloaders.pick(ctx.Request.downloader)
	if err != nil {
		return j.failure(StageDownload, err, nil), true, false
	}
	// Before the slot is stamped, since the func may take its time. The slot may have been blocked when it returns: then
	// the job stands in line again, has its page of the budget, and is not announced a second time.
	if f := c.cfg.events.RequestStarted; f != nil && !j.announced {
		if !c.sched.startable(j.slot()) {
			return nil, true, true
		}
		if err := c.sched.reserve(j); err != nil {
			return j.failure(StageDownload, err, nil), true, false
		}
		j.announced = true
		c.teller.event(func() { f(ctx.Request) })
	}
	started, ok := c.begins(j)
	if !ok {
		return nil, true, true
	}
	if err := c.sched.spend(j); err != nil {
		return j.failure(StageDownload, err, nil), true, false
	}
	j.started, j.downloader = started, d
	c.teller.counters.requests.Add(1)
	j.takeTurn()
	alive = c.guard(j, StageDownload, func() { herr = c.askDownloader(j, d, started) })
	if alive {
		j.endTurn()
	}
	return herr, alive, false
}

// begins tells the scheduler that a download begins now. It returns false if its slot does not let it.
func (c *crawl) begins(j *job) (time.Time, bool) {
	if grant := j.slot(); grant != nil {
		return c.sched.start(grant)
	}
	return c.now(), true
}

func (c *crawl) askDownloader(j *job, d *downloaderModule, started time.Time) *HandleError {
	ctx := j.ctx
	var herr *HandleError
	d.Call(nil, func() error {
		got, stack, err := c.ask(j, d, ctx, started)
		if err != nil {
			herr = j.failure(StageDownload, err, stack)
			return err
		}
		if ctx.DownloadResult = got.DownloadResult; ctx.DownloadResult == nil {
			ctx.DownloadResult = &RequestResult{}
		}
		if ctx.DownloadResult.Error != nil {
			return ctx.DownloadResult.Error
		}
		return nil
	})
	return herr
}

// undecided reports whether the job goes on.
func (j *job) undecided() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.outcome == 0 && j.retry == nil && !j.sealed
}
