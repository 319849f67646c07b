package disk

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tegenaria/tegenaria"
)

// errLive is the failure of a record with a part that only memory can hold.
var errLive = errors.New("disk: a durable cache cannot store the live part of a request")

// Accept is described at [tegenaria.CacheInterface].
func (c *Cache) Accept(_ context.Context, records []tegenaria.Record) ([]tegenaria.Verdict, error) {
	for i := range records {
		if records[i].Live != nil {
			return nil, errLive
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begun(); err != nil {
		return nil, err
	}
	// What can fail comes first: the look-ups. Nothing of the batch is gathered before.
	c.looked = c.looked[:0]
	nearer := false
	for i := range records {
		w, found, err := c.look(&records[i])
		if err != nil {
			return nil, err
		}
		c.looked = append(c.looked, looked{w, found})
		nearer = nearer || found == isKnown && records[i].Depth < w.depth
	}
	if nearer { // what was settled a moment ago must be found
		if _, err := c.apply(false); err != nil {
			return nil, err
		}
	}
	verdicts := make([]tegenaria.Verdict, len(records))
	var gathered keyMarks
	for i := range records {
		rec, l := &records[i], c.looked[i]
		if (l.found == isNew || l.found == isKnown) && gathered.mark(&rec.Key) {
			if w, ok := c.journal.where(&rec.Key); ok { // it has come before in these very records
				l = looked{w, isKnown}
			}
		}
		switch {
		case l.found == isNew:
			verdicts[i] = c.accept(rec)
			continue
		case l.found == isKnown && rec.Depth < l.where.depth:
			if err := c.lower(rec, l.where); err != nil {
				return nil, c.failure(err) // some of the batch is gathered: it must not be stored
			}
		}
		verdicts[i] = tegenaria.VerdictKnown
	}
	return verdicts, c.room()
}

// keyMarks recognise some keys that are not among those that were marked. It saves the look-ups of a page.
type keyMarks [64]uint64

// mark marks a key, and reports whether it may have been marked before. False is certain.
func (m *keyMarks) mark(key *tegenaria.Key) bool {
	word, bit := &m[key[0]%uint8(len(m))], uint64(1)<<(key[1]%64)
	before := *word&bit != 0
	*word |= bit
	return before
}

// found is what a look-up has found.
type found uint8

const (
	isNew         found = iota // the key was never seen
	isKnown                    // it was, and where is known
	isKnownAbove               // it was, at this depth or a smaller one
	isKnownByLuck              // the Bloom filter says so, and decides
)

type looked struct {
	where where
	found found
}

// look asks whether a key was seen, the cheapest witness first.
func (c *Cache) look(rec *tegenaria.Record) (where, found, error) {
	if c.recent.known(&rec.Key, rec.Depth) {
		return where{}, isKnownAbove, nil
	}
	if c.filterWhole && !c.filter.may(&rec.Key) {
		return where{}, isNew, nil
	}
	if w, ok := c.journal.where(&rec.Key); ok {
		return w, isKnown, nil
	}
	if c.filterWhole && c.bloomOnly {
		return where{}, isKnownByLuck, nil
	}
	w, known, err := c.where(&rec.Key)
	if err != nil || !known {
		return where{}, isNew, err
	}
	c.recent.miss()
	c.recent.add(&rec.Key, w.depth)
	return w, isKnown, nil
}

// where looks a key up in the store.
func (c *Cache) where(key *tegenaria.Key) (w where, known bool, err error) {
	c.keyBuf = seenKey(c.keyBuf, key)
	err = c.get(c.keyBuf, func(value []byte) (err error) {
		known = true
		w, err = parseWhere(value)
		return err
	})
	return w, known, err
}

// get reads a value of the store, if there is one.
func (c *Cache) get(key []byte, read func(value []byte) error) error {
	value, closer, err := c.db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return c.failure(fmt.Errorf("reading key %x: %w", key, err))
	}
	defer closer.Close()
	if err := read(value); err != nil {
		return c.failure(fmt.Errorf("reading key %x: %w", key, err))
	}
	return nil
}

// number gives the next number, of a record or of a place.
func (c *Cache) number() uint64 {
	n := c.state.next
	c.state.next++
	return n
}

// accept gathers a new record.
func (c *Cache) accept(rec *tegenaria.Record) tegenaria.Verdict {
	if c.bloomOnly && c.filterWhole {
		p := c.filter.rate()
		c.state.lost += p / (1 - p) // the expected number of keys that were wrongly taken for known
	}
	seq := c.number()
	e := entry{
		place{int64(rec.Priority), seq},
		record{key: rec.Key, seq: seq, depth: rec.Depth, attempt: rec.Attempt, data: rec.Data},
	}
	if f := c.flights[rec.Parent]; f != nil {
		e.parent = f.seq
	}
	s := c.slotOf(rec.Slot)
	c.filter.add(&rec.Key)
	c.recent.add(&rec.Key, rec.Depth)
	if !rec.NotBefore.IsZero() {
		c.delay(s, e, rec.NotBefore)
		return tegenaria.VerdictLater
	}
	c.enqueue(s, e)
	return tegenaria.VerdictNew
}

// enqueue gathers a record that waits in its slot's queue from now on.
func (c *Cache) enqueue(s *slot, e entry) {
	c.keyBuf = queueKey(c.keyBuf, s.id, e.place)
	c.valueBuf = appendRecord(c.valueBuf[:0], &e.record, e.order)
	c.set(c.keyBuf, c.valueBuf)
	c.journal.see(&e.key, where{seq: e.seq, depth: e.depth, slot: s.id, order: e.order})
	c.state.waiting++
	c.workbench.add(s, e)
	c.touch(s)
}

// slotOf returns the slot of a name, a new one if there is none.
func (c *Cache) slotOf(name string) *slot {
	if c.lastSlot != nil && c.lastSlot.name == name && c.slots[c.lastSlot.name] == c.lastSlot {
		return c.lastSlot
	}
	s := c.slots[name]
	if s == nil {
		s = &slot{name: name, id: c.state.nextSlot, cursor: lastPlace}
		c.state.nextSlot++
		c.slots[name] = s
		c.touch(s)
	}
	c.lastSlot = s
	return s
}

// lower gives a waiting record a smaller depth. What is in flight or settled keeps its own.
func (c *Cache) lower(rec *tegenaria.Record, w where) error {
	c.recent.add(&rec.Key, rec.Depth)
	if c.flights[rec.Key] != nil {
		return nil
	}
	settled := false
	c.keyBuf = seqKey(c.keyBuf, rangeOutcome, w.seq)
	if err := c.get(c.keyBuf, func([]byte) error { settled = true; return nil }); err != nil || settled {
		return err
	}
	w.depth = rec.Depth
	if !w.lowered {
		w.lowered = true
		c.state.lowered++
	}
	c.journal.see(&rec.Key, w)
	c.keyBuf = seqKey(c.keyBuf, rangeLowered, w.seq)
	c.valueBuf = binary.AppendUvarint(c.valueBuf[:0], uint64(rec.Depth))
	c.set(c.keyBuf, c.valueBuf)
	if w.due {
		return nil
	}
	if s := c.slotByID(w.slot, rec.Slot); s != nil {
		if e := s.bySeq(w.seq); e != nil {
			e.depth, e.lowered = rec.Depth, true
		}
	}
	return nil
}

// slotByID finds a slot by its number; it has most likely this name.
func (c *Cache) slotByID(id uint32, name string) *slot {
	if s := c.slots[name]; s != nil && s.id == id {
		return s
	}
	for _, s := range c.slots {
		if s.id == id {
			return s
		}
	}
	return nil
}
