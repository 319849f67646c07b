package tegenaria

import (
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// claim is the right to one fetch worker, and where it goes back to.
type claim uint8

const (
	claimNone claim = iota
	claimFree
	claimInline
)

// waiter is an inline request that asked for one very slot.
type waiter struct {
	granted chan struct{} // closed by the worker that served it
	grant   *slots.Grant
	claim   claim
	ask     *slots.Waiter
}

// ask puts a waiter in line for a slot, parked out of it or not.
func (s *scheduler) ask(slot string, w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.ask = s.slots.Ask(slot, w)
	s.signal()
}

// setDelay sets the delay that user code asks for in a slot. started is when the download of the asking job
// began: a slot that had no delay and no more work does not know.
func (s *scheduler) setDelay(slot string, d time.Duration, started time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots.SetDelay(slot, slots.Asked, s.now(), d)
	if !started.IsZero() && d > 0 {
		s.slots.Block(slot, s.now(), started.Add(d))
	}
	s.signal()
}

// robotsDelay sets the delay that robots.txt asks for in a slot, of which so much counts as Politeness.MaxCrawlDelay
// says; 0 takes it back.
func (s *scheduler) robotsDelay(slot string, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d = min(d, s.maxCrawlDelay)
	s.slots.SetDelay(slot, slots.Robots, s.now(), d)
	state, _ := s.slots.Lookup(slot)
	s.blocks.addDelay(slot, BlockCrawlDelay, d, longBlock+1, s.now(), state.Next)
	s.keep(slot)
}

// pause holds back or lets go what waits in the queues.
func (s *scheduler) pause(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = on
	s.recall()
	s.signal()
}

// stop ends the taking from the queues for good, and returns the jobs that had come back to them to the
// caller.
func (s *scheduler) stop() []*job {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	var left []*job
	for _, jobs := range s.jobs {
		left = append(left, jobs...)
	}
	clear(s.jobs)
	s.returned.Store(0)
	left = append(left, s.stopSuspects()...)
	s.signal()
	return left
}

// comeBack puts a job back into its slot's queue, ahead of what the cache holds; it is taken
// again. In a stopping crawl it is done.
func (s *scheduler) comeBack(j *job) {
	j.crawl.pauseFlight(j)
	s.mu.Lock()
	waits := s.requeue(j)
	s.mu.Unlock()
	if !waits {
		j.done()
	}
}

// requeue puts a job into its slot's queue, or a suspect in its line. It returns false if the crawl stops. The caller holds mu.
func (s *scheduler) requeue(j *job) bool {
	switch {
	case s.stopped:
		return false
	case j.suspect != nil:
		return s.lineUp(j)
	}
	s.jobs[j.rec.Slot] = append(s.jobs[j.rec.Slot], j)
	s.returned.Add(1)
	s.slots.Add(j.rec.Slot, j.rec.Priority, 1)
	s.signal()
	return true
}

// popBack takes a job that has come back out of a slot's queue, nil if there is none. The caller holds mu.
func (s *scheduler) popBack(slot string) *job {
	jobs := s.jobs[slot]
	if len(jobs) == 0 {
		return nil
	}
	s.returned.Add(-1)
	if len(jobs) == 1 {
		delete(s.jobs, slot)
	} else {
		s.jobs[slot] = jobs[1:]
	}
	return jobs[0]
}

// park keeps the slot of a job that waits from being served until it is unparked.
func (s *scheduler) park(j *job) {
	j.crawl.pauseFlight(j)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots.Park(j.rec.Slot)
	s.suspects.parked++
}

func (s *scheduler) unpark(slot string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots.Unpark(slot)
	s.suspects.parked--
	s.signal()
}

// block lets nothing of a slot start before that instant.
func (s *scheduler) block(slot string, until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots.Block(slot, s.now(), until)
	s.blocks.add(slot, BlockRobots, s.now(), until) // it is robots.txt that waits
}

// delayed reports whether a granted slot that has just been used has to wait for its next turn: it has a delay, or was
// blocked meanwhile.
func (s *scheduler) delayed(grant *slots.Grant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return grant != nil && (grant.Slot.Delay() > 0 || !s.slots.Startable(grant, s.now()))
}

// startable reports whether the work of a grant may start now; there is none where user code has given it up.
func (s *scheduler) startable(grant *slots.Grant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return grant == nil || s.slots.Startable(grant, s.now())
}

// withdraw takes a waiter out of the line again, or gives back what it was granted meanwhile.
func (s *scheduler) withdraw(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slots.Withdraw(w.ask) || w.grant == nil {
		return
	}
	s.slots.Release(w.grant)
	switch w.claim {
	case claimFree:
		s.free++
	case claimInline:
		s.inline++
	}
	s.signal()
}

// giveBack returns a slot, unless nil, and the claim to a fetch worker. unused tells that a job of the
// queue brought no response: Limits.Pages has room for another.
func (s *scheduler) giveBack(grant *slots.Grant, c claim, unused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBackLocked(grant, c, unused)
}

func (s *scheduler) giveBackLocked(grant *slots.Grant, c claim, unused bool) {
	if grant != nil {
		s.slots.Release(grant)
	}
	switch c {
	case claimFree:
		s.free++
	case claimInline:
		s.inline++
	}
	if unused {
		s.pages++
		s.recall()
	}
	s.signal()
}
