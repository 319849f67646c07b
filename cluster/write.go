package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/pgretry"
)

// Bounds of what waits to be written.
const (
	largestBatch = 4 << 20
	oldestChange = time.Second
)

// acquireStore acquires the store. What somebody has begun to write, and could not, is written first: then the database
// has all that is not in c.open.
func (c *Cache) acquireStore(ctx context.Context) error {
	select {
	case c.storeToken <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("cluster: waiting for the database: %w", context.Cause(ctx))
	}
	c.mu.Lock()
	unfinished := c.writing != nil && c.broken == nil
	c.mu.Unlock()
	if unfinished {
		if err := c.writeOne(ctx); err != nil {
			c.releaseStore()
			return err
		}
	}
	return nil
}

// releaseStore releases the store.
func (c *Cache) releaseStore() { <-c.storeToken }

// room writes what was gathered when it has become much, and sees to it that it is written soon. Called with mu held;
// returns with mu released.
func (c *Cache) room(ctx context.Context) error {
	much := c.open.size >= largestBatch
	c.soon()
	number := c.open.number
	c.mu.Unlock()
	if !much {
		return nil
	}
	return c.writeUntil(ctx, number)
}

// soon sees to it that what was gathered is written soon. Called with mu held.
func (c *Cache) soon() {
	if c.timer == nil && !c.open.empty() && !c.closed {
		c.writes.Add(1)
		c.timer = time.AfterFunc(oldestChange, c.writeSoon)
	}
}

// writeSoon writes what was gathered. An error ends the use of the database, and the next call says so.
func (c *Cache) writeSoon() {
	defer c.writes.Done()
	c.mu.Lock()
	c.timer = nil
	number := c.open.number
	c.mu.Unlock()
	_ = c.writeUntil(c.alive, number)
}

// writeUntil returns when the batch of this number is durable, and all before it.
func (c *Cache) writeUntil(ctx context.Context, number int64) error {
	c.mu.Lock()
	done := c.durable >= number
	c.mu.Unlock()
	if done {
		return nil
	}
	if err := c.acquireStore(ctx); err != nil {
		return err
	}
	defer c.releaseStore()
	c.mu.Lock()
	done, broken := c.durable >= number, c.broken
	c.mu.Unlock()
	if done || broken != nil {
		return broken
	}
	return c.writeOne(ctx)
}

// write writes everything. The caller holds the store.
func (c *Cache) write(ctx context.Context) error {
	for {
		c.mu.Lock()
		broken, done := c.broken, c.writing == nil && c.open.empty()
		c.mu.Unlock()
		if broken != nil || done {
			return broken
		}
		if err := c.writeOne(ctx); err != nil {
			return err
		}
	}
}

// writeOne writes the batch that was begun, or begins with what was gathered. The caller holds the store.
func (c *Cache) writeOne(ctx context.Context) error {
	c.mu.Lock()
	if c.writing == nil {
		c.forgetIdle(time.Now())
		c.writing = c.open
		c.open = newBatch(c.writing.number + 1)
		c.store.prepare(c.writing)
	}
	b := c.writing
	c.mu.Unlock()
	if err := c.store.write(ctx, b); err != nil {
		return c.failed(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote(b)
	return nil
}

// failed notes an error that the job cannot go on after.
func (c *Cache) failed(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failedHeld(err)
}

// failedHeld is failed. Called with mu held.
func (c *Cache) failedHeld(err error) error {
	var failure *Error
	var rights *RightsError
	var fenced *FencedError
	if c.broken == nil && (errors.As(err, &failure) || errors.As(err, &rights) || errors.As(err, &fenced)) {
		c.broken = err
	}
	return err
}

// statement is one of those that write a batch.
type statement struct {
	sql  string
	args []any
}

// write writes a batch in one transaction, which is one round trip to the server. If it is not known whether that has
// been done, the number of the last batch says so before it is tried again.
func (s *server) write(ctx context.Context, b *batch) error {
	b.finish(s)
	doubt := b.sent
	b.sent = true
	return s.patiently(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		if doubt {
			if number, err := s.written(ctx); err != nil || number == b.number {
				return err
			}
		}
		doubt = true
		var transaction pgx.Batch
		for _, st := range b.statements {
			transaction.Queue(st.sql, st.args...)
		}
		results := conn.SendBatch(ctx, &transaction)
		var err error
		for range b.statements {
			if _, err = results.Exec(); err != nil {
				break
			}
		}
		err = errors.Join(err, results.Close())
		if pgretry.IsCode(err, noDivisor) {
			return &FencedError{Job: s.job, Worker: s.worker}
		}
		return err
	})
}

// fence is the last statement of a batch. It also counts by how many rows the tables of requests have grown: the sums
// over all workers that there have been are the numbers of rows. It divides by zero, and so undoes the transaction,
// unless the job is still ours and the batch is the next one.
const fence = `WITH ours AS (UPDATE worker SET batch = $3, queued = queued + $4, delayed = delayed + $5,
	messages = messages + $6 WHERE name = $1 AND session = $2 AND batch = $3 - 1 AND NOT expired RETURNING 1)
	SELECT 1 / count(*) FROM ours`

func (b *batch) add(sql string, args ...any) {
	b.statements = append(b.statements, statement{sql, args})
}

// prepare makes the statements of what other goroutines may still change. Called with the mutex of the cache held.
func (s *server) prepare(b *batch) {
	if n := len(b.seen); n > 0 {
		keys, seqs, depths := make([][]byte, 0, n), make([]int64, 0, n), make([]int32, 0, n)
		for key, n := range b.seen {
			keys, seqs, depths = append(keys, key[:]), append(seqs, n.seq), append(depths, depthOf(n.depth))
		}
		// Two owners may accept one key at the same time, if it has two slots; in one order they wait for each other
		// only one way.
		b.add(`INSERT INTO request SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::int[]) AS n (key, seq, depth)
			ORDER BY key ON CONFLICT (key) DO NOTHING`,
			keys, seqs, depths)
	}
	if n := len(b.lowered); n > 0 {
		keys, depths := make([][]byte, 0, n), make([]int32, 0, n)
		for key, depth := range b.lowered {
			keys, depths = append(keys, key[:]), append(depths, depthOf(depth))
		}
		b.add(`UPDATE request AS r SET depth = l.depth FROM unnest($1::bytea[], $2::int[]) AS l (key, depth)
			WHERE r.key = l.key AND r.depth > l.depth`, keys, depths)
	}
	b.prepareSlots()
	b.prepareLists()
	b.prepareMessages(s.ownServer)
	b.prepareItems(s.worker)
	if len(b.clearedCrashes) > 0 {
		keys := make([][]byte, 0, len(b.clearedCrashes))
		for key := range b.clearedCrashes {
			keys = append(keys, key[:])
		}
		b.add(`DELETE FROM crash WHERE key = ANY ($1)`, keys)
	}
	if len(b.released) > 0 {
		b.add(`UPDATE partition SET owner = NULL WHERE owner = $1 AND number = ANY ($2)`, s.session, b.released)
	}
	if len(b.checkpoints) > 0 {
		var workers []string
		var names, values [][]byte
		for name, value := range b.checkpoints {
			by := s.worker
			if name == loopbackCheckpoint {
				by = ""
			}
			workers, names, values = append(workers, by), append(names, []byte(name)), append(values, append([]byte{}, value...))
		}
		b.add(`INSERT INTO checkpoint SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[])
			ON CONFLICT (worker, name) DO UPDATE SET value = excluded.value`, workers, names, values)
	}
	if len(b.uncounted) > 0 {
		b.add(`DELETE FROM counter WHERE worker = $1 AND name = ANY ($2)`, s.worker, b.uncounted)
	}
	if len(b.counters) > 0 {
		sums := make(map[string]int64) // of names that are the same in the database
		for name, n := range b.counters {
			sums[short(clean(name))] += n
		}
		var names []string
		var values []int64
		for name, n := range sums {
			names, values = append(names, name), append(values, n)
		}
		b.add(`INSERT INTO counter SELECT $1, * FROM unnest($2::text[], $3::bigint[])
			ON CONFLICT (worker, name) DO UPDATE SET value = excluded.value`, s.worker, names, values)
	}
	if b.started {
		b.add(`UPDATE job SET started = true`)
	}
	if b.finished != "" {
		b.add(`UPDATE job SET finished = $1`, clean(b.finished))
	}
	if b.stopped != "" {
		b.add(`UPDATE job SET stopped = coalesce(stopped, $1)`, clean(b.stopped))
	}
}

// prepareSlots makes the statements that store slots.
func (b *batch) prepareSlots() {
	if len(b.gone) > 0 {
		b.add(`DELETE FROM slot WHERE id = ANY ($1)`, b.gone)
	}
	if len(b.slots) == 0 {
		return
	}
	var ids, delays, penalties, throttles, pages []int64
	var parts []int32
	var names [][]byte
	var allowed []*time.Time
	for s := range b.slots {
		var at *time.Time
		if t := s.nextAllowed; t.After(firstTime) {
			if t.After(lastTime) {
				t = lastTime
			}
			t = time.UnixMicro(ceil(t))
			at = &t
		}
		ids, parts, names, allowed = append(ids, s.id), append(parts, int32(s.partition)), append(names, []byte(s.name)), append(allowed, at)
		delays, penalties, throttles = append(delays, int64(s.delay)), append(penalties, int64(s.penalty)), append(throttles, int64(s.throttle))
		pages = append(pages, int64(s.pages))
	}
	b.add(`INSERT INTO slot SELECT * FROM unnest($1::bigint[], $2::int[], $3::bytea[], $4::timestamptz[],
		$5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
		ON CONFLICT (id) DO UPDATE SET next_allowed = excluded.next_allowed, delay = excluded.delay, penalty = excluded.penalty,
			throttle = excluded.throttle, pages = excluded.pages`, ids, parts, names, allowed, delays, penalties, throttles, pages)
}

// prepareLists makes the statements that take requests out of queues and the due list, and put them in.
func (b *batch) prepareLists() {
	var slots, ranks, places []int64
	var times []time.Time
	var duePlaces []int64
	for _, d := range b.deletes {
		if d.delayed {
			times, duePlaces = append(times, time.UnixMicro(d.rank)), append(duePlaces, d.place)
		} else {
			slots, ranks, places = append(slots, d.slot), append(ranks, d.rank), append(places, d.place)
		}
	}
	if len(places) > 0 {
		b.add(`DELETE FROM queue AS q USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS d (slot, rank, place)
			WHERE q.slot = d.slot AND q.rank = d.rank AND q.place = d.place`, slots, ranks, places)
	}
	if len(duePlaces) > 0 {
		b.add(`DELETE FROM due AS q USING unnest($1::timestamptz[], $2::bigint[]) AS d (at, place) WHERE q.at = d.at
			AND q.place = d.place`, times, duePlaces)
	}
	b.queued, b.delayed = -len(places), -len(duePlaces)
	var queue, due columns
	times = nil
	var partitions []int32
	for _, e := range b.inserts {
		if e.delayed {
			due.add(e)
			times, partitions = append(times, time.UnixMicro(e.rank)), append(partitions, int32(e.slot.partition))
		} else {
			queue.add(e)
		}
	}
	b.queued, b.delayed = b.queued+len(queue.places), b.delayed+len(due.places)
	if len(queue.places) > 0 {
		b.add(`INSERT INTO queue (rank, slot, place, seq, key, attempt, parent, data)
			SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::int[],
				$7::bigint[], $8::bytea[])`,
			queue.ranks, queue.slots, queue.places, queue.seqs, queue.keys, queue.attempts, queue.parents, queue.data)
	}
	if len(due.places) > 0 {
		b.add(`INSERT INTO due (at, partition, priority, slot, place, seq, key, attempt, parent, data)
			SELECT * FROM unnest($1::timestamptz[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
				$7::bytea[], $8::int[], $9::bigint[], $10::bytea[])`,
			times, partitions, due.priorities, due.slots, due.places, due.seqs, due.keys, due.attempts, due.parents, due.data)
	}
}

// columns are what queue and due store of requests.
type columns struct {
	ranks, priorities, slots, places, seqs, parents []int64
	attempts                                        []int32
	keys, data                                      [][]byte
}

func (c *columns) add(e *entry) {
	c.ranks, c.priorities, c.slots = append(c.ranks, e.rank), append(c.priorities, e.priority), append(c.slots, e.slot.id)
	c.places, c.seqs, c.parents = append(c.places, e.place), append(c.seqs, e.seq), append(c.parents, e.parent)
	key := e.key
	c.attempts, c.keys, c.data = append(c.attempts, depthOf(e.attempt)), append(c.keys, key[:]), append(c.data, append([]byte{}, e.data...))
}

// finish makes the other statements, once: those of requests that have ended, and the fence.
func (b *batch) finish(s *server) {
	if b.finishedStatements {
		return
	}
	b.finishedStatements = true
	if len(b.settled) > 0 {
		b.finishOutcomes()
	}
	b.add(fence, s.worker, s.session, b.number, b.queued, b.delayed, len(b.messages)-len(b.takenIn))
}

func (b *batch) finishOutcomes() {
	var seqs, parents, deadSeqs, priorities []int64
	var keys, slots, data [][]byte
	var depths, attempts, statuses []int32
	var outcomes, reasons, urls []string
	var times []time.Time
	for i := range b.settled {
		e, how := b.settled[i].entry, &b.settled[i].how
		key := e.key
		seqs, keys, parents = append(seqs, e.seq), append(keys, key[:]), append(parents, e.parent)
		depths, attempts, statuses = append(depths, depthOf(e.depth)), append(attempts, depthOf(e.attempt)), append(statuses, depthOf(how.Status))
		outcomes, reasons, urls = append(outcomes, how.Outcome.String()), append(reasons, clean(how.Reason)), append(urls, urlOf(e))
		times = append(times, how.At)
		if how.Outcome == tegenaria.Failed || how.Outcome == tegenaria.GaveUp {
			deadSeqs, slots, priorities = append(deadSeqs, e.seq), append(slots, []byte(e.slot.name)), append(priorities, e.priority)
			data = append(data, append([]byte{}, e.data...))
		}
	}
	b.add(`INSERT INTO outcome (seq, key, parent, depth, attempt, outcome, reason, status, at, url)
		SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::int[], $5::int[], $6::text[], $7::text[],
			$8::int[], $9::timestamptz[], $10::text[])`,
		seqs, keys, parents, depths, attempts, outcomes, reasons, statuses, times, urls)
	if len(deadSeqs) > 0 {
		b.add(`INSERT INTO dead_letter SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[],
			$4::bytea[])`, deadSeqs, slots, priorities, data)
	}
}

// urlOf returns the URL of a request as people may see it, "" if its data says nothing.
func urlOf(e *entry) string {
	r, err := (&tegenaria.Record{Data: e.data}).Request()
	if err != nil {
		return ""
	}
	if strings.Contains(r.Url, "@") {
		if u, err := url.Parse(r.Url); err == nil {
			return clean(u.Redacted())
		}
	}
	return clean(r.Url)
}

// clean makes a text that the database takes.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}

// longestCounter is how much of a counter's name is stored: an index has its bounds.
const longestCounter = 1000

// short cuts a name.
func short(name string) string {
	if len(name) > longestCounter {
		name = strings.ToValidUTF8(name[:longestCounter], "")
	}
	return name
}
