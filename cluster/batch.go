package cluster

import (
	"maps"
	"time"

	"github.com/tegenaria/tegenaria"
)

// batch is what has changed since the last transaction: the next one writes it.
type batch struct {
	number         int64
	seen           map[tegenaria.Key]seenKey
	lowered        map[tegenaria.Key]int
	inserts        map[int64]*entry // by place
	messages       map[tegenaria.Key]*message
	clearedCrashes map[tegenaria.Key]struct{} // their crashes count no more
	items          []byte                     // of Items, a line each
	takenIn        []messageID                // removed from an inbox
	released       []int                      // partitions that others may take
	deletes        []queuePosition
	settled        []settledEntry
	slots          map[*slot]struct{}
	gone           []int64 // numbers of slots
	checkpoints    map[string][]byte
	counters       map[string]int64
	uncounted      []string // names of counters that are no more
	started        bool
	finished       string
	stopped        string // why the job was stopped by this worker
	size           int    // about what it takes in memory

	queued, delayed    int // by how many rows the tables of requests grow
	statements         []statement
	finishedStatements bool
	sent               bool // the server may have it
}

// seenKey is what is stored of a key.
type seenKey struct {
	seq   int64
	depth int
}

// queuePosition is where a request was stored before it was removed.
type queuePosition struct {
	order
	slot    int64
	delayed bool
}

// settledEntry is a request with its outcome.
type settledEntry struct {
	entry *entry // which nobody changes any more
	how   tegenaria.Settled
}

func newBatch(number int64) *batch {
	return &batch{
		number: number, seen: make(map[tegenaria.Key]seenKey), lowered: make(map[tegenaria.Key]int), inserts: make(map[int64]*entry),
		messages: make(map[tegenaria.Key]*message), clearedCrashes: make(map[tegenaria.Key]struct{}),
		slots: make(map[*slot]struct{}), checkpoints: make(map[string][]byte), counters: make(map[string]int64),
	}
}

// changeCost is about how much memory a change takes beside its data.
const changeCost = 64

func (b *batch) see(e *entry) {
	b.seen[e.key] = seenKey{e.seq, e.depth}
	b.size += changeCost
}

func (b *batch) lower(key tegenaria.Key, depth int) {
	if s, ok := b.seen[key]; ok {
		b.seen[key] = seenKey{s.seq, min(depth, s.depth)}
		return
	}
	if before, ok := b.lowered[key]; ok {
		depth = min(depth, before)
	}
	b.lowered[key] = depth
	b.size += changeCost
}

func (b *batch) insert(e *entry) {
	b.inserts[e.place], e.batch = e, b
	b.size += e.cost()
}

func (b *batch) settle(e *entry, how *tegenaria.Settled) {
	b.settled = append(b.settled, settledEntry{e, *how})
	b.size += e.cost()
}

func (b *batch) store(s *slot) {
	b.slots[s] = struct{}{}
	b.size += changeCost + len(s.name)
}

func (b *batch) forget(s *slot) {
	delete(b.slots, s)
	if s.stored {
		b.gone = append(b.gone, s.id)
	}
}

// count notes those counters that differ from the last ones, which it changes.
func (b *batch) count(counters, last map[string]int64) {
	for name, n := range counters {
		if old, ok := last[name]; !ok || old != n {
			b.counters[name] = n
			b.size += changeCost
		}
	}
	for name := range last {
		if _, ok := counters[name]; !ok {
			delete(last, name)
			delete(b.counters, name)
			b.uncounted = append(b.uncounted, short(clean(name)))
			b.size += changeCost
		}
	}
	maps.Copy(last, counters)
}

// empty reports whether there is nothing to write.
func (b *batch) empty() bool { return b.size == 0 && len(b.gone)+len(b.takenIn)+len(b.released) == 0 }

// more returns by how many the requests and messages of the job grow. Called with the mutex of the cache held.
func (b *batch) more() int { return len(b.inserts) - len(b.deletes) + len(b.messages) - len(b.takenIn) }

// remove gathers the removal of a request from where it is stored. Called with mu held.
func (c *Cache) remove(e *entry) {
	if e.batch == c.open { // it was never stored
		delete(c.open.inserts, e.place)
		delete(c.hidden, e.place)
	} else {
		c.open.deletes = append(c.open.deletes, queuePosition{e.order, e.slot.id, e.delayed})
		c.open.size += changeCost
		c.hidden[e.place] = struct{}{}
	}
	e.batch = nil
}

// forgetEntry forgets a request that memory does not need any more. Called with mu held.
func (c *Cache) forgetEntry(e *entry) {
	if !e.front && !e.inFlight && e.batch == nil && c.entries[e.key] == e {
		delete(c.entries, e.key)
	}
}

// wrote notes that a batch is durable. Called with mu held.
func (c *Cache) wrote(b *batch) {
	for _, e := range b.inserts {
		if e.batch == b {
			e.batch = nil
			c.forgetEntry(e)
		}
	}
	for _, d := range b.deletes {
		delete(c.hidden, d.place)
	}
	for key, s := range b.seen {
		c.recent.add(key, s.depth, true)
	}
	for key, message := range b.messages {
		c.recent.add(key, message.Depth, false)
	}
	for s := range b.slots {
		s.stored = true
	}
	c.removeMarks(b)
	c.durable, c.writing = b.number, nil
}

// ceil is a time as the database has it, in microseconds, and not before it was.
func ceil(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }
