package tegenaria

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/cache"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// memoryCache is the default cache: requests wait in memory, and each run begins with an empty one.
type memoryCache struct {
	mu          sync.Mutex // guards what follows
	queue       *cache.Queue[waiting]
	due         *cache.Due[waiting]
	seen        *cache.Seen
	live        map[uint64]any // live parts by Seq
	seq         uint64
	room        queueRoom
	counters    map[string]int64
	deadLetters deadLetters
}

var _ CacheInterface = (*memoryCache)(nil)

func newMemoryCache() *memoryCache {
	m := &memoryCache{}
	m.reset()
	return m
}

func (m *memoryCache) reset() {
	m.queue = cache.NewQueue[waiting](queueCodec{})
	m.due = cache.NewDue[waiting](dueCodec{})
	m.seen = cache.NewSeen()
	m.live = make(map[uint64]any)
	m.seq, m.room, m.counters, m.deadLetters = 0, queueRoom{}, nil, deadLetters{}
}

// Begin empties the cache.
func (m *memoryCache) Begin(_ context.Context, job Job) (State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reset()
	m.room.limit = job.QueueBytes
	return State{}, nil
}

// Accept is described at [CacheInterface]. Its error is a [*QueueFullError]; then nothing is stored.
func (m *memoryCache) Accept(_ context.Context, records []Record) ([]Verdict, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	verdicts := make([]Verdict, len(records))
	tight, err := m.makeRoom(records, verdicts)
	if err != nil {
		return nil, err
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
		w.seq = m.seq
		verdicts[i] = m.put(w, rec.NotBefore, !rec.NotBefore.IsZero(), rec.Live)
		if tight {
			m.notice(rec.Slot)
		}
	}
	return verdicts, nil
}

// put stores a record that waits from now on.
func (m *memoryCache) put(w waiting, notBefore time.Time, later bool, live any) Verdict {
	if live != nil {
		m.live[w.seq] = live
		m.room.putAside(w.slot, liveCost)
	}
	if later {
		before := m.due.Bytes()
		m.due.Add(notBefore, w)
		m.room.putAside(w.slot, m.due.Bytes()-before)
		return VerdictLater
	}
	m.queue.Enqueue(w.slot, w.priority, w)
	return VerdictNew
}

// Next is described at [CacheInterface].
func (m *memoryCache) Next(_ context.Context, slot string, n int) ([]Record, SlotState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.notice(slot)
	var records []Record
	for range n {
		w, priority, ok, err := m.queue.Dequeue(slot)
		if err != nil {
			return records, m.slot(slot), err
		}
		if !ok {
			break
		}
		state := m.seen.At((*[16]byte)(&w.key))
		rec := Record{
			Key: w.key, Slot: slot, Priority: priority, Depth: state.Depth(w.depth), Attempt: w.attempt,
			Seq: w.seq, Data: w.data, Live: m.live[w.seq],
		}
		*state = cache.SeenDone
		if rec.Live != nil {
			delete(m.live, w.seq)
			m.room.putAside(slot, -liveCost)
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
		m.room.putAside(w.slot, m.due.Bytes()-before)
		m.queue.Enqueue(w.slot, w.priority, w)
		state := m.slot(w.slot)
		state.Priority = w.priority
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
	m.notice(rec.Slot)
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
		if batch.Settled[i].Outcome.isDead() {
			m.deadLetters.add(batch.Settled[i])
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
		letters := slices.Clone(m.deadLetters.letters)
		m.mu.Unlock()
		for _, letter := range letters {
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

// Bounds of what a memory cache keeps of dead letters.
const (
	maxDeadLetters     = 1_000
	maxDeadLetterBytes = 16 << 20
)

// deadLetters are the newest requests that failed.
type deadLetters struct {
	letters []Settled
	bytes   int
}

func (d *deadLetters) add(s Settled) {
	s.Record.Live = nil
	s.Record.Data = bytes.Clone(s.Record.Data)
	d.letters = append(d.letters, s)
	d.bytes += len(s.Record.Data)
	for len(d.letters) > 1 && (len(d.letters) > maxDeadLetters || d.bytes > maxDeadLetterBytes) {
		d.bytes -= len(d.letters[0].Record.Data)
		d.letters[0] = Settled{}
		d.letters = d.letters[1:]
	}
}

// waiting is a record as it waits in a memory cache. Its slot and priority are those of the queue it
// is in; only the due list has to write them down.
type waiting struct {
	key            Key
	slot           string
	priority       int
	depth, attempt int
	seq            uint64
	data           []byte
}

func waitingOf(rec *Record) waiting {
	return waiting{key: rec.Key, slot: rec.Slot, priority: rec.Priority, depth: rec.Depth, attempt: rec.Attempt, seq: rec.Seq, data: rec.Data}
}

// queueCodec encodes what waits in a queue.
type queueCodec struct{}

func (queueCodec) Append(dst []byte, w waiting) []byte {
	dst = append(dst, w.key[:]...)
	dst = binary.AppendUvarint(dst, w.seq)
	if w.attempt == 0 {
		dst = binary.AppendUvarint(dst, uint64(w.depth)<<1)
	} else {
		dst = binary.AppendUvarint(dst, uint64(w.depth)<<1|1)
		dst = binary.AppendUvarint(dst, uint64(w.attempt))
	}
	return append(dst, w.data...)
}

func (queueCodec) Decode(src []byte) (w waiting, err error) {
	d := wire.Decoder{Rest: src}
	copy(w.key[:], d.Take(uint64(len(w.key))))
	w.seq = d.Uint()
	depth := d.Uint()
	if depth&1 != 0 {
		w.attempt = int(d.Uint())
	}
	w.depth = int(depth >> 1)
	w.data = bytes.Clone(d.Rest)
	return w, d.Err()
}

// dueCodec encodes what waits in the due list.
type dueCodec struct{}

func (dueCodec) Append(dst []byte, w waiting) []byte {
	dst = binary.AppendVarint(wire.AppendText(dst, w.slot), int64(w.priority))
	return queueCodec{}.Append(dst, w)
}

func (dueCodec) Decode(src []byte) (w waiting, err error) {
	d := wire.Decoder{Rest: src}
	slot, priority := d.Text(), int(d.Int())
	if d.Err() != nil {
		return w, d.Err()
	}
	w, err = queueCodec{}.Decode(d.Rest)
	w.slot, w.priority = slot, priority
	return w, err
}
