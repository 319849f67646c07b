package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
)

// loaded is what a worker has to know of partitions that it has taken. Their queues stay where they are.
type loaded struct {
	session  int64
	paused   bool
	reserved int64 // pages of the limit, by former sessions of the worker
	state    tegenaria.State
	parts    []int
	slots    map[string]*slot
	byID     map[int64]*slot
	due      list

	crashes  map[tegenaria.Key]int
	suspects []*entry // in the order in which they are to be handed out
}

func newLoaded(session int64) *loaded {
	return &loaded{session: session, slots: make(map[string]*slot), byID: make(map[int64]*slot), crashes: make(map[tegenaria.Key]int)}
}

// errNameTaken says that another process has begun under the name of this worker just now.
var errNameTaken = errors.New("another worker has begun")

// begin begins a session when no other one has the name of the worker. sent is when it began, at the latest.
func (s *server) begin(ctx context.Context, job tegenaria.Job, d death) (l *loaded, sent time.Time, err error) {
	s.session = 0
	for {
		err := s.await(ctx)
		if err == nil {
			err = s.resumeStoppedEverywhere(ctx)
		}
		if err != nil {
			return nil, sent, err
		}
		if err := s.awaitSuffixes(ctx); err != nil {
			return nil, sent, err
		}
		err = s.patiently(ctx, "opening", func(ctx context.Context, conn *pgx.Conn) (err error) {
			sent = time.Now()
			l, err = s.beginOnce(ctx, conn, job, d)
			return err
		})
		var mismatch *MismatchError
		switch {
		case errors.Is(err, errNameTaken):
		case errors.As(err, &mismatch):
			return nil, sent, mismatch
		default:
			return l, sent, err
		}
	}
}

// beginOnce begins a session in a transaction, takes some of what it is to have and what is free of that, and reads
// what it has to know.
func (s *server) beginOnce(ctx context.Context, conn *pgx.Conn, job tegenaria.Job, d death) (*loaded, error) {
	l := newLoaded(0)
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var spider, finished *string
		var keyVersion *int
		err := tx.QueryRow(ctx, `UPDATE job SET sessions = sessions + servers RETURNING sessions, spider, key_version,
			started, finished`, unprepared).
			Scan(&l.session, &spider, &keyVersion, &l.state.Started, &finished)
		if err != nil {
			return err
		}
		if o, err := s.namesake(ctx, tx); err != nil || o != nil {
			return cmp.Or(err, errNameTaken)
		}
		if spider != nil && *spider != clean(job.Spider) {
			return &MismatchError{Job: s.job, What: "spider", Stored: *spider, Asked: job.Spider}
		}
		if keyVersion != nil && *keyVersion != job.KeyVersion {
			return &MismatchError{Job: s.job, What: "key version", Stored: fmt.Sprint(*keyVersion), Asked: fmt.Sprint(job.KeyVersion)}
		}
		if err := s.move(ctx, tx); err != nil {
			return err
		}
		l.state.Durable = true
		if finished != nil {
			l.state.Finished, l.state.Reason = true, *finished
		}
		var batch pgx.Batch
		batch.Queue(`UPDATE job SET spider = $1, key_version = $2`, clean(job.Spider), job.KeyVersion)
		// A job that was stopped goes on when the workers have ended that were to stop, with all the pages of its
		// limit.
		if s.servers == 1 {
			batch.Queue(resumeStopped, s.lock)
		}
		batch.Queue(`INSERT INTO worker VALUES ($1, $2, 0, false, now())
			ON CONFLICT (name) DO UPDATE SET session = excluded.session, batch = 0, expired = false,
				began = excluded.began, holds_pages = false, drained = false RETURNING reserved_pages`, s.worker, l.session).
			QueryRow(func(row pgx.Row) error { return row.Scan(&l.reserved) })
		batch.Queue(`DELETE FROM heartbeat WHERE lock = $1`, s.lock)
		batch.Queue(`DELETE FROM host_lease AS t WHERE NOT coalesce(` + leaseCounts + `, false)`)
		batch.Queue(`INSERT INTO heartbeat VALUES ($1, 0, $2, $3)`, l.session, int64(s.ttl), s.lock)
		batch.Queue(`WITH theirs AS (DELETE FROM counter
			WHERE worker NOT IN (SELECT name FROM worker WHERE NOT expired) RETURNING name, value)
			INSERT INTO counter SELECT $1, name, sum(value) FROM theirs GROUP BY name
			ON CONFLICT (worker, name) DO UPDATE SET value = counter.value + excluded.value`, s.worker)
		d.queue(&batch)
		if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
			return err
		}
		var v view
		if err := v.read(ctx, tx); err != nil {
			return err
		}
		l.paused = v.paused
		if v.stopped == "" {
			if err := v.rebalance(ctx, tx); err != nil {
				return err
			}
		}
		if err := l.takePartitions(ctx, tx, s.worker, nil); err != nil || l.state.Finished {
			return err
		}
		return l.findSuspects(ctx, tx)
	})
	if err == nil {
		s.session = l.session
	}
	return l, err
}

// slotsAtOnce is about how many slots are taken at a time: partitions, at least one, until they have so many.
const slotsAtOnce = 1000

// isFree is the condition that the session $1 may take a partition: it is assigned to the session, which does not have
// it yet ($2 are those that it has), and nobody else owns it nor sends a request to it, for which a former owner has
// granted a lease.
const isFree = `number <> ALL ($2) AND (owner = $1 OR wanted = $1
	AND NOT EXISTS (SELECT FROM worker WHERE session = owner AND NOT expired)
	AND NOT EXISTS (SELECT FROM host_lease AS t WHERE t.partition = number AND t.owner <> 0 AND t.session <> $1 AND ` + leaseCounts + `))`

// takePartitions takes some of the partitions that the session may have, the smallest numbers first, and reads what is
// there, and the checkpoints and counters of a worker; "" is none.
func (l *loaded) takePartitions(ctx context.Context, tx pgx.Tx, worker string, has []int) error {
	rows, _ := tx.Query(ctx, `WITH free AS (SELECT number,
		(SELECT count(*) FROM (SELECT FROM slot WHERE slot.partition = number LIMIT $3) AS s) AS slots FROM partition WHERE `+isFree+`)
		UPDATE partition SET owner = $1 WHERE `+isFree+`
		AND number IN (SELECT number FROM (SELECT number, sum(slots) OVER (ORDER BY number) - slots AS before
			FROM free) AS f WHERE before < $3)
		RETURNING number`, unprepared, l.session, append([]int{}, has...), slotsAtOnce)
	var err error
	if l.parts, err = pgx.CollectRows(rows, pgx.RowTo[int]); err != nil {
		return err
	}
	var batch pgx.Batch
	// The subquery is made for each slot, by its index: a plan for all slots together may read the whole queue.
	batch.Queue(`SELECT s.id, s.partition, s.name, s.next_allowed, s.delay, s.penalty, s.throttle, s.pages, q.count, coalesce(q.rank, 0)
		FROM slot AS s, LATERAL (SELECT count(*), min(rank) AS rank FROM queue WHERE queue.slot = s.id) AS q
			WHERE s.partition = ANY ($1)`, l.parts).Query(l.readSlots)
	batch.Queue(`SELECT slot, count(*), min(at) FROM due WHERE partition = ANY ($1) GROUP BY slot`, l.parts).Query(l.readDue)
	batch.Queue(`SELECT name, value FROM checkpoint WHERE worker IN ($1, '')`, worker).Query(l.readCheckpoints)
	batch.Queue(`SELECT name, value FROM counter WHERE worker = $1`, worker).Query(l.readCounters)
	batch.Queue(`SELECT key, count(*) FROM crash GROUP BY key`).Query(l.readCrashes)
	return tx.SendBatch(ctx, &batch).Close()
}

// readSlots reads the slots, and how much waits in each.
func (l *loaded) readSlots(rows pgx.Rows) error {
	var partition int
	var name []byte
	var allowed *time.Time
	var delay, penalty, throttle, pages, id, count, rank int64
	_, err := pgx.ForEachRow(rows, []any{&id, &partition, &name, &allowed, &delay, &penalty, &throttle, &pages, &count, &rank}, func() error {
		s := &slot{
			list: list{most: frontRecords, quota: frontBytes, count: int(count), head: order{rank: rank}}, name: string(name), id: id, partition: partition, stored: true, pages: int(pages),
			delay: time.Duration(delay), penalty: time.Duration(penalty), throttle: time.Duration(throttle),
		}
		s.cursor = s.head
		if allowed != nil {
			s.nextAllowed = *allowed
		}
		l.slots[s.name], l.byID[id] = s, s
		return nil
	})
	return err
}

// readDue reads how much is delayed, and until when.
func (l *loaded) readDue(rows pgx.Rows) error {
	var id, count int64
	var at time.Time
	_, err := pgx.ForEachRow(rows, []any{&id, &count, &at}, func() error {
		s := l.byID[id]
		if s == nil {
			return fmt.Errorf("requests of the slot %d are delayed, which has no row", id)
		}
		s.delayed = int(count)
		if head := (order{rank: at.UnixMicro()}); l.due.count == 0 || head.before(l.due.head) {
			l.due.head = head
		}
		l.due.count += int(count)
		l.state.Delayed = int64(l.due.count)
		return nil
	})
	return err
}

// loopbackCheckpoint is the checkpoint that every worker of a job has to know: which loopback addresses its seeds
// allow. It has the worker "".
const loopbackCheckpoint = "tegenaria/loopback"

// readCheckpoints reads the checkpoints of a worker, and those of the job.
func (l *loaded) readCheckpoints(rows pgx.Rows) error {
	var key, value []byte
	l.state.Checkpoints = make(map[string][]byte)
	_, err := pgx.ForEachRow(rows, []any{&key, &value}, func() error {
		l.state.Checkpoints[string(key)] = slices.Clone(value)
		return nil
	})
	return err
}

// readCounters reads the counters of a worker.
func (l *loaded) readCounters(rows pgx.Rows) error {
	var name string
	var count int64
	_, err := pgx.ForEachRow(rows, []any{&name, &count}, func() error {
		if l.state.Counters == nil {
			l.state.Counters = make(map[string]int64)
		}
		l.state.Counters[name] = count
		return nil
	})
	return err
}
