package tegenaria

import (
	"context"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
)

// gates are what requests wait in line for: their slots, and their addresses or proxies where these have a limit.
type gates struct {
	politeness *Politeness
	frontier   *frontier.Frontier[*job]
	watch      *guard.Watch
	bodies     *fetch.Budget
	flights    *flights
	client     *httpDownloader // knows the addresses; nil: the default downloader is the user's
	done       func(j *job)    // of the settler, which is made later
}

// egressOf finds the gate that a job's request has to pass beside its slot: the address that it reaches, or the proxy
// that it goes through; "" for none. stays: other requests of the slot will want the same. An address is looked up,
// which the download would do next.
func (g *gates) egressOf(j *job) (name string, limit int, stays bool) {
	p, r := g.politeness, j.ctx.Request
	switch {
	case r.Proxy != nil:
		return "proxy " + proxyHost(r.Proxy), p.PerProxy, false
	case p.PerIP == 0 || g.client == nil || r.extras().Downloader != "":
		return "", 0, false
	}
	ctx, cancel := context.WithTimeout(j.ctx, r.timeoutOrDefault())
	defer cancel()
	if addr, ok := g.client.client.FirstAddr(ctx, r.Url); ok {
		return "address " + addr.String(), p.PerIP, true
	}
	return "", 0, false // the download will report the error
}

// enter lets a job pass its gate. It returns false if the gate is closed; then the job keeps its slot and worker, and
// has to wait in line again.
func (g *gates) enter(j *job) bool {
	if g.politeness.PerIP <= 0 && g.politeness.PerProxy <= 0 || !g.frontier.HasSlot(j) {
		return true
	}
	name, limit, stays := g.egressOf(j)
	return g.frontier.Enter(j, name, limit, stays)
}

// putBack puts a job of the queue that may not start yet into its slot's queue, without its worker. It comes
// again when slot and gate are open, and must not be touched any more.
func (g *gates) putBack(j *job) {
	j.parts.Add()
	g.flights.pause(j)
	if !g.frontier.PutBack(j) {
		g.done(j)
	}
}

// waitAgain is putBack for an inline request: it returns when it has its slot and a worker again.
func (g *gates) waitAgain(j *job) error {
	defer g.inLine(j)()
	return g.frontier.WaitAgain(j.ctx, j)
}

// release releases what a job holds of the frontier: its slot and its worker.
func (g *gates) release(j *job) { g.frontier.Release(j, j.isUnused()) }

// requeue puts a job into its slot's queue, ahead of what the cache holds; it is taken again. In a stopping crawl it is
// done.
func (g *gates) requeue(j *job) {
	g.flights.pause(j)
	if !g.frontier.Requeue(j) {
		g.done(j)
	}
}

// park keeps a job whose robots.txt another job asks for: it holds no worker, and its slot is parked.
func (g *gates) park(j *job) {
	j.parts.Add()
	g.flights.pause(j)
	g.frontier.Park(j.rec.Slot)
	g.release(j)
}

// inLine notes that a job waits in line for its slot, until the func that it returns is called: downloads of the slot
// get the memory that they wait for, and the clocks of the code that waits for the job stop.
func (g *gates) inLine(j *job) (over func()) {
	served := g.bodies.Want(j.rec.Slot)
	goesOn := g.watch.PauseCallers(&j.call)
	return func() {
		goesOn()
		served()
	}
}
