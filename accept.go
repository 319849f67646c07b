package tegenaria

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// emission says where a request comes from.
type emission struct {
	parent   *job           // whose callback sent it; nil for seeds
	by       *guard.Call    // that callback: what it sends after it was given up is refused; nil for seeds
	failed   *failedRequest // what has failed, and its ErrorHandler sent it: sending itself again is a retry
	why      error
	redirect bool // the target of a redirect of parent
	again    bool // and the chain of redirects has asked for it before: it is no duplicate
}

// known returns the reason that a request ends with which was accepted before: a redirect that ends so has no page, as when a session is
// over and each page leads to the login, so it is counted by itself.
func (from emission) known() string {
	if from.redirect {
		return "redirect"
	}
	return ""
}

// acceptor takes requests into the crawl: it checks and identifies them and hands them to the cache. It is made when the cache
// has said whether it is durable.
type acceptor struct {
	cfg      *config
	limits   *Limits
	cache    CacheInterface
	codec    *codec
	ledger   *frontier.Ledger
	frontier *frontier.Frontier[*job]
	watch    *guard.Watch // of the callbacks whose outputs hold references back
	hurry    func()       // has the settler settle at once
	teller   *teller
	stop     *stop
	refused  func(from emission, ctx *Context, no *refusal) // reports a request that was refused because of an error; set before the first
	failed   func(herr *HandleError)                        // reports a failure of no request; set with refused
	dupes    *duplicates
	domains  *urlx.HostSet // of EngineWithAllowedDomains; nil allows all
	filters  requestFilters
	hosts    *identity.HostNames
	scratch  sync.Pool   // of *scratch
	entries  *guard.Door // of requests and items
	seeds    identity.Emissions
	loopback *fetch.Loopback
	plain    bool // links need no request object to be accepted

	slotByPanicked atomic.Bool // the ErrorHandlers were called for it

	refusals RefusalRecorder // the cache; nil: it keeps none
	enough   atomic.Bool     // it keeps no more
}

func newAcceptor(c *crawl, state State, dupes *duplicates) *acceptor {
	a := &acceptor{
		cfg: &c.cfg, limits: &c.limits, cache: c.cache, ledger: c.ledger, frontier: c.frontier, watch: c.watch, teller: c.teller, stop: &c.stop,
		hurry: func() { c.settler.hurry() }, dupes: dupes, loopback: c.fetcher.loopback,
		codec: &codec{durable: state.Durable, parsers: c.reader.parsers, values: wire.Values{Types: c.cfg.metaTypes}, bodyLimit: c.limits.Body, names: namerOf(c.spider)},
		hosts: identity.NewHostNames(), entries: c.entries,
	}
	a.domains, _ = allowedDomains(c.cfg.domains) // wire has reported mistakes
	a.scratch.New = func() any { return &scratch{keyer: dupes.keyer()} }
	for _, m := range c.fetcher.middlewares {
		if f, ok := m.(RequestFilter); ok {
			a.filters = append(a.filters, f)
		}
	}
	a.plain = a.checkPlain()
	if state.Durable {
		a.refusals, _ = c.cache.(RefusalRecorder)
	}
	return a
}

// close ends the accepting of requests, and waits for those that are being accepted. A cache whose Accept does not return has
// its context cancelled after a while, and is then left behind.
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
	b.add(ctx)
	b.store()
}

// enter keeps the sender of a request open until the request is accepted. It returns false if the sender has ended: then its
// requests are refused.
func (a *acceptor) enter(from emission) bool {
	if !a.entries.Enter() {
		return false
	}
	if a.mayEnter(from) {
		return true
	}
	a.entries.Leave()
	return false
}

func (a *acceptor) mayEnter(from emission) bool {
	if from.by != nil && from.by.GivenUp() {
		return false
	}
	if from.parent == nil {
		if a.stop.refusing.Load() {
			a.stop.unsown.Store(true)
			return false
		}
		return true
	}
	return from.parent.root().openToSend()
}

func (a *acceptor) leave(from emission) {
	if from.parent != nil {
		from.parent.root().done()
	}
	a.entries.Leave()
}

// store hands records to the cache, counts the verdicts and reports the accepted records to the frontier. Before that it calls
// told, unless nil, with the verdicts. It returns false if the cache could not store the records; then the run ends, and their
// sender is not settled.
func (a *acceptor) store(from emission, s *scratch, maxPerSlot int, told func([]Verdict)) bool {
	verdicts, err := a.cache.Accept(a.stop.storing, s.records)
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

// queueShare is the reason of requests that the cache refuses because their slot holds too much of its memory.
const queueShare = "queue-share"

func (a *acceptor) depthOf(from emission) int {
	switch {
	case from.parent == nil && from.failed == nil:
		return 0
	case from.redirect:
		return from.parent.rec.Depth
	case from.failed != nil:
		return from.failed.depth
	}
	return from.parent.rec.Depth + 1
}

// identify returns the host and the fingerprint of a request, unless it is one that no crawl can send.
func (a *acceptor) identify(s *scratch, ctx *Context) (host string, fingerprint Key, no *refusal) {
	if ctx == nil || ctx.Request == nil {
		return "", Key{}, &refusal{Failed, "accept", errNoRequest}
	}
	r := ctx.Request
	if err := r.extras().err; err != nil {
		return "", Key{}, &refusal{Failed, "accept", err}
	}
	r.settleMethod()
	if err := r.checkMethod(); err != nil {
		return "", Key{}, &refusal{Failed, "accept", err}
	}
	if r.Header == nil {
		r.Header = make(map[string]string)
	}
	if host, no = a.checkURL(s, r); no != nil {
		return "", Key{}, no
	}
	fingerprint, err := a.dupes.key(s.keyer, r)
	if err != nil {
		return "", Key{}, a.dupes.refusal(r, err)
	}
	return host, fingerprint, nil
}

// record checks a request and makes its record; Data is in s and valid until s is reset.
func (a *acceptor) record(s *scratch, from emission, ctx *Context) (rec Record, no *refusal) {
	host, fingerprint, no := a.identify(s, ctx)
	if no != nil {
		return rec, no
	}
	r := ctx.Request
	retry := from.failed != nil && a.isRetry(s, from.failed, r, fingerprint)
	rec.Depth = a.depthOf(from)
	switch {
	case retry:
		rec.Attempt = from.failed.attempt + 1
	case r.sameDepth && from.parent != nil:
		rec.Depth = from.parent.rec.Depth
	case from.failed != nil:
		rec.Depth++
	}
	r.Depth, r.Attempt = rec.Depth, rec.Attempt
	if no := a.scope(from, r, host); no != nil {
		return rec, no
	}
	if rec.Priority = r.Priority; retry {
		rec.Priority--
	}
	if retry && rec.Attempt >= a.limits.Attempts {
		return rec, refuse(GaveUp, fmt.Sprint(from.why))
	}
	rec.Key = fingerprint
	filtered := a.cfg.filter && !r.doNotFilter && !retry && (!from.redirect || r.extras().chain.Filtered && !from.again)
	if filtered {
		if no := a.dupes.veto(r); no != nil {
			no.reason = cmp.Or(no.reason, from.known())
			return rec, no
		}
	}
	if from.parent != nil {
		rec.Parent = from.parent.root().rec.Key
		r.parent = rec.parentPage()
	}
	if !filtered {
		rec.Key = identity.Unfiltered(rec.Parent, fingerprint, a.countEmission(from, fingerprint))
	}
	rec.Slot = a.slotOf(r, host)
	if a.frontier.IsSpent(rec.Slot) {
		return rec, refuse(Filtered, pageBudget)
	}
	if notBefore := r.extras().notBefore; !notBefore.IsZero() && notBefore.After(time.Now()) {
		rec.NotBefore = notBefore
	}
	start := len(s.data)
	var err error
	if s.data, rec.Live, err = a.codec.encode(s.data, ctx, ctx.CtxId != ""); err != nil {
		return rec, &refusal{Failed, "accept", err}
	}
	rec.Data = s.data[start:len(s.data):len(s.data)]
	if from.parent == nil && from.failed == nil {
		a.loopback.Allow(r.Url)
	}
	return rec, nil
}

// isRetry reports whether a request that the ErrorHandlers of a failed one have sent is that one again.
func (a *acceptor) isRetry(s *scratch, failed *failedRequest, r *Request, fingerprint Key) bool {
	if failed.request == nil {
		return false
	}
	if failed.request == r {
		return true
	}
	own, err := a.dupes.key(s.keyer, failed.request)
	return err == nil && own == fingerprint
}

func (a *acceptor) countEmission(from emission, fingerprint Key) uint64 {
	if from.parent != nil {
		return from.parent.root().emitted.Count(fingerprint)
	}
	return a.seeds.Count(fingerprint)
}

func (a *acceptor) slotOf(r *Request, host string) string {
	if slot := r.extras().slot; slot != "" {
		return slot
	}
	if a.cfg.politeness.SlotBy == nil {
		return host
	}
	u, err := urlx.HTTP(r.Url)
	if err != nil {
		return host
	}
	slot := host
	stack, err := guard.Protect(func() error {
		slot = a.cfg.politeness.SlotBy(u)
		return nil
	})
	if err != nil && a.slotByPanicked.CompareAndSwap(false, true) {
		err := fmt.Errorf("Politeness.SlotBy of %s, which belongs to its host's slot now: %w", urlx.Redact(r.Url), err)
		a.failed(&HandleError{Err: err, Request: r, Stage: StageAccept, Stack: stack})
	}
	return slot
}

// checkURL returns the host of a request's URL, if that can be asked.
func (a *acceptor) checkURL(s *scratch, r *Request) (host string, no *refusal) {
	if s.site == "" || !strings.HasPrefix(r.Url, s.site) { // most requests of a page ask the same host
		host, err := urlx.AskedHost(r.Url)
		if err != nil {
			reason := "url"
			if scheme := urlx.SchemeError(""); errors.As(err, &scheme) {
				reason = "scheme"
			}
			return "", &refusal{Filtered, reason, urlError(r, err)}
		}
		s.site, s.host = urlx.Site(r.Url), host
	}
	if len(r.Url) > a.limits.URLLength {
		return "", refuse(Filtered, "url-length")
	}
	return s.host, nil
}

// scope applies the filters that need no memory: domains, depth, the middlewares' AcceptRequest.
func (a *acceptor) scope(from emission, r *Request, host string) *refusal {
	if !a.domains.Has(host, r.Url) {
		return refuse(Filtered, "offsite")
	}
	if a.limits.tooDeep(r.Depth) {
		return refuse(Filtered, "depth")
	}
	var parent *Response
	if from.parent != nil && from.parent.ctx != nil {
		parent = from.parent.ctx.Response()
	}
	no, err := a.filters.ask(parent, r)
	if err == nil {
		return no
	}
	if reason, ok := asCloseSpider(err); ok {
		a.stop.closeSpider(reason)
	}
	return no
}
