package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
)

// letter is a request for a slot of another worker. It lies in the inbox of the slot's partition, and its owner decides whether it is new.
type letter struct {
	tegenaria.Record
	whereabout
	parent int64
	id     int64 // of the database
}

// mark is where a letter lies.
type mark struct {
	partition int
	id        int64
}

// mostLetters is how many letters are taken in at a time.
const mostLetters = 1000

// handOn gathers a request for a slot of another worker. Called with mu held.
func (c *Cache) handOn(rec *tegenaria.Record) {
	if before, ok := c.open.letters[rec.Key]; ok && before.Depth <= rec.Depth {
		return
	}
	l := &letter{Record: *rec, parent: c.parentOf(rec)}
	l.whereabout, _ = c.isForeign(rec.Slot)
	l.Data = slices.Clone(rec.Data)
	c.open.letters[rec.Key] = l
	c.open.size += len(l.Data) + entryCost
}

// prepareLetters makes the statements that put letters into the inboxes of others, or into the outbox if they are for another server than the home of
// the worker, and take those out that were taken in.
func (b *batch) prepareLetters(home int) {
	var in, out []*letter
	for _, l := range b.letters {
		if l.server == home {
			in = append(in, l)
		} else {
			out = append(out, l)
		}
	}
	if len(in) > 0 {
		b.add(putIn, columnsOf(in)...)
	}
	if len(out) > 0 {
		servers := make([]int32, len(out))
		for i, l := range out {
			servers[i] = int32(l.server)
		}
		b.add(putOut, append(columnsOf(out), servers)...)
	}
	if len(b.drained) > 0 {
		var partitions []int32
		var ids []int64
		for _, m := range b.drained {
			partitions, ids = append(partitions, int32(m.partition)), append(ids, m.id)
		}
		b.add(`DELETE FROM inbox AS i USING unnest($1::int[], $2::bigint[]) AS d (partition, id) WHERE i.partition = d.partition AND i.id = d.id`, partitions, ids)
	}
}

// The statements that put letters into tables.
const (
	putIn = `INSERT INTO inbox (` + letterColumns + `) SELECT * FROM unnest($1::int[], $2::bytea[], $3::bytea[], $4::bigint[], $5::int[], $6::int[], $7::timestamptz[],
		$8::bigint[], $9::bytea[])`
	putOut = `INSERT INTO outbox (` + letterColumns + `, server) SELECT * FROM unnest($1::int[], $2::bytea[], $3::bytea[], $4::bigint[], $5::int[], $6::int[], $7::timestamptz[],
		$8::bigint[], $9::bytea[], $10::int[])`
	letterColumns = `partition, slot, key, priority, depth, attempt, not_before, parent, data`
)

// columnsOf returns the columns of letters.
func columnsOf(letters []*letter) []any {
	var partitions, depths, attempts []int32
	var slots, keys, data [][]byte
	var priorities, parents []int64
	var times []*time.Time
	for _, l := range letters {
		var at *time.Time
		if !l.NotBefore.IsZero() {
			at = new(time.UnixMicro(ceil(earlierTime(l.NotBefore, lastTime))))
		}
		partitions, slots, keys = append(partitions, int32(l.partition)), append(slots, []byte(l.Slot)), append(keys, l.Key[:])
		priorities, depths, attempts = append(priorities, int64(l.Priority)), append(depths, depthOf(l.Depth)), append(attempts, depthOf(l.Attempt))
		times, parents, data = append(times, at), append(parents, l.parent), append(data, append([]byte{}, l.Data...))
	}
	return []any{partitions, slots, keys, priorities, depths, attempts, times, parents, data}
}

func earlierTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// drain takes in letters to partitions of the own, and answers them as Accept does, except that a key which was only handed on is not known: this
// may be the letter with it. The caller has the turn; no letters that were taken in are still to be deleted.
func (c *Cache) drain(ctx context.Context, owned []int) (records []tegenaria.Record, verdicts []tegenaria.Verdict, err error) {
	letters, err := c.store.letters(ctx, owned)
	if err != nil || len(letters) == 0 {
		return nil, nil, err
	}
	keys := make([][]byte, len(letters))
	for i := range letters {
		keys[i] = letters[i].Key[:]
	}
	found, err := c.store.look(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range letters {
		rec := &letters[i].Record
		depth, known := found[rec.Key]
		if now, here := c.accepted(rec.Key); here {
			depth, known = now, true
		}
		verdict := tegenaria.VerdictKnown
		if !known {
			verdict = c.accept(rec)
		} else if rec.Depth < depth {
			c.lower(rec)
		}
		records, verdicts = append(records, *rec), append(verdicts, verdict)
		c.open.drained = append(c.open.drained, mark{letters[i].partition, letters[i].id})
	}
	c.soon()
	return records, verdicts, nil
}

// letters reads letters to some partitions, those that were written first.
func (s *server) letters(ctx context.Context, partitions []int) (letters []letter, err error) {
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, `SELECT id, `+letterColumns+` FROM inbox WHERE partition = ANY ($1) ORDER BY id LIMIT $2`, partitions, mostLetters)
		letters, err = readLetters(rows)
		return err
	})
	return letters, err
}

// readLetters reads letters with their numbers.
func readLetters(rows pgx.Rows) (letters []letter, err error) {
	var l letter
	var slot, key []byte
	var priority int64
	var at *time.Time
	_, err = pgx.ForEachRow(rows, []any{&l.id, &l.partition, &slot, &key, &priority, &l.Depth, &l.Attempt, &at, &l.parent, &l.Data}, func() error {
		l.Slot, l.Key, l.Priority, l.ParentSeq = string(slot), tegenaria.Key(key), int(priority), uint64(l.parent)
		if l.NotBefore = (time.Time{}); at != nil {
			l.NotBefore = *at
		}
		read := l
		read.Data = slices.Clone(l.Data)
		letters = append(letters, read)
		return nil
	})
	return letters, err
}
