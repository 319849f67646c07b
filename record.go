package tegenaria

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/wire"
)

func (a *acceptor) depthOf(from emission) int {
	switch {
	case from.parent == nil && from.failed == nil:
		return 0
	case from.redirect, from.inline:
		return from.parent.rec.Depth
	case from.failed != nil:
		return from.failed.depth
	}
	return from.parent.rec.Depth + 1
}

// identify returns the host and the fingerprint of a request, unless it is one that no crawl can send.
func (a *acceptor) identify(s *scratch, ctx *Context) (host string, fingerprint Key, no *refusal) {
	if err := prepare(ctx); err != nil {
		return "", Key{}, &refusal{Failed, "accept", err}
	}
	r := ctx.Request
	if host, no = a.checkURL(s, r); no != nil {
		return "", Key{}, no
	}
	fingerprint, err := a.dupes.key(s.keyer, r)
	if err != nil {
		return "", Key{}, a.dupes.refusal(r, err)
	}
	return host, fingerprint, nil
}

// record checks a request and makes its record. Data is in s and valid until s is reset, unless the request is inline:
// such a record has no Key, and its URL alone as Data.
func (a *acceptor) record(s *scratch, from emission, ctx *Context) (rec Record, no *refusal) {
	host, fingerprint, no := a.identify(s, ctx)
	if no != nil {
		if a.resends && from.parent != nil && no.reason != "scheme" {
			from.parent.noteSent(nil, false)
		}
		return rec, no
	}
	if a.resends && from.parent != nil && !from.inline {
		from.parent.noteSent(a.codec.appendSent(ctx))
	}
	if a.linked && from.parent != nil && !from.inline {
		defer func() {
			key := rec.Key
			if key == (Key{}) { // it was refused before it had one
				key = fingerprint
			}
			from.parent.noteLink(key)
		}()
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
	if from.inline && from.parent != nil && from.parent.ctx != nil {
		r.inherit(from.parent.ctx.Request)
	}
	if no := a.scope.check(from, r, host); no != nil {
		return rec, no
	}
	if rec.Priority = r.Priority; retry {
		rec.Priority--
	}
	if retry && rec.Attempt >= a.scope.limits.Attempts {
		return rec, refuse(GaveUp, fmt.Sprint(from.why))
	}
	if no := a.identity(&rec, from, r, fingerprint, retry); no != nil {
		return rec, no
	}
	rec.Slot = a.slotOf(r, host)
	if a.frontier.IsSpent(rec.Slot) {
		return rec, refuse(Filtered, pageBudget)
	}
	rec.Slot = a.keepers.queueOf(rec.Slot, r)
	if from.inline {
		if rec.Data = wire.AppendPlain(nil, []byte(r.Url)); r.ResponseWriter != nil {
			rec.Live = &liveParts{writer: r.ResponseWriter}
		}
		return rec, nil
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
	if from.parent == nil && from.failed == nil && !from.added {
		a.loopback.Allow(r.Url)
	}
	return rec, nil
}

// identity fills in the key and the parent of a record, unless the user's filter says that the request is a duplicate.
func (a *acceptor) identity(rec *Record, from emission, r *Request, fingerprint Key, retry bool) *refusal {
	filtered := !from.inline && a.cfg.UniqueReq && !r.doNotFilter && !retry &&
		(!from.redirect || r.extras().chain.Filtered && !from.again)
	if filtered {
		if no := a.dupes.veto(r); no != nil {
			no.reason = cmp.Or(no.reason, from.known())
			return no
		}
	}
	emitted := &a.seeds
	if from.parent != nil {
		root := from.parent.root()
		rec.Parent, emitted = root.rec.Key, &root.emitted
		r.parent = rec.parentPage()
	}
	switch {
	case from.inline:
	case filtered:
		rec.Key = fingerprint
	case from.added: // a run that resumes does not add it again, so that no count may give its key to another one
		rec.Key = identity.Unfiltered(Key(identity.NewID()), fingerprint, 0)
	default:
		rec.Key = identity.Unfiltered(rec.Parent, fingerprint, emitted.Count(fingerprint))
	}
	return nil
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

func (a *acceptor) slotOf(r *Request, host string) string {
	slot, err := a.cfg.Politeness.slotOf(r, host)
	if err != nil && a.slotByPanicked.CompareAndSwap(false, true) {
		err := fmt.Errorf("%s of %s, which belongs to its host's slot now: %w", remedy.SlotBy.Name(), urlx.Redact(r.Url), err)
		a.onError.outside(NewError("", err, ErrorWithRequest(r), ErrorWithStage(StageAccept)))
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
	if len(r.Url) > a.scope.limits.URLLength {
		return "", refuse(Filtered, "url-length")
	}
	return s.host, nil
}

// endsRun ends the run if a request was refused because of a mistake that all requests of its parser have. Its sender
// runs again when the job is resumed.
func (a *acceptor) endsRun(from emission, no *refusal) bool {
	wrong, isRequests := errors.AsType[*RequestError](no.err)
	isUnknown := a.codec.durable && isRequests && wrong.Field == "Parser"
	if !isUnknown && !isA[*UnnamedParserError](no.err) {
		return false
	}
	a.notTaken(from)
	a.stop.ending.Break(&RunError{Op: "wiring", Err: no.err})
	return true
}

// notTaken keeps the sender of requests that could not be taken from being settled.
func (a *acceptor) notTaken(from emission) {
	if from.parent != nil {
		from.parent.root().leaveUndecided()
	} else {
		a.stop.unsown.Store(true)
	}
}
