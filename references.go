package tegenaria

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// references are the plain references of a page that are held back. They are resolved and identified at once, before
// any object exists, and the cache is asked about many of them together: a lock for each would cost more than all the
// rest. None is held back while a worker has nothing to download.
type references struct {
	job     *job       // that has the page
	mu      sync.Mutex // guards the fields below
	scratch *scratch   // with those that are held back; nil if there are none
}

// handOverPages has all pages hand over the references they hold back. The frontier calls it when a worker
// has nothing to do. References that come after that, and which this call does not find, see that the frontier is hungry, and
// are handed over by keep.
func (a *acceptor) handOverPages() {
	a.watch.Each(pagePool, func(call *guard.Call) { call.Owner.(sink).handOver() })
}

// handOverPage gives the cache references that are held back.
func (a *acceptor) handOverPage(refs *references) {
	refs.mu.Lock()
	defer refs.mu.Unlock()
	a.storePlain(refs)
}

// follow accepts a plain reference of a page. It returns false if the page takes none any more.
func (a *acceptor) follow(refs *references, resp *Response, ref string, closed *atomic.Bool) bool {
	refs.mu.Lock()
	defer refs.mu.Unlock()
	if closed.Load() || refs.job.call.GivenUp() || a.stop.work.Err() != nil {
		return false
	}
	s := a.hold(refs)
	if s.page != resp {
		base, err := resp.base()
		if err != nil {
			a.refuseRef(ref, "url")
			return true
		}
		s.page, s.base = resp, base
	}
	var err error
	if s.url, err = s.base.Resolve(s.url[:0], ref); err != nil {
		a.refuseLink(ref, err)
		return true
	}
	a.addPlain(s, refs.job, s.url)
	return a.keep(refs)
}

// followURL accepts the URL of a link of a page, as follow does.
func (a *acceptor) followURL(refs *references, url []byte) bool {
	refs.mu.Lock()
	defer refs.mu.Unlock()
	a.addPlain(a.hold(refs), refs.job, url)
	return a.keep(refs)
}

// hold begins to hold references back. The caller holds refs.mu, as those of keep and storePlain do.
func (a *acceptor) hold(refs *references) *scratch {
	if refs.scratch == nil {
		refs.scratch = a.scratch.Get().(*scratch)
	}
	return refs.scratch
}

// keep decides whether the references held back may wait.
func (a *acceptor) keep(refs *references) bool {
	if len(refs.scratch.records) < maxBatch && !a.frontier.IsHungry() && !refs.job.call.Overdue() {
		return true
	}
	return a.storePlain(refs)
}

// storePlain hands the references held back to the cache. It returns false if the page takes none any more.
func (a *acceptor) storePlain(refs *references) bool {
	s := refs.scratch
	if s == nil {
		return true
	}
	refs.scratch = nil
	defer a.scratch.Put(s)
	defer s.reset()
	if len(s.records) == 0 {
		return true
	}
	from := emission{parent: refs.job}
	if !a.enter(from) {
		return false
	}
	defer a.leave(from)
	a.ledger.Discover(int64(len(s.records)))
	return a.store(from, s, 0, nil)
}

// addPlain puts a resolved URL into the batch, or settles it at once. It is accept for a GET request without
// anything else, when no user code has to see the request.
func (a *acceptor) addPlain(s *scratch, j *job, url []byte) {
	if i := bytes.IndexByte(url, '#'); i >= 0 {
		url = url[:i]
	}
	host := urlx.WithoutDot(urlx.PlainHost(url))
	depth := j.rec.Depth + 1
	slot, reason := j.slot(), ""
	switch {
	case host == nil:
		reason = "scheme"
	case len(url) > a.scope.limits.URLLength:
		reason = "url-length"
	default:
		if string(host) != slot {
			slot = a.hosts.Of(host)
		}
		switch {
		case !a.scope.domains.HasPlain(slot, url):
			reason = "offsite"
		case a.scope.limits.tooDeep(depth):
			reason = "depth"
		}
	}
	if reason != "" {
		if host != nil && a.linked {
			j.noteLink(s.keyer.keys.Resolved(url))
		}
		if host != nil && a.resends {
			j.noteSent(appendPlainSent(url), true)
		}
		a.ledger.Discover(1)
		a.ledger.Refuse(1, uint8(Filtered), reason)
		if host != nil && a.refusals.isOn() {
			s.refused = wire.AppendPlain(s.refused[:0], url)
			a.refusals.keep(j, s.keyer.keys.Resolved(url), s.refused, depth, refuse(Filtered, reason))
		}
		return
	}
	start := len(s.data)
	s.data = wire.AppendPlain(s.data, url)
	s.records = append(s.records, Record{})
	rec := &s.records[len(s.records)-1] // filled in place: a Record is large, and this is done for each link
	rec.Key, rec.Parent, rec.Slot, rec.Depth = s.keyer.keys.Resolved(url), j.root().rec.Key, slot, depth
	rec.Data = s.data[start:len(s.data):len(s.data)]
	if a.linked {
		j.noteLink(rec.Key)
	}
	if a.resends {
		j.noteSent(appendPlainSent(url), true)
	}
}

// refuseLink settles a reference that cannot be followed.
func (a *acceptor) refuseLink(ref string, err error) {
	reason := "url"
	switch {
	case errors.Is(err, page.ErrEmptyRef):
		reason = "empty"
	case errors.Is(err, errScheme):
		reason = "scheme"
	}
	a.refuseRef(ref, reason)
}

// refuseRef settles a reference that is not a URL to follow.
func (a *acceptor) refuseRef(ref, reason string) {
	a.ledger.Discover(1)
	if f := a.cfg.events.RequestSettled; f != nil {
		a.report.settled(&Request{Url: ref, Method: GET}, Filtered, reason)
	}
	a.ledger.Refuse(1, uint8(Filtered), reason)
}

// checkPlain reports whether links can be accepted without making a request of each: no user code sees or
// names them.
func (a *acceptor) checkPlain() bool {
	e := &a.cfg.events
	return len(a.scope.filters) == 0 && len(a.keepers) == 0 && a.dupes != nil && a.cfg.UniqueReq && a.cfg.Politeness.SlotBy == nil &&
		e.RequestAccepted == nil && e.RequestSettled == nil && !a.report.log.HasDebug()
}
