package httpcache

import (
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
	"github.com/tegenaria/tegenaria/httpcache/internal/store"
	"github.com/tegenaria/tegenaria/internal/fetch"

	"github.com/tegenaria/tegenaria"
)

// The policy RFC9111: package rfc9111 decides, and this file does what it says.

// decide says how a request is to be answered, and from which stored pages.
func (l *layer) decide(ctx *tegenaria.Context, key store.Key) (rfc9111.Decision, []*store.Entry) {
	var entries []*store.Entry
	if key.Method == http.MethodHead {
		key.Method = http.MethodGet
	}
	if key.Method == http.MethodGet { // nothing else is stored
		entries = l.store.Get(key)
	}
	return rfc9111.Decide(requestOf(ctx, key), rulesOf(entries), time.Now()), entries
}

// rulesOf are stored pages as the rules see them.
func rulesOf(entries []*store.Entry) []rfc9111.Entry {
	list := make([]rfc9111.Entry, len(entries))
	for i, e := range entries {
		list[i] = e.Entry
	}
	return list
}

// answerByStandard hands out a stored page if it is fresh, or may be handed out though it is stale.
func (l *layer) answerByStandard(ctx *tegenaria.Context) (*tegenaria.Response, error) {
	key := keyOf(ctx)
	for {
		d, entries := l.decide(ctx, key)
		state := tegenaria.CacheStale
		switch d.Action {
		case rfc9111.Serve:
			state = tegenaria.CacheHit
		case rfc9111.ServeStale, rfc9111.ServeWhileRevalidating:
		case rfc9111.Refuse:
			return nil, &NotStoredError{URL: key.URL, Method: key.Method, Folder: l.folder, OnlyIfCached: true}
		default:
			return nil, nil
		}
		resp, err := l.handOut(ctx, entries[d.Entry], d.Reply, state, nil)
		if resp != nil || err != nil {
			return resp, err
		} // the page was damaged, and is not stored any more
	}
}

// handOut makes a response of a stored page. came is what the site was asked for it; nil: it was not. It returns nil and no error if
// the body is not there any more.
func (l *layer) handOut(ctx *tegenaria.Context, e *store.Entry, r rfc9111.Reply, state tegenaria.CacheState,
	came *tegenaria.RequestResult) (*tegenaria.Response, error) {
	resp, err := l.respond(ctx, e, r)
	if resp == nil || err != nil {
		return nil, err
	}
	l.saved.Add(int64(resp.ContentLength))
	resp.SetCached(tegenaria.CacheStatus{State: state, Age: r.Age}, came)
	switch state {
	case tegenaria.CacheHit:
		l.hits.Add(1)
	case tegenaria.CacheRevalidated:
		l.revalidated.Add(1)
	case tegenaria.CacheStale:
		l.stale.Add(1)
	}
	return resp, nil
}

// takeByStandard does what follows from the answer of the site.
func (x *exchange) takeByStandard(came *tegenaria.RequestResult) {
	if resp := came.Response; resp == nil || came.Error != nil {
		x.discard()
		if came.Error != nil && x.ctx.Err() == nil && isOutage(came.Error) {
			if reply, ok := x.decision.Failed(time.Now()); ok {
				x.handOutStored(reply, tegenaria.CacheStale, came)
			}
		}
		return
	} else if resp.Transfer().Err != nil { // truncated or damaged
		x.discard()
		return
	}
	out := x.decision.Answered(x.response(came.Response))
	for _, url := range out.Invalidate {
		_ = x.layer.store.DeleteURL(url) // if it cannot be written, the pages are not handed out any more all the same
	}
	drop := make([]uint64, len(out.Drop))
	for i, n := range out.Drop {
		drop[i] = x.entries[n].ID
	}
	switch out.Change {
	case rfc9111.Again:
		x.discard()
		x.ctx.DownloadResult = x.askAgain(x.entries[x.decision.Entry])
		return
	case rfc9111.Store:
		x.store(out.Entry, came.Response, drop)
	case rfc9111.Update:
		e := *x.entries[x.decision.Entry]
		e.Entry = out.Entry
		x.layer.stage(x.ctx, staged{header: &e, status: e.Status})
	default:
		if len(drop) > 0 {
			_ = x.layer.store.Delete(x.entries[0].Key, drop...) // as above
		}
	}
	x.discard()
	if out.Reply != nil {
		state := tegenaria.CacheStale
		if came.Response.Status == http.StatusNotModified {
			state = tegenaria.CacheRevalidated
		}
		x.handOutStored(*out.Reply, state, came)
	}
}

// handOutStored puts the stored page in the place of what came. If it cannot be had, a 304 becomes a request without a condition, and
// everything else stays.
func (x *exchange) handOutStored(r rfc9111.Reply, state tegenaria.CacheState, came *tegenaria.RequestResult) {
	page, err := x.layer.handOut(x.ctx, x.entries[x.decision.Entry], r, state, came)
	switch {
	case err != nil:
		x.ctx.DownloadResult = x.failure(err)
	case page != nil:
		x.ctx.DownloadResult = &tegenaria.RequestResult{Response: page}
	case state == tegenaria.CacheRevalidated:
		x.ctx.DownloadResult = x.failure(x.damaged())
	}
}

// isOutage reports whether a failure is that of a site or of the way to it, for which a page may be handed out that is stale.
func isOutage(err error) bool {
	var lookup *net.DNSError
	var private *tegenaria.PrivateAddressError
	return !errors.As(err, &private) && (fetch.IsOverload(err) || errors.As(err, &lookup))
}
