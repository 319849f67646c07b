package tegenaria

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/httpx"
)

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
	ctx.DownloadResult = &RequestResult{Error: NewError(ctx.CtxId, err, ErrorWithRequest(ctx.Request),
		ErrorWithStage(StageDownload))}
	result <- ctx
}

func (b base) CheckStatus(statusCode uint64, allowStatus []uint64) bool {
	d, err := b.set.pick("")
	return err == nil && d.CheckStatus(statusCode, allowStatus)
}

// answer asks the parts that may answer a job's request without a download. ctx is that of the request, or of the
// engine's own one for a robots.txt. alive is false if the job was abandoned.
func (f *fetcher) answer(j *job, ctx *Context) (stack []byte, err error, alive bool) {
	if !f.downloads.layers.answers {
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
	for _, a := range f.downloads.layers.answerers {
		if !ask(a) {
			break
		}
	}
	if err == nil && resp == nil && !j.call.GivenUp() {
		d, unknown := f.downloads.downloaders.pick(ctx.Request.extras().Downloader)
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
	if _, err := f.downloads.downloaders.pick(ctx.Request.extras().Downloader); err != nil {
		return j.failure(StageDownload, err, nil), goesOn
	}
	// Before the slot is stamped, since the func may take its time. The slot may have been blocked when it returns:
	// then the job waits in line again, keeps its page of the budget, and is not announced a second time.
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
	j.started = started
	f.report.counters.Downloads.Add(1)
	if r := ctx.Request; r.ResponseWriter != nil && j.loan == nil {
		j.loan = f.writers.Lend(r.ResponseWriter, r.Url)
	}
	if !j.run(f.watch, StageDownload, func() { herr = f.askDownloader(j, started) }) {
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

func (f *fetcher) askDownloader(j *job, started time.Time) *HandleError {
	ctx := j.ctx
	d, err := f.downloads.downloaders.take(ctx.Request.extras().Downloader)
	if err != nil {
		return j.failure(StageDownload, err, nil)
	}
	j.downloader = d
	var herr *HandleError
	d.CallTaken(nil, func() error {
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
func (f *fetcher) ask(
	j *job, d *downloaderModule, ctx *Context, started time.Time,
) (got *Context, stack []byte, err error) {
	result := make(chan *Context, 2) // a second result is discarded: it must not block the sender
	own := ctx.Ctx
	ours := f.downloads.http != nil && d.Downloader == Downloader(f.downloads.http) && f.downloads.layers.top == nil
	by := d.Downloader
	if f.downloads.layers.top != nil {
		by = f.downloads.layers.top
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
		} else if stack, err = theirs.Apart(&j.call,
			func() error { by.Download(&theirs.Context, result); return nil }); err == guard.ErrLeft {
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

// asking is the Context given to a downloader that is not the engine's own, or that writes to a ResponseWriter. The
// downloader may write to it when the engine does not wait for the result any more.
type asking struct {
	Context
	guard.Sender[*Context]
	url string
}

// TooLate is the error of a download that takes longer than its request may.
func (a *asking) TooLate(limit time.Duration) error { return &TimeoutError{URL: a.url, Limit: limit} }

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
