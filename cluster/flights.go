package cluster

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/flightnotes"
)

// death is what the folder of a worker says of a process that has died. Its session is the number of the death: so a
// death is counted once, however often it is stored.
type death struct {
	session int64
	running [][]byte // keys of requests that were in flight
	passed  [][]byte // keys of suspects that had got through
}

// death returns what the folder says of the process before, and why it says less than it should.
func (f *folder) death() (d death, unread error) {
	if f == nil {
		return d, nil
	}
	suspects, passed, unread := f.notes.List()
	d.session = f.state.Session
	for i := range suspects {
		d.running = append(d.running, suspects[i].Key[:])
	}
	for i := range passed {
		d.passed = append(d.passed, passed[i][:])
	}
	return d, unread
}

// queue makes the statements that store a death. What has ended meanwhile, at another worker, is not counted.
func (d *death) queue(batch *pgx.Batch) {
	if len(d.passed) > 0 {
		batch.Queue(`DELETE FROM crash WHERE key = ANY ($1)`, d.passed)
	}
	if len(d.running) > 0 {
		batch.Queue(`INSERT INTO crash (key, death) SELECT key, $2 FROM unnest($1::bytea[]) AS k (key)
			WHERE NOT EXISTS (SELECT FROM request AS r JOIN outcome AS o ON o.seq = r.seq WHERE r.key = k.key)
				ON CONFLICT DO NOTHING`, d.running, d.session)
	}
}

// readCrashes reads how often a process died while a request was in flight.
func (l *loaded) readCrashes(rows pgx.Rows) error {
	var key []byte
	var count int
	_, err := pgx.ForEachRow(rows, []any{&key, &count}, func() error {
		l.crashes[tegenaria.Key(key)] = count
		return nil
	})
	return err
}

// findSuspects reads the suspects that wait in the queues, those with the fewest crashes first.
func (l *loaded) findSuspects(ctx context.Context, tx pgx.Tx) error {
	if len(l.crashes) == 0 {
		return nil
	}
	keys := make([][]byte, 0, len(l.crashes))
	for key := range l.crashes {
		keys = append(keys, key[:])
	}
	var e entry
	var id int64
	var key []byte
	rows, _ := tx.Query(ctx, `SELECT q.slot, q.rank, q.place, q.seq, q.key, q.attempt, q.parent, q.data, ~q.rank, r.depth
		FROM slot AS s JOIN queue AS q ON q.slot = s.id JOIN request AS r ON r.key = q.key
			WHERE s.partition = ANY ($1) AND q.key = ANY ($2)`, unprepared, l.parts, keys)
	_, err := pgx.ForEachRow(rows, []any{&id, &e.rank, &e.place, &e.seq, &key, &e.attempt, &e.parent, &e.data, &e.priority, &e.depth}, func() error {
		read := e
		read.key, read.data, read.slot = tegenaria.Key(key), slices.Clone(e.data), l.byID[id]
		l.suspects = append(l.suspects, &read)
		return nil
	})
	slices.SortFunc(l.suspects, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(l.crashes[a.key], l.crashes[b.key]), slices.Compare(a.key[:], b.key[:]))
	})
	return err
}

// handOut hands suspects out as Next would. Those that are delayed, or that a crash has undone with the page that
// emitted them, have their crashes when Next hands them out. Called with mu held.
func (c *Cache) handOut(suspects []*entry) (records []tegenaria.Record) {
	for _, e := range suspects {
		s := e.slot
		s.suspected = true
		if s.count--; s.count == 0 {
			c.workbench.lists--
		}
		c.startFlight(e)
		c.entries[e.key] = e
		records = append(records, c.recordOf(e))
	}
	return records
}

// startFlight notes that a request that was taken out of its list is in flight. Called with mu held.
func (c *Cache) startFlight(e *entry) {
	e.inFlight = true
	e.slot.flights++
	c.flights++
	c.hidden[e.place] = struct{}{}
}

// recordOf returns a request as the engine knows it. Called with mu held.
func (c *Cache) recordOf(e *entry) tegenaria.Record {
	return tegenaria.Record{
		Key: e.key, Slot: e.slot.name, Priority: int(e.priority), Depth: e.depth, Attempt: e.attempt, Seq: uint64(e.seq), ParentSeq: uint64(e.parent),
		Data: e.data, Crashes: c.crashes[e.key],
	}
}

// addCrashes takes over the stored crashes. Called with mu held.
func (c *Cache) addCrashes(crashes map[tegenaria.Key]int) {
	c.crashes = crashes
	for key := range c.open.clearedCrashes {
		delete(c.crashes, key)
	}
}

// clearCrashes forgets the crashes of a request that was settled or returned. Called with mu held.
func (c *Cache) clearCrashes(key tegenaria.Key) {
	if c.crashes[key] > 0 {
		delete(c.crashes, key)
		c.open.clearedCrashes[key] = struct{}{}
		c.open.size += changeCost
	}
}

// removeMarks forgets the marks of requests whose crashes are not stored any more. Called with mu held.
func (c *Cache) removeMarks(b *batch) {
	if c.folder != nil {
		for key := range b.clearedCrashes {
			c.folder.notes.Unmark((*flightnotes.Key)(&key))
		}
	}
}

// RecordFlight is described at [tegenaria.FlightRecorder]. It writes to a mapped file and waits for nothing. Without
// [Options].Dir it notes nothing.
func (c *Cache) RecordFlight(rec *tegenaria.Record, now tegenaria.Flight) error {
	if c.folder == nil {
		return nil
	}
	notes, key := c.folder.notes, (*flightnotes.Key)(&rec.Key)
	if now == tegenaria.FlightOver && rec.Crashes > 0 {
		return notes.Mark(key)
	}
	return notes.Record(key, int64(rec.Priority), flightnotes.Flight(now))
}
