package tegenaria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/lifecycle"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// The log of a crawl says at info level that it begins, once a minute how far it is, when it is asked to stop, and at
// the end what became of its requests. Failures are warnings, panics errors; of one stage and cause the first three
// have a line each, the others are counted with the next line of progress. The same holds, at info level, for the items
// that a pipeline drops. Debug level adds a line for the end of each request and each item.

// begins logs that the crawl begins, and what bounds it: in two lines, so that each fits a terminal. job is nil unless
// other programs work on the job too.
func (rp *reporter) begins(state State, spider SpiderInterface, job *JobCounts) {
	for _, text := range append(rp.cfg.Politeness.warnings(), rp.cfg.warnings()...) {
		rp.log.Warn(text)
	}
	if !rp.log.HasInfo() {
		return
	}
	what, numbers := "crawl begins: ", report.Numbers{"version": Version}
	switch {
	case job != nil && (state.Started || job.Waiting > 0 || job.Counters["settled"] > 0):
		n := rp.ledger.Counts()
		own, settled := n.Pending+n.Delayed, state.Counters["settled"]
		numbers["waiting"], numbers["settled"] = own, settled
		numbers["job_waiting"], numbers["job_settled"], numbers["workers"] = job.Waiting, job.Counters["settled"], job.Programs
		what = fmt.Sprintf("job goes on with %s: %s waiting, %s done before (of this worker %s and %s), ",
			report.Count(int64(job.Programs), "worker"), report.Count(job.Waiting, "request"),
			report.Number(job.Counters["settled"]), report.Number(own), report.Number(settled))
	case state.Durable && (state.Started || len(state.Counters) > 0):
		n := rp.ledger.Counts()
		numbers["waiting"], numbers["settled"] = n.Pending+n.Delayed, state.Counters["settled"]
		what = fmt.Sprintf("job goes on: %s waiting, %s done before, ",
			report.Count(n.Pending+n.Delayed, "request"), report.Number(state.Counters["settled"]))
	case state.Durable:
		what = "new job begins: "
	}
	if n := len(seedsOf(spider)); n > 0 && !strings.HasPrefix(what, "job") {
		numbers["seeds"] = n
		what += report.Count(int64(n), "seed") + ", "
	}
	p, l := rp.cfg.Politeness, rp.cfg.Limits
	manners := report.Manners{PerHost: p.own().rule().Limit, Delay: p.Delay, AutoThrottle: p.AutoThrottle != nil,
		IgnoreRobots: p.IgnoreRobots}
	bounds := report.Bounds{
		Counts: []report.Tally{{Name: "Pages", Count: int64(l.Pages)}, {Name: "Items", Count: int64(l.Items)},
			{Name: "Errors", Count: int64(l.Errors)}, {Name: "Depth", Count: int64(l.Depth)}},
		OnlySeeds: l.Depth == OnlySeeds, Time: l.Time, Bytes: l.Bytes,
	}
	rp.log.Info(what+bounds.Words()+" (tegenaria "+Version+")", numbers)
	rp.log.Info(manners.Words(), report.Numbers{"per_host": manners.PerHost, "delay_seconds": manners.Delay.Seconds()})
}

// progressEvery is how far apart the lines of progress are.
const progressEvery = time.Minute

// progress logs once a minute how far the crawl is, until ctx ends.
func (rp *reporter) progress(ctx context.Context) {
	if !rp.log.HasInfo() {
		return
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	var p report.Progress
	for {
		select {
		case <-tick.C:
			lines := []report.Line{p.Line(rp.sample())}
			for _, k := range rp.failures.Held() {
				lines = append(lines, k.Line("more failure", true))
			}
			for _, k := range rp.lost.Held() {
				if k.Example.Stage == itemDropped { // the others are failures
					lines = append(lines, k.Line("more item", false))
				}
			}
			rp.log.Lines(lines)
		case <-ctx.Done():
			return
		}
	}
}

// sample returns how far the crawl is.
func (rp *reporter) sample() report.Sample {
	n := rp.ledger.Counts()
	pages, _, _ := rp.counters.Responses()
	s := report.Sample{
		At: time.Since(rp.stop.began), Pages: pages, Items: rp.counters.Scraped.Load(), Waiting: n.Pending + n.Delayed,
		InFlight: n.InFlight, Failed: rp.counters.Errors.Load(), Retried: rp.counters.Retries.Load(),
	}
	if top := rp.frontier.Busiest(1); len(top) > 0 && top[0].Pending > 0 {
		slot := top[0]
		s.Busiest = report.Busy{Slot: slot.Name, Waiting: slot.Pending, For: max(time.Until(slot.Next), 0), Why: slot.Why()}
	}
	if top := rp.frontier.Slowest(1); len(top) > 0 {
		s.Slowest = report.Slow{Slot: top[0].Name, Latency: top[0].Latency.Round(100 * time.Microsecond)}
	}
	return s
}

// stopping logs that the crawl is asked to stop, and what it waits for.
func (rp *reporter) stopping() {
	if !rp.log.HasInfo() {
		return
	}
	n := rp.ledger.Counts()
	s := report.Stopping{Reason: rp.whyStopped(), Grace: rp.cfg.Grace, Requests: n.InFlight, Items: n.Items}
	s.Again = s.Reason == "interrupted"
	for slot, n := range rp.frontier.InFlight() {
		s.Hosts = append(s.Hosts, report.Tally{Name: slot, Count: int64(n)})
	}
	rp.log.Info(s.Line(), s.Numbers())
}

// whyStopped names what ended the crawl.
func (rp *reporter) whyStopped() string {
	reason, cause, _ := rp.stop.ending.Why()
	if cause == errInterrupted && reason == lifecycle.Requested {
		return "interrupted"
	}
	return reason
}

// ended logs what became of the crawl; job is nil unless other programs work on the job too.
func (rp *reporter) ended(reason string, summary Summary, places Places, job *JobCounts, sentItems bool, queries []page.Unmatched) {
	s := summary.Stats
	e := report.Ended{
		Reason: cmp.Or(rp.whyStopped(), reason), Took: time.Since(rp.stop.began), Pages: s.Responses,
		Items: s.ItemScraped, Bytes: s.Bytes, Hosts: rp.hosts.Len(),
		Memory: report.PeakMemory(), Failures: rp.failures.All(), Wired: rp.wired(), Slow: places.String(),
		Lost:     []report.Tally{{Name: itemDropped, Count: s.ItemDropped}, {Name: itemFailed, Count: s.ItemFailed}},
		Unfilled: report.Unfilled(rp.fields.Counts(), s.ItemScraped),
	}
	for _, k := range rp.lost.All() {
		for i := range e.Lost {
			if lost := &e.Lost[i]; lost.Name == k.Example.Stage {
				lost.Parts = append(lost.Parts, report.Tally{Name: k.Example.Cause, Count: k.Count})
			}
		}
	}
	if rp.isDurable() {
		e.Waiting = s.Pending + s.Delayed
	}
	if summary.Job != nil {
		e.JobPages, e.JobItems = summary.Job.Responses, summary.Job.ItemScraped
	}
	if job != nil {
		all := Stats{}.ofJob(job.Counters)
		e.Workers = &report.Workers{Pages: all.Responses, Items: all.ItemScraped, Waiting: job.Waiting}
	}
	if _, cause, err := rp.stop.ending.Why(); err != nil {
		e.Why = errtext.Beside(err, "")
	} else if cause != nil && cause != errInterrupted && !errors.Is(cause, context.Canceled) {
		e.Why = errtext.Beside(cause, "")
	}
	_, damaged := rp.counters.Damaged()
	e.Blocked = s.Blocked
	e.Damaged, e.DamagedAt = s.Damaged, urlx.Redact(damaged)
	for outcome, n := range s.Outcomes {
		e.Outcomes = append(e.Outcomes, report.InWords(outcome.String(), n, s.Reasons))
	}
	for status, n := range s.Status {
		e.Statuses = append(e.Statuses, report.Tally{Name: strconv.Itoa(status), Count: n})
	}
	// Where a parser has failed, or the error of Run or CloseSpider says what was wrong, no item is no surprise.
	if s.Reasons["failed: parse"] == 0 && !rp.stop.ending.Insisted() && e.Reason != lifecycle.Cancelled &&
		e.Reason != lifecycle.Broken {
		e.Itemless, e.Example = rp.itemless(sentItems)
	}
	for _, q := range queries {
		if q.Pages == 1 && e.Items > 0 { // it asked whether something is there, or the run had one such page left
			continue
		}
		e.Unmatched = append(e.Unmatched,
			report.Query{Kind: q.Language.String(), Text: q.Text, Pages: q.Pages, Example: urlx.Redact(q.Example)})
	}
	if s.Cache != nil {
		e.Cache = (*report.Cache)(s.Cache)
	}
	for _, f := range summary.Feeds {
		e.Feeds = append(e.Feeds, report.Feed(f))
	}
	for _, p := range s.Proxies {
		e.Proxies = append(e.Proxies, report.Proxy(p))
	}
	e.Sessions = (*report.Sessions)(s.Sessions)
	rp.log.Lines(e.Lines())
}

// itemless returns how many pages were parsed if the job has no item that anybody has sent, and one of them.
func (rp *reporter) itemless(sentItems bool) (pages int64, example string) {
	earlier := rp.earlier()
	if rp.cfg.EmptyOK || sentItems || rp.counters.Unchanged.Load() > 0 || earlier["items_scraped"]+earlier["items_dropped"]+earlier["items_failed"] > 0 {
		return 0, ""
	}
	pages, example = rp.counters.Parsed()
	return pages, urlx.Redact(example)
}

// fieldsOf says of a failure what a line of the log says.
func (rp *reporter) fieldsOf(herr *HandleError) report.Fields {
	f := rp.about(herr.Request, herr.Response)
	f.Stage = string(herr.Stage)
	return f
}

// inDetail is about where each request has a line; nil elsewhere.
func (rp *reporter) inDetail(r *Request, resp *Response) *report.Fields {
	if !rp.log.HasDebug() {
		return nil
	}
	f := rp.about(r, resp)
	return &f
}

// about says of a request and its response what a line of the log says. Both may be nil.
func (rp *reporter) about(r *Request, resp *Response) (f report.Fields) {
	if r != nil {
		f.URL, f.Attempt, f.Referrer = urlx.Redact(r.Url), r.Attempt, urlx.Redact(rp.pages.Of(r.parent))
		if host, err := urlx.AskedHost(r.Url); err == nil {
			f.Slot, _ = rp.cfg.Politeness.slotOf(r, host)
		}
	}
	if resp != nil {
		f.Status, f.Took, f.Bytes = resp.Status, time.Duration(resp.Delay*float64(time.Second)), int64(resp.ContentLength)
	}
	return f
}

// wired returns what the log need not advise to add.
func (rp *reporter) wired() (has report.Wired) {
	for _, m := range rp.cfg.middlewares {
		name, _ := askName(m)
		has.Retry, has.Cookies = has.Retry || name == "retry", has.Cookies || name == "cookies"
	}
	return has
}

// bare returns what a HandleError is about, for one of a request that is not the user's.
func bare(err error) error {
	if herr, ok := err.(*HandleError); ok {
		return herr.Err
	}
	return err
}

// isDurable reports whether the crawl is that of a durable job, as far as is known.
func (rp *reporter) isDurable() bool {
	state := rp.state.Load()
	return state != nil && state.Durable
}

// earlier returns the counters of the earlier runs of a durable job.
func (rp *reporter) earlier() map[string]int64 {
	if state := rp.state.Load(); state != nil {
		return state.Counters
	}
	return nil
}

// leadsOn notes that other requests may come of a job, whose failures then name its page.
func (rp *reporter) leadsOn(j *job) {
	rec := &j.root().rec
	rp.pages.Add(report.PageByKey([4]byte(rec.Key[:4])), j.ctx.Request.Url)
	if rp.isDurable() {
		rp.pages.Add(report.PageByNumber(rec.Seq), j.ctx.Request.Url)
	}
}

// saying is what the line of a failure says, beside its URL.
func saying(herr *HandleError, url string) string {
	err := handedOn(herr)
	text := errtext.Beside(err, url)
	if panicked, ok := errors.AsType[*PanicError](err); ok && herr.Stack != nil { // the line says beside that it is a panic
		text = strings.Replace(text, errtext.Beside(panicked, url), valueOf(panicked, url), 1)
	}
	cause, _ := causeOf(herr)
	isBroken := cause == "connection broken"
	if asGiveUp(herr.Err) != nil || asRetry(herr.Err) != nil {
		if err = reasonFor(herr); isBroken || isA[*StatusError](err) {
			err = errors.New(cause)
		}
		attempts := int64(1)
		if herr.Request != nil {
			attempts += int64(herr.Request.Attempt)
		}
		text = "given up after " + report.Count(attempts, "attempt") + ": " + errtext.Beside(err, url)
	} else if isBroken {
		text = cause + ": " + text
	}
	if limit := pageLimit(herr.Err); limit != "" {
		return report.Message(string(herr.Stage), report.CauseInWords(limit)+": "+text, false)
	}
	if herr.Stage == StageRobots && isA[*robotsgate.UnreachableError](err) { // it says itself what was asked for, and why
		return text
	}
	return report.Message(string(herr.Stage), text, herr.Stack != nil)
}

// handedOn returns the cause of a failure. That of a failure which the same stage was handed for the same URL is its own cause.
func handedOn(herr *HandleError) error {
	for {
		inner, ok := herr.Err.(*HandleError)
		if !ok || inner.Stage != herr.Stage || rawURL(inner.Request) != rawURL(herr.Request) {
			return herr.Err
		}
		herr = inner
	}
}

// valueOf is the text of the value of a panic, beside a URL.
func valueOf(e *PanicError, url string) string {
	if err := e.Unwrap(); err != nil {
		return errtext.Beside(err, url)
	}
	return fmt.Sprint(e.Value)
}

// failedReason names a failure in the statistics: the stage, or a more exact kind of failure where it is known.
func failedReason(herr *HandleError) string {
	if isA[*RedirectLoopError](herr.Err) {
		return "redirect loop"
	}
	if herr.Stage == StageRobots { // as a rule the host is dead, and its robots.txt was asked for first
		if why := fetch.Unreachable(herr.Err); why != "" {
			return "robots: " + why
		}
	}
	return string(herr.Stage)
}
