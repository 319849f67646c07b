package enginetest

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
)

// CrashStore is the imagined disk of a CrashCache. It is slow, simple, and stores at once.
type CrashStore struct {
	mu          sync.Mutex // guards the fields below, and the caches
	seen        map[tegenaria.Key]*crashRecord
	queues      map[string][]*crashRecord // in order of acceptance
	due         []*crashRecord
	slots       map[string]tegenaria.SlotState
	state       tegenaria.State
	letters     []tegenaria.Settled
	version     int
	seq         uint64
	checkpoints map[string][]byte
}

type crashRecord struct {
	tegenaria.Record
	flying, done bool
}

// CrashCache is a durable cache whose process can die at any moment: from then on it does nothing, and another one
// on the same store goes on.
type CrashCache struct {
	*CrashStore
	dead bool
}

// NewCrashStore returns an empty store.
func NewCrashStore() *CrashStore {
	return &CrashStore{
		seen: make(map[tegenaria.Key]*crashRecord), queues: make(map[string][]*crashRecord),
		slots: make(map[string]tegenaria.SlotState), checkpoints: make(map[string][]byte),
	}
}

// ErrCrashed is the error of every call of a CrashCache after Kill.
var ErrCrashed = errors.New("the process is dead")

// Kill ends the process of the cache.
func (c *CrashCache) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

// lock takes mu, and begins each call. The error is ErrCrashed after Kill; the caller releases mu in either case.
func (c *CrashCache) lock() error {
	c.mu.Lock()
	if c.dead {
		return ErrCrashed
	}
	return nil
}

// Begin is part of tegenaria.CacheInterface.
func (c *CrashCache) Begin(_ context.Context, job tegenaria.Job) (tegenaria.State, error) {
	err := c.lock()
	defer c.mu.Unlock()
	if err == nil && c.version != 0 && c.version != job.KeyVersion {
		err = errors.New("other keys")
	}
	if err != nil {
		return tegenaria.State{}, err
	}
	c.version = job.KeyVersion
	for _, queue := range c.queues {
		for _, r := range queue {
			r.flying = false
		}
	}
	state := c.state
	state.Durable, state.Delayed = true, int64(len(c.due))
	state.Counters, state.Checkpoints = maps.Clone(state.Counters), maps.Clone(c.checkpoints)
	return state, nil
}

// Accept is part of tegenaria.CacheInterface.
func (c *CrashCache) Accept(_ context.Context, records []tegenaria.Record) (verdicts []tegenaria.Verdict, err error) {
	err = c.lock()
	defer c.mu.Unlock()
	for _, rec := range records {
		if rec.Live != nil && err == nil {
			err = errors.New("a live part")
		}
	}
	if err != nil {
		return nil, err
	}
	for _, rec := range records {
		if known := c.seen[rec.Key]; known != nil {
			if !known.flying && !known.done {
				known.Depth = min(known.Depth, rec.Depth)
			}
			verdicts = append(verdicts, tegenaria.VerdictKnown)
			continue
		}
		r := &crashRecord{Record: rec}
		r.Data = slices.Clone(rec.Data)
		c.seen[rec.Key] = r
		verdicts = append(verdicts, c.put(r, !rec.NotBefore.IsZero()))
	}
	return verdicts, nil
}

// put lets a record wait.
func (c *CrashCache) put(r *crashRecord, later bool) tegenaria.Verdict {
	c.seq++
	r.Seq = c.seq
	if later {
		c.due = append(c.due, r)
		return tegenaria.VerdictLater
	}
	c.queues[r.Slot] = append(c.queues[r.Slot], r)
	return tegenaria.VerdictNew
}

// waiting returns what waits in a slot, the next first.
func (c *CrashCache) waiting(slot string) (list []*crashRecord) {
	for _, r := range c.queues[slot] {
		if !r.flying {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b *crashRecord) int { return cmp.Compare(b.Priority, a.Priority) })
	return list
}

func (c *CrashCache) stateOf(slot string) tegenaria.SlotState {
	state, list := c.slots[slot], c.waiting(slot)
	if state.Name, state.Pending = slot, len(list); len(list) > 0 {
		state.Priority = list[0].Priority
	}
	return state
}

// Next is part of tegenaria.CacheInterface.
func (c *CrashCache) Next(_ context.Context, slot string, n int) (records []tegenaria.Record, left tegenaria.SlotState, err error) {
	err = c.lock()
	defer c.mu.Unlock()
	if err != nil {
		return nil, tegenaria.SlotState{Name: slot}, err
	}
	list := c.waiting(slot)
	for _, r := range list[:min(n, len(list))] {
		r.flying = true
		rec := r.Record
		rec.NotBefore, rec.Parent = time.Time{}, tegenaria.Key{}
		records = append(records, rec)
	}
	return records, c.stateOf(slot), nil
}

// Due is part of tegenaria.CacheInterface.
func (c *CrashCache) Due(_ context.Context, now time.Time) (moved []tegenaria.SlotState, next time.Time, err error) {
	err = c.lock()
	defer c.mu.Unlock()
	if err != nil {
		return nil, next, err
	}
	slices.SortStableFunc(c.due, func(a, b *crashRecord) int { return a.NotBefore.Compare(b.NotBefore) })
	for len(c.due) > 0 && !c.due[0].NotBefore.After(now) {
		r := c.due[0]
		c.due = c.due[1:]
		c.put(r, false)
		moved = append(moved, tegenaria.SlotState{Name: r.Slot, Priority: r.Priority})
	}
	if len(c.due) > 0 {
		next = c.due[0].NotBefore
	}
	return moved, next, nil
}

// land takes a record that is in flight out of its queue.
func (c *CrashCache) land(key tegenaria.Key) (*crashRecord, error) {
	r := c.seen[key]
	if r == nil || !r.flying {
		return nil, errors.New("not in flight")
	}
	queue := c.queues[r.Slot]
	i := slices.Index(queue, r)
	if c.queues[r.Slot] = slices.Delete(queue, i, i+1); len(c.queues[r.Slot]) == 0 {
		delete(c.queues, r.Slot)
	}
	r.flying = false
	return r, nil
}

// Return is part of tegenaria.CacheInterface.
func (c *CrashCache) Return(_ context.Context, rec tegenaria.Record, now time.Time) (verdict tegenaria.Verdict, err error) {
	err = c.lock()
	defer c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	r, err := c.land(rec.Key)
	if err != nil {
		return 0, err
	}
	r.Priority, r.Attempt, r.NotBefore = rec.Priority, rec.Attempt, rec.NotBefore
	return c.put(r, rec.NotBefore.After(now)), nil
}

// Settle is part of tegenaria.CacheInterface.
func (c *CrashCache) Settle(_ context.Context, b tegenaria.Batch) error {
	err := c.lock()
	defer c.mu.Unlock()
	for _, s := range b.Settled {
		if r := c.seen[s.Record.Key]; err == nil && (r == nil || !r.flying) {
			err = errors.New("settling what is not in flight")
		}
	}
	if err != nil {
		return err
	}
	for _, s := range b.Settled {
		r, err := c.land(s.Record.Key)
		if err != nil {
			return err
		}
		if r.done = true; s.Outcome == tegenaria.Failed || s.Outcome == tegenaria.GaveUp {
			c.letters = append(c.letters, s)
		}
	}
	for _, s := range b.Slots {
		c.slots[s.Name] = s
	}
	maps.Copy(c.checkpoints, b.Checkpoints)
	if b.Counters != nil {
		c.state.Counters = maps.Clone(b.Counters)
	}
	c.state.Started = c.state.Started || b.Started || b.Finished != ""
	if b.Finished != "" {
		c.state.Finished, c.state.Reason = true, b.Finished
	}
	return nil
}

// Slots is part of tegenaria.CacheInterface.
func (c *CrashCache) Slots(context.Context) iter.Seq2[tegenaria.SlotState, error] {
	return func(yield func(tegenaria.SlotState, error) bool) {
		err := c.lock()
		names := make(map[string]bool)
		for name, s := range c.slots {
			if s.NextAllowed.After(time.Now()) || s.Pages > 0 {
				names[name] = true
			}
		}
		for name := range c.queues {
			if len(c.waiting(name)) > 0 {
				names[name] = true
			}
		}
		var states []tegenaria.SlotState
		for name := range names {
			states = append(states, c.stateOf(name))
		}
		c.mu.Unlock()
		if err != nil {
			yield(tegenaria.SlotState{}, err)
			return
		}
		for _, s := range states {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// DeadLetters is part of tegenaria.CacheInterface.
func (c *CrashCache) DeadLetters(context.Context) iter.Seq2[tegenaria.Settled, error] {
	return func(yield func(tegenaria.Settled, error) bool) {
		c.mu.Lock()
		letters := slices.Clone(c.letters)
		c.mu.Unlock()
		for _, s := range letters {
			if !yield(s, nil) {
				return
			}
		}
	}
}

// Counters is part of tegenaria.CacheInterface.
func (c *CrashCache) Counters(context.Context) (map[string]int64, error) {
	err := c.lock()
	defer c.mu.Unlock()
	return maps.Clone(c.state.Counters), err
}

// Close is part of tegenaria.CacheInterface.
func (c *CrashCache) Close() error { return nil }
