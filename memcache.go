package tegenaria

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/cache"
	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/remedy"
)

// memoryCache is the default cache: requests wait in memory, and each run begins with an empty one.
type memoryCache struct {
	mu          sync.Mutex // guards the fields below
	waiting     *cache.Store
	keys        [][16]byte // of the newest batch
	limit       int64      // Limits.QueueBytes; 0: none
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
	m.waiting, m.limit = cache.NewStore(limit), limit
	m.counters, m.deadLetters = nil, cache.NewNewest[Settled](maxDeadLetters, maxDeadLetterBytes)
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
	if cap(m.keys) > maxBatch { // user code has sent a large one
		m.keys = nil
	}
	m.keys = m.keys[:0]
	cost := int64(0)
	for i := range records {
		r := &records[i]
		m.keys = append(m.keys, r.Key)
		cost += cache.Cost(len(r.Data), r.Slot, !r.NotBefore.IsZero(), r.Live != nil)
	}
	found, ok := m.waiting.Accept(cache.Batch{
		Keys: m.keys, Cost: cost,
		Depth: func(i int) int { return records[i].Depth },
		Entry: func(i int) cache.Stored { return records[i].entry() },
	})
	if !ok {
		return nil, &QueueFullError{Limit: m.limit}
	}
	verdicts := make([]Verdict, len(records))
	for i, v := range found {
		verdicts[i] = verdictOf[v]
	}
	return verdicts, nil
}

// entry returns the record as a store keeps it.
func (r *Record) entry() cache.Stored {
	return cache.Stored{
		Waiting: cache.Waiting{Key: r.Key, Slot: r.Slot, Priority: r.Priority, Depth: r.Depth, Attempt: r.Attempt,
			Seq: r.Seq, Parent: [4]byte(r.Parent[:4]), Data: r.Data},
		NotBefore: r.NotBefore, Live: r.Live,
	}
}

// verdicts are those of a store in the words of this package.
var verdictOf = [...]Verdict{cache.Queued: VerdictNew, cache.Delayed: VerdictLater, cache.Refused: VerdictRefused,
	cache.Known: VerdictKnown}

// Next is described at [CacheInterface].
func (m *memoryCache) Next(_ context.Context, slot string, n int) ([]Record, SlotState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting.Notice(slot)
	var records []Record
	for range n {
		e, ok, err := m.waiting.Next(slot)
		if err != nil {
			return records, m.slot(slot), err
		}
		if !ok {
			break
		}
		var parent Key
		copy(parent[:], e.Parent[:])
		records = append(records, Record{
			Key: e.Key, Parent: parent, Slot: slot, Priority: e.Priority, Depth: e.Depth, Attempt: e.Attempt,
			Seq: e.Seq, Data: e.Data, Live: e.Live,
		})
	}
	return records, m.slot(slot), nil
}

func (m *memoryCache) slot(name string) SlotState {
	priority, pending := m.waiting.Head(name)
	return SlotState{Name: name, Priority: priority, Pending: pending}
}

// Due is described at [CacheInterface].
func (m *memoryCache) Due(_ context.Context, now time.Time) (moved []SlotState, next time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		slot, priority, ok, err := m.waiting.Due(now)
		if err != nil {
			return moved, next, err
		}
		if !ok {
			return moved, m.waiting.NextDue(), nil
		}
		state := m.slot(slot)
		state.Priority = priority
		moved = append(moved, state)
	}
}

// Return is described at [CacheInterface].
func (m *memoryCache) Return(_ context.Context, rec Record, now time.Time) (Verdict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return verdictOf[m.waiting.Return(rec.entry(), now)], nil
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
	return each(func() (states []SlotState) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for name := range m.waiting.Slots() {
			states = append(states, m.slot(name))
		}
		return states
	})
}

// DeadLetters is described at [CacheInterface]; the oldest comes first.
func (m *memoryCache) DeadLetters(context.Context) iter.Seq2[Settled, error] {
	return each(func() []Settled {
		m.mu.Lock()
		defer m.mu.Unlock()
		return slices.Collect(m.deadLetters.All())
	})
}

// each yields the elements of the list that is there when the loop begins.
func each[T any](list func() []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, one := range list() {
			if !yield(one, nil) {
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

// QueueFullError ends a run whose memory cache has reached Limits.QueueBytes. Before that, the cache refuses requests
// of a host that holds more than its share.
type QueueFullError struct{ Limit int64 }

// Error names limit and remedy.
func (e *QueueFullError) Error() string { return errtext.Module + e.WithoutURL("") }

// WithoutURL is Error without "tegenaria: ".
func (e *QueueFullError) WithoutURL(string) string {
	return fmt.Sprintf("the waiting requests need more than %s = %d bytes; "+
		"raise the limit or keep them on disk (%s)", remedy.QueueBytes.Name(), e.Limit, remedy.DiskQueue)
}

// The bounds of the dead letters that a memory cache keeps.
const (
	maxDeadLetters     = 1_000
	maxDeadLetterBytes = 16 << 20
)
