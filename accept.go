package tegenaria

import (
	"errors"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// emission says where a request comes from.
type emission struct {
	parent   *job // whose callback sent it; nil for seeds
	failed   *job // the failed request whose ErrorHandler sent it: sending itself again is a retry
	why      error
	redirect bool // the target of a redirect of parent
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

// resent returns the Context to accept: one that has been on its way before, and is sent again, is the
// engine's and cannot go twice.
func (c *Context) resent() *Context {
	if c == nil || c.job == nil {
		return c
	}
	again := &Context{Request: c.Request}
	if own, ok := c.Ctx.(*userContext); ok {
		again.Ctx = own.user
	}
	return again
}

// enter keeps the sender of a request open until the request is accepted. It returns false if the sender has ended: nobody
// takes requests from it any more.
func (c *crawl) enter(from emission) bool {
	if !c.entries.Enter() {
		return false
	}
	if c.mayEnter(from) {
		return true
	}
	c.entries.Leave()
	return false
}

func (c *crawl) mayEnter(from emission) bool {
	if from.failed != nil && from.failed.abandoned.Load() {
		return false
	}
	if from.parent == nil {
		if c.refusing.Load() {
			c.unsown.Store(true)
			return false
		}
		return true
	}
	return !from.parent.abandoned.Load() && from.parent.root().tryOpen()
}

func (c *crawl) leave(from emission) {
	if from.parent != nil {
		from.parent.root().done()
	}
	c.entries.Leave()
}

// store hands records to the cache, counts the verdicts and tells the scheduler; told, unless nil, hears of the verdicts
// before. It returns false if the cache could not store
// them; then the run ends, and their sender is not settled.
func (c *crawl) store(from emission, records []Record, maxPerSlot int, told func([]Verdict)) bool {
	verdicts, err := c.cache.Accept(c.storing, records)
	if err != nil {
		c.ledger.forget(int64(len(records)))
		if from.parent != nil {
			from.parent.root().leaveUndecided()
		} else {
			c.unsown.Store(true)
		}
		c.storeFailed(err)
		return false
	}
	if told != nil {
		told(verdicts)
	}
	known, later, refused := int64(0), int64(0), int64(0)
	for i, v := range verdicts {
		switch v {
		case VerdictKnown:
			known++
		case VerdictLater:
			later++
		case VerdictRefused:
			refused++
			c.teller.refusedBy(records[i].Slot, c.limits.QueueBytes)
		}
	}
	c.sched.accepted(records, verdicts, known, later, refused, maxPerSlot)
	return true
}

// queueShare is the reason of requests that the cache refuses because their slot holds too much of its memory.
const queueShare = "queue-share"

// refuse settles an emission that is not accepted.
func (c *crawl) refuse(from emission, ctx *Context, no *refusal) {
	var r *Request
	if ctx != nil {
		r = ctx.Request
	}
	if no.err == nil {
		c.teller.settled(r, no.outcome, no.reason)
		c.ledger.refuse(1, no.outcome, no.reason)
		return
	}
	c.failedEmission(from, ctx, no)
}

func (c *crawl) depthOf(from emission) int {
	switch {
	case from.parent == nil && from.failed == nil:
		return 0
	case from.redirect:
		return from.parent.rec.Depth
	case from.failed != nil:
		return from.failed.rec.Depth
	}
	return from.parent.rec.Depth + 1
}

// record checks a request and makes its record; Data is in s and valid until s is reset.
func (c *crawl) record(s *scratch, from emission, ctx *Context) (rec Record, no *refusal) {
	if ctx == nil || ctx.Request == nil {
		return rec, &refusal{Failed, "accept", errNoRequest}
	}
	r := ctx.Request
	if r.err != nil {
		return rec, &refusal{Failed, "accept", r.err}
	}
	if r.Header == nil {
		r.Header = make(map[string]string)
	}
	host, no := c.checkURL(r)
	if no != nil {
		return rec, no
	}
	fingerprint, err := c.fingerprint(s, r)
	if err != nil {
		return rec, c.badFingerprint(r, err)
	}
	retry := from.failed != nil && c.isRetry(s, from.failed, r, fingerprint)
	rec.Depth = c.depthOf(from)
	switch {
	case retry:
		rec.Attempt = from.failed.rec.Attempt + 1
	case r.sameDepth && from.parent != nil:
		rec.Depth = from.parent.rec.Depth
	case from.failed != nil:
		rec.Depth++
	}
	r.Depth, r.Attempt = rec.Depth, rec.Attempt
	if no := c.scope(from, r, host); no != nil {
		return rec, no
	}
	if rec.Priority = r.Priority; retry {
		rec.Priority--
	}
	if retry && rec.Attempt >= c.limits.Attempts {
		return rec, refuse(GaveUp, fmt.Sprint(from.why))
	}
	rec.Key = fingerprint
	filtered := c.cfg.filter && !r.doNotFilter && !retry && (!from.redirect || r.chain.filtered)
	if filtered && c.veto != nil {
		if no := c.askVeto(r); no != nil {
			return rec, no
		}
	}
	if from.parent != nil {
		rec.Parent = from.parent.root().rec.Key
	}
	if !filtered {
		rec.Key = identity.Unfiltered(rec.Parent, fingerprint, c.countEmission(from, fingerprint))
	}
	rec.Slot = c.slotOf(r, host)
	if c.sched.exhausted(rec.Slot) {
		return rec, refuse(Filtered, pageBudget)
	}
	if !r.notBefore.IsZero() && r.notBefore.After(time.Now()) {
		rec.NotBefore = r.notBefore
	}
	start := len(s.data)
	s.data, rec.Live, err = c.codec.encode(s.data, ctx, ctx.CtxId != "")
	if err != nil {
		return rec, &refusal{Failed, "accept", err}
	}
	rec.Data = s.data[start:len(s.data):len(s.data)]
	if from.parent == nil && from.failed == nil {
		c.loopback.allow(r.Url)
	}
	return rec, nil
}

// fingerprint asks the duplicate filter who the request is.
func (c *crawl) fingerprint(s *scratch, r *Request) (Key, error) {
	if c.dupes != nil {
		if r.BodyReader != nil {
			if err := c.codec.readBody(r); err != nil {
				return Key{}, err
			}
		}
		return s.keyer.request(r)
	}
	var key Key
	stack, err := guard.Protect(func() error {
		sum, err := c.cfg.dupeFilter.Fingerprint(r)
		if err == nil && len(sum) == 0 {
			err = errNoFingerprint
		}
		if err == nil {
			key = identity.Sum(sum)
		}
		return err
	})
	if err != nil {
		err = &stackError{fmt.Errorf("fingerprint: %w", err), stack}
	}
	return key, err
}

// badFingerprint refuses a request that has no identity: its URL is to blame, or the user's filter.
func (c *crawl) badFingerprint(r *Request, err error) *refusal {
	var bad *RequestError
	switch {
	case c.dupes == nil:
		return &refusal{Failed, "accept", err}
	case errors.As(err, &bad) && bad.Field == "Url":
		return &refusal{Filtered, "url", err}
	case errors.As(err, &bad):
		return &refusal{Failed, "accept", err}
	}
	return &refusal{Filtered, "url", c.urlError(r, err)}
}

var errNoFingerprint = errors.New("the filter returned no bytes")

// askVeto asks a user's duplicate filter, whose word counts beside the cache's.
func (c *crawl) askVeto(r *Request) *refusal {
	var known bool
	stack, err := guard.Protect(func() (err error) {
		known, err = c.veto.DoDupeFilter(r)
		return err
	})
	switch {
	case err != nil:
		return &refusal{Failed, "accept", &stackError{err, stack}}
	case known:
		return refuse(Duplicate, "")
	}
	return nil
}

func (c *crawl) isRetry(s *scratch, failed *job, r *Request, fingerprint Key) bool {
	if failed.ctx == nil || failed.ctx.Request == nil {
		return false
	}
	if failed.ctx.Request == r {
		return true
	}
	own, err := c.fingerprint(s, failed.ctx.Request)
	return err == nil && own == fingerprint
}

func (c *crawl) countEmission(from emission, fingerprint Key) uint64 {
	if from.parent != nil {
		return from.parent.root().count(fingerprint)
	}
	return c.seeds.count(fingerprint)
}

func (c *crawl) slotOf(r *Request, host string) string {
	if r.slot != "" {
		return r.slot
	}
	if c.cfg.politeness.SlotBy == nil {
		return host
	}
	u, err := urlx.HTTP(r.Url)
	if err != nil {
		return host
	}
	slot := host
	stack, err := guard.Protect(func() error {
		slot = c.cfg.politeness.SlotBy(u)
		return nil
	})
	if err != nil && c.slotByPanicked.CompareAndSwap(false, true) {
		err := fmt.Errorf("Politeness.SlotBy of %s, which belongs to its host's slot now: %w", urlx.Redact(r.Url), err)
		c.handleOutside(&HandleError{Err: err, Request: r, Stage: StageAccept, Stack: stack})
	}
	return slot
}
