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
	"github.com/tegenaria/tegenaria/internal/robotsgate"
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
		own.isDefault = true
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

// answer asks the parts that may answer a request without a download.
func (f *fetcher) answer(x *exchange) error {
	j, ctx := x.job, x.ctx
	if x.file == nil && j.copy != nil {
		f.answerByCopy(j)
	}
	if ctx.DownloadResult != nil || !f.downloads.layers.answers {
		return nil
	}
	if r := ctx.Request; r.ResponseWriter != nil && j.loan == nil {
		j.loan = f.writers.Lend(r.ResponseWriter, r.Url)
	}
	err := j.run(f.watch, StageRequest, func() error { return f.askForAnswer(j, ctx) })
	if err == guard.ErrGivenUp {
		return err
	}
	if err != nil || ctx.DownloadResult != nil {
		j.loan.End()
	}
	if err != nil {
		return x.failure(StageDownload, err)
	}
	return nil
}

func (f *fetcher) askForAnswer(j *job, ctx *Context) (err error) {
	var resp *Response
	ask := func(a Answerer) (asked bool) {
		err = guard.Protect(func() (err error) {
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
			return unknown
		}
		if a, ok := d.Downloader.(Answerer); ok {
			ask(a)
		}
	}
	if err == nil && resp != nil && !j.call.GivenUp() {
		ctx.DownloadResult = &RequestResult{Response: resp}
		f.report.counters.Answered.Add(1)
	}
	return err
}

// download asks the request's downloader and waits for its one result. The error is errNotYet if the slot does not let
// it start any more: middlewares and robots.txt may have taken long, and the site may have asked for a pause meanwhile.
func (f *fetcher) download(x *exchange) error {
	j := x.job
	started, err := f.begin(x)
	if err != nil {
		return err
	}
	if r := x.ctx.Request; r.ResponseWriter != nil && j.loan == nil {
		j.loan = f.writers.Lend(r.ResponseWriter, r.Url)
	}
	err = j.run(f.watch, StageDownload, func() error { return f.askDownloader(x, started) })
	if err != guard.ErrGivenUp && x.file == nil {
		j.loan.End()
		if f.report.events.RequestEnded != nil {
			j.took = f.stop.now().Sub(started)
		}
	}
	return err
}

// begin stamps the job's slot, because a download begins now, and counts the page. Several requests for a robots.txt
// that follow redirects have one stamp, and none counts.
func (f *fetcher) begin(x *exchange) (started time.Time, err error) {
	j, ctx := x.job, x.ctx
	switch {
	case x.file != nil && !x.file.first:
		return f.stop.now(), nil
	case x.file != nil:
		if started, ok := f.frontier.Start(j); ok {
			f.report.counters.Robots.Add(1)
			return started, nil
		}
		return started, robotsgate.ErrNotNow
	case len(f.middlewares) > 0 && !f.enter(j): // one may have changed its proxy, and with that its gate
		return started, errNotYet
	case ctx.Err() != nil: // given up while a middleware had it; its slot may be gone
		return started, j.failure(StageDownload, context.Cause(ctx.Ctx))
	}
	if _, err := f.downloads.downloaders.pick(ctx.Request.extras().Downloader); err != nil {
		return started, j.failure(StageDownload, err)
	}
	// Before the slot is stamped, since the func may take its time. The slot may have been blocked when it returns:
	// then the job waits in line again, keeps its page of the budget, and is not announced a second time.
	if told := f.cfg.events.RequestStarted; told != nil && !j.announced {
		if !f.frontier.IsStartable(j) {
			return started, errNotYet
		}
		switch err := f.frontier.Reserve(j); {
		case errors.Is(err, frontier.ErrShort):
			return started, errNotYet
		case err != nil:
			return started, j.failure(StageDownload, whyNot(err))
		}
		j.announced = true
		f.report.event(func() { told(ctx.Request) })
	}
	started, ok := f.frontier.Start(j)
	if !ok {
		return started, errNotYet
	}
	if err := f.frontier.Spend(j); err != nil {
		return started, j.failure(StageDownload, whyNot(err))
	}
	j.started = started
	f.report.counters.Downloads.Add(1)
	return started, nil
}

// whyNot is the error of a job that the frontier does not let begin.
func whyNot(err error) error {
	if errors.Is(err, frontier.ErrOver) {
		return ErrOutputClosed
	}
	return IgnoreRequest(pageBudget)
}

func (f *fetcher) askDownloader(x *exchange, started time.Time) error {
	ctx := x.ctx
	d, err := f.downloads.downloaders.take(ctx.Request.extras().Downloader)
	if err != nil {
		return x.failure(StageDownload, err)
	}
	if x.file == nil {
		x.job.downloader = d
	}
	var failed error
	d.CallTaken(nil, func() error {
		got, err := f.callDownloader(x.job, d, ctx, started)
		if err != nil {
			failed = x.failure(StageDownload, err)
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
	return failed
}

// answerOf reads from the result of a download what its slot has to know.
func answerOf(ctx *Context, failed error) (a frontier.Answer) {
	result := ctx.DownloadResult.overNetwork()
	if result == nil && ctx.DownloadResult != nil { // a cache has answered without asking
		return a
	}
	var resp *Response
	if result != nil {
		resp = result.Response
	}
	if resp == nil {
		if failed == nil && result != nil && result.Error != nil {
			failed = result.Error
		}
		a.Overload = failed != nil && isOverload(bare(failed))
		return a
	}
	a.Came, a.OK = true, resp.Status == http.StatusOK
	// The host says that it has too much to do (RFC 6585 §4, RFC 9110 §15.6.4).
	a.Refused = resp.Status == http.StatusTooManyRequests || resp.Status == http.StatusServiceUnavailable
	if resp.transfer != nil {
		a.Latency = max(time.Duration(resp.Delay*float64(time.Second))-resp.transfer.Body, 0)
		a.Phases = phasesOf(resp.transfer)
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
