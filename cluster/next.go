package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
)

// Next is described at [tegenaria.CacheInterface].
func (c *Cache) Next(ctx context.Context, name string, n int) ([]tegenaria.Record, tegenaria.SlotState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.usable(); err != nil {
		return nil, tegenaria.SlotState{Name: name}, err
	}
	s := c.slots[name]
	if s == nil || c.leaving[s.partition] {
		return nil, tegenaria.SlotState{Name: name}, nil
	}
	var records []tegenaria.Record
	for {
		// Also when it has given all that was asked for: the result says what comes first now.
		if err := c.refill(ctx, &s.list, s.id); err != nil {
			return records, s.state(), err
		}
		if len(records) >= n || s.count == 0 {
			return records, s.state(), nil
		}
		e := c.workbench.take(&s.list)
		c.startFlight(e)
		records = append(records, c.recordOf(e))
	}
}

// refill reads the next requests of a list whose front is empty while some wait. id is that of the slot, 0 for the due
// list. Called with mu held; returns with mu held, which it does not hold while it waits for the database.
func (c *Cache) refill(ctx context.Context, l *list, id int64) error {
	if l.count == 0 || len(l.front) > 0 {
		return nil
	}
	c.mu.Unlock()
	err := c.acquireStore(ctx)
	c.mu.Lock()
	if err != nil {
		return err
	}
	defer c.releaseStore()
	for l.count > 0 && len(l.front) == 0 {
		if err := c.usable(); err != nil {
			return err
		}
		from := l.cursor
		owned := c.ownedNumbers()
		c.mu.Unlock()
		rows, err := c.store.read(ctx, from, id, l.most, l.quota, owned)
		c.mu.Lock()
		if err != nil {
			return c.failedHeld(err)
		}
		if l.cursor != from { // the front was dropped meanwhile, or has become full
			continue
		}
		end := last
		if rows.more {
			end = rows.next
		}
		c.workbench.fill(l, c.merge(l, id, rows.entries, end), end)
		if l.count > 0 && len(l.front) == 0 && end == last {
			return c.failedHeld(&Error{Job: c.job, Doing: "reading", Err: fmt.Errorf("%d requests of the slot %d are missing", l.count, id)})
		}
	}
	return nil
}

// merge puts what was read of a list, and what waits there and has yet to be written, into one order, from the cursor
// up to end. Called with mu held, by whoever has held the store since the rows were read.
func (c *Cache) merge(l *list, id int64, read []*entry, end order) []*entry {
	read = slices.DeleteFunc(read, func(e *entry) bool {
		_, hidden := c.hidden[e.place]
		return hidden
	})
	for _, e := range read {
		e.slot = c.byID[e.slot.id]
		c.entries[e.key] = e
		if depth, ok := c.open.lowered[e.key]; ok {
			e.depth = min(e.depth, depth)
		}
	}
	for _, e := range c.open.inserts {
		if e.delayed == (id == 0) && (e.delayed || e.slot.id == id) && !e.front && !e.inFlight && e.before(end) && !e.before(l.cursor) {
			read = append(read, e)
		}
	}
	slices.SortFunc(read, func(a, b *entry) int { return a.compare(b.order) })
	return read
}

// rows are some requests of a list, as they lie in the database.
type rows struct {
	entries []*entry
	more    bool  // there are more, from next on
	next    order // of the first that is not among them
}

// read reads requests of a list, from a place on: at most so many of them, and about so many bytes.
func (s *server) read(ctx context.Context, from order, id int64, most, bytes int, partitions []int) (r rows, err error) {
	const queue = `SELECT q.slot, q.rank, q.place, q.seq, q.key, q.attempt, q.parent, q.data, ~q.rank, r.depth
		FROM queue AS q JOIN request AS r ON r.key = q.key WHERE q.slot = $1 AND (q.rank, q.place) >= ($2, $3)
			ORDER BY q.rank, q.place LIMIT $4`
	const due = `SELECT d.slot, d.at, d.place, d.seq, d.key, d.attempt, d.parent, d.data, d.priority, r.depth
		FROM due AS d JOIN request AS r ON r.key = d.key WHERE (d.at, d.place) >= ($1, $2) AND d.partition = ANY ($4)
			ORDER BY d.at, d.place LIMIT $3`
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		r = rows{}
		var found pgx.Rows
		var at time.Time
		var e entry
		var slotID int64
		var key []byte
		rank := any(&e.rank)
		if id == 0 {
			found, _ = conn.Query(ctx, due, time.UnixMicro(from.rank), from.place, most+1, partitions)
			rank = &at
		} else {
			found, _ = conn.Query(ctx, queue, id, from.rank, from.place, most+1)
		}
		size := 0
		_, err := pgx.ForEachRow(found, []any{&slotID, rank, &e.place, &e.seq, &key, &e.attempt, &e.parent, &e.data, &e.priority, &e.depth}, func() error {
			if id == 0 {
				e.rank = at.UnixMicro()
			}
			if r.more {
				return nil
			}
			if len(r.entries) == most || size > bytes {
				r.more, r.next = true, e.order
				return nil
			}
			read := e
			read.key, read.data = tegenaria.Key(key), slices.Clone(e.data)
			read.slot, read.delayed = &slot{id: slotID}, id == 0
			r.entries = append(r.entries, &read)
			size += read.cost()
			return nil
		})
		return err
	})
	return r, err
}
