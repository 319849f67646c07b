package tegenaria

import (
	"context"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// scheduler decides which waiting request is downloaded next. It is the only place that waits for
// time. A request leaves the cache only when its slot is ready and a fetch worker is free, so nobody ever
// sleeps holding a worker (design law L6).
type scheduler struct {
	cache  CacheInterface
	ledger *ledger
	job    func(rec Record, grant *slots.Grant) *job // makes the job of a record
	held   *holders                                  // told when workers have nothing to do

	mu       sync.Mutex // guards what follows
	slots    *slots.Table
	free     int   // fetch workers that nobody has a claim on
	inline   int   // further ones, reserved for the lane: inline requests and the robots.txt they wait for
	pages    int64 // responses still allowed by Limits.Pages, less what is being downloaded
	limited  bool  // Limits.Pages is set
	paused   bool
	stopped  bool              // nothing new is taken from the queues
	waiting  int               // readers asleep
	wake     chan struct{}     // one token wakes one reader
	nextDue  time.Time         // earliest NotBefore in the due list, zero if none
	dueAdded time.Time         // earliest NotBefore added while the cache was asked
	jobs     map[string][]*job // jobs that have come back to their slots' queues
	asking   bool              // a reader is asking the cache for what is due
}

func newScheduler(cfg config, cache CacheInterface, l *ledger, limits Limits, held *holders) *scheduler {
	s := &scheduler{
		cache: cache, ledger: l, held: held,
		free: cfg.concurrency, inline: 2 * int(cfg.parseWorkers),
		pages: int64(limits.Pages), limited: limits.Pages > 0,
		wake: make(chan struct{}, 1), jobs: make(map[string][]*job),
	}
	s.slots = slots.New(func(name string) slots.Policy {
		delay, limit := cfg.politeness.policy(name)
		return slots.Policy{Delay: delay, Limit: limit}
	})
	return s
}

// signal wakes a sleeping reader. The caller holds mu.
func (s *scheduler) signal() {
	if s.waiting == 0 {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// take returns the next job to fetch, with its slot granted and a worker claimed; nil when there will be
// none any more because the crawl is finished or stopped, or ctx is done.
func (s *scheduler) take(ctx context.Context) (*job, error) {
	for {
		s.mu.Lock()
		now := time.Now()
		if s.isDue(now) {
			if err := s.moveDue(ctx, now); err != nil {
				return nil, err
			}
			continue
		}
		grant, claimed := s.acquire(now)
		if grant == nil && s.free > 0 && !s.held.hungry.Swap(true) {
			s.mu.Unlock()
			s.held.handOver()
			continue
		}
		if grant == nil {
			wait, ok := s.nextChange()
			s.waiting++
			s.mu.Unlock()
			more := s.sleep(ctx, wait, ok, now)
			s.mu.Lock()
			s.waiting--
			s.mu.Unlock()
			if !more {
				return nil, nil
			}
			continue
		}
		if s.held.hungry.Load() {
			s.held.hungry.Store(false)
		}
		s.signal() // there may be work for another reader
		if w, ok := grant.Waiter.(*waiter); ok {
			w.grant, w.claim = grant, claimed
			s.mu.Unlock()
			close(w.granted)
			continue
		}
		back := s.popBack(grant.Slot.Name())
		s.mu.Unlock()
		if back != nil {
			back.hand(grant, claimed)
			return back, nil
		}
		job, err := s.pop(ctx, grant)
		if job != nil || err != nil {
			return job, err
		}
	}
}

// acquire picks a ready slot for which there is a worker. The caller holds mu.
func (s *scheduler) acquire(now time.Time) (*slots.Grant, claim) {
	queue := !s.paused && !s.stopped && (!s.limited || s.pages > 0)
	switch {
	case s.free > 0:
		grant, ok := s.slots.Acquire(now, !queue)
		if !ok {
			return nil, claimNone
		}
		s.free--
		if grant.Waiter == nil {
			s.pages--
		}
		return grant, claimFree
	case s.inline > 0:
		grant, ok := s.slots.Acquire(now, true)
		if !ok {
			return nil, claimNone
		}
		s.inline--
		return grant, claimInline
	}
	return nil, claimNone
}

// nextChange tells when time alone will change the answer of acquire. The caller holds mu.
func (s *scheduler) nextChange() (time.Time, bool) {
	var at time.Time
	ok := false
	if s.free > 0 || s.inline > 0 {
		at, ok = s.slots.Next()
	}
	if !s.nextDue.IsZero() && !s.stopped && !s.asking && (!ok || s.nextDue.Before(at)) {
		at, ok = s.nextDue, true
	}
	return at, ok
}

// sleep waits for a signal, the instant, the end of the crawl or ctx. False: nothing will come any more.
func (s *scheduler) sleep(ctx context.Context, until time.Time, timed bool, now time.Time) bool {
	var timeout <-chan time.Time
	if timed {
		timer := time.NewTimer(max(until.Sub(now), 0))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-s.wake:
		return true
	case <-timeout:
		return true
	case <-s.ledger.finished:
		return false
	case <-s.ledger.drained:
		return false
	case <-ctx.Done():
		return false
	}
}

// pop takes a slot's best record out of the cache and makes a job of it; nil if there was none.
func (s *scheduler) pop(ctx context.Context, grant *slots.Grant) (*job, error) {
	records, left, err := s.cache.Next(ctx, grant.Slot.Name(), 1)
	if err != nil || len(records) == 0 {
		s.mu.Lock()
		if err == nil {
			s.head(grant, left)
		}
		s.slots.Release(grant, time.Now())
		s.free++
		s.pages++
		s.mu.Unlock()
		return nil, err
	}
	s.mu.Lock()
	s.head(grant, left)
	s.mu.Unlock()
	s.ledger.take()
	j := s.job(records[0], grant)
	j.claim = claimFree
	return j, nil
}

// head tells the slots what a queue still holds: left in the cache, and what has come back to it. The caller
// holds mu.
func (s *scheduler) head(grant *slots.Grant, left SlotState) {
	priority, more := left.Priority, left.Pending > 0
	for _, j := range s.jobs[grant.Slot.Name()] {
		if !more || j.rec.Priority > priority {
			priority, more = j.rec.Priority, true
		}
	}
	s.slots.Head(grant, priority, more)
}

// isDue tells whether something in the due list is due and nobody moves it yet. The caller holds mu.
func (s *scheduler) isDue(now time.Time) bool {
	return !s.asking && !s.nextDue.IsZero() && !now.Before(s.nextDue)
}

// moveDue lets the cache move what has become due to the slots' queues. The caller holds mu, and has no more
// when it returns.
func (s *scheduler) moveDue(ctx context.Context, now time.Time) error {
	s.asking, s.dueAdded = true, time.Time{}
	s.mu.Unlock()
	moved, next, err := s.cache.Due(ctx, now)
	s.ledger.later(-int64(len(moved)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	s.nextDue = earlier(next, s.dueAdded)
	for _, slot := range moved {
		s.slots.Add(slot.Name, slot.Priority)
	}
	return err
}

// earlier returns the earlier of two instants, where zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// added tells that the cache has accepted records; maxPerSlot is their
// RequestWithMaxConnsPerHost, if any.
func (s *scheduler) added(records []Record, verdicts []Verdict, maxPerSlot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range records {
		rec := &records[i]
		switch verdicts[i] {
		case VerdictLater:
			s.nextDue = earlier(s.nextDue, rec.NotBefore)
			s.dueAdded = earlier(s.dueAdded, rec.NotBefore)
		case VerdictNew:
			s.slots.Add(rec.Slot, rec.Priority)
		}
		if maxPerSlot > 0 {
			s.slots.Cap(rec.Slot, maxPerSlot)
		}
	}
	s.signal()
}

// restore takes over a slot that a durable cache holds.
func (s *scheduler) restore(slot SlotState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slot.Pending > 0 {
		s.slots.AddMany(slot.Name, slot.Priority, slot.Pending)
	}
	if !slot.NextAllowed.IsZero() {
		s.slots.Block(slot.Name, time.Now(), slot.NextAllowed)
	}
}

// started stamps the job's slot: its download begins now.
func (s *scheduler) started(grant *slots.Grant) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.slots.Started(grant, now)
	s.signal()
	return now
}

// release gives the grant back: the slot has one less in flight.
func (s *scheduler) release(grant *slots.Grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slots.Release(grant, time.Now())
	s.signal()
}

// giveBack returns a slot, unless nil, and the claim to a fetch worker. unused tells that a job of the
// queue brought no response: Limits.Pages has room for another.
func (s *scheduler) giveBack(grant *slots.Grant, c claim, unused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if grant != nil {
		s.slots.Release(grant, time.Now())
	}
	switch c {
	case claimFree:
		s.free++
	case claimInline:
		s.inline++
	}
	if unused {
		s.pages++
	}
	s.signal()
}

// lookAtDue makes the readers ask the cache what is due.
func (s *scheduler) lookAtDue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextDue = time.Now()
}

// state returns what a durable cache has to remember of a slot.
func (s *scheduler) state(name string) (SlotState, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state, ok := s.slots.Lookup(name)
	return SlotState{Name: name, NextAllowed: state.Next}, ok && !state.Next.IsZero()
}
