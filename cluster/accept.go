package cluster

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
)

// errLive is the failure of a record with a part that only memory can hold.
var errLive = errors.New("cluster: a durable cache cannot store the live part of a request")

// question is a call of Accept that waits for what the database says.
type question struct {
	records  []tegenaria.Record
	verdicts []tegenaria.Verdict // nil: there is no answer yet
}

// Accept is described at [tegenaria.CacheInterface]. Keys that memory does not know are looked up in one statement for
// all calls that have come meanwhile. New requests stay in memory until the next batch is written.
func (c *Cache) Accept(ctx context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	for i := range records {
		if records[i].Live != nil {
			return nil, errLive
		}
	}
	q := &question{records: records}
	c.mu.Lock()
	if err := c.usable(); err != nil {
		c.mu.Unlock()
		return nil, err
	}
	known := make(map[tegenaria.Key]int, len(records))
	if len(c.recall(nil, q, known)) == 0 {
		c.answer(q, known)
		return q.verdicts, c.room(ctx)
	}
	c.questions = append(c.questions, q)
	c.mu.Unlock()
	if err := c.ask(ctx, q); err != nil {
		return nil, err
	}
	c.mu.Lock()
	return q.verdicts, c.room(ctx)
}

// recall finds the keys of a question that memory knows, with the smallest depth that it knows, and appends the others
// to unknown. Called with mu held.
func (c *Cache) recall(unknown [][]byte, q *question, known map[tegenaria.Key]int) [][]byte {
	for i := range q.records {
		key := q.records[i].Key
		if _, ok := known[key]; ok {
			continue
		}
		depth, ok := c.depth(key)
		if !ok {
			unknown = append(unknown, key[:])
			continue
		}
		known[key] = depth
	}
	return unknown
}

// depth returns the depth of a key that memory knows. Called with mu held.
func (c *Cache) depth(key tegenaria.Key) (depth int, ok bool) {
	if depth, ok := c.accepted(key); ok {
		return depth, true
	}
	for _, b := range []*batch{c.open, c.writing} {
		if b != nil {
			if message, ok := b.messages[key]; ok {
				return message.Depth, true
			}
		}
	}
	k, ok := c.recent.lookUp(key)
	return int(k.depth), ok
}

// accepted returns the depth of a key that memory knows as accepted here. Called with mu held.
func (c *Cache) accepted(key tegenaria.Key) (depth int, ok bool) {
	if e := c.entries[key]; e != nil {
		return e.depth, true
	}
	for _, b := range []*batch{c.open, c.writing} {
		if b != nil {
			if n, ok := b.seen[key]; ok {
				return n.depth, true
			}
		}
	}
	return 0, false
}

// ask has a question answered, by this call or by another call that acquires the store before.
func (c *Cache) ask(ctx context.Context, q *question) error {
	err := c.acquireStore(ctx)
	if err == nil {
		defer c.releaseStore()
		err = c.askAll(ctx, q)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.verdicts != nil {
		return nil
	}
	c.questions = slices.DeleteFunc(c.questions, func(other *question) bool { return other == q })
	return err
}

// askAll has all questions answered that have come. The caller holds the store, so that nothing is written meanwhile.
// Those whose callers give up in the meantime are left out.
func (c *Cache) askAll(ctx context.Context, mine *question) error {
	c.mu.Lock()
	if mine.verdicts != nil {
		c.mu.Unlock()
		return nil
	}
	questions := slices.Clone(c.questions)
	known := make(map[tegenaria.Key]int)
	var unknown [][]byte
	for _, q := range questions {
		unknown = c.recall(unknown, q, known)
	}
	c.mu.Unlock()
	found, err := c.store.lookUp(ctx, unknown)
	if err != nil {
		return c.failed(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.usable(); err != nil {
		return err
	}
	for key, depth := range found {
		known[key] = depth
		c.recent.add(key, depth, true)
	}
	for _, q := range questions {
		if slices.Contains(c.questions, q) {
			c.answer(q, known)
		}
	}
	c.questions = slices.DeleteFunc(c.questions, func(q *question) bool { return q.verdicts != nil })
	return nil
}

// lookUp asks which of these keys were accepted before, and at which depth.
func (s *server) lookUp(ctx context.Context, keys [][]byte) (found map[tegenaria.Key]int, err error) {
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, `SELECT r.key, r.depth FROM unnest($1::bytea[]) AS k (key) JOIN request AS r ON r.key = k.key`, keys)
		found = make(map[tegenaria.Key]int)
		var key []byte
		var depth int
		_, err := pgx.ForEachRow(rows, []any{&key, &depth}, func() error {
			found[tegenaria.Key(key)] = depth
			return nil
		})
		return err
	})
	return found, err
}

// answer gives the verdicts of a question, and gathers what is new. known are the keys that were known when the
// question was asked. Called with mu held.
func (c *Cache) answer(q *question, known map[tegenaria.Key]int) {
	q.verdicts = make([]tegenaria.Verdict, len(q.records))
	for i := range q.records {
		rec := &q.records[i]
		depth, ok := known[rec.Key]
		if now, here := c.depth(rec.Key); here && (!ok || now < depth) {
			depth, ok = now, true
		}
		if !ok {
			q.verdicts[i] = c.accept(rec)
			continue
		}
		q.verdicts[i] = tegenaria.VerdictKnown
		if rec.Depth >= depth {
			continue
		}
		// A key that was forwarded may still be in an inbox, even if this worker owns the slot by now: then it sends
		// itself a message.
		_, accepted := c.accepted(rec.Key)
		if remembered, ok := c.recent.lookUp(rec.Key); ok {
			accepted = accepted || remembered.accepted
		}
		if accepted && c.slotOf(rec.Slot) != nil {
			c.lower(rec)
		} else {
			c.forward(rec)
		}
	}
}

// accept gathers a new request. Called with mu held.
func (c *Cache) accept(rec *tegenaria.Record) tegenaria.Verdict {
	s := c.slotOf(rec.Slot)
	if s == nil {
		c.forward(rec)
		return tegenaria.VerdictHandedOn
	}
	seq := c.next()
	e := &entry{
		order: order{place: seq}, key: rec.Key, seq: seq, priority: int64(rec.Priority), depth: rec.Depth, attempt: rec.Attempt,
		data: slices.Clone(rec.Data), slot: s,
	}
	e.parent = c.parentOf(rec)
	c.open.see(e)
	c.entries[e.key] = e
	if !rec.NotBefore.IsZero() {
		c.delay(e, rec.NotBefore)
		return tegenaria.VerdictLater
	}
	c.enqueue(e)
	return tegenaria.VerdictNew
}

// enqueue gathers a request that waits in its slot's queue from now on. Called with mu held.
func (c *Cache) enqueue(e *entry) {
	e.rank, e.delayed = rankOf(e.priority), false
	c.open.insert(e)
	c.workbench.add(&e.slot.list, e)
}

// parentOf returns the number of the request that emitted another one; 0: it is not in flight here. Called with mu
// held.
func (c *Cache) parentOf(rec *tegenaria.Record) int64 {
	if parent := c.entries[rec.Parent]; parent != nil && parent.inFlight {
		return parent.seq
	}
	return int64(rec.ParentSeq)
}

// lower gives a key that was accepted a smaller depth. A request that is in flight keeps its own. Called with mu held.
func (c *Cache) lower(rec *tegenaria.Record) {
	key, depth := rec.Key, rec.Depth
	if e := c.entries[key]; e != nil && !e.inFlight {
		e.depth = depth
	}
	c.open.lower(key, depth)
	if _, ok := c.recent.lookUp(key); ok {
		c.recent.add(key, depth, true)
	}
}

// depthOf is a depth, or a number of attempts, as the database has it.
func depthOf(n int) int32 { return int32(max(math.MinInt32, min(n, math.MaxInt32))) }
