package tegenaria

import (
	"bytes"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// An Output resolves and identifies plain references at once, before any object exists, and asks the cache
// about many of them together: a lock for each would cost more than all the rest. It holds no reference back while a worker
// has nothing to download.

// handOver has all outputs hand over the references they hold back, because a worker has nothing to do.
func (a *acceptor) handOver() {
	a.handOverPages()
	a.hurry()
}

// handOverPages makes the outputs of all pages hand over the references they hold. References that they are given after
// hungry was set, and which this call does not find, they hand over themselves.
func (a *acceptor) handOverPages() {
	a.watch.Each(pageRow, func(call *guard.Call) {
		for o := call.Owner.(*job).outs.Load(); o != nil; o = o.older {
			o.handOver()
		}
	})
}

// hold begins to hold references back. The caller holds o.holding.
func (o *output) hold() *scratch {
	if o.held == nil {
		c := o.job.pages
		o.held = c.acceptor.scratch.Get().(*scratch)
		if !o.listed {
			o.listed = true
			o.list()
		}
	}
	return o.held
}

// list adds an output to the list in which handOverPages finds it.
func (o *output) list() {
	j := o.job
	for {
		o.older = j.outs.Load()
		if j.outs.CompareAndSwap(o.older, o) {
			return
		}
	}
}

// handOver gives the cache the references that are held back. It returns false if the page takes none any more.
func (o *output) handOver() bool {
	o.holding.Lock()
	defer o.holding.Unlock()
	return o.handOverLocked()
}

func (o *output) handOverLocked() bool {
	if o.held == nil {
		return true
	}
	c, s := o.job.pages, o.held
	o.held = nil
	defer c.acceptor.scratch.Put(s)
	defer s.reset()
	return c.acceptor.storePlain(s, o.job)
}

// keep decides whether the references held back may wait. The caller holds o.holding.
func (o *output) keep() bool {
	j := o.job
	if len(o.held.records) < maxBatch && !j.pages.acceptor.frontier.IsHungry() && !j.call.Overdue() {
		return true
	}
	return o.handOverLocked()
}

// holdRef accepts a plain reference of the page.
func (o *output) holdRef(ref string) (open bool) {
	o.holding.Lock()
	defer o.holding.Unlock()
	if o.over() {
		return false
	}
	c := o.job.pages
	if o.held == nil || o.base.IsZero() {
		base, err := o.ctx.Response().base()
		if err != nil {
			c.acceptor.refuseRef(ref, "url")
			return true
		}
		o.base = base
	}
	s := o.hold()
	var err error
	s.url, err = o.base.Resolve(s.url[:0], ref)
	if err != nil {
		o.refuse(ref, err)
		return true
	}
	c.acceptor.addPlain(s, o.job, s.url)
	return o.keep()
}

// holdLink accepts a link of the page, resolved.
func (o *output) holdLink(url []byte) bool {
	o.holding.Lock()
	defer o.holding.Unlock()
	o.job.pages.acceptor.addPlain(o.hold(), o.job, url)
	return o.keep()
}

// addPlain puts a resolved URL into the batch, or settles it at once. It is accept for a GET request without
// anything else, when no user code has to see the request.
func (a *acceptor) addPlain(s *scratch, j *job, url []byte) {
	if i := bytes.IndexByte(url, '#'); i >= 0 {
		url = url[:i]
	}
	host := urlx.WithoutDot(urlx.PlainHost(url))
	depth := j.rec.Depth + 1
	slot, reason := j.rec.Slot, ""
	switch {
	case host == nil:
		reason = "scheme"
	case len(url) > a.limits.URLLength:
		reason = "url-length"
	case a.limits.tooDeep(depth):
		reason = "depth"
	default:
		if string(host) != slot {
			slot = a.hosts.Of(host)
		}
		if !a.domains.HasPlain(slot, url) {
			reason = "offsite"
		}
	}
	if reason != "" {
		a.ledger.Discover(1)
		a.ledger.Refuse(1, uint8(Filtered), reason)
		if host != nil && a.keepsRefusals() {
			s.refused = wire.AppendPlain(s.refused[:0], url)
			a.keepRefusal(j, s.keyer.keys.Resolved(url), s.refused, depth, refuse(Filtered, reason))
		}
		return
	}
	start := len(s.data)
	s.data = wire.AppendPlain(s.data, url)
	s.records = append(s.records, Record{})
	rec := &s.records[len(s.records)-1] // filled in place: a Record is large, and this is done for each link
	rec.Key, rec.Parent, rec.Slot, rec.Depth = s.keyer.keys.Resolved(url), j.root().rec.Key, slot, depth
	rec.Data = s.data[start:len(s.data):len(s.data)]
}

// storePlain hands the batch to the cache.
func (a *acceptor) storePlain(s *scratch, j *job) bool {
	if len(s.records) == 0 {
		return true
	}
	from := emission{parent: j}
	if !a.enter(from) {
		return false
	}
	defer a.leave(from)
	a.ledger.Discover(int64(len(s.records)))
	return a.store(from, s, 0, nil)
}

// refuseRef settles a reference that is not a URL to follow.
func (a *acceptor) refuseRef(ref, reason string) {
	a.ledger.Discover(1)
	if f := a.cfg.events.RequestSettled; f != nil {
		a.teller.settled(&Request{Url: ref, Method: GET}, Filtered, reason)
	}
	a.ledger.Refuse(1, uint8(Filtered), reason)
}

// refuse settles an emission that is not accepted.
func (a *acceptor) refuse(from emission, ctx *Context, no *refusal) {
	var r *Request
	if ctx != nil {
		r = ctx.Request
	}
	if no.err == nil {
		if from.parent == nil && from.failed == nil {
			a.teller.seedRefused(r, no.outcome, no.reason)
		}
		a.teller.settled(r, no.outcome, no.reason)
		a.ledger.Refuse(1, uint8(no.outcome), no.reason)
		if r != nil && a.keepsRefusals() {
			s := a.scratch.Get().(*scratch)
			defer a.scratch.Put(s)
			if key, err := a.dupes.key(s.keyer, r); err == nil {
				a.keepRefusal(from.parent, key, wire.AppendPlain(nil, []byte(r.Url)), a.depthOf(from), no)
			}
		}
		return
	}
	a.refused(from, ctx, no)
}

// keepsRefusals reports whether the cache keeps requests that are refused.
func (a *acceptor) keepsRefusals() bool { return a.refusals != nil && !a.enough.Load() }

// keepRefusal has the cache keep a request that was refused. data is its encoding, parent the job that has sent it, nil for a seed.
func (a *acceptor) keepRefusal(parent *job, key Key, data []byte, depth int, no *refusal) {
	how := Settled{Record: Record{Key: key, Data: data, Depth: depth}, Outcome: no.outcome, Reason: no.reason, At: time.Now()}
	if parent != nil {
		how.Record.ParentSeq = parent.root().rec.Seq
	}
	if !a.refusals.RecordRefusal(how) {
		a.enough.Store(true)
	}
}

// checkPlain reports whether links can be accepted without making a request of each: no user code sees or
// names them.
func (a *acceptor) checkPlain() bool {
	e := &a.cfg.events
	return len(a.filters) == 0 && a.dupes != nil && a.cfg.filter && a.cfg.politeness.SlotBy == nil &&
		e.RequestAccepted == nil && e.RequestSettled == nil && !a.teller.log.HasDebug()
}

// maxBatch is how many requests the cache is asked about at a time.
const maxBatch = 64

// batch accepts requests of one sender together: a lock for each would cost more than all the rest.
type batch struct {
	acceptor *acceptor
	from     emission
	s        *scratch // nil while there is nothing to store
}

// add checks a request and keeps it until store, which a full batch calls by itself.
func (b *batch) add(ctx *Context) {
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
		b.store() // requests that were sent before are accepted before
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
	if len(b.s.records) == maxBatch || ctx.Request.extras().maxConnsPerHost > 0 {
		b.store()
	}
}

// store hands the batch to the cache.
func (b *batch) store() {
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
	a.store(b.from, s, s.sent[len(s.sent)-1].Request.extras().maxConnsPerHost, func(verdicts []Verdict) {
		for i, verdict := range verdicts {
			switch f := a.cfg.events.RequestAccepted; {
			case verdict == VerdictKnown:
				a.teller.settled(s.sent[i].Request, Duplicate, b.from.known())
			case verdict == VerdictRefused:
				a.teller.settled(s.sent[i].Request, Filtered, queueShare)
			case f != nil:
				a.teller.event(func() { f(s.sent[i].Request) })
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
		case VerdictRefused:
			refused++
			if a.keepsRefusals() {
				a.refusals.RecordRefusal(Settled{Record: *rec, Outcome: Filtered, Reason: queueShare, At: time.Now()})
			}
			a.teller.refusedBy(rec.Slot, a.limits.QueueBytes)
		}
	}
	s.runs = stored.Runs
	a.frontier.Accepted(stored,
		frontier.Refused{Number: known, Why: frontier.Reason{Outcome: uint8(Duplicate), Text: from.known()}},
		frontier.Refused{Number: refused, Why: frontier.Reason{Outcome: uint8(Filtered), Text: queueShare}})
}

// scratch is memory for accepting requests that the next ones use again.
type scratch struct {
	keyer   *keyer
	url     []byte
	site    string // where the URLs of the requests before begin, "" if not known, and their host
	host    string
	data    []byte // of all records
	refused []byte // the encoding of a request that is refused
	records []Record
	runs    []frontier.Run // where they wait
	sent    []*Context     // the Contexts of the records; empty if they were made of references
}

// reset makes room. Nothing it held stays reachable.
func (s *scratch) reset() {
	clear(s.records)
	clear(s.sent)
	clear(s.runs)
	s.site, s.host = "", ""
	s.records, s.sent, s.data = s.records[:0], s.sent[:0], s.data[:0]
	if cap(s.data) > 1<<20 {
		s.data = nil // one giant request shall not stay for ever
	}
}
