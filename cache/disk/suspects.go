package disk

import (
	"errors"
	"slices"

	"github.com/tegenaria/tegenaria"
)

// RecordFlight is described at [tegenaria.FlightRecorder]. It writes to a mapped file and waits for nothing.
func (c *Cache) RecordFlight(rec *tegenaria.Record, now tegenaria.Flight) error {
	return c.notes.record(&rec.Key, int64(rec.Priority), now)
}

// takeSuspects hands out the requests that were in flight when the process died, as Next would. Those that the crash has
// taken out of the store, with the page that emitted them, are known by their keys alone, and those that were delayed wait
// for their time: Next returns their crashes. The caller holds mu.
func (c *Cache) takeSuspects() (records []tegenaria.Record, unread error, err error) {
	keys, notes, unread := c.notes.list()
	if c.state.finished || len(keys) == 0 {
		return nil, unread, nil
	}
	slots := make(map[uint32]*slot, len(c.slots))
	for _, s := range c.slots {
		slots[s.id] = s
	}
	for _, key := range keys {
		s, e, err := c.findSuspect(key, notes[key], slots)
		if err != nil {
			return nil, nil, err
		}
		if s == nil {
			continue
		}
		if s.waiting--; s.waiting == 0 {
			c.workbench.slots--
		}
		s.suspected = true
		c.flights[key] = &flight{slot: s, entry: e}
		s.flights = append(s.flights, c.flights[key])
		records = append(records, tegenaria.Record{
			Key: key, Slot: s.name, Priority: int(e.priority), Depth: e.depth, Attempt: e.attempt, Seq: e.seq, ParentSeq: e.parent, Data: e.data,
			Crashes: int(notes[key].crashes),
		})
	}
	return records, unread, nil
}

// findSuspect finds a suspect in its slot's queue; the slot is nil if it is not there.
func (c *Cache) findSuspect(key tegenaria.Key, n note, slots map[uint32]*slot) (*slot, entry, error) {
	w, known := c.journal.where(&key)
	if !known {
		var err error
		if w, known, err = c.where(&key); err != nil || !known {
			return nil, entry{}, err
		}
	}
	s := slots[w.slot]
	if w.due || s == nil || s.waiting == 0 {
		return nil, entry{}, c.clearSettled(key, w)
	}
	e, found := entry{place: place{n.priority, w.order}}, false
	c.keyBuf = queueKey(c.keyBuf, s.id, e.place)
	err := c.get(c.keyBuf, func(value []byte) (err error) {
		e.record, err = parseRecord(value, e.order)
		found = e.key == key
		return err
	})
	if err != nil || !found {
		return nil, entry{}, errors.Join(err, c.clearSettled(key, w))
	}
	e.data = slices.Clone(e.data)
	return s, e, c.readLowered(&e.record)
}

// clearSettled forgets a suspect that was settled: the process died before that was noted.
func (c *Cache) clearSettled(key tegenaria.Key, w where) error {
	c.keyBuf = seqKey(c.keyBuf, rangeOutcome, w.seq)
	return c.get(c.keyBuf, func([]byte) error {
		c.notes.clear(&key)
		return nil
	})
}
