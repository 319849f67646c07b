package tegenaria

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// maxCrashes is how often in a row the process may die while a request is in flight before the request is given up.
const maxCrashes = 3

// ProcessDiedError is the failure of a request that a durable job gives up because the process died each time it was in
// flight, the last times alone. It is logged and sent to ErrorChan and Events.Error when it is stored. ErrorMiddlewares and
// ErrorHandlers are not called: they may be what kills the process.
type ProcessDiedError struct {
	URL   string
	Times int // in a row
}

// Error says what to do.
func (e *ProcessDiedError) Error() string {
	return fmt.Sprintf("%s: %s is a dead letter now; look for what ends the process in its parser, its pipelines and the memory that it takes", e.reason(), urlx.Redact(e.URL))
}

// reason is the reason that the request is settled with.
func (e *ProcessDiedError) reason() string {
	return fmt.Sprintf("the process died %d times while it was in flight", e.Times)
}

// suspect is a request that was in flight when the process died. It stands in its slot's line and goes first when the slot
// is ready. Then nothing else is started until it has run, alone.
type suspect struct {
	job     *job
	ask     *slots.Waiter // nil: it does not stand in line
	grant   *slots.Grant  // of its slot, while it waits for what is in flight to end
	since   time.Time     // it has waited for that
	running bool
}

// suspects is the part of the scheduler that keeps suspects apart. The scheduler's mu guards it.
type suspects struct {
	lined  map[*suspect]struct{} // do not run
	alone  *suspect              // runs, or is the next to run
	held   []*suspect            // have lost their turn for the moment
	parked int                   // jobs that wait for a robots.txt
	beside int64                 // so many jobs were not over when patience was: the next suspect does not wait for them
}

// suspectPatience is how long a suspect waits for what is in flight. What takes longer, such as a parser that works for
// hours, stays beside it.
const suspectPatience = time.Minute

// suspectsLogged bounds how many suspects are named in the log.
const suspectsLogged = 50

// lineUp has a suspect stand in its slot's line. It returns false if the crawl stops. The caller holds mu.
func (s *scheduler) lineUp(j *job) bool {
	if s.stopped {
		return false
	}
	w := j.suspect
	if w == nil {
		w = &suspect{job: j}
		j.suspect = w
	}
	s.suspects.lined[w] = struct{}{}
	w.ask = s.slots.Ask(j.rec.Slot, w)
	if s.suspects.alone == w { // it ran, and has to wait once more
		s.leave(w)
	}
	s.signal()
	return true
}

// setAside lines up a suspect that came out of its queue with a grant.
func (s *scheduler) setAside(rec Record, grant *slots.Grant, left SlotState) {
	s.mu.Lock()
	s.head(grant, left)
	s.giveBackLocked(grant, claimFree, true)
	s.mu.Unlock()
	s.suspect(s.job(rec, nil))
}

// summon makes the suspect that a grant is for the next one to run, unless there is one already: then it loses its turn.
// It returns false if the grant is not for a suspect. The caller holds mu.
func (s *scheduler) summon(grant *slots.Grant, claimed claim) bool {
	if grant == nil {
		return false
	}
	w, ok := grant.Waiter.(*suspect)
	if !ok {
		return false
	}
	w.ask = nil
	if claimed == claimFree {
		s.free++
	} else {
		s.inline++
	}
	if s.suspects.alone != nil || !s.takes() {
		s.slots.Release(grant)
		s.suspects.held = append(s.suspects.held, w)
		return true
	}
	w.grant, w.since, w.running = grant, s.now(), false
	s.suspects.alone = w
	s.ledger.WatchLocked(s.signal)
	return true
}

// runAlone returns the suspect whose turn it is once nothing else is in flight, nil before. The caller holds mu.
func (s *scheduler) runAlone(now time.Time) *job {
	w := s.suspects.alone
	if w == nil || w.running || s.free == 0 || !s.takes() {
		return nil
	}
	others := s.ledger.InFlightLocked() - int64(s.returned.Load()) - int64(s.suspects.parked) - int64(len(s.suspects.lined))
	if others > s.suspects.beside && now.Before(w.since.Add(suspectPatience)) {
		return nil
	}
	s.suspects.beside = others
	w.running = true
	delete(s.suspects.lined, w)
	s.free--
	s.pages--
	s.ledger.WatchLocked(nil)
	w.job.hand(w.grant, claimFree)
	w.grant = nil
	return w.job
}

// impatient returns when the next suspect runs whatever else is in flight. The caller holds mu.
func (s *scheduler) impatient() (at time.Time, ok bool) {
	w := s.suspects.alone
	if w == nil || w.running || s.free == 0 || !s.takes() {
		return at, false
	}
	return w.since.Add(suspectPatience), true
}

// leave lets others run again after a suspect. The caller holds mu.
func (s *scheduler) leave(w *suspect) {
	s.suspects.alone, w.running = nil, false
	s.recall()
}

// recall has the suspects that have lost their turn stand in line again. The caller holds mu.
func (s *scheduler) recall() {
	if len(s.suspects.held) == 0 || s.suspects.alone != nil || !s.takes() {
		return
	}
	held := s.suspects.held
	s.suspects.held = nil
	slices.SortStableFunc(held, func(a, b *suspect) int { return cmp.Compare(a.job.rec.Crashes, b.job.rec.Crashes) })
	for _, w := range held {
		w.ask = s.slots.Ask(w.job.rec.Slot, w)
	}
}

// stopSuspects ends the waiting of all suspects that do not run, and returns their jobs. The caller holds mu.
func (s *scheduler) stopSuspects() (left []*job) {
	for w := range s.suspects.lined {
		if w.ask != nil {
			s.slots.Withdraw(w.ask)
		}
		if w.grant != nil { // it is the next to run
			s.slots.Release(w.grant)
			s.suspects.alone = nil
			s.ledger.WatchLocked(nil)
		}
		w.ask, w.grant = nil, nil
		left = append(left, w.job)
	}
	clear(s.suspects.lined)
	s.suspects.held = nil
	return left
}

// through notes that a suspect got through.
func (s *scheduler) through(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.suspects.alone; w != nil && w.job.rec.Key == key {
		s.leave(w)
		s.signal()
	}
}

// beginFlight notes that network and user code see a job from now on.
func (c *crawl) beginFlight(j *job) {
	if c.flights != nil {
		j.flown = true
		c.recordFlight(&j.rec, FlightBegun)
	}
}

// pauseFlight notes that a job waits in line again.
func (c *crawl) pauseFlight(j *job) {
	if j.flown {
		j.flown = false
		c.recordFlight(&j.rec, FlightPaused)
	}
}

// endFlights notes that jobs got through: no user code sees them any more.
func (c *crawl) endFlights(list []ended) {
	if c.flights == nil {
		return
	}
	for i := range list {
		e := &list[i]
		if e.flown {
			c.recordFlight(&e.Record, FlightOver)
		}
		if e.Record.Crashes > 0 {
			c.sched.through(e.Record.Key)
		}
	}
}

// recordFlight tells the cache. A failure is logged once: the crawl can do without.
func (c *crawl) recordFlight(rec *Record, now Flight) {
	if err := c.flights.RecordFlight(rec, now); err != nil && !c.unrecorded.Swap(true) {
		c.teller.log.entry.Warnf("a request that kills the process will not be recognised: %v", err)
	}
}

// takeSuspects lines up what was in flight when the process died.
func (c *crawl) takeSuspects(state State) {
	if state.Unread != nil {
		c.teller.log.entry.Warn(state.Unread)
	}
	c.ledger.Resume(int64(len(state.Suspects)), 0)
	for i, rec := range state.Suspects {
		if i == suspectsLogged {
			c.teller.log.entry.Warnf("%d more requests were in flight when the process died", len(state.Suspects)-i)
		}
		c.sched.mu.Lock()
		c.ledger.TakeLocked()
		c.sched.mu.Unlock()
		c.suspect(c.newJob(rec, nil), i < suspectsLogged)
	}
}

// suspect lines a suspect up, or gives it up if it was the end of the process too often. The job is in flight.
func (c *crawl) suspect(j *job, tell bool) {
	request, err := j.rec.Request() // without the types of user code
	if err != nil {
		request = NewRequest("", GET, nil)
	}
	if tell && j.rec.Crashes < maxCrashes {
		c.teller.log.entry.WithField("url", urlx.Redact(request.Url)).WithField("crashes", j.rec.Crashes).
			Warn("the process died while this request was in flight: it runs alone")
	}
	if j.rec.Crashes >= maxCrashes {
		died := &ProcessDiedError{URL: request.Url, Times: j.rec.Crashes}
		j.ctx = &Context{Request: request, Ctx: context.Background(), CtxId: newID().text}
		j.died = &HandleError{CtxId: j.ctx.CtxId, Err: died, Request: request, Stage: StageOpen}
		j.decide(Failed, died.reason())
		j.done()
		return
	}
	c.sched.mu.Lock()
	ok := c.sched.lineUp(j)
	c.sched.mu.Unlock()
	if !ok {
		j.done()
	}
}
