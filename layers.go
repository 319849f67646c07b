package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/httpx"
)

// EngineWithDownloaderLayers puts layers around the engine's downloaders, its own as well as given ones: each download passes through
// the first layer, which passes it on to the second one, and the last one passes it on to the request's downloader. A layer sees
// the downloads of requests, of Fetch and of robots.txt, after the middlewares and the wait for the slot, with the header fields that
// the middlewares have set. It keeps the contract of [Downloader]; usually it calls next.Download with a channel of its own, looks at
// the result and sends it on. Its CheckStatus is not called: that of the request's downloader decides. A layer may be an [Opener],
// a [Closer], a [Committer] and an [Answerer]. A func that returns next adds no layer.
//
// Options that are given several times add up. The funcs are called once for each run.
func EngineWithDownloaderLayers(layers ...func(next Downloader) Downloader) EngineOption {
	return func(e *SpiderEngine) { e.config.layers = append(e.config.layers, layers...) }
}

// Answerer is an optional interface of a [Downloader] and of a layer around one: it answers a request without a download, as a
// cache or an archive does. Such an answer causes no delay and does not count towards MaxPages. It is counted in
// Stats.Answered, not in Stats.RequestDownloaded.
//
// Answer is called after ProcessRequest, when the request's slot lets it begin: for requests, for Fetch and for robots.txt. The
// layers are asked first, from the outermost one inwards, then the request's downloader. The first response is the answer; make it
// with [NewResponse] or [Context.Respond]. If Answer returns neither a response nor an error, the next one is asked; if none
// answers, the request is downloaded. An error fails the request like an error of its download. Answer may block for no longer than
// Limits.Callback; it is called concurrently.
type Answerer interface {
	Answer(ctx *Context) (*Response, error)
}

// layers are those around the downloaders of a crawl. The zero value is none.
type layers struct {
	top       Downloader // the outermost one; nil: there is none
	parts     []any      // the outermost one first
	answerers []Answerer // of them
	answers   bool       // a layer or a downloader is an Answerer
}

// newLayers makes the layers around a set of downloaders.
func newLayers(wrap []func(next Downloader) Downloader, set downloaderSet) (l layers, err error) {
	var errs []error
	next := Downloader(base{set})
	for i := len(wrap) - 1; i >= 0; i-- {
		if wrap[i] == nil {
			errs = append(errs, fmt.Errorf("EngineWithDownloaderLayers: layer %d is nil", i+1))
			continue
		}
		layer := wrap[i](next)
		if err := notNil(layer, "EngineWithDownloaderLayers, the downloader that its func returned", i); err != nil {
			errs = append(errs, err)
			continue
		}
		if layer == next {
			continue
		}
		next = layer
		l.top, l.parts = layer, append([]any{layer}, l.parts...)
		if a, ok := layer.(Answerer); ok {
			l.answerers = append([]Answerer{a}, l.answerers...)
		}
	}
	l.answers = len(l.answerers) > 0 || slices.ContainsFunc(set.All(), func(d *downloaderModule) bool { _, ok := d.Downloader.(Answerer); return ok })
	return l, errors.Join(errs...)
}

// base is what the innermost layer passes downloads on to: the downloader of the request.
type base struct{ set downloaderSet }

func (b base) Download(ctx *Context, result chan<- *Context) {
	err := errNoRequest
	if ctx.Request != nil {
		var d *downloaderModule
		if d, err = b.set.pick(ctx.Request.extras().Downloader); err == nil {
			d.Download(ctx, result)
			return
		}
	}
	ctx.DownloadResult = &RequestResult{Error: NewError(ctx.CtxId, err, ErrorWithRequest(ctx.Request), ErrorWithStage(StageDownload))}
	result <- ctx
}

func (b base) CheckStatus(statusCode uint64, allowStatus []uint64) bool {
	d, err := b.set.pick("")
	return err == nil && d.CheckStatus(statusCode, allowStatus)
}

// answer asks the parts that may answer a job's request without a download. ctx is that of the request, or of the engine's own one for a
// robots.txt. alive is false if the job was abandoned.
func (f *fetcher) answer(j *job, ctx *Context) (stack []byte, err error, alive bool) {
	if !f.layers.answers {
		return nil, nil, true
	}
	if r := ctx.Request; r.ResponseWriter != nil && j.loan == nil {
		j.loan = f.writers.Lend(r.ResponseWriter, r.Url)
	}
	alive = j.run(f.watch, StageRequest, func() { stack, err = f.askForAnswer(j, ctx) })
	if alive && (err != nil || ctx.DownloadResult != nil) {
		j.loan.End()
	}
	return stack, err, alive
}

func (f *fetcher) askForAnswer(j *job, ctx *Context) (stack []byte, err error) {
	var resp *Response
	ask := func(a Answerer) (asked bool) {
		stack, err = guard.Protect(func() (err error) {
			resp, err = a.Answer(ctx)
			return err
		})
		return err == nil && resp == nil && !j.call.GivenUp()
	}
	for _, a := range f.layers.answerers {
		if !ask(a) {
			break
		}
	}
	if err == nil && resp == nil && !j.call.GivenUp() {
		d, unknown := f.downloaders.pick(ctx.Request.extras().Downloader)
		if unknown != nil {
			return nil, unknown
		}
		if a, ok := d.Downloader.(Answerer); ok {
			ask(a)
		}
	}
	if err == nil && resp != nil && !j.call.GivenUp() {
		ctx.DownloadResult = &RequestResult{Response: resp}
		f.report.counters.Answered.Add(1)
	}
	return stack, err
}

// download asks the request's downloader and waits for its one result. The job waits if the slot does not let it
// start any more: middlewares and robots.txt may have taken long, and the site may have asked for a pause meanwhile.
func (f *fetcher) download(j *job) (herr *HandleError, way next) {
	ctx := j.ctx
	if ctx.Err() != nil { // given up while a middleware had it; its slot may be gone
		return j.failure(StageDownload, context.Cause(ctx.Ctx), nil), goesOn
	}
	d, err := f.downloaders.pick(ctx.Request.extras().Downloader)
	if err != nil {
		return j.failure(StageDownload, err, nil), goesOn
	}
	// Before the slot is stamped, since the func may take its time. The slot may have been blocked when it returns: then
	// the job waits in line again, keeps its page of the budget, and is not announced a second time.
	if told := f.cfg.events.RequestStarted; told != nil && !j.announced {
		if !f.frontier.IsStartable(j) {
			return nil, waits
		}
		switch err := f.frontier.Reserve(j); {
		case errors.Is(err, frontier.ErrShort):
			return nil, waits
		case err != nil:
			return j.failure(StageDownload, whyNot(err), nil), goesOn
		}
		j.announced = true
		f.report.event(func() { told(ctx.Request) })
	}
	started, ok := f.frontier.Start(j)
	if !ok {
		return nil, waits
	}
	if err := f.frontier.Spend(j); err != nil {
		return j.failure(StageDownload, whyNot(err), nil), goesOn
	}
	j.started, j.downloader = started, d
	f.report.counters.Downloads.Add(1)
	if r := ctx.Request; r.ResponseWriter != nil && j.loan == nil {
		j.loan = f.writers.Lend(r.ResponseWriter, r.Url)
	}
	if !j.run(f.watch, StageDownload, func() { herr = f.askDownloader(j, d, started) }) {
		return nil, ends
	}
	j.loan.End()
	return herr, goesOn
}

// whyNot is the error of a job that the frontier does not let begin.
func whyNot(err error) error {
	if errors.Is(err, frontier.ErrOver) {
		return ErrOutputClosed
	}
	return IgnoreRequest(pageBudget)
}

func (f *fetcher) askDownloader(j *job, d *downloaderModule, started time.Time) *HandleError {
	ctx := j.ctx
	var herr *HandleError
	d.Call(nil, func() error {
		got, stack, err := f.ask(j, d, ctx, started)
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

// ask calls a downloader and waits for its one result, which may come after Download has returned. The
// request's timeout bounds both.
func (f *fetcher) ask(j *job, d *downloaderModule, ctx *Context, started time.Time) (got *Context, stack []byte, err error) {
	result := make(chan *Context, 2) // a second result is discarded: it must not block the sender
	own := ctx.Ctx
	ours := f.http != nil && d.Downloader == Downloader(f.http) && f.layers.top == nil
	by := d.Downloader
	if f.layers.top != nil {
		by = f.layers.top
	}
	if ours && j.loan == nil {
		stack, err = guard.Protect(func() error { by.Download(ctx, result); return nil })
	} else { // user code runs in it
		theirs := j.theirs
		if j.theirs = nil; theirs == nil {
			theirs = new(asking)
		}
		theirs.Context, theirs.url = *ctx, ctx.Request.Url
		theirs.Start(own, result)
		theirs.Ctx = &theirs.Life
		limit := time.Duration(0) // the engine's own has a clock
		if !ours {
			if j.loan != nil { // in the place of the request's ResponseWriter
				r := *ctx.Request
				r.ResponseWriter, theirs.Request = j.loan, &r
			}
			if ctx.Request.extras().Timeout >= 0 {
				limit = ctx.Request.timeoutOrDefault()
			}
		}
		f.watch.Bound(&j.call, theirs, started, limit)
		defer theirs.Close()
		if j.caller == nil {
			stack, err = guard.Protect(func() error { by.Download(&theirs.Context, result); return nil })
		} else if stack, err = theirs.Apart(&j.call, func() error { by.Download(&theirs.Context, result); return nil }); err == guard.ErrLeft {
			err = ErrOutputClosed
		}
	}
	if err != nil {
		return nil, stack, err
	}
	wait := ctx.Request.timeoutOrDefault() + guard.Farewell
	got, err = guard.Receive(own, result, started.Add(wait))
	switch {
	case err == guard.ErrSilent:
		err = &NoResultError{wait}
	case err == nil && got == nil:
		err = errors.New("the downloader sent a nil Context")
	}
	return got, stack, err
}

// answerOf reads from the result of a download what its slot has to know.
func answerOf(ctx *Context, herr *HandleError) (a frontier.Answer) {
	if herr == nil && ctx.DownloadResult != nil {
		herr = ctx.DownloadResult.Error
	}
	resp := ctx.Response()
	if resp == nil {
		a.Overload = herr != nil && isOverload(herr.Err)
		return a
	}
	a.Came, a.OK = true, resp.Status == http.StatusOK
	// The host says that it has too much to do (RFC 6585 §4, RFC 9110 §15.6.4).
	a.Refused = resp.Status == http.StatusTooManyRequests || resp.Status == http.StatusServiceUnavailable
	if resp.transfer != nil {
		a.Latency = max(time.Duration(resp.Delay*float64(time.Second))-resp.transfer.Body, 0)
	}
	if a.Refused {
		a.After, _ = httpx.RetryAfter(fetch.FirstHeader(resp.Header, "Retry-After"), time.Now())
	}
	return a
}

// isOverload reports whether a failure looks like that of a host that has too much to do.
func isOverload(err error) bool {
	return isA[*NoResultError](err) || fetch.IsOverload(err)
}

// downloading is what a run downloads with.
type downloading struct {
	downloaders downloaderSet
	layers      layers
	own         *httpDownloader // the engine's own: the default downloader, or at least what makes responses
	http        *httpDownloader // own, nil if the user gave a default downloader
}

// newDownloading makes it of what is registered.
func newDownloading(cfg *config, own *httpDownloader) (d downloading, err error) {
	d.own = own
	fallback := cfg.downloader
	if fallback == nil {
		d.http, fallback = own, own
	}
	if d.downloaders, err = newDownloaderSet(fallback, cfg.downloaders); err != nil {
		return d, err
	}
	d.layers, err = newLayers(cfg.layers, d.downloaders)
	return d, err
}
