package frontier

import (
	"context"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// worker is the right to one fetch worker.
type worker struct {
	kind  workerKind
	place *place // what its time is counted in; nil for noWorker
}

// workerKind is where a worker goes when it is released.
type workerKind uint8

const (
	noWorker workerKind = iota
	fetchWorker
	inlineWorker
)

// Claim is a job's hold on a Frontier: its slot, its worker, its page of the slot's budget. The job holds it, fills in the
// exported fields before a Frontier sees it, and does not change them after that. The rest belongs to the Frontier.
type Claim[J any] struct {
	Queue    string // that it comes from: of its slot, or of a lane of it
	Priority int
	Crashes  int32 // how often in a row the process died while it was in flight
	Inline   bool  // it does not come from a queue: a callback waits for it

	// The Frontier's mutex guards the fields below. Small ones come first: of each job in hand there is one Claim.
	reserved bool         // a page of its slot's budget is kept for it
	over     bool         // it was settled: no download begins any more
	yield    slotYield    // of its slot
	grant    *slots.Grant // its slot, until the end of the download
	inside   *slots.Grant // that one, while it is counted in a gate after that; nil: it is not
	worker   worker
	place    *place      // of the worker that it was given last; belongs to the goroutine of the job
	suspect  *suspect[J] // its crashes have it run alone; nil: none
}

// Slot returns the name of the job's slot.
func (c *Claim[J]) Slot() string { return slots.Name(c.Queue) }

// hold gives a claim its slot and worker.
func (c *Claim[J]) hold(grant *slots.Grant, from worker) {
	c.grant, c.worker, c.place = grant, from, from.place
	c.yield.lose()
}

// drop takes slot and worker out of a claim.
func (c *Claim[J]) drop() (grant *slots.Grant, from worker) {
	grant, from = c.grant, c.worker
	c.yield.lose()
	c.grant, c.worker = nil, worker{}
	return grant, from
}

// HasReservation reports whether a page is kept for the job. The caller is the last one to have it in hand.
func (c *Claim[J]) HasReservation() bool { return c.reserved }

// waiter waits in line for one particular slot and a worker. What it is granted ends in give or release.
type waiter struct {
	granted chan struct{} // closed by the worker that served it
	grant   *slots.Grant
	worker  worker
	ask     *slots.Waiter
}

// wait returns nil when the waiter has its slot and a worker, or else the cause of ctx's end.
func (w *waiter) wait(ctx context.Context) error {
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask puts a waiter in line for a slot, or for the gate of a lane and its slot.
func (f *Frontier[J]) ask(queue string) *waiter {
	w := &waiter{granted: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	w.ask = f.slots.Ask(queue, w)
	f.signal()
	return w
}

// withdraw takes a waiter out of the line, or releases slot and worker if it was granted them meanwhile. The caller holds mu.
func (f *Frontier[J]) withdraw(w *waiter) {
	if !f.slots.Withdraw(w.ask) && w.grant != nil {
		f.release(w.grant, w.worker, false)
	}
}

// give gives a claim the slot and the worker that its waiter was granted. The worker is released unless the job is inline and
// has none. The caller holds mu.
func (f *Frontier[J]) give(c *Claim[J], w *waiter) {
	c.grant = w.grant
	if c.Inline && c.worker.kind == noWorker {
		c.worker, c.place = w.worker, w.worker.place
		return
	}
	f.release(nil, w.worker, false)
}

// WaitSlot has an inline job wait in line for its slot and a worker for inline requests, until it has both. The error is ctx's
// cause.
func (f *Frontier[J]) WaitSlot(ctx context.Context, j J) error {
	return f.stand(ctx, j, f.ask(j.Claim().Queue))
}

// Hold has a slot for a request of somebody else, who sends it: it returns when one could begin. done gives the slot back, and then its
// delay passes before the next start. A place for a worker is given for the wait: nobody of here has to end for it.
func (f *Frontier[J]) Hold(ctx context.Context, slot string) (done func(), err error) {
	f.mu.Lock()
	f.workers.inline++
	f.mu.Unlock()
	w := f.ask(slot)
	err = w.wait(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workers.inline--
	if err != nil {
		f.withdraw(w)
		return nil, err
	}
	f.release(nil, w.worker, false)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		state, _ := f.slots.Lookup(slot)
		f.slots.Block(slot, f.now(), f.now().Add(state.Delay))
		f.release(w.grant, worker{}, false)
	}, nil
}

// WaitAgain is WaitSlot for a job that has its slot and may not start: slot and worker are released once it is in line,
// since the slots forget one without work, and with it the gate that it waits at.
func (f *Frontier[J]) WaitAgain(ctx context.Context, j J) error {
	w := &waiter{granted: make(chan struct{})}
	f.mu.Lock()
	c := j.Claim()
	w.ask = f.slots.Ask(c.Queue, w)
	f.slots.Unshut(c.Queue) // it may keep what the others there wait for
	grant, from := c.drop()
	f.release(grant, from, false)
	f.mu.Unlock()
	return f.stand(ctx, j, w)
}

// stand waits until a waiter has slot and worker, and gives them to the job.
func (f *Frontier[J]) stand(ctx context.Context, j J, w *waiter) error {
	err := w.wait(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.withdraw(w)
		return err
	}
	c := j.Claim()
	c.yield.lose()
	f.give(c, w)
	return nil
}

// HasSlot reports whether a job holds its slot.
func (f *Frontier[J]) HasSlot(j J) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return j.Claim().grant != nil
}

// Start stamps a job's slot: its download begins now. It returns false if the slot or Config.MayStart does not let it any more. A job that
// holds no slot may start.
func (f *Frontier[J]) Start(j J) (time.Time, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now, grant := f.now(), j.Claim().grant
	if grant == nil {
		f.enter(j.Claim(), downloading, now, Phases{})
		return now, true
	}
	if !f.mayStart() || !f.slots.Startable(grant, now) {
		return now, false
	}
	f.enter(j.Claim(), downloading, now, Phases{})
	f.slots.Started(grant, now)
	if grant.Slot.Delay() > 0 { // or else that changes nothing for other requests
		f.signal()
	}
	return now, true
}

// Delayed stamps the slot of a job anew, whose download was started and has needed time before it begins. It returns
// when that is allowed, which is later if other downloads of the slot were started meanwhile.
func (f *Frontier[J]) Delayed(j J) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	if grant := j.Claim().grant; grant != nil {
		return f.slots.Delayed(grant, f.now())
	}
	return f.now()
}

// IsStartable reports whether a job's download may start now. A job that holds no slot may start: user code has given it
// up.
func (f *Frontier[J]) IsStartable(j J) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	grant := j.Claim().grant
	return grant == nil || f.mayStart() && f.slots.Startable(grant, f.now())
}

// IsDelayed reports whether a job's slot, which has just been used, has to wait for its next turn: it has a delay, or was
// blocked meanwhile.
func (f *Frontier[J]) IsDelayed(j J) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	grant := j.Claim().grant
	return grant != nil && (grant.Slot.Delay() > 0 || !f.slots.Startable(grant, f.now()))
}

// Gate is a gate that a job has to pass, which at most Limit jobs may be inside of.
type Gate struct {
	slots.Gate
	Own bool // of this program alone: Share does not divide its limit
}

// Enter lets a job that holds its slot pass all its gates. It returns false if one is closed: the job keeps slot and worker, and
// has to wait in line again.
func (f *Frontier[J]) Enter(j J, gates ...Gate) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	grant := j.Claim().grant
	if grant == nil {
		return true
	}
	into := make([]slots.Gate, len(gates))
	for i, g := range gates {
		if into[i] = g.Gate; g.Limit > 0 && !g.Own {
			into[i].Limit = max(g.Limit/max(f.sharing, 1), 1)
		}
	}
	return f.slots.Enter(grant, into...)
}

// Share divides the limits of gates that are not Own among so many programs from now on, at least 1 for each.
func (f *Frontier[J]) Share(programs int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sharing = programs
}

// Release releases slot and worker of a job, if it has them. unused says that it brought no response: Config.Pages has
// room for another.
func (f *Frontier[J]) Release(j J, unused bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := j.Claim()
	grant, from := c.drop()
	if f.leaveGate(c) || grant != nil || from.kind != noWorker {
		f.release(grant, from, unused && from.kind != noWorker)
	}
}

// LeaveGate lets others pass the gate that a job has kept after its download. Its worker stays.
func (f *Frontier[J]) LeaveGate(j J) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.leaveGate(j.Claim()) {
		f.signal()
	}
}

// leaveGate lets others pass the gate that a job has kept, and reports whether it was counted there after its download.
// The caller holds mu.
func (f *Frontier[J]) leaveGate(c *Claim[J]) bool {
	if c.inside == nil {
		return false
	}
	f.slots.Release(c.inside)
	c.inside = nil
	return true
}

// release releases a slot, unless nil, and a worker. The caller holds mu.
func (f *Frontier[J]) release(grant *slots.Grant, from worker, unused bool) {
	if grant != nil {
		f.slots.Release(grant)
	}
	f.free(from)
	if from.kind == fetchWorker {
		f.askAlone()
	}
	if unused {
		f.workers.pages++
		f.recall()
	}
	f.signal()
}

// take takes a worker that is free for the work of a slot. The caller holds mu.
func (f *Frontier[J]) take(kind workerKind, slot string, now time.Time) worker {
	f.places.tick(&f.workers, now)
	if kind == fetchWorker {
		f.workers.free--
	} else {
		f.workers.inline--
	}
	return worker{kind, f.places.begin(kind == inlineWorker, slot, now)}
}

// free adds a worker to those that it came from. The caller holds mu.
func (f *Frontier[J]) free(from worker) {
	if from.kind == noWorker {
		return
	}
	now := f.now()
	f.places.tick(&f.workers, now)
	f.places.end(from.place, now)
	if from.kind == fetchWorker {
		f.workers.free++
	} else {
		f.workers.inline++
	}
}
