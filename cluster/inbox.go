package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
)

// message is a request for a slot of another worker. It waits in the inbox of the slot's partition, whose owner decides
// whether the request is new.
type message struct {
	tegenaria.Record
	slotLocation
	parent int64
	id     int64 // of the database
}

// messageID says which message of which inbox.
type messageID struct {
	partition int
	id        int64
}

// mostMessages is how many messages are taken in at a time.
const mostMessages = 1000

// forward gathers a message with a request for a slot of another worker. Called with mu held.
func (c *Cache) forward(rec *tegenaria.Record) {
	if before, ok := c.open.messages[rec.Key]; ok && before.Depth <= rec.Depth {
		return
	}
	l := &message{Record: *rec, parent: c.parentOf(rec)}
	l.slotLocation, _ = c.isForeign(rec.Slot)
	l.Data = slices.Clone(rec.Data)
	c.open.messages[rec.Key] = l
	c.open.size += len(l.Data) + entryCost
}

// prepareMessages makes the statements that put messages into the inboxes of others, or into the outbox if they are for
// another server than the worker's own, and delete those that were taken in.
func (b *batch) prepareMessages(own int) {
	var in, out []*message
	for _, l := range b.messages {
		if l.server == own {
			in = append(in, l)
		} else {
			out = append(out, l)
		}
	}
	if len(in) > 0 {
		b.add(insertInbox, columnsOf(in)...)
	}
	if len(out) > 0 {
		servers := make([]int32, len(out))
		for i, l := range out {
			servers[i] = int32(l.server)
		}
		b.add(insertOutbox, append(columnsOf(out), servers)...)
	}
	if len(b.takenIn) > 0 {
		var partitions []int32
		var ids []int64
		for _, m := range b.takenIn {
			partitions, ids = append(partitions, int32(m.partition)), append(ids, m.id)
		}
		b.add(`DELETE FROM inbox AS i USING unnest($1::int[], $2::bigint[]) AS d (partition, id)
			WHERE i.partition = d.partition AND i.id = d.id`, partitions, ids)
	}
}

// The statements that put messages into tables.
const (
	insertInbox = `INSERT INTO inbox (` + messageColumns + `) SELECT *
		FROM unnest($1::int[], $2::bytea[], $3::bytea[], $4::bigint[], $5::int[], $6::int[], $7::timestamptz[],
		$8::bigint[], $9::bytea[])`
	insertOutbox = `INSERT INTO outbox (` + messageColumns + `, server) SELECT *
		FROM unnest($1::int[], $2::bytea[], $3::bytea[], $4::bigint[], $5::int[], $6::int[], $7::timestamptz[],
		$8::bigint[], $9::bytea[], $10::int[])`
	messageColumns = `partition, slot, key, priority, depth, attempt, not_before, parent, data`
)

// columnsOf returns the columns of messages.
func columnsOf(messages []*message) []any {
	var partitions, depths, attempts []int32
	var slots, keys, data [][]byte
	var priorities, parents []int64
	var times []*time.Time
	for _, l := range messages {
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

// takeInbox takes messages from the inboxes of its own partitions, and answers them as Accept does, except that a key
// which was only forwarded is not known: this may be the message with it. The caller holds the store; of earlier
// messages none is still to be deleted.
func (c *Cache) takeInbox(ctx context.Context, owned []int) (records []tegenaria.Record, verdicts []tegenaria.Verdict, err error) {
	messages, err := c.store.messages(ctx, owned)
	if err != nil || len(messages) == 0 {
		return nil, nil, err
	}
	keys := make([][]byte, len(messages))
	for i := range messages {
		keys[i] = messages[i].Key[:]
	}
	found, err := c.store.lookUp(ctx, keys)
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range messages {
		rec := &messages[i].Record
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
		c.open.takenIn = append(c.open.takenIn, messageID{messages[i].partition, messages[i].id})
	}
	c.soon()
	return records, verdicts, nil
}

// messages reads messages to some partitions, those that were written first.
func (s *server) messages(ctx context.Context, partitions []int) (messages []message, err error) {
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, `SELECT id, `+messageColumns+` FROM inbox WHERE partition = ANY ($1) ORDER BY id
			LIMIT $2`, partitions, mostMessages)
		messages, err = readMessages(rows)
		return err
	})
	return messages, err
}

// readMessages reads messages with their numbers.
func readMessages(rows pgx.Rows) (messages []message, err error) {
	var l message
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
		messages = append(messages, read)
		return nil
	})
	return messages, err
}
