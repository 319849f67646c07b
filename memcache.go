package tegenaria

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/cache"
)

// memoryCache is the default cache: requests wait in memory, and each run begins with an empty one.
type memoryCache struct {
	mu          sync.Mutex // guards the fields below
	queue       *cache.Queue[cache.Waiting]
	due         *cache.Due[cache.Waiting]
	seen        *cache.Seen
	live        map[uint64]any // live parts by Seq
	seq         uint64
	limit       int64 // Limits.QueueBytes; 0: none
	room        *cache.Room
	counters    map[string]int64
	deadLetters *cache.Newest[Settled]
}

var _ CacheInterface = (*memoryCache)(nil)

func newMemoryCache() *memoryCache {
	m := &memoryCache{}
	m.reset(0)
	return m
}

// reset empties the cache. The caller holds mu.
func (m *memoryCache) reset(limit int64) {
	m.queue = cache.NewQueue[cache.Waiting](cache.QueueCodec{})
	m.due = cache.NewDue[cache.Waiting](cache.DueCodec{})
	m.seen = cache.NewSeen()
	m.live = make(map[uint64]any)
	m.room = cache.NewRoom(limit, m.queue.Bytes, m.queue.SlotBytes)
	m.deadLetters = cache.NewNewest[Settled](maxDeadLetters, maxDeadLetterBytes)
	m.limit, m.seq, m.counters = limit, 0, nil
}

// Begin empties the cache.
func (m *memoryCache) Begin(_ context.Context, job Job) (State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset(job.QueueBytes)
	return State{}, nil
}

// Accept is described at [CacheInterface]. Its error is a [*QueueFullError]; then nothing is stored.
func (m *memoryCache) Accept(_ context.Context, records []Record) ([]Verdict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	verdicts := make([]Verdict, len(records))
	cost := int64(0)
	for i := range records {
		cost += records[i].cost()
	}
	fits, tight := m.room.Fits(cost)
	if !fits && !m.admit(records, verdicts) {
		return nil, &QueueFullError{Limit: m.limit}
	}
	if len(records) > 1 {
		m.seen.Look(len(records), func(i int) *[16]byte { return (*[16]byte)(&records[i].Key) })
	}
	for i := range records {
		rec := &records[i]
		if verdicts[i] == VerdictRefused {
			continue
		}
		state := m.seen.At((*[16]byte)(&rec.Key))
		if *state != cache.Unseen {
			verdicts[i] = VerdictKnown
			if *state >= cache.SeenAtRoot {
				*state = min(*state, cache.WaitingAt(rec.Depth))
			}
			continue
		}
		*state = cache.WaitingAt(rec.Depth)
		m.seq++
		w := waitingOf(rec)
		w.Seq = m.seq
		verdicts[i] = m.put(w, rec.NotBefore, !rec.NotBefore.IsZero(), rec.Live)
		if tight {
			m.room.Notice(rec.Slot)
		}
	}
	return verdicts, nil
}

// admit refuses the records that a full queue has no room for. It returns false if that is not enough.
func (m *memoryCache) admit(records []Record, verdicts []Verdict) bool {
	want := func(i int) cache.Want {
		return cache.Want{Key: records[i].Key, Slot: records[i].Slot, Cost: records[i].cost()}
	}
	return m.room.Admit(len(records), want, m.seen.Has, func(i int) { verdicts[i] = VerdictRefused })
}

// put stores a record that waits from now on.
func (m *memoryCache) put(w cache.Waiting, notBefore time.Time, later bool, live any) Verdict {
	if live != nil {
		m.live[w.Seq] = live
		m.room.PutAside(w.Slot, liveCost)
	}
	if later {
		before := m.due.Bytes()
		m.due.Add(notBefore, w)
		m.room.PutAside(w.Slot, m.due.Bytes()-before)
		return VerdictLater
	}
	m.queue.Enqueue(w.Slot, w.Priority, w)
	return VerdictNew
}

// Next is described at [CacheInterface].
func (m *memoryCache) Next(_ context.Context, slot string, n int) ([]Record, SlotState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room.Notice(slot)
	var records []Record
	for range n {
		w, priority, ok, err := m.queue.Dequeue(slot)
		if err != nil {
			return records, m.slot(slot), err
		}
		if !ok {
			break
		}
		state := m.seen.At((*[16]byte)(&w.Key))
		rec := Record{
			Key: w.Key, Slot: slot, Priority: priority, Depth: state.Depth(w.Depth), Attempt: w.Attempt,
			Seq: w.Seq, Data: w.Data, Live: m.live[w.Seq],
		}
		*state = cache.SeenDone
		if rec.Live != nil {
			delete(m.live, w.Seq)
			m.room.PutAside(slot, -liveCost)
		}
		records = append(records, rec)
	}
	return records, m.slot(slot), nil
}

func (m *memoryCache) slot(name string) SlotState {
	priority, pending := m.queue.Head(name)
	return SlotState{Name: name, Priority: priority, Pending: pending}
}

// Due is described at [CacheInterface].
func (m *memoryCache) Due(_ context.Context, now time.Time) (moved []SlotState, next time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		before := m.due.Bytes()
		w, ok, err := m.due.Pop(now)
		if err != nil {
			return moved, next, err
		}
		if !ok {
			break
		}
		m.room.PutAside(w.Slot, m.due.Bytes()-before)
		m.queue.Enqueue(w.Slot, w.Priority, w)
		state := m.slot(w.Slot)
		state.Priority = w.Priority
		moved = append(moved, state)
	}
	next, _ = m.due.Next()
	return moved, next, nil
}

// Return is described at [CacheInterface].
func (m *memoryCache) Return(_ context.Context, rec Record, now time.Time) (Verdict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*m.seen.At((*[16]byte)(&rec.Key)) = cache.WaitingAt(rec.Depth)
	verdict := m.put(waitingOf(&rec), rec.NotBefore, rec.NotBefore.After(now), rec.Live)
	m.room.Notice(rec.Slot)
	return verdict, nil
}

// Settle keeps counters and dead letters; the records themselves were forgotten when Next handed them
// out.
func (m *memoryCache) Settle(_ context.Context, batch Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if batch.Counters != nil {
		m.counters = maps.Clone(batch.Counters)
	}
	for i := range batch.Settled {
		if letter := batch.Settled[i]; letter.Outcome.isDead() {
			letter.Record.Live = nil
			letter.Record.Data = bytes.Clone(letter.Record.Data)
			m.deadLetters.Add(letter, len(letter.Record.Data))
		}
	}
	return nil
}

// Slots is described at [CacheInterface].
func (m *memoryCache) Slots(context.Context) iter.Seq2[SlotState, error] {
	return func(yield func(SlotState, error) bool) {
		m.mu.Lock()
		var states []SlotState
		for name := range m.queue.Slots() {
			states = append(states, m.slot(name))
		}
		m.mu.Unlock()
		for _, state := range states {
			if !yield(state, nil) {
				return
			}
		}
	}
}

// DeadLetters is described at [CacheInterface]; the oldest comes first.
func (m *memoryCache) DeadLetters(context.Context) iter.Seq2[Settled, error] {
	return func(yield func(Settled, error) bool) {
		m.mu.Lock()
		letters := m.deadLetters.All()
		m.mu.Unlock()
		for letter := range letters {
			if !yield(letter, nil) {
				return
			}
		}
	}
}

// Counters is described at [CacheInterface].
func (m *memoryCache) Counters(context.Context) (map[string]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.counters), nil
}

// Close does nothing: memory has no owner but the collector.
func (m *memoryCache) Close() error { return nil }

// QueueFullError ends a run whose memory cache reached Limits.QueueBytes, although it refused what goes beyond a single
// host's share.
type QueueFullError struct{ Limit int64 }

// Error names limit and remedy.
func (e *QueueFullError) Error() string {
	return fmt.Sprintf("tegenaria: the waiting requests need more than Limits.QueueBytes = %d bytes; "+
		"raise the limit or keep them on disk with cache/disk", e.Limit)
}

// The bounds of the dead letters that a memory cache keeps.
const (
	maxDeadLetters     = 1_000
	maxDeadLetterBytes = 16 << 20
)

func waitingOf(rec *Record) cache.Waiting {
	return cache.Waiting{Key: rec.Key, Slot: rec.Slot, Priority: rec.Priority, Depth: rec.Depth, Attempt: rec.Attempt, Seq: rec.Seq, Data: rec.Data}
}

// liveCost is an estimate of the memory of a live part.
const liveCost = 256

// cost estimates the memory of the record while it waits.
func (r *Record) cost() int64 {
	cost := int64(len(r.Data)) + 24
	if !r.NotBefore.IsZero() {
		cost += 64 + int64(len(r.Slot))
	}
	if r.Live != nil {
		cost += liveCost
	}
	return cost
}
