package tegenaria

// accept takes a request into the crawl: it is counted, filtered, identified and handed to the cache,
// which alone knows whether it is new. It never waits for another goroutine of the engine (design
// law L2).
func (c *crawl) accept(from emission, ctx *Context) {
	b := batch{crawl: c, from: from}
	b.add(ctx)
	b.store()
}

// maxBatch is how many requests the cache is asked about at a time.
const maxBatch = 64

// batch accepts requests of one sender together: a lock for each would cost more than all the rest.
type batch struct {
	crawl *crawl
	from  emission
	s     *scratch // nil while there is nothing to store
}

// add checks a request and keeps it until store, which a full batch calls by itself.
func (b *batch) add(ctx *Context) {
	c := b.crawl
	if b.s == nil {
		if !c.enter(b.from) {
			return
		}
		b.s = c.scratch.Get().(*scratch)
	}
	ctx = ctx.resent()
	rec, no := c.record(b.s, b.from, ctx)
	if no != nil {
		b.store() // what was sent before is accepted before
		if c.enter(b.from) {
			c.ledger.discover(1)
			c.refuse(b.from, ctx, no)
			c.leave(b.from)
		}
		return
	}
	b.s.records, b.s.sent = append(b.s.records, rec), append(b.s.sent, ctx)
	if len(b.s.records) == maxBatch || ctx.Request.maxConnsPerHost > 0 {
		b.store()
	}
}

// store hands the batch to the cache.
func (b *batch) store() {
	s, c := b.s, b.crawl
	if s == nil {
		return
	}
	b.s = nil
	defer c.leave(b.from)
	defer c.scratch.Put(s)
	defer s.reset()
	if len(s.records) == 0 {
		return
	}
	c.ledger.discover(int64(len(s.records)))
	c.store(b.from, s.records, s.sent[len(s.sent)-1].Request.maxConnsPerHost, func(verdicts []Verdict) {
		for i, verdict := range verdicts {
			switch f := c.cfg.events.RequestAccepted; {
			case verdict == VerdictKnown:
				c.teller.settled(s.sent[i].Request, Duplicate, "")
			case verdict == VerdictRefused:
				c.teller.settled(s.sent[i].Request, Filtered, queueShare)
			case f != nil:
				c.teller.event(func() { f(s.sent[i].Request) })
			}
		}
	})
}
