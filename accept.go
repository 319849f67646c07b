package tegenaria

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/slots"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// acceptor takes requests into the crawl: it checks and identifies them and hands them to the cache. It is made when
// the cache has said whether it is durable.
type acceptor struct {
	cfg      *config
	cache    CacheInterface
	codec    *codec
	ledger   *frontier.Ledger
	frontier *frontier.Frontier[*job]
	watch    *guard.Watch    // of the callbacks whose references are held back
	entries  *guard.InFlight // of requests and items
	loopback *fetch.Loopback
	settler  *settler
	report   *reporter
	stop     *stop
	work     *work
	stores   bool // the cache may take its time
	onError  onError

	dupes    *duplicates
	scope    scope
	hosts    *identity.HostNames
	scratch  sync.Pool // of *scratch
	seeds    identity.Emissions
	plain    bool // links need no request object to be accepted
	refusals refusalKeeper
	linked   bool // pages note the keys of what they send
	resends  bool // pages note what they send, so that it can be sent again

	keepers gatekeepers // none if no request waits apart

	slotByPanicked atomic.Bool // the ErrorHandlers were called for it
}

// onError are the ErrorHandlers as the acceptor calls them, which is made before they are.
type onError struct {
	refused func(from emission, ctx *Context, no *refusal) // of a request that was refused because of an error
	outside func(herr *HandleError)                        // of no request
}

// prepare completes an acceptor that has what it needs.
func (a *acceptor) prepare() {
	a.scratch.New = func() any { return &scratch{keyer: a.dupes.keyer()} }
	a.plain = a.checkPlain()
}

// close ends the accepting of requests, and waits for those that are being accepted. A cache whose Accept does not
// return has its context cancelled after a while, and is then left behind.
func (a *acceptor) close() {
	empty := a.entries.Close()
	for range 2 {
		if guard.Await(empty) {
			return
		}
		a.stop.abandonStore()
	}
}

// accept takes a request into the crawl: it is counted, filtered, identified and handed to the cache,
// which alone knows whether it is new. It never waits for another goroutine of the engine.
func (a *acceptor) accept(from emission, ctx *Context) {
	b := batch{acceptor: a, from: from}
	b.Add(ctx)
	b.Store()
}

// enter keeps the sender of a request open until the request is accepted. It returns false if the sender has ended:
// then its requests are refused.
func (a *acceptor) enter(from emission) bool {
	if !a.entries.Enter() {
		return false
	}
	may := from.by == nil || !from.by.GivenUp()
	switch {
	case !may:
	case from.parent != nil:
		may = from.parent.root().openToSend()
	case a.stop.refusing.Load():
		a.stop.unsown.Store(true)
		may = false
	}
	if !may {
		a.entries.Leave()
	}
	return may
}

func (a *acceptor) leave(from emission) {
	if from.parent != nil {
		a.settler.done(from.parent.root())
	}
	a.entries.Leave()
}

// store hands records to the cache, counts the verdicts and reports the accepted records to the frontier. Before that
// it calls told, unless nil, with the verdicts. It returns false if the cache could not store the records; then the run
// ends, and their sender is not settled.
func (a *acceptor) store(from emission, s *scratch, maxPerSlot int, told func([]Verdict)) bool {
	var waits *guard.Waits
	if a.stores {
		a.work.accepting.Add(1)
		if from.parent != nil && from.failed == nil {
			waits = from.parent.waits
		}
		waits.Begin()
	}
	verdicts, err := a.cache.Accept(a.stop.storing, s.records)
	if a.stores {
		waits.End()
		a.work.accepting.Add(-1)
	}
	if err != nil {
		a.ledger.Forget(int64(len(s.records)))
		a.notTaken(from)
		a.stop.storeFailed(err)
		return false
	}
	if told != nil {
		told(verdicts)
	}
	a.accepted(from, s, verdicts, maxPerSlot)
	return true
}

// refuse settles an emission that is not accepted.
func (a *acceptor) refuse(from emission, ctx *Context, no *refusal) {
	var r *Request
	if ctx != nil {
		r = ctx.Request
	}
	if no.err == nil {
		if from.parent == nil && from.failed == nil {
			a.report.seedRefused(r, no.outcome, no.reason)
		}
		a.report.settled(r, no.outcome, no.reason)
		a.ledger.Refuse(1, uint8(no.outcome), no.reason)
		if r != nil && a.refusals.isOn() {
			s := a.scratch.Get().(*scratch)
			defer a.scratch.Put(s)
			if key, err := a.dupes.key(s.keyer, r); err == nil {
				a.refusals.keep(from.parent, key, wire.AppendPlain(nil, []byte(r.Url)), a.depthOf(from), no)
			}
		}
		return
	}
	a.onError.refused(from, ctx, no)
}

// refusalKeeper has the cache keep requests that are refused.
type refusalKeeper struct {
	cache RefusalRecorder // nil: it keeps none
	full  atomic.Bool     // it keeps no more
}

// isOn reports whether requests that are refused are kept.
func (k *refusalKeeper) isOn() bool { return k.cache != nil && !k.full.Load() }

// keep has a request kept. data is its encoding, parent the job that has sent it, nil for a seed.
func (k *refusalKeeper) keep(parent *job, key Key, data []byte, depth int, no *refusal) {
	how := Settled{
		Record: Record{Key: key, Data: data, Depth: depth}, Outcome: no.outcome, Reason: no.reason, At: time.Now(),
	}
	if parent != nil {
		how.Record.ParentSeq = parent.root().rec.Seq
	}
	if !k.cache.RecordRefusal(how) {
		k.full.Store(true)
	}
}

// batch accepts requests of one sender together: a lock for each would cost more than all the rest.
type batch struct {
	acceptor *acceptor
	from     emission
	s        *scratch // nil while there is nothing to store
}

// Add checks a request and keeps it until Store, which a full batch calls by itself.
func (b *batch) Add(ctx *Context) {
	a := b.acceptor
	if b.s == nil {
		if !a.enter(b.from) {
			return
		}
		b.s = a.scratch.Get().(*scratch)
	}
	ctx = ctx.resent()
	rec, no := a.record(b.s, b.from, ctx)
	if no != nil {
		b.Store() // requests that were sent before are accepted before
		if a.enter(b.from) {
			if !a.endsRun(b.from, no) {
				a.ledger.Discover(1)
				a.refuse(b.from, ctx, no)
			}
			a.leave(b.from)
		}
		return
	}
	b.s.records, b.s.sent = append(b.s.records, rec), append(b.s.sent, ctx)
	if len(b.s.records) == maxBatch || ctx.Request.extras().MaxConns > 0 {
		b.Store()
	}
}

// Store hands the batch to the cache.
func (b *batch) Store() {
	s, a := b.s, b.acceptor
	if s == nil {
		return
	}
	b.s = nil
	defer a.leave(b.from)
	defer a.scratch.Put(s)
	defer s.reset()
	if len(s.records) == 0 {
		return
	}
	a.ledger.Discover(int64(len(s.records)))
	a.store(b.from, s, s.sent[len(s.sent)-1].Request.extras().MaxConns, func(verdicts []Verdict) {
		for i, verdict := range verdicts {
			switch f := a.cfg.events.RequestAccepted; {
			case verdict == VerdictKnown:
				if b.from.redirect {
					a.report.redirectKnown(b.from.parent.ctx.Request, s.records[i].Key, urlOf(s.sent[i].Request))
				}
				a.report.settled(s.sent[i].Request, Duplicate, b.from.known())
			case verdict == VerdictRefused:
				a.report.settled(s.sent[i].Request, Filtered, queueShare)
			case f != nil && verdict != VerdictHandedOn:
				a.report.event(func() { f(s.sent[i].Request) })
			}
		}
	})
}

// accepted counts the verdicts on the records of a batch, and adds the records to the frontier.
func (a *acceptor) accepted(from emission, s *scratch, verdicts []Verdict, maxPerSlot int) {
	stored := frontier.Stored{Runs: s.runs[:0], Slot: s.records[len(s.records)-1].Slot, Limit: maxPerSlot}
	known, refused := int64(0), int64(0)
	for i, v := range verdicts {
		switch rec := &s.records[i]; v {
		case VerdictNew:
			stored.Queue(rec.Slot, rec.Priority)
		case VerdictLater:
			stored.Delay(rec.NotBefore)
		case VerdictKnown:
			known++
		case VerdictHandedOn:
			a.ledger.HandOn() // its owner counts it
		case VerdictRefused:
			refused++
			if a.refusals.isOn() {
				a.refusals.cache.RecordRefusal(Settled{Record: *rec, Outcome: Filtered, Reason: queueShare, At: time.Now()})
			}
			a.report.refusedBy(slots.Name(rec.Slot), a.scope.limits.QueueBytes)
		}
	}
	s.runs = stored.Runs
	a.frontier.Accepted(stored,
		frontier.Refused{Number: known, Why: frontier.Reason{Outcome: uint8(Duplicate), Text: from.known()}},
		frontier.Refused{Number: refused, Why: frontier.Reason{Outcome: uint8(Filtered), Text: queueShare}})
}

// prepare completes a request that was sent. The error is that of one that was made the wrong way.
func prepare(c *Context) error {
	if c == nil || c.Request == nil {
		return errNoRequest
	}
	r := c.Request
	if err := r.extras().err; err != nil {
		return err
	}
	r.settleMethod()
	if err := r.checkMethod(); err != nil {
		return err
	}
	if r.Header == nil {
		r.Header = make(map[string]string)
	}
	return nil
}

// scope is what a request is filtered by without any memory: domains, depth, the middlewares' AcceptRequest.
type scope struct {
	domains *urlx.HostSet // of EngineWithAllowedDomains; nil allows all
	filters requestFilters
	limits  *Limits
	stop    *stop
}

// check returns why a request is filtered, nil if it is not.
func (s *scope) check(from emission, r *Request, host string) *refusal {
	if !s.domains.Has(host, r.Url) {
		return refuse(Filtered, "offsite")
	}
	if s.limits.tooDeep(r.Depth) {
		return refuse(Filtered, "depth")
	}
	var parent *Response
	if from.parent != nil && from.parent.ctx != nil {
		parent = from.parent.ctx.Response()
	}
	no, err := s.filters.ask(parent, r)
	if err == nil {
		return no
	}
	if reason, ok := asCloseSpider(err); ok {
		s.stop.closeSpider(reason)
	}
	return no
}

// scratch is memory for accepting requests that the next ones use again.
type scratch struct {
	keyer   *keyer
	url     []byte
	site    string // where the URLs of the requests before begin, "" if not known, and their host
	host    string
	data    []byte    // of all records
	refused []byte    // the encoding of a request that is refused
	page    *Response // of references, and what they are resolved against
	base    page.Base
	records []Record
	runs    []frontier.Run // where they wait
	sent    []*Context     // the Contexts of the records; empty if they were made of references
}

// reset makes room. Nothing it held stays reachable.
func (s *scratch) reset() {
	clear(s.records)
	clear(s.sent)
	clear(s.runs)
	s.site, s.host, s.page, s.base = "", "", nil, page.Base{}
	s.records, s.sent, s.data = s.records[:0], s.sent[:0], s.data[:0]
	if cap(s.data) > 1<<20 {
		s.data = nil // one giant request shall not stay for ever
	}
}

// emission says where a request comes from.
type emission struct {
	parent   *job           // whose callback sent it; nil for seeds
	by       *guard.Call    // that callback: what it sends after it was given up is refused; nil for seeds
	failed   *failedRequest // what has failed, and its ErrorHandler sent it: sending itself again is a retry
	why      error
	redirect bool // the target of a redirect of parent
	again    bool // and the chain of redirects has asked for it before: it is no duplicate
	inline   bool // Fetch asks for it: it is never a duplicate, and never stored
	added    bool // by Add: a seed that must not name a loopback address
}

// known returns the reason that a request ends with which was accepted before: a redirect that ends so has no page, as
// when a session is over and each page leads to the login, so it is counted by itself.
func (from emission) known() string {
	if from.redirect {
		return "redirect"
	}
	return ""
}

// failedRequest is what the ErrorHandlers are told of: the requests that they send may be the one that has failed
// again.
type failedRequest struct {
	request        *Request
	depth, attempt int
	refused        *refusals // of an emission that was not accepted, see failedEmission; or nil
}

// refusals ends emissions that were refused, one after the other. Those that are refused while the ErrorHandlers of
// another one run wait for their turn, so that a handler whose own requests are refused neither recurses nor starts
// goroutines without end.
type refusals struct {
	mu      sync.Mutex // guards the fields below
	waiting []func()
	running bool
}

// end ends an emission, and those that come of it; or leaves it to the call that is at work.
func (f *refusals) end(emission func()) {
	f.mu.Lock()
	f.waiting = append(f.waiting, emission)
	if f.running {
		f.mu.Unlock()
		return
	}
	f.running = true
	for len(f.waiting) > 0 {
		next := f.waiting[0]
		f.waiting = f.waiting[1:]
		f.mu.Unlock()
		next()
		f.mu.Lock()
	}
	f.running = false
	f.mu.Unlock()
}

// refusal is why a request is not accepted.
type refusal struct {
	outcome Outcome
	reason  string
	err     error // reported to the ErrorHandlers, unless nil
}

func refuse(outcome Outcome, reason string) *refusal {
	return &refusal{outcome: outcome, reason: reason}
}

func urlError(r *Request, err error) error {
	return &RequestError{URL: r.Url, Field: "Url", Err: urlx.Cure(r.Url, err), Remedy: urlx.Remedy(r.Url, err)}
}

// pageBudget is the reason of requests that are filtered because their slot has had its Politeness.MaxPages.
const pageBudget = "page-budget"

// queueShare is the reason of requests that the cache refuses because their slot holds too much of its memory.
const queueShare = "queue-share"

// requestFilters are the RequestFilters of a run.
type requestFilters []RequestFilter

// ask asks all of them, until one refuses the request. err is its error, unless that is ErrIgnoreRequest or it panics.
func (filters requestFilters) ask(parent *Response, r *Request) (no *refusal, err error) {
	for _, f := range filters {
		err := guard.Protect(func() error { return f.AcceptRequest(parent, r) })
		switch {
		case err == nil:
			continue
		case errors.Is(err, ErrIgnoreRequest):
			return refuse(Filtered, ignoreReason(err)), nil
		case isA[*PanicError](err):
			return &refusal{Failed, "accept", err}, nil
		}
		return refuse(Filtered, err.Error()), err
	}
	return nil, nil
}
