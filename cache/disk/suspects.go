package disk

import (
	"errors"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/flightnotes"
)

// notesFolder is where the notes of a job lie.
type notesFolder struct {
	fs  vfs.FS
	dir string
}

func (f notesFolder) Read(name string, limit int64) ([]byte, error) {
	file, err := f.fs.Open(f.fs.PathJoin(f.dir, name))
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, limit))
	return content, errors.Join(err, file.Close())
}

func (f notesFolder) Write(name string, content []byte) error {
	return writeFile(f.fs, f.dir, name, func(w io.Writer) error { _, err := w.Write(content); return err })
}

func (f notesFolder) Open(name string) (flightnotes.File, error) {
	return f.fs.OpenReadWrite(f.fs.PathJoin(f.dir, name), vfs.WriteCategoryUnspecified)
}

func (f notesFolder) Remove(name string) error { return f.fs.Remove(f.fs.PathJoin(f.dir, name)) }

// RecordFlight is described at [tegenaria.FlightRecorder]. It writes to a mapped file and waits for nothing.
func (c *Cache) RecordFlight(rec *tegenaria.Record, now tegenaria.Flight) error {
	return c.notes.Record((*flightnotes.Key)(&rec.Key), int64(rec.Priority), flightnotes.Flight(now))
}

// takeSuspects hands out the requests that were in flight when the process died, as Next would. Those that the crash has
// taken out of the store, with the page that emitted them, are known by their keys alone, and those that were delayed wait
// for their time: Next returns their crashes. The caller holds mu.
func (c *Cache) takeSuspects() (records []tegenaria.Record, unread error, err error) {
	suspects, _, unread := c.notes.List()
	if c.state.finished || len(suspects) == 0 {
		return nil, unread, nil
	}
	slots := make(map[uint32]*slot, len(c.slots))
	for _, s := range c.slots {
		slots[s.id] = s
	}
	for _, suspect := range suspects {
		key := tegenaria.Key(suspect.Key)
		s, e, err := c.findSuspect(key, suspect.Priority, slots)
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
			Crashes: suspect.Crashes,
		})
	}
	return records, unread, nil
}

// findSuspect finds a suspect in its slot's queue; the slot is nil if it is not there.
func (c *Cache) findSuspect(key tegenaria.Key, priority int64, slots map[uint32]*slot) (*slot, entry, error) {
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
	e, found := entry{place: place{priority, w.order}}, false
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
		c.notes.Clear((*flightnotes.Key)(&key))
		return nil
	})
}
