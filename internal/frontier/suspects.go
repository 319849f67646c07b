package frontier

import (
	"cmp"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// suspect is a request that was in flight when the process died. It stands in its slot's line and goes first when the slot
// is ready. Then nothing else is started until it has run, alone.
type suspect[J any] struct {
	job     J
	claim   *Claim[J]
	ask     *slots.Waiter // nil: it does not wait in line
	grant   *slots.Grant  // of its slot, while it waits for the end of the jobs in flight
	since   time.Time     // when that wait began
	running bool
}

// suspects keeps suspects apart from other jobs. The Frontier's mutex guards it.
type suspects[J any] struct {
	lined  map[*suspect[J]]struct{} // those that do not run
	alone  *suspect[J]              // the one that runs, or is the next to run
	held   []*suspect[J]            // those that have lost their turn for the moment
	parked int                      // jobs that wait for a robots.txt
	beside int64                    // jobs that took longer than suspectPatience: the next suspect does not wait for them
}

// suspectPatience is how long a suspect waits for the jobs in flight. A job that takes longer, such as a parser that works for
// hours, goes on beside it.
const suspectPatience = time.Minute

// LineUp has a suspect stand in its slot's line. It returns false if the crawl stops: the job is the caller's.
func (f *Frontier[J]) LineUp(j J) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lineUp(j)
}

// lineUp is LineUp. The caller holds mu.
func (f *Frontier[J]) lineUp(j J) bool {
	if f.stopped {
		return false
	}
	c := j.Claim()
	w := c.suspect
	if w == nil {
		w = &suspect[J]{job: j, claim: c}
		c.suspect = w
	}
	f.suspects.lined[w] = struct{}{}
	w.ask = f.slots.Ask(c.Slot(), w)
	if f.suspects.alone == w { // it ran, and has to wait once more
		f.endAlone()
	}
	f.signal()
	return true
}

// setAside lines up a suspect that came out of its queue with a grant.
func (f *Frontier[J]) setAside(j J, grant *slots.Grant, from worker, left Head) {
	f.mu.Lock()
	f.head(grant, left)
	f.release(grant, from, true)
	f.mu.Unlock()
	f.suspect(j)
}

// summon makes the suspect that a grant is for the next one to run, unless there is one already: then it loses its turn. While no
// fetch worker is free, the next one does not keep its slot: the jobs that have the workers may wait for pages of that slot. It
// returns false if the grant is not for a suspect. The caller holds mu.
func (f *Frontier[J]) summon(grant *slots.Grant, from worker) bool {
	if grant == nil {
		return false
	}
	w, ok := grant.Waiter.(*suspect[J])
	if !ok {
		return false
	}
	w.ask = nil
	f.free(from)
	next := f.suspects.alone == nil || f.suspects.alone == w
	switch {
	case !next || !f.takes():
		f.slots.Release(grant)
		f.suspects.held = append(f.suspects.held, w)
		if next {
			f.suspects.alone = nil
		}
		return true
	case from.kind != fetchWorker:
		f.slots.Release(grant)
		w.running = false
		f.suspects.alone = w
		return true
	}
	w.grant, w.since, w.running = grant, f.now(), false
	f.suspects.alone = w
	f.ledger.calmer = f.signal
	return true
}

// askAlone has the next suspect wait in line for its slot again, once there is a worker for it. The caller holds mu.
func (f *Frontier[J]) askAlone() {
	if w := f.suspects.alone; w != nil && !w.running && w.grant == nil && w.ask == nil {
		w.ask = f.slots.Ask(w.claim.Slot(), w)
	}
}

// runAlone returns the suspect whose turn it is once nothing else is in flight; false before. The caller holds mu.
func (f *Frontier[J]) runAlone(now time.Time) (j J, ok bool) {
	w := f.suspects.alone
	if w == nil || w.grant == nil || f.workers.free <= 0 || !f.takes() || !f.mayStart() {
		return j, false
	}
	others := f.ledger.inFlight - int64(f.requeued.count.Load()) - int64(f.suspects.parked) - int64(len(f.suspects.lined))
	if others > f.suspects.beside && now.Before(w.since.Add(suspectPatience)) {
		return j, false
	}
	f.suspects.beside = others
	w.running = true
	delete(f.suspects.lined, w)
	from := f.take(fetchWorker, w.claim.Slot(), now)
	f.workers.pages--
	f.ledger.calmer = nil
	w.claim.hold(w.grant, from)
	w.grant = nil
	return w.job, true
}

// impatient returns when the next suspect runs although other jobs are in flight. The caller holds mu.
func (f *Frontier[J]) impatient() (at time.Time, ok bool) {
	w := f.suspects.alone
	if w == nil || w.grant == nil || f.workers.free <= 0 || !f.takes() || !f.mayStart() {
		return at, false
	}
	return w.since.Add(suspectPatience), true
}

// endAlone lets others run again after the suspect that ran. The caller holds mu.
func (f *Frontier[J]) endAlone() {
	f.suspects.alone.running = false
	f.suspects.alone = nil
	f.recall()
}

// recall has the suspects that have lost their turn wait in line again. The caller holds mu.
func (f *Frontier[J]) recall() {
	if len(f.suspects.held) == 0 || f.suspects.alone != nil || !f.takes() {
		return
	}
	held := f.suspects.held
	f.suspects.held = nil
	slices.SortStableFunc(held, func(a, b *suspect[J]) int { return cmp.Compare(a.claim.Crashes, b.claim.Crashes) })
	for _, w := range held {
		w.ask = f.slots.Ask(w.claim.Slot(), w)
	}
}

// stopSuspects ends the waiting of all suspects that do not run, and returns their jobs. The caller holds mu.
func (f *Frontier[J]) stopSuspects() (left []J) {
	for w := range f.suspects.lined {
		if w.ask != nil {
			f.slots.Withdraw(w.ask)
		}
		if w.grant != nil {
			f.slots.Release(w.grant)
		}
		if f.suspects.alone == w { // it is the next to run
			f.suspects.alone, f.ledger.calmer = nil, nil
		}
		w.ask, w.grant = nil, nil
		left = append(left, w.job)
	}
	clear(f.suspects.lined)
	f.suspects.held = nil
	return left
}

// GotThrough notes that the suspect that runs is over, if is reports that it is meant; is must not call the Frontier.
func (f *Frontier[J]) GotThrough(is func(j J) bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w := f.suspects.alone; w != nil && is(w.job) {
		f.endAlone()
		f.signal()
	}
}
