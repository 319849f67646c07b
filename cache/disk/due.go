package disk

import (
	"context"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
)

// maxMoved is how many records Due moves at a time.
const maxMoved = 1000

// delay gathers a record that waits in the due list from now on.
func (c *Cache) delay(s *slot, e entry, notBefore time.Time) {
	at := instantOf(notBefore)
	c.keyBuf = dueKey(c.keyBuf, at, e.order)
	c.valueBuf = appendDue(c.valueBuf[:0], s.name, e.priority, &e.record, e.order)
	c.set(c.keyBuf, c.valueBuf)
	c.journal.see(&e.key, where{seq: e.seq, depth: e.depth, order: e.order, due: true, at: at})
	if c.state.delayed == 0 || at < c.nextDue {
		c.nextDue = at
	}
	c.state.delayed++
}

// Due is described at [tegenaria.CacheInterface]. It moves 1,000 records at a time.
func (c *Cache) Due(_ context.Context, now time.Time) (moved []tegenaria.SlotState, next time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begun(); err != nil {
		return nil, next, err
	}
	if c.state.delayed > 0 && !c.nextDue.time().After(now) {
		if moved, err = c.moveDue(instantOf(now)); err != nil {
			return nil, next, c.failure(fmt.Errorf("reading the due list: %w", err))
		}
	}
	if c.state.delayed > 0 {
		next = c.nextDue.time()
	}
	return moved, next, c.room()
}

// moveDue moves what is due, starting with what is due first.
func (c *Cache) moveDue(now instant) (moved []tegenaria.SlotState, err error) {
	if _, err := c.apply(false); err != nil {
		return nil, err
	}
	iter, err := c.db.NewIter(&pebble.IterOptions{
		LowerBound: dueKey(nil, c.nextDue, 0),
		UpperBound: []byte{rangeDue + 1},
	})
	if err != nil {
		return nil, err
	}
	defer iter.Close()
	more := iter.First()
	for ; more; more = iter.Next() {
		at, order, err := parseDueKey(iter.Key())
		if err != nil {
			return nil, err
		}
		if c.nextDue = at; at > now || len(moved) == maxMoved {
			break
		}
		value, err := iter.ValueAndErr()
		if err != nil {
			return nil, err
		}
		name, priority, rec, err := parseDue(value, order)
		if err != nil {
			return nil, err
		}
		s := c.slotOf(name)
		c.erase(iter.Key())
		c.state.delayed--
		e := entry{place{priority, order}, rec}
		if err := c.requeue(s, e); err != nil {
			return nil, err
		}
		state := stateOf(s)
		state.Priority = int(priority)
		moved = append(moved, state)
	}
	if err := iter.Error(); err != nil {
		return nil, err
	}
	if !more && c.state.delayed > 0 {
		return nil, fmt.Errorf("%d records are missing", c.state.delayed)
	}
	return moved, nil
}

// requeue puts a record that was delayed into its slot's queue. It takes a lowered depth with it.
func (c *Cache) requeue(s *slot, e entry) error {
	if err := c.readLowered(&e.record); err != nil {
		return err
	}
	c.unlower(&e.record)
	c.enqueue(s, e)
	return nil
}

// unlower takes a record's entry among the lowered depths away, if it has one: the depth is written with the
// record.
func (c *Cache) unlower(rec *record) {
	if !rec.lowered {
		return
	}
	c.keyBuf = seqKey(c.keyBuf, rangeLowered, rec.seq)
	c.erase(c.keyBuf)
	c.state.lowered--
	rec.lowered = false
}
