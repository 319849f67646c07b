package tegenaria

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// settler ends jobs, in batches and in one goroutine: committers make the items durable, then the cache
// stores in one step that the requests are done (design law L4). Whatever comes while a batch is
// stored makes up the next one. Where nothing is stored whoever ends a job settles it at once.
type settler struct {
	crawl *crawl
	alone bool // nothing is stored

	mu     sync.Mutex // guards what follows
	jobs   []*job
	slots  []string // to be stored, though no job of theirs ends
	wake   chan struct{}
	closed bool
	spare  []*job
}

func newSettler(c *crawl) *settler {
	_, memory := c.cache.(*memoryCache)
	return &settler{crawl: c, alone: memory && len(c.committers) == 0, wake: make(chan struct{}, 1)}
}

// add takes a job of which nothing is open any more.
func (s *settler) add(j *job) {
	s.mu.Lock()
	s.jobs = append(s.jobs, j)
	first := len(s.jobs) == 1
	s.mu.Unlock()
	if first {
		s.signal()
	}
}

// keepSlot has a durable cache remember a slot as soon as it can.
func (s *settler) keepSlot(name string) {
	if !s.crawl.durable {
		return
	}
	s.mu.Lock()
	if !slices.Contains(s.slots, name) {
		s.slots = append(s.slots, name)
	}
	s.mu.Unlock()
	s.signal()
}

// end is add for a caller without locks.
func (s *settler) end(j *job) {
	switch {
	case !s.alone:
		s.add(j)
	case j.outcome == 0 || j.outcome.isDead() || s.crawl.failed.Load():
		s.settle([]*job{j}, nil)
	default:
		s.settled(j)
	}
}

func (s *settler) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// close lets run return once everything is settled.
func (s *settler) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.signal()
}

// run settles until close.
func (s *settler) run() {
	for range s.wake {
		for {
			s.mu.Lock()
			jobs, slots, closed := s.jobs, s.slots, s.closed
			s.jobs, s.spare, s.slots = s.spare[:0], nil, nil
			s.mu.Unlock()
			if len(jobs) > 0 || len(slots) > 0 {
				s.settle(jobs, slots)
				clear(jobs)
			}
			s.mu.Lock()
			s.spare = jobs[:0]
			more := len(s.jobs) > 0 || len(s.slots) > 0
			s.mu.Unlock()
			if closed && !more {
				return
			}
			if !more {
				break
			}
		}
	}
}

// settle ends a batch of jobs, and stores their slots and others.
func (s *settler) settle(jobs []*job, slots []string) {
	c := s.crawl
	batch := Batch{Settled: make([]Settled, 0, len(jobs))}
	var ids, discard []string
	again := jobs[:0:0]
	for _, j := range jobs {
		if j.outcome == 0 {
			again = append(again, j)
			if len(c.committers) > 0 && j.ctx != nil {
				discard = append(append(discard, j.ctx.CtxId), j.ids...)
			}
			continue
		}
		batch.Settled = append(batch.Settled, Settled{Record: j.rec, Outcome: j.outcome, Reason: j.reason, Status: j.status})
		if len(c.committers) > 0 {
			ids = append(append(ids, j.ctx.CtxId), j.ids...)
		}
	}
	if c.durable {
		c.describeSlots(&batch, jobs, slots)
	}
	if err := s.store(&batch, ids, discard); err != nil {
		c.storeFailed(err)
		for _, j := range jobs {
			s.putBack(j, false)
		}
		return
	}
	for _, j := range again {
		s.goBack(j)
	}
	for _, j := range jobs {
		if j.outcome != 0 {
			s.settled(j)
		}
	}
}

// settled ends a job whose outcome is stored.
func (s *settler) settled(j *job) {
	c := s.crawl
	c.settledEvent(j.request(), j.outcome, j.reason)
	s.release(j)
	c.ledger.settle(j.outcome, j.reason)
}

// store makes a batch durable: first the committers, then the cache.
func (s *settler) store(batch *Batch, ids, discard []string) error {
	c := s.crawl
	if c.failed.Load() {
		return errStoreFailed
	}
	for _, id := range discard {
		for _, committer := range c.committers {
			if _, err := protect(func() error { committer.Discard(id); return nil }); err != nil {
				return fmt.Errorf("committer %s: discard: %w", committer.CommitKey(), err)
			}
		}
	}
	if len(batch.Settled) == 0 && len(batch.Slots) == 0 {
		return nil
	}
	if len(c.committers) > 0 && len(batch.Settled) > 0 {
		checkpoints, err := c.prepare(ids)
		if err != nil {
			return err
		}
		batch.Checkpoints = checkpoints
	}
	if c.durable {
		now := time.Now()
		for i := range batch.Settled {
			batch.Settled[i].At = now
		}
		c.describe(batch)
	}
	return c.cache.Settle(c.storing, *batch)
}

// prepare asks every committer for its checkpoint.
func (c *crawl) prepare(ids []string) (map[string][]byte, error) {
	checkpoints := make(map[string][]byte, len(c.committers))
	for _, committer := range c.committers {
		var checkpoint []byte
		_, err := protect(func() (err error) {
			checkpoint, err = committer.Prepare(c.storing, ids)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("committer %s: prepare: %w", committer.CommitKey(), err)
		}
		checkpoints[committer.CommitKey()] = checkpoint
	}
	return checkpoints, nil
}

// goBack returns a job that is not settled: to run again, or because the crawl ends.
func (s *settler) goBack(j *job) {
	c := s.crawl
	if j.retry == nil {
		s.putBack(j, false)
		return
	}
	rec, now := j.rec, time.Now()
	rec.Priority--
	rec.Attempt++
	rec.NotBefore = time.Time{}
	if j.retry.after > 0 {
		rec.NotBefore = now.Add(j.retry.after)
	}
	if c.refusing.Load() && !c.durable && c.work.Err() != nil {
		s.putBack(j, false)
		return
	}
	verdict, err := c.cache.Return(c.storing, rec, now)
	if err != nil {
		c.storeFailed(err)
		s.putBack(j, false)
		return
	}
	c.counters.retries.Add(1)
	if f := c.cfg.events.RequestRetried; f != nil {
		c.event(func() { f(j.ctx.Request, j.retry.after, j.retry.reason) })
	}
	s.putBack(j, verdict == VerdictLater)
	c.sched.added([]Record{rec}, []Verdict{verdict}, j.ctx.Request.maxConnsPerHost)
}

// putBack counts a job as waiting again.
func (s *settler) putBack(j *job, delayed bool) {
	s.release(j)
	s.crawl.ledger.putBack(delayed)
}

// release gives back what the job holds in memory.
func (s *settler) release(j *job) {
	s.crawl.bodies.release(&j.hold)
	if !j.abandoned.Load() { // the code that was left behind may be at work on its response
		j.closeSpools()
	}
	j.life.cancel(context.Canceled)
}

// describe adds to a durable batch what the job has to remember beside its requests.
func (c *crawl) describe(batch *Batch) {
	batch.Counters = c.durableCounters()
	for i := range batch.Settled { // the ledger is told when they are stored
		batch.Counters["settled"]++
		batch.Counters["outcome/"+batch.Settled[i].Outcome.String()]++
	}
	c.keepLoopback(batch)
}

// describeSlots adds to a batch the politeness of its jobs' slots, those that go back among them, and of others.
func (c *crawl) describeSlots(batch *Batch, jobs []*job, others []string) {
	seen := make(map[string]struct{})
	add := func(name string) {
		if _, known := seen[name]; known {
			return
		}
		seen[name] = struct{}{}
		if state, ok := c.sched.state(name); ok {
			batch.Slots = append(batch.Slots, state)
		}
	}
	for _, j := range jobs {
		add(j.rec.Slot)
	}
	for _, name := range others {
		add(name)
	}
}

// keepLoopback adds to a durable batch what the seeds allowed to be dialled. A batch makes seeds durable that came
// before it, whatever else it is for: so each has to say it.
func (c *crawl) keepLoopback(batch *Batch) {
	allowed := c.loopback.list()
	if len(allowed) == 0 {
		return
	}
	batch.Checkpoints = maps.Clone(batch.Checkpoints)
	if batch.Checkpoints == nil {
		batch.Checkpoints = make(map[string][]byte, 1)
	}
	batch.Checkpoints[loopbackCheckpoint] = encodeStrings(allowed)
}
