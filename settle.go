package tegenaria

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
)

// settler ends jobs, in batches and in one goroutine: committers make the items durable, then the cache
// stores in one step that the requests are done (design law L4). Whatever comes while a batch is
// stored, or in the pause after it began, makes up the next one. Where nothing is stored whoever ends a job settles it
// at once.
type settler struct {
	crawl *crawl
	alone bool // nothing is stored

	mu     sync.Mutex // guards what follows
	ended  []ended
	hold   *fetch.Hold   // shares of the bodies of those that have let go
	slots  []string      // to be stored, though no job of theirs ends
	wake   chan struct{} // one token tells that there is something to settle
	haste  chan struct{} // one token ends a pause
	closed bool
	spare  []ended
}

// settlePause is how far apart batches begin while all workers are busy: what a batch costs depends little on what is in
// it. While a worker has nothing to do nobody knows what waits for a request to be settled, and there is no pause.
const settlePause = 20 * time.Millisecond

// settleMost is how many jobs end a pause.
const settleMost = 512

func newSettler(c *crawl) *settler {
	_, memory := c.cache.(*memoryCache)
	return &settler{
		crawl: c, alone: memory && len(c.committers) == 0, hold: new(fetch.Hold),
		wake: make(chan struct{}, 1), haste: make(chan struct{}, 1),
	}
}

// add takes a job of which nothing is open any more. The caller may hold locks.
func (s *settler) add(j *job) { s.take(j.ended(), false) }

// take takes what is left of a job, which was let go or is needed until it is stored. The share of the bodies stays: a
// disk that is slow holds downloads up.
func (s *settler) take(e ended, gone bool) {
	s.mu.Lock()
	if gone {
		s.crawl.bodies.Move(&e.job.hold, s.hold)
		e.job = nil
		if !s.crawl.teller.tellsSettled() {
			e.request = nil
		}
	}
	s.ended = append(s.ended, e)
	first, many := len(s.ended) == 1, len(s.ended) >= settleMost
	s.mu.Unlock()
	if first {
		token(s.wake)
	}
	if many || s.crawl.hungry.Load() {
		s.hurry()
	}
}

// hurry ends the settler's pause: somebody may be waiting for a request to be settled.
func (s *settler) hurry() { token(s.haste) }

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
	token(s.wake)
}

// end is add for a caller without locks.
func (s *settler) end(j *job) {
	e := j.ended()
	switch {
	case !s.alone:
		gone := !e.needed()
		if gone {
			j.discard()
		}
		s.take(e, gone)
	case e.Outcome == 0 || e.Outcome.isDead() || s.crawl.failed.Load():
		s.settle([]ended{e}, nil, nil)
	default:
		s.settled(&e)
	}
}

// close lets run return once everything is settled.
func (s *settler) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	token(s.wake)
	s.hurry()
}

// run settles until close.
func (s *settler) run() {
	var began time.Time // the newest batch
	for range s.wake {
		for {
			s.pause(settlePause - time.Since(began))
			began = time.Now()
			s.mu.Lock()
			list, hold, slots, closed := s.ended, s.hold, s.slots, s.closed
			s.ended, s.hold, s.spare, s.slots = s.spare[:0], new(fetch.Hold), nil, nil
			s.mu.Unlock()
			if len(list) > 0 || len(slots) > 0 {
				s.settle(list, hold, slots)
				clear(list)
			}
			s.mu.Lock()
			s.spare = list[:0]
			more := len(s.ended) > 0 || len(s.slots) > 0
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

// pause waits for so long, unless there is haste.
func (s *settler) pause(wait time.Duration) {
	if wait <= 0 || s.crawl.hungry.Load() || s.crawl.bodies.IsShort() {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.haste:
	}
}

// settle ends a batch of jobs, and stores their slots and others. The hold is of those that were let go.
func (s *settler) settle(list []ended, hold *fetch.Hold, slots []string) {
	c := s.crawl
	batch := Batch{Settled: make([]Settled, 0, len(list))}
	var ids, discard []string
	again := 0
	for i := range list {
		e := &list[i]
		if e.Outcome == 0 {
			again++
			if len(c.committers) > 0 && e.id != "" {
				discard = append(append(discard, e.id), e.ids...)
			}
			continue
		}
		batch.Settled = append(batch.Settled, e.Settled)
		if len(c.committers) > 0 {
			ids = append(append(ids, e.id), e.ids...)
		}
	}
	if c.durable {
		c.describeSlots(&batch, list, slots)
	}
	err := s.prepare(&batch, ids, discard)
	if err == nil {
		c.endFlights(list)
		err = s.store(&batch)
	}
	c.bodies.Release(hold)
	if err != nil {
		c.storeFailed(err)
		for i := range list {
			s.putBack(&list[i])
		}
		return
	}
	for i := 0; again > 0; i++ {
		if e := &list[i]; e.Outcome == 0 {
			s.goBack(e)
			again--
		}
	}
	for i := range list {
		if e := &list[i]; e.Outcome != 0 {
			s.settled(e)
		}
	}
}

// settled ends a job whose outcome is stored.
func (s *settler) settled(e *ended) {
	c := s.crawl
	if e.died != nil {
		c.teller.failed(e.died)
	}
	c.teller.settled(e.request, e.Outcome, e.Reason)
	s.release(e)
	c.ledger.settle(e.Outcome, e.Reason)
}

// prepare has the committers make a batch durable. After that no user code sees its requests any more.
func (s *settler) prepare(batch *Batch, ids, discard []string) error {
	c := s.crawl
	if c.failed.Load() {
		return errStoreFailed
	}
	for _, id := range discard {
		for _, committer := range c.committers {
			if _, err := guard.Protect(func() error { committer.Discard(id); return nil }); err != nil {
				return fmt.Errorf("committer %s: discard: %w", committer.CommitKey(), err)
			}
		}
	}
	if len(c.committers) == 0 || len(batch.Settled) == 0 {
		return nil
	}
	checkpoints, err := c.prepare(ids)
	batch.Checkpoints = checkpoints
	return err
}

// store makes a batch durable that the committers have prepared.
func (s *settler) store(batch *Batch) error {
	c := s.crawl
	if len(batch.Settled) == 0 && len(batch.Slots) == 0 {
		return nil
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
		_, err := guard.Protect(func() (err error) {
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
func (s *settler) goBack(e *ended) {
	c, retry := s.crawl, e.job.retry
	if retry == nil {
		s.putBack(e)
		return
	}
	rec, now := e.Record, time.Now()
	rec.Priority--
	rec.Attempt++
	rec.Crashes = 0
	rec.NotBefore = time.Time{}
	if retry.After > 0 {
		rec.NotBefore = now.Add(retry.After)
	}
	if c.refusing.Load() && !c.durable && c.work.Err() != nil {
		s.putBack(e)
		return
	}
	s.putBack(e) // a request must be counted as waiting before anybody can take it
	verdict, err := c.cache.Return(c.storing, rec, now)
	if err != nil {
		c.storeFailed(err)
		return
	}
	if verdict == VerdictLater {
		c.ledger.later(1)
	}
	c.teller.counters.retries.Add(1)
	if f := c.cfg.events.RequestRetried; f != nil {
		c.teller.event(func() { f(e.request, retry.After, retry.Err) })
	}
	c.sched.added([]Record{rec}, []Verdict{verdict}, e.request.maxConnsPerHost)
}

// putBack counts a job as waiting again.
func (s *settler) putBack(e *ended) {
	s.release(e)
	s.crawl.ledger.putBack()
}

// release gives back what the job holds in memory, unless it was let go.
func (s *settler) release(e *ended) {
	if e.job != nil {
		s.crawl.bodies.Release(&e.job.hold)
		e.job.discard()
	}
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
