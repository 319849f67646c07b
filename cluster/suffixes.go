package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// suffixList is what a MismatchError calls the list of public suffixes.
const suffixList = "list of public suffixes"

// movedAtOnce is how many rows are compared with the list at a time.
const movedAtOnce = 10_000

// others reads the list by which a job is divided, "" if that is the own one or there is none yet, and the sessions
// that divide by it.
func (s *server) others(ctx context.Context, q interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}) (list string, sessions []session, err error) {
	var batch pgx.Batch
	batch.Queue(`SELECT coalesce(nullif(suffixes, $1), '')
		FROM job`, s.suffixes.version).QueryRow(func(row pgx.Row) error { return row.Scan(&list) })
	queueSessions(&batch, &sessions)
	if err := q.SendBatch(ctx, &batch).Close(); err != nil || list == "" {
		return "", nil, err
	}
	return list, slices.DeleteFunc(sessions, func(o session) bool { return o.lock == s.lock }), nil
}

// awaitSuffixes returns once the job is divided by the list of public suffixes of this worker, or no other worker is
// left, and expires those that have died. It returns a [*MismatchError] when one is alive.
func (s *server) awaitSuffixes(ctx context.Context) error {
	watches := make(map[int64]*watch)
	for {
		var list string
		var sessions []session
		sent := time.Now()
		err := s.patiently(ctx, "opening", func(ctx context.Context, conn *pgx.Conn) (err error) {
			list, sessions, err = s.others(ctx, conn)
			return err
		})
		if err != nil || len(sessions) == 0 {
			return err
		}
		now, ttl := time.Now(), sessions[0].ttl
		for _, o := range sessions {
			w := watches[o.number]
			if w == nil {
				w = new(watch)
				watches[o.number] = w
			}
			ttl = min(ttl, o.ttl)
			if w.observe(&o, sent, now) {
				err = s.expire(ctx, &o)
			} else if w.alive {
				err = &MismatchError{Job: s.job, What: suffixList, Stored: list, Asked: s.suffixes.version}
			}
			if err != nil {
				return err
			}
		}
		timer := time.NewTimer(pauseOf(ttl))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("cluster: waiting for the job %s: %w", s.job, context.Cause(ctx))
		}
	}
}

// move moves the slots, and what waits for them, to the partitions in which they are by the own list of public
// suffixes. The caller has locked the job.
func (s *server) move(ctx context.Context, tx pgx.Tx) error {
	list, sessions, err := s.others(ctx, tx)
	if err != nil {
		return err
	}
	if len(sessions) > 0 {
		return errNameTaken
	}
	if list != "" && s.servers > 1 { // a slot may have to go to another server
		return &MismatchError{Job: s.job, What: suffixList, Stored: list, Asked: s.suffixes.version}
	}
	if list != "" {
		if err := s.moveRows(ctx, tx, `SELECT id, partition, name FROM slot WHERE id > $1 ORDER BY id LIMIT $2`,
			`UPDATE slot SET partition = n.partition FROM unnest($1::bigint[], $2::int[], $3::int[]) AS n (id, was,
				partition) WHERE slot.id = n.id`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE due SET partition = s.partition FROM slot AS s WHERE s.id = due.slot
			AND s.partition <> due.partition`, unprepared); err != nil {
			return err
		}
		if err := s.moveRows(ctx, tx, `SELECT id, partition, slot FROM inbox WHERE id > $1 ORDER BY id LIMIT $2`,
			`UPDATE inbox SET partition = n.partition FROM unnest($1::bigint[], $2::int[], $3::int[]) AS n (id, was,
				partition) WHERE inbox.partition = n.was AND inbox.id = n.id`); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE job SET suffixes = $1 WHERE suffixes IS DISTINCT FROM $1`, unprepared, s.suffixes.version)
	return err
}

// moveRows moves the rows of a table. read reads the number, the partition and the slot's name of those behind a
// number, in the order of their numbers.
func (s *server) moveRows(ctx context.Context, tx pgx.Tx, read, update string) error {
	var partitions int
	if err := tx.QueryRow(ctx, `SELECT partitions FROM job`, unprepared).Scan(&partitions); err != nil {
		return err
	}
	for after, n := int64(-1<<63), movedAtOnce; n == movedAtOnce; {
		var ids []int64
		var was, now []int32
		var partition int32
		var name []byte
		n = 0
		rows, _ := tx.Query(ctx, read, after, movedAtOnce)
		_, err := pgx.ForEachRow(rows, []any{&after, &partition, &name}, func() error {
			n++
			if p := int32(s.suffixes.partitionOf(string(name), partitions)); p != partition {
				ids, was, now = append(ids, after), append(was, partition), append(now, p)
			}
			return nil
		})
		if err == nil && len(ids) > 0 {
			_, err = tx.Exec(ctx, update, ids, was, now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
