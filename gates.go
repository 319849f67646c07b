package tegenaria

import (
	"context"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// gates are what requests wait in line for: their slots, and their addresses, proxies and downloaders where these have a
// limit.
type gates struct {
	politeness *Politeness
	frontier   *frontier.Frontier[*job]
	watch      *guard.Watch
	bodies     *fetch.Budget
	flights    *flights
	client     *httpDownloader // knows the addresses; nil: the default downloader is the user's
	capacities map[string]int  // of downloaders, by name
	done       func(j *job)    // of the settler, which is made later
	held       heldGates
	keepers    gatekeepers
	together   bool              // requests of a slot wait in one queue, whatever their gates: other programs have slots of the job
	listeners  []ReleaseListener // middlewares
}

// egressOf finds the gate that a job's request has to pass beside its slot: the address that it reaches, or the proxy
// that it goes through; the zero Gate for none. An address is looked up, which the download would do next.
func (g *gates) egressOf(j *job) slots.Gate {
	p, r := g.politeness, j.ctx.Request
	switch {
	case r.Proxy != nil:
		return slots.Gate{Name: "PerProxy of " + proxyHost(r.Proxy), Limit: p.PerProxy}
	case p.PerIP == 0 || g.client == nil || r.extras().Downloader != "":
		return slots.Gate{}
	}
	ctx, cancel := context.WithTimeout(j.ctx, r.timeoutOrDefault())
	defer cancel()
	wait := g.frontier.Waits(j, frontier.PlaceLookup)
	addr, ok := g.client.client.FirstAddr(ctx, r.Url)
	wait.Done()
	if ok {
		return slots.Gate{Name: "PerIP of " + addr.String(), Limit: p.PerIP, Stays: true}
	}
	return slots.Gate{} // the download will report the error
}

// enter lets a job pass its gates. It returns false if one is closed; then the job keeps its slot and worker, and has to
// wait in line again.
func (g *gates) enter(j *job) bool {
	limit := g.capacityOf(j)
	if limit == 0 {
		return g.enterEgress(j)
	}
	return g.enterAll(j, frontier.Gate{Gate: slots.Gate{Name: capacityGate(j.ctx.Request.extras().Downloader), Limit: limit}, Own: true})
}

// enterEgress is enter without the gate of the job's downloader, which the engine's own request for a robots.txt does
// not use.
func (g *gates) enterEgress(j *job) bool {
	return !g.hasEgress() && len(g.keepers) == 0 || g.enterAll(j)
}

// enterAll lets a job pass the gates that are given, that of its address or proxy, and that of a [Gatekeeper].
func (g *gates) enterAll(j *job, all ...frontier.Gate) bool {
	if !g.frontier.HasSlot(j) {
		return true
	}
	if g.hasEgress() {
		all = append(all, frontier.Gate{Gate: g.egressOf(j)})
	}
	if own, ok := g.ownGate(j); ok {
		all = append(all, own)
	}
	j.hold.Places = j.slot()
	for _, gate := range all {
		if gate.Name != "" && gate.Limit > 0 {
			j.hold.Places += fetch.Between + gate.Name
		}
	}
	return g.frontier.Enter(j, all...)
}

func (g *gates) hasEgress() bool { return g.politeness.PerIP > 0 || g.politeness.PerProxy > 0 }

// capacityOf returns how many downloads the job's downloader makes at once, 0 for no bound.
func (g *gates) capacityOf(j *job) int {
	if len(g.capacities) == 0 {
		return 0
	}
	return g.capacities[j.ctx.Request.extras().Downloader]
}

// capacityGate names the gate of the downloaders of that name, in the words of the log.
func capacityGate(name string) string {
	if name == "" {
		return "Capacity of the default downloader"
	}
	return fmt.Sprintf("Capacity of the downloader %q", name)
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

// lineUp has a job wait in line that may not start yet. One of the queue is put back: the error is errInLine. For an
// inline one its caller waits here, until it has its slot and a worker again.
func (g *gates) lineUp(j *job) error {
	if !j.isInline() {
		g.watch.Leave(&j.call)
		g.putBack(j)
		return errInLine
	}
	defer g.inLine(j)()
	if err := g.frontier.WaitAgain(j.ctx, j); err != nil {
		return j.failure(StageDownload, err)
	}
	return nil
}

// waitSlot has an inline request wait for its slot and a worker. A job of the queue comes with both.
func (g *gates) waitSlot(j *job) error {
	if !j.isInline() || g.frontier.HasSlot(j) {
		return nil
	}
	defer g.inLine(j)()
	if err := g.frontier.WaitSlot(j.ctx, j); err != nil {
		return j.failure(StageDownload, err)
	}
	return nil
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
	g.frontier.Park(j.slot())
	g.release(j)
}

// inLine notes that a job waits in line for its slot, until the func that it returns is called: downloads of the slot
// get the memory that they wait for, and the clocks of the code that waits for the job stop.
func (g *gates) inLine(j *job) (over func()) {
	served := g.bodies.Want(&j.hold)
	goesOn := g.watch.PauseCallers(&j.call)
	return func() {
		goesOn()
		served()
	}
}
