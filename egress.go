package tegenaria

import (
	"context"
	"net/url"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// egress is the gate that a request has to pass beside its slot: the address that it reaches, or the proxy that it
// goes through.
type egress struct {
	name  string // "": none
	limit int
	stays bool // other requests of the slot will want the same
}

// egressOf finds the gate of a job's request. An address is looked up, which the download would do next.
func (f *fetcher) egressOf(j *job) egress {
	p, r := &f.crawl.cfg.politeness, j.ctx.Request
	switch {
	case r.Proxy != nil:
		return egress{"proxy " + proxyHost(r.Proxy), p.PerProxy, false}
	case p.PerIP == 0 || f.http == nil || r.downloader != "":
		return egress{}
	}
	ctx, cancel := context.WithTimeout(j.ctx, r.timeoutOrDefault())
	defer cancel()
	if addr, ok := f.http.client.FirstAddr(ctx, r.Url); ok {
		return egress{"address " + addr.String(), p.PerIP, true}
	}
	return egress{} // the download will say what is wrong with it
}

// proxyHost names a proxy without its credentials.
func proxyHost(p *Proxy) string {
	if u, err := url.Parse(p.ProxyUrl); err == nil && u.Host != "" {
		return u.Host
	}
	return "unknown"
}

// enterGate lets a job pass its gate. It returns false if the gate is closed; then the job keeps its slot and worker, and
// has to stand in line again.
func (f *fetcher) enterGate(j *job) bool {
	c := f.crawl
	if !f.gated {
		return true
	}
	grant := j.slot()
	if grant == nil {
		return true
	}
	e := f.egressOf(j)
	c.sched.mu.Lock()
	defer c.sched.mu.Unlock()
	return c.sched.slots.Enter(grant, e.name, e.limit, e.stays)
}

// standBack puts a job of the queue that may not start yet back into its slot's queue, without its worker. It comes
// again when slot and gate are open, and must not be touched any more.
func (f *fetcher) standBack(j *job) {
	j.open.Add(1)
	j.mu.Lock()
	grant, claim := j.grant, j.claim
	j.grant, j.claim = nil, claimNone
	j.mu.Unlock()
	if !f.crawl.sched.standBack(j, grant, claim) {
		j.done()
	}
}

// standBack is comeBack for a job that has its grant and claim yet: they are taken only when it is in the queue, since
// the table forgets a slot without work, and with it at which gate it waits. It returns false if the crawl stops.
func (s *scheduler) standBack(j *job, grant *slots.Grant, c claim) bool {
	j.crawl.pauseFlight(j)
	s.mu.Lock()
	defer s.mu.Unlock()
	waits := s.requeue(j)
	s.giveBackLocked(grant, c, c != claimNone)
	return waits
}

// waitGate is standBack for an inline request: it returns when it has its slot and a worker again.
func (f *fetcher) waitGate(j *job) error {
	c := f.crawl
	j.mu.Lock()
	grant, claim := j.grant, j.claim
	j.grant, j.claim = nil, claimNone
	j.mu.Unlock()
	return c.reader.standInLine(j, func(w *waiter) {
		c.sched.mu.Lock()
		defer c.sched.mu.Unlock()
		w.ask = c.sched.slots.Ask(j.rec.Slot, w)
		c.sched.giveBackLocked(grant, claim, false)
	})
}
