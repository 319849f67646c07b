package disk

import (
	"context"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/flightnotes"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// Next is described at [tegenaria.CacheInterface].
func (c *Cache) Next(_ context.Context, name string, n int) ([]tegenaria.Record, tegenaria.SlotState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begun(); err != nil {
		return nil, tegenaria.SlotState{Name: name}, err
	}
	s := c.slots[name]
	if s == nil {
		return nil, tegenaria.SlotState{Name: name}, nil
	}
	var records []tegenaria.Record
	for len(records) < n && s.waiting > 0 {
		if len(s.front) == 0 {
			if err := c.refill(s); err != nil {
				return nil, stateOf(s), err
			}
		}
		e := c.workbench.take(s)
		c.flights[e.key] = &flight{slot: s, entry: e}
		s.flights = append(s.flights, c.flights[e.key])
		records = append(records, tegenaria.Record{
			Key: e.key, Slot: s.name, Priority: int(e.priority), Depth: e.depth, Attempt: e.attempt, Seq: e.seq, ParentSeq: e.parent, Data: e.data,
			Crashes: c.notes.Crashes((*flightnotes.Key)(&e.key)),
		})
	}
	if s.waiting > 0 && len(s.front) == 0 { // the result says what comes first now
		if err := c.refill(s); err != nil {
			return records, stateOf(s), err
		}
	}
	return records, stateOf(s), nil
}

func stateOf(s *slot) tegenaria.SlotState {
	state := tegenaria.SlotState{Name: s.name, Pending: s.waiting, NextAllowed: s.nextAllowed, Delay: s.delay, Penalty: s.penalty, AutoThrottle: s.throttle, Pages: s.pages}
	if s.waiting > 0 {
		state.Priority = int(s.head.priority)
	}
	return state
}

// refill reads the next records of a slot into its empty front. It starts where the last one ended: before that
// there are but records in flight, and what the store keeps of deleted ones, which is slow to pass.
func (c *Cache) refill(s *slot) error {
	if _, err := c.apply(false); err != nil {
		return err
	}
	iter, err := c.db.NewIter(&pebble.IterOptions{
		LowerBound: queueKey(nil, s.id, s.cursor),
		UpperBound: queueKey(nil, s.id+1, place{priority: 1<<63 - 1}),
	})
	if err != nil {
		return c.failure(fmt.Errorf("reading the queue of %s: %w", s.name, err))
	}
	defer iter.Close()
	more := iter.First()
	for ; more && !c.workbench.full(s); more = iter.Next() {
		e, err := c.readEntry(iter)
		if err != nil {
			return c.failure(fmt.Errorf("reading the queue of %s: %w", s.name, err))
		}
		if c.flights[e.key] != nil {
			continue
		}
		e.data = slices.Clone(e.data)
		s.front = append(s.front, e)
		c.workbench.grow(s, e.cost())
	}
	if err := iter.Error(); err != nil {
		return c.failure(fmt.Errorf("reading the queue of %s: %w", s.name, err))
	}
	s.cursor = lastPlace
	if more {
		if _, s.cursor, err = parseQueueKey(iter.Key()); err != nil {
			return c.failure(fmt.Errorf("reading the queue of %s: %w", s.name, err))
		}
	}
	if len(s.front) == 0 {
		return c.failure(fmt.Errorf("the queue of %s is empty, %d records are missing", s.name, s.waiting))
	}
	s.head = s.front[0].place
	c.workbench.touch(s)
	c.workbench.trim(s)
	return nil
}

// readEntry reads the record that an iterator over a queue is at. Its data is the iterator's.
func (c *Cache) readEntry(iter *pebble.Iterator) (e entry, err error) {
	if _, e.place, err = parseQueueKey(iter.Key()); err != nil {
		return e, err
	}
	value, err := iter.ValueAndErr()
	if err != nil {
		return e, err
	}
	if e.record, err = parseRecord(value, e.order); err != nil {
		return e, err
	}
	return e, c.readLowered(&e.record)
}

// readLowered reads the depth of a record that was found nearer to a seed.
func (c *Cache) readLowered(rec *record) error {
	if c.state.lowered == 0 {
		return nil
	}
	c.keyBuf = seqKey(c.keyBuf, rangeLowered, rec.seq)
	return c.get(c.keyBuf, func(value []byte) error {
		r := reader{wire.Decoder{Rest: value}}
		rec.depth, rec.lowered = int(r.Uint()), true
		return r.end()
	})
}
