package tegenaria

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/selector"
)

// visit is a job and the station that it is at work in, the pages: what user code of the job calls by its Context, its
// Response and its Output, and what the watch tells of that code.
type visit struct {
	job
	pages *pages
	refs  references // that its Outputs have sent
}

// newVisit makes the visit of a record.
func (p *pages) newVisit(rec Record) *visit {
	if p.fetcher.downloads.layers.top == nil {
		return new(visit).init(p, rec)
	}
	v := &struct { // each download by a layer needs one: here it lies in the same memory
		visit
		asking
	}{}
	v.theirs = &v.asking
	return v.visit.init(p, rec)
}

func (v *visit) init(p *pages, rec Record) *visit {
	v.pages, v.refs.job = p, &v.job
	v.waits = p.callbacks.newWaits()
	v.job.init(rec, v)
	return v
}

// MarkAsProcessed ends the job's way through the stages, which call it once for each job.
func (v *visit) MarkAsProcessed() { v.pages.settler.end(&v.job) }

// Slow reports that the job's user code has been running for long.
func (v *visit) Slow(at string, took time.Duration) {
	v.pages.report.slow(Stage(at), v.asAccepted(), took)
}

// asAccepted returns a copy of the job's request as it was accepted, see [codec.requestOf].
func (v *visit) asAccepted() *Request { return v.pages.acceptor.codec.requestOf(&v.rec) }

// Abandon gives back all that the job holds, and ends it: its user code was given up.
func (v *visit) Abandon(l guard.Loss) {
	p, j := v.pages, &v.job
	j.loan.End()
	p.fetcher.ended(j)
	p.fetcher.release(j)
	p.fetcher.abortRobots(j) // its download of robots.txt may never end
	p.permits.Release(&j.permit)
	if j.isInline() { // its caller goes on
		at, r := Stage(l.At), v.asAccepted()
		p.report.abandoned(at, r)
		p.report.failed(NewError(j.id, abandonedBy(at, l.TooLate), ErrorWithRequest(r), ErrorWithStage(at)))
		p.dropInline(j)
		p.leave(j.inCall) // its caller may be a pipeline, whose item has been given up before
		return
	}
	p.frontier.GotThrough(func(suspect *job) bool { return suspect == j })
	p.dropFetches(j)
	p.abandoned.giveUp(j, &j.call, nil, l)
}

// What the user code of a job calls.

func (v *visit) isOver() bool                { return v.call.GivenUp() || v.pages.stop.work.Err() != nil }
func (v *visit) isPlain() bool               { return v.pages.acceptor.plain }
func (v *visit) addItem(item *ItemMeta) bool { return v.pages.items.add(&v.job, item) }
func (v *visit) handOver()                   { v.pages.acceptor.handOverPage(&v.refs) }

func (v *visit) addRequest(r *Request) bool {
	v.handOver() // requests are accepted in the order in which they are sent
	v.pages.acceptor.accept(v.emission(), &Context{Request: r})
	return true
}

func (v *visit) follow(resp *Response, ref string, closed *atomic.Bool) bool {
	return v.pages.acceptor.follow(&v.refs, resp, ref, closed)
}

func (v *visit) followURL(url []byte) bool    { return v.pages.acceptor.followURL(&v.refs, url) }
func (v *visit) refuse(ref string, err error) { v.pages.acceptor.refuseLink(ref, err) }

func (v *visit) fetch(caller *Context, r *Request) (*Response, error) {
	return v.pages.fetchInline(caller, r)
}

func (v *visit) slotDelay(d time.Duration) {
	v.pages.frontier.SetDelay(v.slot(), d, v.started)
}

func (v *visit) keepState() error {
	s := v.pages.settler
	if !s.durable {
		return nil
	}
	return s.sync()
}

func (v *visit) turn() time.Time { return v.pages.frontier.Delayed(&v.job) }

func (v *visit) ownDownloader() *httpDownloader { return v.pages.fetcher.downloads.own }

// lend makes a Context that the pipelines of an item of the job are given.
func (v *visit) lend(ctx *Context, by *guard.Call) {
	own := &visit{pages: v.pages}
	own.refs.job = &own.job
	own.rec, own.caller, own.ctx = v.rec, &v.job, ctx
	own.call.Owner, own.call.Caller = own, by
	own.waits = v.pages.callbacks.newWaits()
	ctx.run = own
}

// ofItem reports whether the job stands for the pipelines of an item, which need no permit to parse.
func (j *job) ofItem() bool { return j.caller != nil && j.inCall == nil }

func (v *visit) notJSON(url string, err error) {
	if !v.pages.report.refused.Add(report.Failure{Stage: "json"}) || !v.pages.report.told.Enter() {
		return
	}
	defer v.pages.report.told.Leave()
	v.pages.report.log.Lines([]report.Line{{Warn: true, URL: urlx.Redact(url),
		Text: fmt.Sprintf("Json has returned nil, because the body is not a JSON object: %v; Decode returns this error, and "+
			"decodes other values too", errors.Unwrap(err))}})
}

// Bounds returns the bounds of all pages of the crawl.
func (v *visit) Bounds() *page.Bounds { return &v.pages.bounds }

// Queries returns where the queries on the pages of the crawl are counted.
func (v *visit) Queries() *page.Queries { return v.pages.queries }

// Add counts bytes that the page takes beside what pages.reserve has waited for. Code that asks for a page does not
// wait: the request that has to give memory back may wait for it.
func (v *visit) Add(n int64) { v.pages.fetcher.bodies.Add(&v.root().hold, n) }

// Extracted counts the fields of a struct that was filled from a page.
func (v *visit) Extracted(keys []string, counts []selector.FieldCount) {
	if v.pages.items.cfg.fieldCounting == countNothing {
		return
	}
	v.root().tally().Extracted(keys, func(sum []fieldcount.Counts) {
		for i, n := range counts {
			sum[i].LookedFor += int64(n.LookedFor)
			sum[i].Defaulted += int64(n.Defaulted)
			sum[i].Missing += int64(n.Missing)
			sum[i].Failed += int64(n.Failed)
		}
	})
}

// tally returns the counts of the job's fields, which reach those of the run when it has settled.
func (j *job) tally() *fieldcount.Tally {
	if known := j.fields.Load(); known != nil {
		return known
	}
	j.fields.CompareAndSwap(nil, new(fieldcount.Tally))
	return j.fields.Load()
}
