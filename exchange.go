package tegenaria

import (
	"context"
	"errors"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
)

// fetcher takes a request through its gate, robots.txt and the middlewares to its downloader, and the response back.
type fetcher struct {
	cfg         *config
	limits      *Limits
	frontier    *frontier.Frontier[*job]
	watch       *guard.Watch
	flights     *flights
	teller      *teller
	stop        *stop
	failures    *failures // set when the cache has begun
	acceptor    *acceptor // that takes the targets of redirects; set when the cache has begun
	middlewares Middlewares
	errorMWs    []ErrorMiddleware
	internalMWs Middlewares // those that see the engine's own requests
	downloaders downloaderSet
	layers      layers
	own         *httpDownloader // the engine's own: the default downloader, or at least what makes responses
	http        *httpDownloader // own, nil if the user gave a default downloader
	loopback    *fetch.Loopback
	bodies      *fetch.Budget
	writers     *guard.Writers // of the requests' ResponseWriters
	robots      robotsGate
	gated       bool // addresses or proxies have a limit
}

func newFetcher(c *crawl) (f *fetcher, err error) {
	cfg := &c.cfg
	f = &fetcher{
		cfg: cfg, limits: &c.limits, frontier: c.frontier, watch: c.watch, flights: c.flights, teller: c.teller, stop: &c.stop,
		middlewares: cfg.middlewares.sorted(), loopback: new(fetch.Loopback),
		bodies: fetch.NewBudget(c.limits.BodiesInFlight, func() { c.settler.hurry() }),
		gated:  cfg.politeness.PerIP > 0 || cfg.politeness.PerProxy > 0,
	}
	f.robots = newRobotsGate(f)
	over := errors.New("the request has ended: nothing more may be written to its ResponseWriter")
	f.writers = guard.NewWriters(over, func(url string) error { return &WriterBusyError{URL: url} })
	for _, m := range f.middlewares {
		if e, ok := m.(ErrorMiddleware); ok {
			f.errorMWs = append(f.errorMWs, e)
		}
		if i, ok := m.(InternalMiddleware); ok && i.SeesInternal() {
			f.internalMWs = append(f.internalMWs, m)
		}
	}
	fallback := cfg.downloader
	f.own = newHTTPDownloader(c.limits, cfg.allowStatus, fetch.Config{
		Agent: cfg.politeness.agent(), AllowPrivate: cfg.politeness.AllowPrivate, Loopback: f.loopback,
		HTTP: cfg.client, TLS: cfg.tls, Concurrency: cfg.concurrency, Bodies: f.bodies,
	})
	if fallback == nil {
		f.http = f.own
		fallback = f.http
	}
	if f.downloaders, err = newDownloaderSet(fallback, cfg.downloaders); err != nil {
		return f, err
	}
	all := []Downloader{fallback}
	for _, d := range cfg.downloaders {
		all = append(all, d.downloader)
	}
	f.layers, err = newLayers(cfg.layers, f.downloaders, all)
	return f, err
}

// exchange sends the request through the middlewares and the downloader. It returns the failure, if there
// is one. alive is false if the job was abandoned; closed is true if its slot or gate is closed and nothing was sent.
func (f *fetcher) exchange(j *job) (herr *HandleError, alive, closed bool) {
	ctx := j.ctx
	if own, ok := ctx.Ctx.(*guard.Joint); ok && own.User.Err() != nil { // it was given up while it waited
		return j.failure(StageDownload, context.Cause(own.User), nil), true, false
	}
	if len(f.middlewares) > 0 && !j.prepared && !j.run(f.watch, StageRequest, func() {
		if stack, err := f.middlewares.processRequest(j, ctx, nil); err != nil {
			herr = j.failure(StageRequest, err, stack)
		}
	}) {
		return nil, false, false
	}
	if j.prepared = true; herr != nil {
		return herr, true, false
	}
	if ctx.DownloadResult == nil && j.copy != nil {
		f.robots.answerByCopy(j)
	}
	if ctx.DownloadResult == nil && f.layers.answers {
		stack, err, alive := f.answer(j, ctx)
		if !alive {
			return nil, false, false
		}
		if err != nil {
			return j.failure(StageDownload, err, stack), true, false
		}
	}
	var came frontier.Answer
	if ctx.DownloadResult == nil {
		// A middleware may have changed its proxy, and with that its gate.
		if len(f.middlewares) > 0 && !f.enterGate(j) {
			return nil, true, true
		}
		if herr, alive, closed = f.download(j); !alive || closed {
			return nil, alive, closed
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
		return herr, true, false
	}
	if len(f.middlewares) > 0 {
		j.inbox = j.lateInbox()
		if !j.run(f.watch, StageResponse, func() {
			defer j.closeRequests() // the job may never come to its parser
			if stack, err := f.middlewares.processResponse(j, ctx, j.requests(), nil); err != nil {
				herr = j.failure(StageResponse, err, stack)
			}
		}) {
			return nil, false, false
		}
	}
	if herr == nil && ctx.Response() == nil {
		herr = j.failure(StageResponse, errNilResponse, nil)
	}
	return herr, true, false
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

// received completes and counts a response.
func (f *fetcher) received(j *job, resp *Response) {
	resp.complete(j.ctx)
	j.mu.Lock()
	j.status = resp.Status
	j.mu.Unlock()
	f.teller.hosts.Add(j.rec.Slot)
	if _, cut := errors.AsType[*TruncatedBodyError](resp.Transfer().Err); cut { // errors.As would allocate for each page
		f.teller.counters.DamagedPage(resp.URL)
	}
	responses, bytes := f.teller.counters.Response(resp.Status, resp.ContentLength)
	if told := f.cfg.events.Downloaded; told != nil {
		f.teller.event(func() { told(j.ctx.Request, resp) })
	}
	if limit := int64(f.limits.Pages); limit > 0 && responses >= limit {
		f.stop.requestStop("limit: pages", nil)
	}
	if limit := f.limits.Bytes; limit > 0 && bytes >= limit {
		f.stop.requestStop("limit: bytes", nil)
	}
}

// download asks the request's downloader and waits for its one result. closed is true if the slot does not let it
// start any more: middlewares and robots.txt may have taken long, and the site may have asked for a pause meanwhile.
func (f *fetcher) download(j *job) (herr *HandleError, alive, closed bool) {
	ctx := j.ctx
	if ctx.Err() != nil { // given up while a middleware had it; its slot may be gone
		return j.failure(StageDownload, context.Cause(ctx.Ctx), nil), true, false
	}
	d, err := f.downloaders.pick(ctx.Request.extras().downloader)
	if err != nil {
		return j.failure(StageDownload, err, nil), true, false
	}
	// Before the slot is stamped, since the func may take its time. The slot may have been blocked when it returns: then
	// the job waits in line again, keeps its page of the budget, and is not announced a second time.
	if told := f.cfg.events.RequestStarted; told != nil && !j.announced {
		if !f.frontier.IsStartable(j) {
			return nil, true, true
		}
		if err := f.frontier.Reserve(j); err != nil {
			return j.failure(StageDownload, whyNot(err), nil), true, errors.Is(err, frontier.ErrShort)
		}
		j.announced = true
		f.teller.event(func() { told(ctx.Request) })
	}
	started, ok := f.frontier.Start(j)
	if !ok {
		return nil, true, true
	}
	if err := f.frontier.Spend(j); err != nil {
		return j.failure(StageDownload, whyNot(err), nil), true, false
	}
	j.started, j.downloader = started, d
	f.teller.counters.Downloads.Add(1)
	if r := ctx.Request; r.ResponseWriter != nil && j.loan == nil {
		j.loan = f.writers.Lend(r.ResponseWriter, r.Url)
	}
	alive = j.run(f.watch, StageDownload, func() { herr = f.askDownloader(j, d, started) })
	if alive {
		j.loan.End()
	}
	return herr, alive, false
}

// pageBudget is the reason of requests that are filtered because their slot has had its Politeness.MaxPages.
const pageBudget = "page-budget"

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
		f.teller.blocked()
	}
}

// egress is the gate that a request has to pass beside its slot: the address that it reaches, or the proxy that it
// goes through.
type egress struct {
	name  string // "": none
	limit int
	stays bool // other requests of the slot will want the same
}

// egressOf finds the gate of a job's request. An address is looked up, which the download would do next.
func (f *fetcher) egressOf(j *job) egress {
	p, r := &f.cfg.politeness, j.ctx.Request
	switch {
	case r.Proxy != nil:
		return egress{"proxy " + proxyHost(r.Proxy), p.PerProxy, false}
	case p.PerIP == 0 || f.http == nil || r.extras().downloader != "":
		return egress{}
	}
	ctx, cancel := context.WithTimeout(j.ctx, r.timeoutOrDefault())
	defer cancel()
	if addr, ok := f.http.client.FirstAddr(ctx, r.Url); ok {
		return egress{"address " + addr.String(), p.PerIP, true}
	}
	return egress{} // the download will report the error
}

// enterGate lets a job pass its gate. It returns false if the gate is closed; then the job keeps its slot and worker, and
// has to wait in line again.
func (f *fetcher) enterGate(j *job) bool {
	if !f.gated || !f.frontier.HasSlot(j) {
		return true
	}
	e := f.egressOf(j)
	return f.frontier.Enter(j, e.name, e.limit, e.stays)
}

// putBack puts a job of the queue that may not start yet into its slot's queue, without its worker. It comes
// again when slot and gate are open, and must not be touched any more.
func (f *fetcher) putBack(j *job) {
	j.parts.Add()
	f.flights.pause(j)
	if !f.frontier.PutBack(j) {
		j.done()
	}
}

// waitGate is putBack for an inline request: it returns when it has its slot and a worker again.
func (f *fetcher) waitGate(j *job) error {
	defer f.inLine(j)()
	return f.frontier.WaitAgain(j.ctx, j)
}
