package tegenaria

import (
	"fmt"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// StoredPages has pages of earlier runs. A registered part with this method, such as the pipeline of a history of package revisit, is asked
// when a page has failed: the page was asked for, its attempts are used up, and the ErrorHandlers have been called. The parser then reads
// the stored page for its links: the requests that it sends are accepted, and its items are discarded. The page remains a failed one.
//
// StoredPage returns the stored page that answers the request of ctx, or nil; make it with [Context.Respond]. ctx.Response is the response
// of the site, nil if there was none. The first page that a part returns is read. StoredPage may read from a disk, for no longer than
// Limits.Callback, and is called concurrently. Its errors, and those of the parser, are reported with the stage StageError.
//
// It is not called for a page that was not asked for, by robots.txt for example, for one that was given up, for requests with a
// ResponseWriter and those of Fetch, and while the crawl gives up.
type StoredPages interface {
	StoredPage(ctx *Context) (*Response, error)
}

// followStored has the parser of a page that has failed follow the links of the stored one. The job comes without slot and permit.
func (p *pages) followStored(j *job) {
	if len(p.stored) == 0 || j.started.IsZero() || !j.hasFailed() || j.ctx.Request.ResponseWriter != nil {
		return
	}
	ctx := *j.ctx // which the ErrorHandlers may keep
	ctx.Error, ctx.wire = nil, nil
	resp, err := p.askForStored(j, &ctx)
	if resp != nil && err == nil {
		ctx.DownloadResult = &RequestResult{Response: resp}
		err = p.parseStored(j, &ctx)
	}
	if err != nil && err != guard.ErrGivenUp {
		err = fmt.Errorf("following the links of its stored page: %w", err)
		p.report.failed(NewError(j.ctx.CtxId, err, ErrorWithRequest(j.ctx.Request), ErrorWithStage(StageError)))
	}
}

// askForStored asks the parts for the stored page of a job.
func (p *pages) askForStored(j *job, ctx *Context) (resp *Response, err error) {
	err = j.run(p.watch, StageRequest, func() error {
		for _, part := range p.stored {
			err := guard.Protect(func() (err error) { resp, err = part.StoredPage(ctx); return err })
			if err != nil || resp != nil || j.call.GivenUp() {
				return err
			}
		}
		return nil
	})
	return resp, err
}

// parseStored has the parser of a job read a stored page.
func (p *pages) parseStored(j *job, ctx *Context) error {
	resp := ctx.Response()
	resp.complete(ctx)
	j.keepSpool(resp)
	parser, err := p.parserOf(ctx.Request)
	if err != nil {
		return err
	}
	if p.reserve(j, resp) != nil || p.permit(j) != nil { // the crawl gives up
		j.leaveUndecided()
		return nil
	}
	defer p.permits.Release(&j.permit)
	j.linksOnly = true
	j.note(func(n *settlementNotes) { n.stored = true })
	return j.run(p.watch, StageParse, func() error {
		err := p.callParser(j, ctx, parser)
		if p.stop.work.Err() != nil && !j.call.GivenUp() { // it may have left something out
			j.leaveUndecided()
			return nil
		}
		return err
	})
}

// hasFailed reports whether the job has ended as a failure.
func (j *job) hasFailed() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.givenUp && (j.outcome == Failed || j.outcome == GaveUp)
}
