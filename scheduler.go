package tegenaria

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// scheduler decides which waiting request is downloaded next. It is the only place that waits for
// time. A request leaves the cache only when its slot is ready and a fetch worker is free, so nobody ever
// sleeps holding a worker (design law L6).
type scheduler struct {
	cache    CacheInterface
	ledger   *frontier.Ledger
	job      func(rec Record, grant *slots.Grant) *job // makes the job of a record
	now      func() time.Time                          // the crawl's
	hungry   *atomic.Bool                              // set while workers have nothing to do
	handOver func()                                    // asks for all that is held back
	suspect  func(j *job)                              // lines a suspect up that the cache has handed out
	keep     func(slot string)                         // has a durable cache remember the slot soon; it does not wait

	lead    chan struct{} // one token: who has it may wait for what comes next
	reading chan struct{} // one token for each worker that may read the cache; nil for any number

	throttled                                 bool // Politeness.AutoThrottle is set
	maxRetryAfter, maxCrawlDelay, maxThrottle time.Duration
	budgets                                   atomic.Bool // some slot has a page budget
	mu                                        *sync.Mutex // the ledger's; guards what follows
	slots                                     *slots.Table
	rules                                     *slotRules
	begun, reserved                           map[string]int // downloads in slots with a page budget; of these, those announced that have not begun
	free                                      int            // fetch workers that nobody has a claim on
	inline                                    int            // further ones, reserved for the lane: inline requests and the robots.txt they wait for
	pages                                     int64          // responses still allowed by Limits.Pages, less what is being downloaded
	limited                                   bool           // Limits.Pages is set
	paused                                    bool
	stopped                                   bool              // nothing new is taken from the queues
	asleep                                    bool              // the worker that leads waits for wake
	wake                                      chan struct{}     // one token wakes it
	nextDue                                   time.Time         // earliest NotBefore in the due list, zero if none
	dueAdded                                  time.Time         // earliest NotBefore added while the cache was asked
	returned                                  atomic.Int32      // the number of jobs; written with mu
	jobs                                      map[string][]*job // jobs that have come back to their slots' queues
	asking                                    bool              // a worker is asking the cache for what is due
	blocks                                    slotBlocks
	suspects                                  suspects
}

func newScheduler(cfg config, cache CacheInterface, l *frontier.Ledger, limits Limits, now func() time.Time) *scheduler {
	s := &scheduler{
		cache: cache, ledger: l, now: now, mu: &l.Mu,
		free: cfg.concurrency, inline: 2 * int(cfg.parseWorkers),
		pages: int64(limits.Pages), limited: limits.Pages > 0,
		lead: make(chan struct{}, 1), wake: make(chan struct{}, 1), jobs: make(map[string][]*job),
		suspects:      suspects{lined: make(map[*suspect]struct{})},
		maxRetryAfter: cmp.Or(cfg.politeness.MaxRetryAfter, defaultMaxRetryAfter),
		maxCrawlDelay: cmp.Or(cfg.politeness.MaxCrawlDelay, defaultMaxCrawlDelay),
		rules:         newSlotRules(cfg.politeness), begun: make(map[string]int), reserved: make(map[string]int),
	}
	s.lead <- struct{}{}
	if _, memory := cache.(*memoryCache); !memory { // which is no slower than this
		s.reading = make(chan struct{}, cfg.readers)
	}
	s.budgets.Store(s.rules.budgets())
	s.slots = slots.New(func(name string) slots.Policy { return s.rules.of(name).Policy })
	if throttle, on := cfg.politeness.throttle(); on {
		s.throttled, s.maxThrottle = true, throttle.Max
		s.slots.SetThrottle(throttle)
	}
	return s
}

// signal wakes the worker that waits. Called with mu held.
func (s *scheduler) signal() {
	if s.asleep {
		token(s.wake)
	}
}

// take returns the next job to fetch, with its slot granted and a worker claimed; nil when there will be
// none any more because the crawl is finished or stopped, or ctx is done. Workers call it for themselves. One of those
// that find nothing waits for what changes that, the others stand behind it.
func (s *scheduler) take(ctx context.Context) (*job, error) {
	if j, err := s.next(ctx, false); j != nil || err != nil {
		return j, err
	}
	<-s.lead
	defer func() { s.lead <- struct{}{} }()
	return s.next(ctx, true)
}

// next is take for a worker that leads the others, and may wait, or for one that does not: then nil tells that there
// is nothing at the moment.
func (s *scheduler) next(ctx context.Context, leads bool) (*job, error) {
	for {
		s.mu.Lock()
		now := s.now()
		if s.isDue() {
			if err := s.moveDue(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if j := s.runAlone(now); j != nil {
			s.fed()
			s.mu.Unlock()
			return j, nil
		}
		grant, claimed := s.acquire(now)
		if s.summon(grant, claimed) {
			s.mu.Unlock()
			continue
		}
		if grant == nil && !leads {
			s.mu.Unlock()
			return nil, nil
		}
		if grant == nil && s.free > 0 && !s.hungry.Swap(true) {
			s.mu.Unlock()
			s.handOver()
			continue
		}
		if grant == nil {
			wait, ok := s.nextChange()
			s.asleep = true
			s.mu.Unlock()
			more := s.sleep(ctx, wait, ok, now)
			s.mu.Lock()
			s.asleep = false
			s.mu.Unlock()
			if !more {
				return nil, nil
			}
			continue
		}
		s.fed()
		if w, ok := grant.Waiter.(*waiter); ok {
			w.grant, w.claim = grant, claimed
			s.mu.Unlock()
			close(w.granted)
			continue
		}
		back := s.popBack(grant.Slot.Name())
		if back == nil {
			s.ledger.TakeLocked()
		}
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

// fed notes that a worker has found something to do. The caller holds mu.
func (s *scheduler) fed() {
	if s.hungry.Load() {
		s.hungry.Store(false)
		s.signal() // this may have been the last one: then workers are hungry still
	}
}

// acquire picks a ready slot for which there is a worker. The caller holds mu.
func (s *scheduler) acquire(now time.Time) (*slots.Grant, claim) {
	queue := s.takes() && s.suspects.alone == nil
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

// takes reports whether requests are taken from the queues at all. The caller holds mu.
func (s *scheduler) takes() bool { return !s.paused && !s.stopped && (!s.limited || s.pages > 0) }

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
	if alone, waits := s.impatient(); waits && (!ok || alone.Before(at)) {
		at, ok = alone, true
	}
	return at, ok
}

// sleep waits for a signal, the instant, the end of the crawl or ctx. It returns false if nothing will come any more.
func (s *scheduler) sleep(ctx context.Context, until time.Time, timed bool, now time.Time) bool {
	var timeout <-chan time.Time
	if timed {
		timer := time.NewTimer(max(until.Sub(now), 0))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-s.wake:
	case <-timeout:
	case <-s.ledger.Finished():
		return false
	case <-s.ledger.Drained():
		return false
	case <-ctx.Done():
		return false
	}
	return true
}

// pop takes a slot's best record out of the cache and makes a job of it; nil if there was none.
func (s *scheduler) pop(ctx context.Context, grant *slots.Grant) (*job, error) {
	if s.reading != nil {
		s.reading <- struct{}{}
	}
	records, left, err := s.cache.Next(ctx, grant.Slot.Name(), 1)
	if s.reading != nil {
		<-s.reading
	}
	if err != nil || len(records) == 0 {
		s.mu.Lock()
		if err == nil {
			s.head(grant, left)
		}
		s.ledger.PutBackLocked()
		s.giveBackLocked(grant, claimFree, true)
		s.mu.Unlock()
		return nil, err
	}
	if records[0].Crashes > 0 {
		s.setAside(records[0], grant, left)
		return nil, nil
	}
	if s.returned.Load() > 0 || !grant.Agrees(left.Priority, left.Pending > 0) {
		s.mu.Lock()
		s.head(grant, left)
		s.mu.Unlock()
	}
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
	s.signal()
}

// accepted takes the verdicts on discovered records, with the counts of three; maxPerSlot is RequestWithMaxConnsPerHost.
func (s *scheduler) accepted(records []Record, verdicts []Verdict, known, later, refused int64, maxPerSlot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if later > 0 {
		s.ledger.LaterLocked(later)
	}
	if known > 0 {
		s.ledger.RefuseLocked(known, uint8(Duplicate), "")
	}
	if refused > 0 {
		s.ledger.RefuseLocked(refused, uint8(Filtered), queueShare)
	}
	if known < int64(len(records)) {
		s.addedLocked(records, verdicts, maxPerSlot)
	}
}

// added tells that records wait in the cache again.
func (s *scheduler) added(records []Record, verdicts []Verdict, maxPerSlot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.addedLocked(records, verdicts, maxPerSlot)
}

func (s *scheduler) addedLocked(records []Record, verdicts []Verdict, maxPerSlot int) {
	run, last := 0, 0 // so many in a row belong together
	for i := range records {
		rec := &records[i]
		switch verdicts[i] {
		case VerdictLater:
			s.nextDue = earlier(s.nextDue, rec.NotBefore)
			s.dueAdded = earlier(s.dueAdded, rec.NotBefore)
		case VerdictNew:
			if run > 0 && (rec.Slot != records[last].Slot || rec.Priority != records[last].Priority) {
				s.slots.Add(records[last].Slot, records[last].Priority, run)
				run = 0
			}
			run, last = run+1, i
		}
	}
	if run > 0 {
		s.slots.Add(records[last].Slot, records[last].Priority, run)
	}
	if maxPerSlot > 0 {
		for i := range records {
			s.slots.Cap(records[i].Slot, maxPerSlot)
		}
	}
	s.signal()
}

// start stamps the job's slot: its download begins now. It returns false if the slot does not let it any more.
func (s *scheduler) start(grant *slots.Grant) (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !s.slots.Startable(grant, now) {
		return now, false
	}
	s.slots.Started(grant, now)
	if grant.Slot.Delay() > 0 { // or else that changes nothing for who waits
		s.signal()
	}
	return now, true
}
