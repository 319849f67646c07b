package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// session is one that another worker has begun, and that is not over.
type session struct {
	worker    string
	number    int64
	heartbeat int64 // changes while it is alive
	ttl       time.Duration
	lock      int32
	drained   bool // it is to end, see Job.Drain
	connected bool // the connection is there that has the lock; it may have lost its worker
}

// locks are the locks of a job's workers: each is held by the connection over which the worker writes.
const locks = `FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = hashtext('tegenaria job ' || $1)::oid
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// namesake returns the session of another process that has the name of the worker, nil if there is none.
func (s *server) namesake(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (*session, error) {
	var o session
	var ttl int64
	err := q.QueryRow(ctx, `SELECT w.name, w.session, b.number, b.ttl, b.lock, EXISTS (SELECT `+locks+` AND objid = b.lock::oid)
		FROM worker AS w JOIN heartbeat AS b ON b.session = w.session WHERE w.name = $2 AND NOT w.expired
			AND b.lock <> $3`, unprepared, s.job, s.worker, s.lock).
		Scan(&o.worker, &o.number, &o.heartbeat, &ttl, &o.lock, &o.connected)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	o.ttl = time.Duration(ttl)
	return &o, err
}

const (
	readsInTTL   = 8                      // a session is read at least so often before it expires
	longestPoll  = 200 * time.Millisecond // so soon others see that a session has ended
	settlingTime = time.Second            // how long the connection of a process that died may be there yet
)

// await returns once no other process has the name of the worker, and expires the session of one that has died. It
// returns an [*InUseError] when that one is alive.
func (s *server) await(ctx context.Context) error {
	began := time.Now()
	var w watch
	for {
		var o *session
		sent := time.Now()
		err := s.patiently(ctx, "opening", func(ctx context.Context, conn *pgx.Conn) (err error) {
			o, err = s.namesake(ctx, conn)
			return err
		})
		if err != nil || o == nil {
			return err
		}
		now := time.Now()
		dead := w.observe(o, sent, now)
		young := now.Sub(began) < settlingTime
		switch {
		case dead, young && !o.connected: // the process that had this name has ended
			if err := s.expire(ctx, o); err != nil {
				return err
			}
			continue
		case w.alive || o.connected && !young:
			return &InUseError{Job: s.job, Worker: o.worker}
		}
		timer := time.NewTimer(pauseOf(o.ttl))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("cluster: waiting for the job %s: %w", s.job, context.Cause(ctx))
		}
	}
}

// pauseOf is the time between two reads of a session.
func pauseOf(ttl time.Duration) time.Duration { return min(ttl/readsInTTL, longestPoll) }

// watch finds out whether a session is dead: whether no heartbeat came for its TTL, by a clock that never jumps. Only
// pauses between two reads count, and of a long one no more than twice what it should be: neither a database that is
// away or slow nor a watcher that was asleep makes a session look dead.
type watch struct {
	number, heartbeat int64
	read              time.Time // when the newest answer came
	silent            time.Duration
	alive             bool // a heartbeat came while it was watched
}

// observe notes what a read has found, which was sent and answered then. It reports whether the session is dead.
func (w *watch) observe(o *session, sent, answered time.Time) (dead bool) {
	switch {
	case w.number != o.number:
		*w = watch{number: o.number, heartbeat: o.heartbeat}
	case w.heartbeat != o.heartbeat:
		w.heartbeat, w.silent, w.alive = o.heartbeat, 0, true
	default:
		w.silent += min(sent.Sub(w.read), 2*pauseOf(o.ttl))
	}
	w.read = answered
	return w.silent >= o.ttl
}

// terminate ends the connections that have a lock, except the own one.
const terminate = `SELECT pg_terminate_backend(pid) ` + locks + ` AND objid = $2::int::oid AND pid <> pg_backend_pid()`

// expire ends a session unless a heartbeat has come since it was read: from then on it writes nothing. Its connections,
// which may hold rows, are ended: once for the row of the worker, and again when everyone who reconnects finds that the
// session is expired.
func (s *server) expire(ctx context.Context, o *session) error {
	return s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error { return s.expireOnce(ctx, conn, o) })
}

func (s *server) expireOnce(ctx context.Context, conn *pgx.Conn, o *session) error {
	dead := false
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM heartbeat
			WHERE session = (SELECT session FROM heartbeat WHERE session = $1 AND number = $2
			FOR UPDATE SKIP LOCKED)`, o.number, o.heartbeat)
		if dead = tag.RowsAffected() > 0; err != nil || !dead {
			return err
		}
		if _, err = tx.Exec(ctx, terminate, s.job, o.lock); err == nil {
			_, err = tx.Exec(ctx, `UPDATE worker SET expired = true WHERE session = $1`, o.number)
		}
		return err
	})
	if err == nil && dead {
		_, err = conn.Exec(ctx, terminate, s.job, o.lock)
	}
	return err
}

// endSession ends the sessions of this process, also one of which it is not known that it has begun: others may have
// its partitions at once.
func (s *server) endSession(ctx context.Context) error {
	s.session = 0 // a second attempt may find that the first one has done it
	return s.patiently(ctx, "closing", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `WITH own AS (DELETE FROM heartbeat WHERE lock = $1 RETURNING session)
				UPDATE worker AS w SET expired = true FROM own WHERE w.session = own.session`, s.lock)
			return err
		})
	})
}
