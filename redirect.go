package tegenaria

import (
	"maps"
	"slices"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// follow looks at a response that passed the middlewares: a redirect ends the request and puts its
// target in its place, a status that is not allowed is a failure, anything else is the parser's.
//
// The job may end by that: a target that is refused goes to the ErrorHandlers, which may be given up.
func (f *fetcher) follow(j *job) (herr *HandleError, way next) {
	if !isRedirect(j.ctx.Request, j.ctx.Response()) {
		return f.checkStatus(j), goesOn
	}
	if !j.run(f.watch, StageRedirect, func() { herr = f.redirect(j) }) {
		return nil, ends
	}
	return herr, goesOn
}

// checkStatus makes a failure of a status that neither request nor engine allows.
func (f *fetcher) checkStatus(j *job) *HandleError {
	r, resp := j.ctx.Request, j.ctx.Response()
	if resp.Status < 0 {
		return j.failure(StageStatus, &UnexpectedStatusError{Status: resp.Status, URL: resp.URL}, nil)
	}
	allowed := f.cfg.allowStatus
	if len(r.extras().allowStatus) > 0 {
		allowed = append(slices.Clip(allowed), r.extras().allowStatus...)
	}
	d := j.downloader
	if d == nil { // a middleware answered
		var err error
		if d, err = f.downloaders.pick(r.extras().downloader); err != nil {
			return j.failure(StageStatus, err, nil)
		}
	}
	ok := false
	if stack, err := guard.Protect(func() error { ok = d.CheckStatus(uint64(resp.Status), allowed); return nil }); err != nil {
		return j.failure(StageStatus, err, stack)
	}
	if !ok {
		return j.failure(StageStatus, &StatusError{Status: resp.Status, URL: resp.URL}, nil)
	}
	return nil
}

// isRedirect reports whether a response asks to be followed and the request allows it (RFC 9110 §15.4).
func isRedirect(r *Request, resp *Response) bool {
	return r.follows() && fetch.IsRedirect(resp.Status, resp.Header)
}

// redirect ends the job as redirected and accepts the target as a new request.
func (f *fetcher) redirect(j *job) *HandleError {
	next, again, err := f.redirectTarget(j)
	if err != nil {
		return j.failure(StageRedirect, err, nil)
	}
	ctx := j.ctx.resent()
	ctx.Request = next
	f.report.leadsOn(j) // a failure of the target names it
	f.acceptor.accept(emission{parent: j, by: &j.call, redirect: true, again: again}, ctx)
	if !j.call.GivenUp() {
		j.decide(Redirected, "")
	}
	return nil
}

// redirectTarget makes the request that a redirect asks for. It inherits parser, Meta and the chain;
// credentials do not cross origins. again is true if the chain has asked for the same page before.
func (f *fetcher) redirectTarget(j *job) (next *Request, again bool, err error) {
	r, resp := j.ctx.Request, j.ctx.Response()
	if len(r.Redirects) >= r.MaxRedirects {
		return nil, false, &TooManyRedirectsError{URL: r.Url, Limit: r.MaxRedirects}
	}
	asked := urlx.MergeParams(r.Url, r.Params)
	location := fetch.LocationURL(fetch.FirstHeader(resp.Header, "Location"))
	target, err := urlx.Resolve(asked, location)
	if err != nil {
		return nil, false, &RequestError{URL: location, Field: "Location", Err: urlx.Cause(err)}
	}
	target, _ = urlx.CutFragment(target)

	copied := *r
	next = &copied
	next.Url, next.Params = target, nil
	next.newExtras().err = nil
	next.Priority += 2
	next.Header, next.Cookies, next.Meta = maps.Clone(r.Header), maps.Clone(r.Cookies), maps.Clone(r.Meta)
	next.Redirects = append(slices.Clone(r.Redirects), r.Url)
	if fetch.BecomesGet(r.method(), resp.Status) {
		next.Method, next.Body, next.BodyReader = GET, nil, nil
		fetch.DropContent(next.Header)
	}
	if urlx.Origin(asked) != urlx.Origin(target) {
		next.Cookies = nil
		fetch.DropCredentials(next.Header, f.cfg.secretHeaders)
	}
	again, err = f.extendChain(j, asked, next)
	return next, again, err
}

// extendChain keeps what a chain of redirects has asked for, so that a loop is seen: what is sent for the third time, unless a
// hop has set a cookie. asked is the URL that j was sent to. again is true if the chain has asked for the page of the target
// before, maybe by another spelling of its URL: such a target is no duplicate.
func (f *fetcher) extendChain(j *job, asked string, next *Request) (again bool, err error) {
	r := j.ctx.Request
	s := f.acceptor.scratch.Get().(*scratch)
	defer f.acceptor.scratch.Put(s)
	own, err := f.acceptor.dupes.key(s.keyer, r)
	if err != nil {
		return false, err
	}
	chain := &next.newExtras().chain
	if len(next.Redirects) == 1 {
		chain.Filtered = f.cfg.filter && !next.doNotFilter && r.method() == GET && j.rec.Key == own
	}
	keys := &s.keyer.keys
	*chain = chain.Hop(own, keys.Sent(r.method(), asked, r.Body), fetch.FirstHeader(j.ctx.Response().Header, "Set-Cookie") != "")
	if chain.Loops(keys.Sent(next.method(), next.Url, next.Body)) {
		return false, &RedirectLoopError{URL: next.Url}
	}
	target, err := f.acceptor.dupes.key(s.keyer, next)
	return err == nil && chain.Has(target), nil // the acceptor reports an error of the target
}
