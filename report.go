package tegenaria

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/robotsgate"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// reporter reports the events of a crawl: it has the log, the counters and the user's Events. All methods may be called
// concurrently, also by callbacks that were given up.
type reporter struct {
	cfg      *config
	limits   *Limits
	errs     *report.Subscriptions // of ErrorChan
	ledger   *frontier.Ledger
	frontier *frontier.Frontier[*job]
	stop     *stop

	log      report.Log
	counters report.Counters
	failures report.Failures
	noPages  report.Seeds[Outcome] // how requests ended, as long as no page was read
	unparsed report.Seeds[Outcome] // whose parsers failed, as long as none has succeeded
	lost     report.Failures       // items that were dropped and failed, by outcome and reason
	refused  report.Failures       // seeds for which no failure was reported, and bodies that are not JSON
	hosts    report.Hosts          // that have answered
	pages    report.Pages
	fields   fieldcount.Totals // of items of requests that have settled
	forJob   jobTotals         // of requests that have settled
	events   Events

	told    *guard.InFlight       // calls of Events; none begins once it is closed
	crowded sync.Map              // slots whose requests are refused, and whose warning is in the log
	state   atomic.Pointer[State] // of the cache; nil before it has begun

	redirects sameRedirects
	shared    atomic.Int64 // pages that all runs of a shared job have read, once it is finished
}

// event calls a func of Events, unless the run is over.
func (rp *reporter) event(f func()) {
	if !rp.told.Enter() {
		return
	}
	defer rp.told.Leave()
	rp.call(f)
}

// call calls a func of Events, whose panics are reported and have no other effect.
func (rp *reporter) call(f func()) {
	if err := guard.Protect(func() error { f(); return nil }); err != nil {
		herr := NewError("", err, ErrorWithStage(StageEvent))
		rp.counters.Errors.Add(1)
		rp.log.Failure(saying(herr, ""), herr.Stack, report.Fields{Stage: string(StageEvent)})
		rp.errs.Publish(herr)
	}
}

// failed counts, logs and publishes a failure, unless the run is over.
func (rp *reporter) failed(herr *HandleError) {
	if !rp.told.Enter() {
		return
	}
	defer rp.told.Leave()
	errs := rp.counters.Errors.Add(1)
	fields := rp.fieldsOf(herr)
	cause, text := causeOf(herr)
	if rp.isEmpty() && (herr.Request != nil || herr.Stage == StageAccept) {
		// a failing handler does not hide why it was called
		rp.noPages.Failed(rawURL(herr.Request), herr.Err, cause, herr.Stage == StageError)
	}
	if herr.Stage == StageParse {
		rp.counters.Unparsed.Add(1)
		if parsed, _ := rp.counters.Parsed(); parsed == 0 {
			outcome, reason := outcomeOf(herr)
			rp.unparsed.Failed(rawURL(herr.Request), herr.Err, cause, false)
			rp.unparsed.Ended(rawURL(herr.Request), outcome, reason, rp.wired)
		}
	}
	if rp.failures.Add(report.Failure{Stage: fields.Stage, Cause: cause, Text: text, URL: fields.URL,
		Referrer: fields.Referrer}) {
		stack := herr.Stack
		if pageLimit(herr.Err) != "" {
			stack = nil
		}
		rp.log.Failure(saying(herr, fields.URL), stack, fields)
	}
	if f := rp.events.Error; f != nil {
		rp.call(func() { f(herr) })
	}
	rp.errs.Publish(herr)
	if limit := int64(rp.limits.Errors); limit > 0 && errs >= limit {
		rp.stop.requestStop("limit: errors", nil)
	}
}

// The outcomes of items, as Stats.ItemReasons, ItemEnd and the log have them.
const (
	itemScraped = "scraped"
	itemDropped = "dropped"
	itemFailed  = "failed"
)

// lostItem counts and logs an item of a job that was dropped or failed. The error says why, without the verb that has
// ended it; a failure is told by itself. It returns the reason in a few words.
func (rp *reporter) lostItem(j *job, outcome string, herr *HandleError) (reason string) {
	reason, text := itemReason(herr)
	url, itemType := urlOf(herr.Request), ""
	if herr.Item != nil {
		itemType = fmt.Sprintf("%T", herr.Item.Item)
	}
	counter, dropped := &rp.counters.Failed, int64(0)
	if outcome == itemDropped {
		counter, dropped = &rp.counters.Dropped, 1
	}
	counter.Add(1)
	j.noteLostItem()
	reason, first := rp.lost.Count(report.Failure{Stage: outcome, Cause: reason, Text: text, URL: url})
	key := itemReasonKey(outcome, reason)
	rp.countForJob(j, func(c *jobCounts) {
		c.dropped += dropped
		c.failed += 1 - dropped
		if c.items == nil {
			c.items = make(map[string]int64)
		}
		c.items[key]++
	})
	if outcome == itemDropped && first {
		rp.log.Dropped(errtext.Beside(herr.Err, url), reason, itemType, url)
	}
	rp.log.Item(outcome, reason, itemType, url)
	return reason
}

// itemReason returns why an item was dropped or failed, in a few words, and in full if these do not say all.
func itemReason(herr *HandleError) (reason, text string) {
	var short interface{ Reason() string }
	if herr.Stack == nil && errors.As(herr.Err, &short) {
		return report.Short(short.Reason(), ""), ""
	}
	return causeOf(herr)
}

// itemReasonKey is the key of an item's outcome and reason in Stats.ItemReasons.
func itemReasonKey(outcome, reason string) string { return outcome + ": " + reason }

// itemReasons returns the counts of Stats.ItemReasons; nil if there are none.
func (rp *reporter) itemReasons() map[string]int64 {
	var counts map[string]int64
	for _, k := range rp.lost.All() {
		if counts == nil {
			counts = make(map[string]int64)
		}
		counts[itemReasonKey(k.Example.Stage, k.Example.Cause)] = k.Count
	}
	return counts
}

// isEmpty reports whether no page has come yet in this run.
func (rp *reporter) isEmpty() bool { return rp.counters.Read.Load() == 0 }

// fruitless returns the error of a job that has got no page, or whose parsers have all failed before an item passed the
// pipelines, in this run and all earlier ones; else nil. A program that shares its job with others knows how many pages
// these have read, and not whether their parsers have succeeded.
func (rp *reporter) fruitless(spider string, isShared bool) error {
	earlier := rp.earlier()
	parsed, _ := rp.counters.Parsed()
	failed := rp.counters.Unparsed.Load() + earlier["unparsed"]
	switch {
	case rp.isEmpty() && earlier["read"]+rp.shared.Load() == 0:
		return nothing(spider, 0, rp.noPages.List)
	case isShared || failed == 0 || parsed+rp.counters.Unchanged.Load()+earlier["parsed"] > 0 ||
		rp.counters.Scraped.Load()+earlier["items_scraped"] > 0:
		return nil
	}
	return nothing(spider, failed, rp.unparsed.List)
}

// tellsSettled reports whether the log or an event needs the end of a request.
func (rp *reporter) tellsSettled() bool {
	return rp.log.HasDebug() || rp.events.RequestSettled != nil || rp.isEmpty()
}

// settled reports the end of a request that has no response.
func (rp *reporter) settled(r *Request, outcome Outcome, reason string) {
	rp.settledAs(r, nil, outcome, reason)
}

// settledAs reports the end of a request. f is what the log says of it; nil: there is no response.
func (rp *reporter) settledAs(r *Request, f *report.Fields, outcome Outcome, reason string) {
	if !rp.tellsSettled() || !rp.told.Enter() {
		return
	}
	defer rp.told.Leave()
	if rp.isEmpty() {
		rp.noPages.Ended(rawURL(r), outcome, reason, rp.wired)
	}
	if r != nil && rp.log.HasDebug() {
		if f == nil {
			fields := rp.about(r, nil)
			f = &fields
		}
		f.Depth = r.Depth
		rp.log.Settled(outcome.String(), reason, *f)
	}
	if f := rp.events.RequestSettled; f != nil {
		rp.call(func() { f(r, outcome, reason) })
	}
}

// seedRefused warns of a seed that is not crawled although nothing has failed: the user wants it, after all.
func (rp *reporter) seedRefused(r *Request, outcome Outcome, reason string) {
	kind := outcome.String() + ": " + reason
	if r == nil || !rp.refused.Add(report.Failure{Cause: kind}) || !rp.told.Enter() {
		return
	}
	defer rp.told.Leave()
	seed := SeedError{Outcome: outcome, Reason: reason, Remedy: report.Remedy(outcome.String(), reason)}
	rp.log.Lines([]report.Line{{Warn: true, Text: "this seed was not crawled: " + seed.Error(), URL: urlOf(r)}})
}

// slow reports a callback that has been running for a minute.
func (rp *reporter) slow(at Stage, r *Request, took time.Duration) {
	if !rp.told.Enter() {
		return
	}
	defer rp.told.Leave()
	rp.log.Slow(string(at), urlOf(r), took)
	if f := rp.events.SlowCallback; f != nil {
		rp.call(func() { f(at, r, took) })
	}
}

// abandoned reports a callback that was given up.
func (rp *reporter) abandoned(at Stage, r *Request) {
	rp.log.Abandoned(string(at), urlOf(r))
	if f := rp.events.Abandoned; f != nil {
		rp.event(func() { f(at, r) })
	}
}

// blocked reports slots that were blocked meanwhile. The caller holds no locks.
func (rp *reporter) blocked() {
	if !rp.frontier.HasBlocks() {
		return
	}
	list, log, last := rp.frontier.TakeBlocks()
	for i, b := range list {
		block := SlotBlock{b.Slot, blockCauses[b.Cause], b.Until}
		if i < log {
			rp.log.Blocked(block.Slot, string(block.Cause), block.Until, last && i == log-1)
		}
		if f := rp.events.SlotBlocked; f != nil {
			rp.event(func() { f(block) })
		}
	}
}

// refusedBy warns, once for each slot, that the cache refuses its requests.
func (rp *reporter) refusedBy(slot string, limit int64) {
	if _, warned := rp.crowded.LoadOrStore(slot, true); !warned {
		rp.log.Crowded(slot, limit, queueShare)
	}
}

// sameRedirects counts the pages that were redirected to a target which was requested before. The zero value has counted none.
type sameRedirects struct {
	mu    sync.Mutex  // guards pages
	pages map[Key]int // by target
}

const (
	mostSameRedirects = 10   // that many pages of one target are worth a warning
	mostRedirectKeys  = 1000 // targets that are counted
)

// redirectKnown counts a page whose redirect leads to a target that was requested before. It warns once for each target.
func (rp *reporter) redirectKnown(page *Request, target Key, url string) {
	counts := &rp.redirects
	counts.mu.Lock()
	if counts.pages == nil {
		counts.pages = make(map[Key]int)
	}
	if _, counted := counts.pages[target]; counted || len(counts.pages) < mostRedirectKeys {
		counts.pages[target]++
	}
	pages := counts.pages[target]
	counts.mu.Unlock()
	if pages == mostSameRedirects {
		rp.log.SameRedirect(url, urlOf(page), pages)
	}
}

// notice writes the Notice of an error, if it has that method, to the log. The part that returns the error gives each
// notice once.
func (rp *reporter) notice(err error) {
	var told interface{ Notice() string }
	if errors.As(err, &told) {
		rp.log.Warn(told.Notice())
	}
}

// close ends the calls of Events, and waits for those that callbacks which were given up have begun. A func of Events
// that does not return is left behind with its callback.
func (rp *reporter) close() { guard.Await(rp.told.Close()) }

// outsider is user code that belongs to no job: that of the start, of parts that are opened or closed, and of the
// ErrorHandlers of a request that was not accepted.
type outsider struct {
	report  *reporter
	request *Request // a copy of the request that has failed; nil if there is none
	id      string   // its CtxId
}

// Slow reports that the code has been running for long.
func (o outsider) Slow(at string, took time.Duration) {
	o.report.slow(Stage(at), o.request, took)
}

// Abandon reports that the code was given up.
func (o outsider) Abandon(l guard.Loss) {
	at := Stage(l.At)
	o.report.abandoned(at, o.request)
	o.report.failed(&HandleError{CtxId: o.id, Err: abandonedBy(at, l.TooLate), Request: o.request, Stage: at})
}

var errClosedByUser = errors.New("a callback closed the channel that it sends to; the engine owns the channels and ends them itself")

// closedByUser reports a channel that user code has closed.
func (rp *reporter) closedByUser(from emission) {
	if from.by != nil && from.by.GivenUp() {
		return // code that was given up has no effect any more
	}
	herr := &HandleError{Err: errClosedByUser, Stage: StageStart}
	if j := from.parent; j != nil && j.ctx != nil {
		herr.Stage, herr.CtxId, herr.Request = StageParse, j.ctx.CtxId, j.ctx.Request
	}
	rp.failed(herr)
}

// causeOf names the cause of a failure in a few words, so that failures of one cause can be counted together: without
// the URL, which is a field of its own. The text is the cause in its own words, if the few words were made of these.
func causeOf(herr *HandleError) (cause, text string) {
	var status *StatusError
	var robots *robotsgate.UnreachableError
	url := urlOf(herr.Request)
	switch err := reasonFor(herr); {
	case errors.As(err, &status):
		return "status " + strconv.Itoa(status.Status), ""
	case pageLimit(err) != "":
		return pageLimit(err), ""
	case isA[*PanicError](err) || herr.Stack != nil:
		return "panic", ""
	case isA[*RedirectLoopError](err):
		return "redirect loop", ""
	case isA[*TooManyRedirectsError](err):
		return "too many redirects", ""
	case errors.As(err, &robots):
		err, url = robots.Err, robots.Origin+"/robots.txt"
		fallthrough
	default:
		if cause := fetch.Cause(err); cause != "" && !(isUsers[herr.Stage] && err == herr.Err) {
			return cause, ""
		}
		return report.Cause(errtext.Beside(urlx.Cause(err), url), url)
	}
}

// pageLimit names the bound that a page exceeds, if the error is that of a query on it or of its links: such methods
// panic with it, but the code is not to blame. It is "" for other errors.
func pageLimit(err error) string {
	var limit *html.LimitError
	switch {
	case errors.As(err, &limit):
		switch limit.What {
		case "nodes", "links":
			return report.OverNodes
		case "attributes":
			return report.OverAttributes
		}
		return "page too large"
	case isA[*selector.SizeError](err), isA[*links.SizeError](err):
		return "results too large"
	case isA[*selector.WorkError](err), isA[*xpath.WorkError](err):
		return "query too costly"
	case isA[*PanicError](err) && isA[*fetch.BodyTooLargeError](err): // a spooled one that is read into memory
		return "body too large"
	}
	return ""
}

// isUsers are the stages whose errors are the user's own: what an error of the network means there, only the user
// knows.
var isUsers = map[Stage]bool{StageParse: true, StagePipeline: true, StageStart: true, StageError: true}

// rawURL returns the URL of a request as it was given; "" if there is no request.
func rawURL(r *Request) string {
	if r == nil {
		return ""
	}
	return r.Url
}

// urlOf names a request in the log.
func urlOf(r *Request) string { return urlx.Redact(rawURL(r)) }
