package frontier

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// A Job is a request that a Frontier has handed out. J is the type itself, usually a pointer.
type Job[J any] interface {
	Claim() *Claim[J] // always the same one
}

// A Source stores the requests that wait. Its methods are called concurrently.
type Source[J any] interface {
	// Next takes the best request out of a queue, and returns the best of the rest; ok is false if there was none.
	Next(ctx context.Context, queue string) (j J, left Head, ok bool, err error)
	// Due moves requests whose time has come to their slots' queues, and names them. next is the earliest time of those
	// that are left, zero if there are none.
	Due(ctx context.Context, now time.Time) (moved []Moved, next time.Time, err error)
}

// Head is the best of the requests that wait in a slot's queue.
type Head struct {
	Priority int
	More     bool // false: nothing waits
}

// Moved is a request that has moved to the queue of its slot.
type Moved struct {
	Slot     string
	Priority int
}

// Config configures a Frontier. Source, Ledger, Rules, Now and the three funcs are needed.
type Config[J Job[J]] struct {
	Source Source[J]
	Ledger *Ledger
	Rules  *Rules
	Now    func() time.Time // of a clock that never jumps

	Fetchers int // downloads of requests from the queues at once; see SetFetchers
	Inline   int // further ones, of waiters alone: inline requests and the robots.txt they wait for
	Readers  int // workers that may ask the source for a request at once; 0: any number
	Pages    int // how many requests from the queues may begin that bring a response, as Limits.Pages says; 0: any number

	Throttle      *slots.Throttle // nil: no delay follows the latency
	MaxRetryAfter time.Duration   // the longest Retry-After that is honoured
	MaxCrawlDelay time.Duration   // the longest Crawl-delay that is honoured

	Short    func() PlaceCause // what holds memory up: PlaceMemory if nothing is known; nil: that. It must not wait
	AtWork   func() PlaceCause // what holds up more requests while nothing waits; nil: nothing that is known. It must not wait, or call the Frontier
	Between  PlaceCause        // what a job is in outside its download, as far as nothing else is known: PlaceEngine or PlaceMiddlewares
	MayStart func() bool       // whether any download may start at present; nil: always. It must not wait, or call the Frontier; see Wake
	HandOver func()            // asks for all requests that are held back; Take calls it, without locks
	Suspect  func(j J)         // is given a job with crashes that the source has handed out; Take calls it, without locks
	Keep     func(slot string) // has a durable cache remember the slot soon; it must not wait, or call the Frontier
}

// Frontier decides which waiting request is downloaded next. It is the only place that waits for
// time. A request leaves the source only when its slot is ready and a fetch worker is free, so no request
// holds a worker while it waits. Its methods may be called concurrently.
type Frontier[J Job[J]] struct {
	source   Source[J]
	ledger   *Ledger
	now      func() time.Time
	mayStart func() bool
	atWork   func() PlaceCause
	suspect  func(j J)
	keep     func(slot string)
	waking
	reading chan struct{} // one token for each worker that may ask the source; nil for any number

	throttle                     *slots.Throttle
	maxRetryAfter, maxCrawlDelay time.Duration

	mu       *sync.Mutex // the ledger's; guards the fields below
	slots    *slots.Table
	rules    *Rules
	budgets  budgets[J]
	workers  workers
	paused   bool
	sharing  int  // programs among which the limits of gates are divided; 0: there is this one alone
	stopped  bool // nothing new is taken from the queues
	due      dueList
	requeued requeued[J]
	blocks   blocks
	suspects suspects[J]
	places   places

	busiest, slowest lastRanking
}

// waking is how workers wait for something to do, and for each other.
type waking struct {
	handOver func()
	hungry   atomic.Bool   // set while workers have nothing to do; unset with mu
	lead     chan struct{} // one token: the worker that has it may wait for a change
	wake     chan struct{} // one token wakes it
	asleep   bool          // the worker that leads waits for wake; the Frontier's mutex guards it
}

// workers counts how many more jobs may be in hand.
type workers struct {
	all     int   // fetch workers
	free    int   // those that no job has a claim on; negative: jobs have more than all
	inline  int   // further ones, for waiters alone
	pages   int64 // responses still allowed, less the downloads under way
	limited bool  // they are counted
}

// New makes a Frontier in which nothing waits.
func New[J Job[J]](cfg Config[J]) *Frontier[J] {
	f := &Frontier[J]{
		source: cfg.Source, ledger: cfg.Ledger, now: cfg.Now, mayStart: cfg.MayStart, suspect: cfg.Suspect, keep: cfg.Keep,
		waking:   waking{handOver: cfg.HandOver, lead: make(chan struct{}, 1), wake: make(chan struct{}, 1)},
		throttle: cfg.Throttle, maxRetryAfter: cfg.MaxRetryAfter, maxCrawlDelay: cfg.MaxCrawlDelay,
		mu: &cfg.Ledger.mu, rules: cfg.Rules,
		slots:    slots.New(func(name string) slots.Policy { return cfg.Rules.of(name).Policy }),
		budgets:  budgets[J]{begun: make(map[string]int), reserved: make(map[string]int), short: make(map[string][]J)},
		workers:  workers{free: cfg.Fetchers, all: cfg.Fetchers, inline: cfg.Inline, pages: int64(cfg.Pages), limited: cfg.Pages > 0},
		requeued: requeued[J]{jobs: make(map[string][]J)},
		suspects: suspects[J]{lined: make(map[*suspect[J]]struct{})},
	}
	if f.mayStart == nil {
		f.mayStart = func() bool { return true }
	}
	f.atWork = cfg.AtWork
	f.places.between, f.places.short = cfg.Between, cfg.Short
	if f.places.short == nil {
		f.places.short = func() PlaceCause { return PlaceMemory }
	}
	f.lead <- struct{}{}
	if cfg.Readers > 0 {
		f.reading = make(chan struct{}, cfg.Readers)
	}
	f.budgets.some.Store(cfg.Rules.haveBudgets())
	if cfg.Throttle != nil {
		f.slots.SetThrottle(*cfg.Throttle)
	}
	return f
}

// IsHungry reports whether workers have nothing to do: downloads could begin if no request were held back.
func (w *waking) IsHungry() bool { return w.hungry.Load() }

// signal wakes the worker that waits. The caller holds mu.
func (w *waking) signal() {
	if w.asleep {
		select {
		case w.wake <- struct{}{}:
		default: // it will wake
		}
	}
}

// fed notes that a worker has found something to do. The caller holds mu.
func (w *waking) fed() {
	if w.hungry.Load() {
		w.hungry.Store(false)
		w.signal() // this may have been the last one: then workers are hungry still
	}
}

// Take returns the next job to fetch, which holds its slot and a worker; ok is false when there will be
// none any more because the crawl is finished or stopped, or ctx is done. The error is the source's. Workers call it for
// themselves. One idle worker waits for a change; the others queue behind it.
func (f *Frontier[J]) Take(ctx context.Context) (j J, ok bool, err error) {
	if j, ok, err = f.next(ctx, false); ok || err != nil {
		return j, ok, err
	}
	<-f.lead
	defer func() { f.lead <- struct{}{} }()
	return f.next(ctx, true)
}

// next is Take for a worker that leads the others and may wait, or for one that does not lead: then it returns false if there
// is nothing at the moment.
func (f *Frontier[J]) next(ctx context.Context, leads bool) (none J, ok bool, err error) {
	for {
		f.mu.Lock()
		now := f.now()
		if f.due.isDue() {
			if err := f.moveDue(ctx); err != nil {
				return none, false, err
			}
			continue
		}
		if j, ok := f.runAlone(now); ok {
			f.fed()
			f.mu.Unlock()
			return j, true, nil
		}
		grant, from := f.acquire(now)
		if f.summon(grant, from) {
			f.mu.Unlock()
			continue
		}
		if grant == nil {
			f.places.tick(&f.workers, now)
			if f.workers.free > 0 {
				f.places.free = f.whyFree()
			}
			if goesOn := f.wait(ctx, leads, now); !goesOn {
				return none, false, nil
			}
			continue
		}
		if f.reading != nil { // until somebody looks again, which may take as long as the source does
			f.places.free = freeFor{cause: PlaceStore}
		}
		f.fed()
		if w, ok := grant.Waiter.(*waiter); ok {
			w.grant, w.worker = grant, from
			f.mu.Unlock()
			close(w.granted)
			continue
		}
		j, again := f.takeRequeued(grant.Queue())
		if again {
			j.Claim().hold(grant, from)
		} else {
			f.ledger.take()
		}
		f.mu.Unlock()
		if !again {
			j, ok, err = f.pop(ctx, grant, from)
		}
		if again || ok || err != nil {
			return j, again || ok, err
		}
	}
}

// wait returns true when the worker that leads has to look again because something has changed, and false if there is nothing
// for this worker. It is called with mu held, and returns with mu released.
func (f *Frontier[J]) wait(ctx context.Context, leads bool, now time.Time) bool {
	if !leads {
		f.mu.Unlock()
		return false
	}
	if f.workers.free > 0 && !f.hungry.Swap(true) {
		f.mu.Unlock()
		f.handOver()
		return true
	}
	at, timed := f.nextChange()
	f.asleep = true
	f.mu.Unlock()
	more := f.sleep(ctx, at, timed, now)
	f.mu.Lock()
	f.asleep = false
	f.mu.Unlock()
	return more
}

// acquire picks a ready slot for which there is a worker. The caller holds mu.
func (f *Frontier[J]) acquire(now time.Time) (*slots.Grant, worker) {
	queue := f.takes() && f.suspects.alone == nil
	switch {
	case !f.mayStart():
	case f.workers.free > 0:
		grant, ok := f.slots.Acquire(now, !queue)
		if !ok {
			return nil, worker{}
		}
		if grant.Waiter == nil {
			f.workers.pages--
		}
		return grant, f.take(fetchWorker, grant.Slot.Name(), now)
	case f.workers.inline > 0:
		grant, ok := f.slots.Acquire(now, true)
		if !ok {
			return nil, worker{}
		}
		return grant, f.take(inlineWorker, grant.Slot.Name(), now)
	}
	return nil, worker{}
}

// takes reports whether requests are taken from the queues at all. The caller holds mu.
func (f *Frontier[J]) takes() bool {
	return !f.paused && !f.stopped && (!f.workers.limited || f.workers.pages > 0)
}

// nextChange returns when time alone will change the result of acquire. The caller holds mu.
func (f *Frontier[J]) nextChange() (time.Time, bool) {
	var at time.Time
	ok := false
	if (f.workers.free > 0 || f.workers.inline > 0) && f.mayStart() {
		at, ok = f.slots.Next()
	}
	if !f.due.next.IsZero() && !f.stopped && !f.due.asking && (!ok || f.due.next.Before(at)) {
		at, ok = f.due.next, true
	}
	if alone, waits := f.impatient(); waits && (!ok || alone.Before(at)) {
		at, ok = alone, true
	}
	return at, ok
}

// sleep waits for a signal, the instant, the end of the crawl or ctx. It returns false if nothing will come any more.
func (f *Frontier[J]) sleep(ctx context.Context, until time.Time, timed bool, now time.Time) bool {
	var timeout <-chan time.Time
	if timed {
		timer := time.NewTimer(max(until.Sub(now), 0))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-f.wake:
	case <-timeout:
	case <-f.ledger.finished:
		return false
	case <-f.ledger.drained:
		return false
	case <-ctx.Done():
		return false
	}
	return true
}

// pop takes a slot's best request out of the source; ok is false if there was none.
func (f *Frontier[J]) pop(ctx context.Context, grant *slots.Grant, from worker) (j J, ok bool, err error) {
	var wait Wait
	if f.reading != nil {
		wait = from.place.waits(PlaceStore, f.now)
		f.reading <- struct{}{}
	}
	j, left, ok, err := f.source.Next(ctx, grant.Queue())
	if f.reading != nil {
		<-f.reading
		wait.Done()
	}
	if err != nil || !ok {
		f.mu.Lock()
		if err == nil {
			f.head(grant, left)
		}
		f.ledger.putBack()
		f.release(grant, from, true)
		f.mu.Unlock()
		return j, false, err
	}
	c := j.Claim()
	if c.Crashes > 0 {
		f.setAside(j, grant, from, left)
		return j, false, nil
	}
	if f.requeued.count.Load() > 0 || !grant.Agrees(left.Priority, left.More) {
		f.mu.Lock()
		f.head(grant, left)
		f.mu.Unlock()
	}
	c.hold(grant, from)
	return j, true, nil
}

// head gives the slots the best request of a queue: that of the source, or one that was put into the queue again. The caller
// holds mu.
func (f *Frontier[J]) head(grant *slots.Grant, left Head) {
	for _, j := range f.requeued.jobs[grant.Queue()] {
		if c := j.Claim(); !left.More || c.Priority > left.Priority {
			left = Head{c.Priority, true}
		}
	}
	f.slots.Head(grant, left.Priority, left.More)
	f.signal()
}
