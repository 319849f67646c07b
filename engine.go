package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/lifecycle"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/slots"
	"github.com/tegenaria/tegenaria/internal/typecheck"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Execute is [SpiderEngine.Run] for a main package, with signals: the first SIGINT (Ctrl-C) or SIGTERM stops the crawl
// gracefully; the second one cancels the work in hand, which then has a second to return; the third one returns without
// waiting for it. A signal while parts are being closed, after the work, cancels the calls of Close. The error of an
// interrupted run is a [*StoppedError] with an [*InterruptedError].
func (e *SpiderEngine) Execute(spiderName string) error {
	return e.run(context.Background(), spiderName, true)
}

// Run crawls with the spider of that name and returns when the crawl is over.
//
// The error is nil if every request has ended and a page was fetched, which a parser has read without an error if any
// was given one, or if the durable job had finished before. Failed requests do not make the run fail, nor do failed
// parsers unless all have failed, and a stop that finds nothing left to do returns nil too, except by CloseSpider.
// Otherwise the error is a [*NothingError] (there was no page, or no parser has succeeded), a [*StoppedError] (Stop, a
// limit, a full queue, CloseSpider), the cause of ctx's cancellation, or a
// [*RunError]: all configuration mistakes together, before the first request; a failed start; a failed store. If
// callbacks were abandoned, an [*AbandonedError] is joined, as are the errors of Closers.
func (e *SpiderEngine) Run(ctx context.Context, spiderName string) error {
	return e.run(ctx, spiderName, false)
}

func (e *SpiderEngine) run(ctx context.Context, spiderName string, signals bool) error {
	leave, err := e.life.Enter(lifecycle.Initializing)
	if err != nil {
		return &RunError{Op: "wiring", Err: &busyError{err}}
	}
	e.mu.Lock()
	cfg := e.config.clone()
	e.mu.Unlock()
	if signals || cfg.signals {
		defer obeySignals(e)()
	}
	c, err := newCrawl(ctx, e, cfg, spiderName)
	leave(err)
	if err != nil {
		e.errs.Close()
		return err
	}
	if leave, err = e.life.Enter(lifecycle.Starting); err != nil {
		return &RunError{Op: "wiring", Err: err}
	}
	e.mu.Lock()
	e.crawl = c
	e.mu.Unlock()
	leave(nil)
	err = c.run(ctx)
	e.ended(c)
	return err
}

// findSpider returns the spider of that name.
func findSpider(spiders []SpiderInterface, name string) (SpiderInterface, error) {
	var errs []error
	byName := make(map[string]SpiderInterface, len(spiders))
	for i, s := range spiders {
		if err := notNil(s, "RegisterSpiders", i); err != nil {
			errs = append(errs, err)
			continue
		}
		n, err := nameOf(s)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("RegisterSpiders: %w", err))
		case n == "":
			errs = append(errs, fmt.Errorf("RegisterSpiders: spider %d has no name; set BaseSpider.Name", i+1))
		case byName[n] != nil:
			errs = append(errs, fmt.Errorf("RegisterSpiders: two spiders are called %q", n))
		default:
			byName[n] = s
		}
	}
	switch spider := byName[name]; {
	case spider == nil && len(byName) > 0:
		errs = append(errs, fmt.Errorf("no spider is called %q; register it with RegisterSpiders, or run one of %q",
			name, slices.Sorted(maps.Keys(byName))))
	case spider == nil && len(errs) == 0:
		errs = append(errs, fmt.Errorf("no spider is called %q; register it with RegisterSpiders", name))
	case spider == nil: // none is any good, which was said
	default:
		errs = append(errs, mistakeOf(spider))
	}
	return byName[name], errors.Join(errs...)
}

// nameOf asks a spider for its name, unless it lacks the BaseSpider that would answer.
func nameOf(s SpiderInterface) (name string, err error) {
	if typecheck.EmbedsNil[*BaseSpider](s) { // GetName would panic, and StartRequest too
		return "", fmt.Errorf("the *BaseSpider embedded in %T is nil; set it: &tegenaria.BaseSpider{Name: …}, or embed BaseSpider by value", s)
	}
	if name, err = askName(s); err != nil {
		return "", fmt.Errorf("GetName of %T: %w", s, err)
	}
	return name, nil
}

// busyError is the mistake of a Run while another one is on.
type busyError struct{ err error }

func (e *busyError) Error() string {
	return "this engine is running a crawl already: wait until its Run has returned, or make another engine"
}

func (e *busyError) Unwrap() error { return e.err }

// ended takes the crawl away and keeps its summary.
func (e *SpiderEngine) ended(c *crawl) {
	if leave, err := e.life.Enter(lifecycle.Stopping); err == nil {
		leave(nil)
	}
	e.mu.Lock()
	summary := c.summary(e.life.Status())
	e.crawl, e.last, e.lastPlaces, e.lastCallbacks = nil, &summary, c.places(), c.callbacks.list()
	e.mu.Unlock()
	e.errs.Close()
	c.stop.ending.Gone()
}

func (e *SpiderEngine) current() *crawl {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.crawl
}

// Why a crawl cannot be controlled.
var (
	errNotRunning = errtext.New("no crawl is running")
	errPaused     = errtext.New("the crawl is paused already")
	errNotPaused  = errtext.New("the crawl is not paused")
	errStopping   = errtext.New("the crawl is stopping")
)

// Pause starts no further requests until [SpiderEngine.Resume]; work in hand goes on. It is an error unless a crawl is
// running.
func (e *SpiderEngine) Pause() error {
	return e.turn(e.life.Pause, func(c *crawl) func() { c.frontier.Pause(); return c.cfg.events.Paused })
}

// Resume ends a pause.
func (e *SpiderEngine) Resume() error {
	return e.turn(e.life.Resume, func(c *crawl) func() { c.frontier.Resume(); return c.cfg.events.Resumed })
}

// turn begins or ends a pause. turned does it to the crawl, and returns the func of Events for it.
func (e *SpiderEngine) turn(state func() error, turned func(c *crawl) (event func())) error {
	c := e.current()
	if c == nil {
		return errNotRunning
	}
	if err := state(); err != nil {
		switch e.Status() {
		case StatusPaused:
			return errPaused
		case StatusStarted:
			return errNotPaused
		case StatusStopping:
			return errStopping
		}
		return err
	}
	if f := turned(c); f != nil {
		c.report.event(f)
	}
	return nil
}

// Stop ends the crawl gracefully and returns when it is over: no further requests start, work in hand
// finishes, and a durable cache keeps the rest. When ctx is cancelled, or EngineWithGrace is over, the work in hand
// is cancelled and code that does not return is abandoned; then the parts are closed. Stop returns ctx's cause if
// ctx cut the crawl short. It may be called any number of times; a further call can only end the crawl sooner.
// Without a running crawl it does nothing. If nothing was left to do, the crawl has finished and Run returns nil.
//
// Do not call it in a callback: Stop would wait for the run, and the run for the callback. A callback
// returns [CloseSpider], or calls Stop in a new goroutine. A callback that calls Stop directly is
// abandoned when the grace is over; callbacks that cannot be abandoned, such as those of Events and RequestFilter,
// get a [*StopError] soon after that, and the run ends when they return.
func (e *SpiderEngine) Stop(ctx context.Context) error {
	c := e.current()
	if c == nil {
		return nil
	}
	began := time.Now()
	late, err := c.stop.ending.Stop(ctx)
	if late {
		return &StopError{Waited: time.Since(began)}
	}
	return err
}

// Status returns the state of the engine. It is StatusStopped after each run, also after one that has finished:
// Summary().Status says how it ended.
func (e *SpiderEngine) Status() Status {
	status := e.life.Status()
	if c := e.current(); c != nil && c.stop.refusing.Load() {
		return StatusStopping
	}
	return status
}

// Idle reports whether no request is being downloaded or parsed, and no item is being processed, at the moment. An idle
// crawl may still have requests that wait for their time.
func (e *SpiderEngine) Idle() bool {
	c := e.current()
	return c == nil || c.ledger.IsIdle()
}

// Stats returns the counters of the current run, or else of the last one.
func (e *SpiderEngine) Stats() Stats { return e.Summary().Stats }

// JobStats returns the counters of all runs of the durable job, the current one or else the last one. Without a job
// they are those of Stats. Pending, Delayed, InFlight, Items, StartTime and Abandoned are those of the current run. Of a run
// that ended in a crash, responses, pages and items are those of the requests that it has settled: what it had begun runs
// again, and counts then. Retries, bytes, and the outcomes of requests that were sent by Fetch or refused, are counted as
// they happen, so that some of them count twice.
func (e *SpiderEngine) JobStats() Stats {
	s := e.Summary()
	if s.Job != nil {
		return *s.Job
	}
	return s.Stats
}

// Summary returns the summary of the current run, or else of the last one.
func (e *SpiderEngine) Summary() Summary {
	if c := e.current(); c != nil {
		return c.summary(e.Status())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last != nil {
		return *e.last
	}
	return Summary{Status: e.life.Status().String()}
}

// Crawl runs a spider in a new engine with these options, and yields the items of type T that have passed the
// pipelines. Items of other types are not yielded. If [SpiderEngine.Run] returns an error, it is yielded last, with a
// zero T. Leaving the loop stops the crawl and waits until it has ended.
//
//	for quote, err := range tegenaria.Crawl[Quote](ctx, spider) {
func Crawl[T any](ctx context.Context, spider SpiderInterface, opts ...EngineOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		items, result := make(chan T), make(chan error, 1)
		left := make(chan struct{}) // closed when the loop was left
		e := NewSpiderEngine(opts...)
		e.RegisterSpiders(spider)
		name, _ := askName(spider) // Run reports that it is nil
		check := typecheck.New[T]("Crawl")
		e.config.collected = check
		e.config.collect = func(ctx context.Context, item *ItemMeta) error {
			v, ok := item.Item.(T)
			check.Saw(item.Item, ok)
			if !ok {
				return nil
			}
			select {
			case items <- v:
				return nil
			case <-left:
				return errLeft
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		go func() { // ends with the crawl; waited for below
			result <- e.Run(ctx, name)
		}()
		for {
			select {
			case v := <-items:
				if yield(v, nil) {
					continue
				}
				close(left)
				cancel()
				<-result
				return
			case err := <-result:
				if err != nil {
					var none T
					yield(none, err)
				}
				return
			}
		}
	}
}

// ErrorChan returns a channel of the errors of the current run, or else of the next one: every [HandleError], and
// panics in Events. Each call returns a new channel, which is closed when that run is over. It buffers 1,024 errors.
// Errors that come while it is full are counted, and a [*MissedErrorsError] reports their number as soon as there is
// room again. A slow reader never holds up the crawl.
func (e *SpiderEngine) ErrorChan() <-chan error {
	return e.errs.Subscribe(func(n int64) error { return &MissedErrorsError{Count: n} })
}

// Slots returns the state of all slots of the running crawl that have work or a state to keep, in no
// particular order; nil if no crawl is running. No request starts while the states are collected: with many slots
// use [SpiderEngine.BusiestSlots].
func (e *SpiderEngine) Slots() []SlotStatus {
	c := e.current()
	if c == nil {
		return nil
	}
	return slotStatuses(c.frontier.Status())
}

// BusiestSlots returns the state of the n slots in which most requests wait, the busiest first; of equal ones those
// with more downloads in flight, then by name. Slots without requests are left out; nil if no crawl is running or n is
// 0 or less. Unlike Slots it does not stop the crawl, however many slots there are: it looks at some of them at a time,
// and downloads start in between, so the states are not all of one moment. With more than 20,000 slots it does so only so often
// that it takes 0.5 % of the time, or each 30 seconds; in between it looks again at the busiest ones that it found last.
func (e *SpiderEngine) BusiestSlots(n int) []SlotStatus {
	c := e.current()
	if c == nil || n <= 0 {
		return nil
	}
	return slotStatuses(c.frontier.Busiest(n))
}

// SlotCounts counts the slots of the running crawl by what their requests wait for; all numbers are 0 if no crawl is running. While
// the crawl is paused they say what the requests would wait for. It takes less than a microsecond, however many slots there are.
func (e *SpiderEngine) SlotCounts() SlotCounts {
	c := e.current()
	if c == nil {
		return SlotCounts{}
	}
	n := c.frontier.SlotCounts()
	counts := SlotCounts{Ready: n.Ready, Delayed: n.Timed + n.Held[slots.Delayed], AtLimit: n.Held[slots.AtLimit],
		Robots: n.Held[slots.Parked], Gated: n.Held[slots.AtGate]}
	counts.Empty = n.All - counts.Ready - counts.Delayed - counts.AtLimit - counts.Robots - counts.Gated
	return counts
}

// SlotOf returns the state of the slot that a GET request for a URL waits in, also if that slot has neither work nor a state to keep. A URL
// that cannot be requested is a [*RequestError]; a call without a crawl is an error.
func (e *SpiderEngine) SlotOf(url string) (s SlotStatus, err error) {
	c := e.current()
	if c == nil {
		return s, errNotRunning
	}
	r := NewRequest(url, GET, nil)
	host, err := urlx.AskedHost(url)
	if err != nil {
		return s, urlError(r, err)
	}
	name, _ := c.cfg.Politeness.slotOf(r, host) // if SlotBy panics: that of the host, where the request waits too
	return slotStatuses([]frontier.Status{c.frontier.StatusOf(name)})[0], nil
}

// SlowestSlots returns the state of the n slots whose mean latency is highest, the slowest first; of equal ones those in
// which more requests wait, then by name. Slots without requests and those of which no answer has come are left out; nil
// if no crawl is running or n is 0 or less. It does not stop the crawl, and looks at many slots only now and then, as BusiestSlots does.
func (e *SpiderEngine) SlowestSlots(n int) []SlotStatus {
	c := e.current()
	if c == nil || n <= 0 {
		return nil
	}
	return slotStatuses(c.frontier.Slowest(n))
}

// SetSlot replaces the policy of one slot until [SpiderEngine.ResetSlot] or the end of the run, in place of Politeness
// and its Overrides. If the slot is waiting for its delay, it now waits for the new one, counted from its last start.
// Downloads begun before count towards a page budget. A host may be written as in URLs. A negative field, a Jitter
// above 1, and a call without a crawl are errors.
//
// A durable job keeps the policy for its next runs. SetSlot returns once it is stored, which takes a write to the disk; before the event
// Started it is stored with the first requests. In a cluster each worker has its own, for the hosts that it owns, and keeps them under its
// name.
func (e *SpiderEngine) SetSlot(name string, p SlotPolicy) error {
	if err := p.mistakes(func(field string) string { return remedy.Setting("slot_policy." + field).InGo() }); err != nil {
		return err
	}
	c := e.current()
	if c == nil {
		return errNotRunning
	}
	return c.change(func() { c.changes.setSlot(name, &p) })
}

// ResetSlot undoes SetSlot for one slot, also that of an earlier run of a durable job. A call without a crawl is an error.
func (e *SpiderEngine) ResetSlot(name string) error {
	c := e.current()
	if c == nil {
		return errNotRunning
	}
	return c.change(func() { c.changes.setSlot(name, nil) })
}

// ForgiveSlot ends what answers with status 429 and 503 have earned a slot, before its time: the penalty, and the pause, also one that a
// Retry-After has asked for. Downloads under way earn no further penalty. A request that was refused and waits for its own next attempt
// goes on waiting. A host may be written as in URLs. It reports whether there was anything to end; a call without a crawl is an error.
func (e *SpiderEngine) ForgiveSlot(name string) (forgiven bool, err error) {
	c := e.current()
	if c == nil {
		return false, errNotRunning
	}
	return c.frontier.Forgive(name), nil
}

// SlotPolicy returns the policy of a slot in the running crawl, and whether SetSlot has set it, in this run or an
// earlier one of its job. A host may be written as in URLs. Without a crawl it is the zero value.
func (e *SpiderEngine) SlotPolicy(name string) (p SlotPolicy, set bool) {
	c := e.current()
	if c == nil {
		return p, false
	}
	rule, set := c.frontier.RuleOf(name)
	return SlotPolicy{Delay: rule.Delay, Jitter: rule.Spread, PerSlot: rule.Limit, MaxPages: rule.Pages}, set
}

// maxConcurrency is the most that SetConcurrency takes.
const maxConcurrency = 1 << 16

// Concurrency returns how many downloads may run at once in the running crawl, or else in the next one.
func (e *SpiderEngine) Concurrency() int {
	if c := e.current(); c != nil {
		return c.frontier.Fetchers()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.config.Concurrency
}

// SetConcurrency changes how many downloads run at once until the end of the run, in place of EngineWithConcurrency. Where more are under
// way than n, no download starts until enough of them have ended. A number below 1 or above 65,536, and a call without a crawl, are errors.
// A durable job keeps the number for its next runs, as with [SpiderEngine.SetSlot].
func (e *SpiderEngine) SetConcurrency(n int) error {
	if n < 1 || n > maxConcurrency {
		return fmt.Errorf("tegenaria: SetConcurrency: %d is no number of downloads at once; give one from 1 to %d", n, maxConcurrency)
	}
	c := e.current()
	if c == nil {
		return errNotRunning
	}
	return c.change(func() { c.changes.setConcurrency(n) })
}

// ResetConcurrency undoes SetConcurrency, also that of an earlier run of a durable job. A call without a crawl is an error.
func (e *SpiderEngine) ResetConcurrency() error {
	c := e.current()
	if c == nil {
		return errNotRunning
	}
	return c.change(func() { c.changes.setConcurrency(0) })
}

// SpiderEngine runs spiders. Make one with [NewSpiderEngine], register the parts of a crawl, then call
// [SpiderEngine.Execute] or [SpiderEngine.Run]. An engine can run any number of times, one run at a time. Runs share
// nothing except the job of a durable cache, and two engines share nothing.
//
// All methods may be called concurrently. Parts that are registered during a run are used from the next run on.
type SpiderEngine struct {
	mu            sync.Mutex // guards the fields below
	config        config
	crawl         *crawl   // that is on; nil: none
	last          *Summary // of the newest run that has ended
	lastPlaces    Places   // of it
	lastCallbacks []Callback

	errs       report.Subscriptions // of ErrorChan
	life       lifecycle.Machine
	unreturned unreturned // code that was given up, of all runs
}

// NewSpiderEngine makes an engine. A nil option is a mistake that Run reports.
func NewSpiderEngine(opts ...EngineOption) *SpiderEngine {
	e := &SpiderEngine{config: config{Settings: Settings{
		SchedulerNum:    uint(runtime.GOMAXPROCS(0)),
		ReadCacheNum:    1,
		Concurrency:     16,
		ItemConcurrency: 16,
		UniqueReq:       true,
		Grace:           20 * time.Second,
		FailFast:        true,
	}}}
	for i, opt := range opts {
		e.config.nilOptions.addIf(opt == nil, "engine option %d is nil; leave it out", i+1)
		if opt != nil {
			opt(e)
		}
	}
	return e
}

// RegisterSpiders adds spiders. A nil spider, an empty name and a name that is used twice are mistakes that Run
// reports.
func (e *SpiderEngine) RegisterSpiders(s ...SpiderInterface) {
	e.register(func(cfg *config) { cfg.spiders = append(cfg.spiders, s...) })
}

// RegisterDownloadMiddlewares adds middlewares; they are called by priority, see [MiddlewaresInterface].
func (e *SpiderEngine) RegisterDownloadMiddlewares(m ...MiddlewaresInterface) {
	e.register(func(cfg *config) { cfg.middlewares = append(cfg.middlewares, m...) })
}

// RegisterPipelines adds pipelines; they are called by priority, see [PipelinesInterface].
func (e *SpiderEngine) RegisterPipelines(p ...PipelinesInterface) {
	e.register(func(cfg *config) { cfg.pipelines = append(cfg.pipelines, p...) })
}

// RegisterDownloader adds a downloader for requests that name it (RequestWithDownloader). Several under
// one name share the load: the least busy and healthiest gets the next request.
func (e *SpiderEngine) RegisterDownloader(name string, d Downloader) {
	e.register(func(cfg *config) { cfg.downloaders = append(cfg.downloaders, namedDownloader{name, d}) })
}

// RegisterParser gives a parser a name for all spiders of the engine. A durable cache stores this name, and
// RequestWithParserName refers to it. [Spider.On] says how a parser is identified.
func (e *SpiderEngine) RegisterParser(name string, p Parser) {
	e.register(func(cfg *config) { cfg.parsers = append(cfg.parsers, namedParser{name, p}) })
}

// register adds parts for the runs to come.
func (e *SpiderEngine) register(add func(cfg *config)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	add(&e.config)
}

// Status is the state of an engine: one of the constants below. Its String is the name in lower case: "started".
type Status = lifecycle.Status

// The statuses of an engine.
const (
	StatusUninitialized = lifecycle.Uninitialized
	StatusInitializing  = lifecycle.Initializing
	StatusInitialized   = lifecycle.Initialized
	StatusStarting      = lifecycle.Starting
	StatusStarted       = lifecycle.Started
	StatusStopping      = lifecycle.Stopping
	StatusStopped       = lifecycle.Stopped
	StatusPaused        = lifecycle.Paused
)

// obeySignals stops the engine's crawl that is on when a signal comes, until the func that it returns is called.
func obeySignals(e *SpiderEngine) (end func()) {
	return lifecycle.ObeySignals(func() *lifecycle.Ending {
		if c := e.current(); c != nil {
			return c.stop.ending
		}
		return nil
	}, errInterrupted)
}
