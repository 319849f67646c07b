package cluster

import (
	"maps"
	"time"

	"github.com/tegenaria/tegenaria"
)

// batch is what has changed since the last transaction: the next one writes it.
type batch struct {
	number      int64
	seen        map[tegenaria.Key]sight
	lowered     map[tegenaria.Key]int
	inserts     map[int64]*entry // by place
	letters     map[tegenaria.Key]*letter
	calmed      map[tegenaria.Key]struct{} // whose crashes count no more
	items       []byte                     // of Items, a line each
	drained     []mark                     // of letters that were taken in
	given       []int                      // partitions that others may have
	deletes     []spot
	settled     []ending
	slots       map[*slot]struct{}
	gone        []int64 // numbers of slots
	checkpoints map[string][]byte
	counters    map[string]int64
	uncounted   []string // names of counters that are no more
	started     bool
	finished    string
	stopped     string // why the job was stopped by this worker
	size        int    // about what it takes in memory

	queued, delayed    int // by how many rows the tables of requests grow
	statements         []statement
	finishedStatements bool
	sent               bool // the server may have it
}

// sight is what is stored of a key.
type sight struct {
	seq   int64
	depth int
}

// spot is where a request lay that does not lie there any more.
type spot struct {
	order
	slot    int64
	delayed bool
}

// ending is how a request ended.
type ending struct {
	entry *entry // which nobody changes any more
	how   tegenaria.Settled
}

func newBatch(number int64) *batch {
	return &batch{
		number: number, seen: make(map[tegenaria.Key]sight), lowered: make(map[tegenaria.Key]int), inserts: make(map[int64]*entry),
		letters: make(map[tegenaria.Key]*letter), calmed: make(map[tegenaria.Key]struct{}),
		slots: make(map[*slot]struct{}), checkpoints: make(map[string][]byte), counters: make(map[string]int64),
	}
}

// smallChange is about what a change takes beside data.
const smallChange = 64

func (b *batch) see(e *entry) {
	b.seen[e.key] = sight{e.seq, e.depth}
	b.size += smallChange
}

func (b *batch) lower(key tegenaria.Key, depth int) {
	if s, ok := b.seen[key]; ok {
		b.seen[key] = sight{s.seq, min(depth, s.depth)}
		return
	}
	if before, ok := b.lowered[key]; ok {
		depth = min(depth, before)
	}
	b.lowered[key] = depth
	b.size += smallChange
}

func (b *batch) insert(e *entry) {
	b.inserts[e.place], e.batch = e, b
	b.size += e.cost()
}

func (b *batch) settle(e *entry, how *tegenaria.Settled) {
	b.settled = append(b.settled, ending{e, *how})
	b.size += e.cost()
}

func (b *batch) store(s *slot) {
	b.slots[s] = struct{}{}
	b.size += smallChange + len(s.name)
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
			b.size += smallChange
		}
	}
	for name := range last {
		if _, ok := counters[name]; !ok {
			delete(last, name)
			delete(b.counters, name)
			b.uncounted = append(b.uncounted, short(clean(name)))
			b.size += smallChange
		}
	}
	maps.Copy(last, counters)
}

// empty reports whether there is nothing to write.
func (b *batch) empty() bool { return b.size == 0 && len(b.gone)+len(b.drained)+len(b.given) == 0 }

// more returns by how many the requests and letters of the job grow. Called with the mutex of the cache held.
func (b *batch) more() int { return len(b.inserts) - len(b.deletes) + len(b.letters) - len(b.drained) }

// remove gathers that a request does not lie where it lay. Called with mu held.
func (c *Cache) remove(e *entry) {
	if e.batch == c.open { // it never lay there
		delete(c.open.inserts, e.place)
		delete(c.hidden, e.place)
	} else {
		c.open.deletes = append(c.open.deletes, spot{e.order, e.slot.id, e.delayed})
		c.open.size += smallChange
		c.hidden[e.place] = struct{}{}
	}
	e.batch = nil
}

// release forgets a request that memory does not need any more. Called with mu held.
func (c *Cache) release(e *entry) {
	if !e.front && !e.flying && e.batch == nil && c.entries[e.key] == e {
		delete(c.entries, e.key)
	}
}

// wrote notes that a batch is durable. Called with mu held.
func (c *Cache) wrote(b *batch) {
	for _, e := range b.inserts {
		if e.batch == b {
			e.batch = nil
			c.release(e)
		}
	}
	for _, d := range b.deletes {
		delete(c.hidden, d.place)
	}
	for key, s := range b.seen {
		c.recent.add(key, s.depth, true)
	}
	for key, letter := range b.letters {
		c.recent.add(key, letter.Depth, false)
	}
	for s := range b.slots {
		s.stored = true
	}
	c.unmark(b)
	c.durable, c.writing = b.number, nil
}

// ceil is a time as the database has it, in microseconds, and not before it was.
func ceil(t time.Time) int64 { return t.Add(time.Microsecond - 1).UnixMicro() }
