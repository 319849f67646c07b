package frontier

import (
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// requeued are jobs that wait in their slots' queues again, ahead of those in the source.
type requeued[J any] struct {
	count atomic.Int32 // written with the Frontier's mutex held, which guards the rest
	jobs  map[string][]J
}

// Requeue puts a job into its slot's queue, ahead of those in the source; it is taken again. It returns false if the
// crawl stops: the job is the caller's.
func (f *Frontier[J]) Requeue(j J) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requeue(j)
}

// PutBack is Requeue for a job that holds its slot and worker: they are released only when it is in the queue, since the
// slots forget one without work, and with it at which gate it waits.
func (f *Frontier[J]) PutBack(j J) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	grant, from := j.Claim().drop()
	waits := f.requeue(j)
	f.release(grant, from, from.kind != noWorker)
	return waits
}

// requeue is Requeue; a suspect goes to its line, and a job that waits for a page to those that do. The caller holds mu.
func (f *Frontier[J]) requeue(j J) bool {
	c := j.Claim()
	switch {
	case f.stopped:
		return false
	case c.suspect != nil:
		return f.lineUp(j)
	case f.budgets.some.Load() && f.isShort(c):
		f.budgets.short[c.Slot()] = append(f.budgets.short[c.Slot()], j)
		return true
	}
	f.requeueNow(j)
	return true
}

// requeueNow puts a job into its slot's queue. The caller holds mu.
func (f *Frontier[J]) requeueNow(j J) {
	c := j.Claim()
	f.requeued.jobs[c.Queue] = append(f.requeued.jobs[c.Queue], j)
	f.requeued.count.Add(1)
	f.slots.Add(c.Queue, c.Priority, 1)
	f.slots.Unshut(c.Queue) // it may keep what the others there wait for
	f.signal()
}

// takeRequeued takes the first job out of a slot's queue that was put into it again. The caller holds mu.
func (f *Frontier[J]) takeRequeued(queue string) (j J, ok bool) {
	jobs := f.requeued.jobs[queue]
	if len(jobs) == 0 {
		return j, false
	}
	f.requeued.count.Add(-1)
	if len(jobs) == 1 {
		delete(f.requeued.jobs, queue)
	} else {
		f.requeued.jobs[queue] = jobs[1:]
	}
	return jobs[0], true
}

// Pause holds the requests in the queues until Resume.
func (f *Frontier[J]) Pause() { f.setPaused(true) }

// Resume ends Pause.
func (f *Frontier[J]) Resume() { f.setPaused(false) }

func (f *Frontier[J]) setPaused(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.places.tick(&f.workers, f.now())
	f.paused = on
	f.places.free = f.whyFree()
	f.recall()
	f.signal()
}

// SetFetchers changes how many downloads of requests from the queues run at once, see Config.Fetchers. Where there are more, none begins
// until enough of them have ended.
func (f *Frontier[J]) SetFetchers(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.places.tick(&f.workers, f.now())
	f.workers.free += n - f.workers.all
	f.workers.all = n
	f.signal()
}

// Fetchers returns how many downloads of requests from the queues may run at once.
func (f *Frontier[J]) Fetchers() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.workers.all
}

// Wake has the workers look again because Config.MayStart has become true.
func (f *Frontier[J]) Wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signal()
}

// Budget adds to how many requests may still be taken, see Config.Pages, and returns how many that are, and whether one
// is in flight that counts.
func (f *Frontier[J]) Budget(more int64) (left int64, busy bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workers.pages += more
	if more > 0 {
		f.recall()
		f.signal()
	}
	return f.workers.pages, f.workers.free < f.workers.all
}

// Stop ends the taking from the queues for good, and returns the jobs that wait in them to the
// caller. Waiters are served as before.
func (f *Frontier[J]) Stop() []J {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.places.tick(&f.workers, f.now())
	f.stopped = true
	f.places.free = f.whyFree()
	var left []J
	for _, jobs := range f.requeued.jobs {
		left = append(left, jobs...)
	}
	clear(f.requeued.jobs)
	for _, jobs := range f.budgets.short {
		left = append(left, jobs...)
	}
	clear(f.budgets.short)
	f.requeued.count.Store(0)
	left = append(left, f.stopSuspects()...)
	f.signal()
	return left
}

// Park keeps the slot of a job that waits for others from being served, waiters included, until it is unparked as often.
func (f *Frontier[J]) Park(slot string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots.Park(slot)
	f.suspects.parked++
}

// Unpark ends one Park.
func (f *Frontier[J]) Unpark(slot string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots.Unpark(slot)
	f.suspects.parked--
	f.signal()
}

// Block lets nothing of a slot start before that instant, because of its robots.txt.
func (f *Frontier[J]) Block(slot string, until time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots.Block(slot, f.now(), until)
	f.blocks.add(slot, Robots, f.now(), until)
}

// SetDelay sets the delay that user code asks for in a slot. started is when the download of the asking job
// began, or zero: a slot that had no delay and no more work does not know.
func (f *Frontier[J]) SetDelay(slot string, d time.Duration, started time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots.SetDelay(slot, slots.Asked, f.now(), d)
	if !started.IsZero() && d > 0 {
		f.slots.Block(slot, f.now(), started.Add(d))
	}
	f.signal()
}

// SetCrawlDelay sets the delay that robots.txt asks for in a slot, at most Config.MaxCrawlDelay; 0 takes it away.
func (f *Frontier[J]) SetCrawlDelay(slot string, d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d = min(d, f.maxCrawlDelay)
	f.slots.SetDelay(slot, slots.Robots, f.now(), d)
	state, _ := f.slots.Lookup(slot)
	f.blocks.addDelay(slot, CrawlDelay, d, longBlock+1, f.now(), state.Next)
	f.keep(slot)
	f.signal() // it may be shorter than before
}

// SetRule gives one slot another rule, until ResetRule. Pages that were begun before count. A host may be spelled as in
// URLs. It returns the names that now have the rule: the one that was given, and that of the slot if it is another.
func (f *Frontier[J]) SetRule(name string, rule Rule) (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if rule.Pages > 0 {
		f.budgets.some.Store(true)
	}
	names = f.namesOf(name)
	for _, name := range names {
		f.rules.changed[name] = rule
		f.ruleChanged(name)
	}
	f.signal()
	return names
}

// ResetRule gives a slot the rule back that it had before SetRule, and returns the names for which it was given, as SetRule does.
func (f *Frontier[J]) ResetRule(name string) (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	names = f.namesOf(name)
	for _, name := range names {
		delete(f.rules.changed, name)
		f.ruleChanged(name)
	}
	f.signal()
	return names
}

// RuleOf returns the rule of a slot, and whether SetRule has given it. A host may be spelled as in URLs.
func (f *Frontier[J]) RuleOf(name string) (rule Rule, changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	names := f.namesOf(name)
	name = names[len(names)-1]
	_, changed = f.rules.changed[name]
	return f.rules.of(name), changed
}

// ruleChanged lets what waits in a slot wait as its rule says now. Called with mu held.
func (f *Frontier[J]) ruleChanged(name string) {
	f.slots.SetPolicy(name, f.rules.of(name).Policy)
	f.waive(name)
	f.requeueShort(name)
}

// namesOf returns a name of a slot, and the one that its slot has if it is another spelling of a host's. Called with mu held.
func (f *Frontier[J]) namesOf(name string) []string {
	names := []string{name}
	if _, known := f.slots.Lookup(name); !known && asHost(name) != name {
		names = append(names, asHost(name))
	}
	return names
}
