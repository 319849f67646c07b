package tegenaria

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/lifecycle"
	"github.com/tegenaria/tegenaria/internal/report"
)

// teller reports the events of a crawl: it has the log, the counters and the user's Events. All methods may be called concurrently, also by
// callbacks that were given up.
type teller struct {
	cfg      *config
	limits   *Limits
	errs     *report.Subscriptions // of ErrorChan
	ledger   *frontier.Ledger
	frontier *frontier.Frontier[*job]
	stop     *stop
	slotOf   func(r *Request, host string) string // set when the cache has begun

	log      report.Log
	counters report.Counters
	failures report.Failures
	noPages  noPages
	refused  report.Failures // seeds for which no failure was reported, and bodies that are not JSON
	hosts    report.Hosts    // that have answered
	pages    report.Pages
	fields   fieldcount.Totals // of items of requests that have settled
	events   Events

	door    *guard.Door             // calls of Events are inside; none begins once it is closed
	crowded sync.Map                // slots whose requests are refused, and whose warning is in the log
	job     atomic.Pointer[settler] // of the crawl, for callers during its opening; nil before
}

func newTeller(c *crawl) *teller {
	return &teller{
		cfg: &c.cfg, limits: &c.limits, errs: &c.engine.errs, ledger: c.ledger, frontier: c.frontier, stop: &c.stop, log: newLog(&c.cfg, c.spider.GetName()), events: c.cfg.events,
		door: guard.NewDoor(),
	}
}

// event calls a func of Events, unless the run is over.
func (t *teller) event(f func()) {
	if !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	t.call(f)
}

// call calls a func of Events, whose panics are reported and have no other effect.
func (t *teller) call(f func()) {
	if stack, err := guard.Protect(func() error { f(); return nil }); err != nil {
		herr := &HandleError{Err: err, Stage: StageEvent, Stack: stack}
		t.counters.Errors.Add(1)
		t.log.Failure(saying(herr, ""), herr.Stack, report.Fields{Stage: string(StageEvent)})
		t.errs.Publish(herr)
	}
}

// failed counts, logs and publishes a failure, unless the run is over.
func (t *teller) failed(herr *HandleError) {
	if !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	errs := t.counters.Errors.Add(1)
	if t.isEmpty() {
		t.noPages.failed(herr)
	}
	fields := t.fieldsOf(herr)
	cause, text := causeOf(herr)
	if t.failures.Add(report.Failure{Stage: fields.Stage, Cause: cause, Text: text, URL: fields.URL, Referrer: fields.Referrer}) {
		t.log.Failure(saying(herr, fields.URL), herr.Stack, fields)
	}
	if f := t.events.Error; f != nil {
		t.call(func() { f(herr) })
	}
	t.errs.Publish(herr)
	if limit := int64(t.limits.Errors); limit > 0 && errs >= limit {
		t.stop.requestStop("limit: errors", nil)
	}
}

// isEmpty reports whether no page has come yet in this run.
func (t *teller) isEmpty() bool { return t.counters.Read.Load() == 0 }

// tellsSettled reports whether the log or an event needs the end of a request.
func (t *teller) tellsSettled() bool {
	return t.log.HasDebug() || t.events.RequestSettled != nil || t.isEmpty()
}

// settled reports the end of a request that has no response.
func (t *teller) settled(r *Request, outcome Outcome, reason string) {
	t.settledAs(r, nil, outcome, reason)
}

// settledAs reports the end of a request. f is what the log says of it; nil: there is no response.
func (t *teller) settledAs(r *Request, f *report.Fields, outcome Outcome, reason string) {
	if !t.tellsSettled() || !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	if t.isEmpty() {
		t.noPages.settled(r, outcome, reason, t.wired)
	}
	if r != nil && t.log.HasDebug() {
		if f == nil {
			fields := t.about(r, nil)
			f = &fields
		}
		f.Depth = r.Depth
		t.log.Settled(outcome.String(), reason, *f)
	}
	if f := t.events.RequestSettled; f != nil {
		t.call(func() { f(r, outcome, reason) })
	}
}

// seedRefused warns of a seed that is not crawled although nothing has failed: the user wants it, after all.
func (t *teller) seedRefused(r *Request, outcome Outcome, reason string) {
	kind := outcome.String() + ": " + reason
	if r == nil || !t.refused.Add(report.Failure{Cause: kind}) || !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	seed := SeedError{Outcome: outcome, Reason: reason, Remedy: report.Remedy(outcome.String(), reason)}
	t.log.Lines([]report.Line{{Warn: true, Text: "this seed was not crawled: " + seed.Error(), URL: urlOf(r)}})
}

// slow reports a callback that has been running for a minute.
func (t *teller) slow(at Stage, r *Request, took time.Duration) {
	if !t.door.Enter() {
		return
	}
	defer t.door.Leave()
	t.log.Slow(string(at), urlOf(r), took)
	if f := t.events.SlowCallback; f != nil {
		t.call(func() { f(at, r, took) })
	}
}

// abandoned reports a callback that was given up.
func (t *teller) abandoned(at Stage, r *Request) {
	t.log.Abandoned(string(at), urlOf(r))
	if f := t.events.Abandoned; f != nil {
		t.event(func() { f(at, r) })
	}
}

// blocked reports slots that were blocked meanwhile. The caller holds no locks.
func (t *teller) blocked() {
	if !t.frontier.HasBlocks() {
		return
	}
	list, log, last := t.frontier.TakeBlocks()
	for i, b := range list {
		block := SlotBlock{b.Slot, blockCauses[b.Cause], b.Until}
		if i < log {
			t.log.Blocked(block.Slot, string(block.Cause), block.Until, last && i == log-1)
		}
		if f := t.events.SlotBlocked; f != nil {
			t.event(func() { f(block) })
		}
	}
}

// refusedBy warns, once for each slot, that the cache refuses its requests.
func (t *teller) refusedBy(slot string, limit int64) {
	if _, warned := t.crowded.LoadOrStore(slot, true); !warned {
		t.log.Crowded(slot, limit, queueShare)
	}
}

// notice writes the Notice of an error, if it has that method, to the log. The part that returns the error gives each notice once.
func (t *teller) notice(err error) {
	var told interface{ Notice() string }
	if errors.As(err, &told) {
		t.log.Warn(told.Notice())
	}
}

// close ends the calls of Events, and waits for those that callbacks which were given up have begun. A func of Events that does
// not return is left behind with its callback.
func (t *teller) close() { guard.Await(t.door.Close()) }

// addLedger fills in the ledger's part of the statistics.
func (s *Stats) addLedger(l *frontier.Ledger) {
	n := l.Counts()
	s.Discovered, s.Settled = n.Discovered, n.Settled
	s.Pending, s.Delayed, s.InFlight, s.Items = n.Pending, n.Delayed, n.InFlight, n.Items
	s.Outcomes = make(map[Outcome]int64)
	for o, n := range n.Outcomes {
		if n > 0 {
			s.Outcomes[Outcome(o)] = n
		}
	}
	s.Reasons = make(map[string]int64, len(n.Reasons))
	for reason, n := range n.Reasons {
		s.Reasons[Outcome(reason.Outcome).String()+": "+reason.Text] = n
	}
}

func summaryOf(c *crawl, status Status) Summary {
	s := Summary{
		Spider:      c.spider.GetName(),
		Status:      status.String(),
		RequestArgs: RequestArgs{slices.Sorted(slices.Values(c.cfg.domains)), c.limits.Depth},
		ModuleArgs:  ModuleArgs{len(c.fetcher.downloaders.All()), int(c.cfg.parseWorkers), len(c.mill.pipelines)},
		ItemBuffers: PoolSummary{c.mill.buffer.BufferCap(), c.mill.buffer.MaxBufferNumber(), c.mill.buffer.BufferNumber(), c.mill.buffer.Total()},
	}
	s.Feeds = c.mill.pipelines.feedStats()
	s.Reason, _, _ = c.ending.Why()
	if status == StatusStopped && (s.Reason == lifecycle.Finished || s.Reason == lifecycle.Cancelled || s.Reason == lifecycle.Broken) {
		s.Status = s.Reason
	}
	for _, d := range c.fetcher.downloaders.All() {
		s.Downloaders = append(s.Downloaders, d.Summary())
	}
	s.Stats.addLedger(c.ledger)
	s.Stats.count(&c.teller.counters)
	s.Stats.Fields = fieldStats(c.teller.fields.Counts())
	s.Stats.StartTime, s.Stats.Elapsed = c.began, c.elapsed()
	s.Stats.Abandoned = c.abandoned()
	if of := c.teller.job.Load(); of != nil && of.durable {
		job := s.Stats.ofJob(s.Stats.durable(of.earlier))
		s.Job = &job
	}
	s.URLNumber = s.Stats.Discovered - s.Stats.Outcomes[Duplicate] - s.Stats.Outcomes[Filtered]
	return s
}
