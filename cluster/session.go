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
	beat      int64 // changes while it is alive
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
		FROM worker AS w JOIN beat AS b ON b.session = w.session WHERE w.name = $2 AND NOT w.buried AND b.lock <> $3`, once, s.job, s.worker, s.lock).
		Scan(&o.worker, &o.number, &o.beat, &ttl, &o.lock, &o.connected)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	o.ttl = time.Duration(ttl)
	return &o, err
}

const (
	readsInTTL   = 8                      // at least so often a session is looked at before it is buried
	longestLook  = 200 * time.Millisecond // a job that was given up is begun so soon
	settlingTime = time.Second            // how long the connection of a process that died may be there yet
)

// await returns once no other process has the name of the worker, and buries one that has died. It returns an [*InUseError] when that one is
// alive.
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
		dead := w.look(o, sent, now)
		young := now.Sub(began) < settlingTime
		switch {
		case dead, young && !o.connected: // the process that had this name has ended
			if err := s.bury(ctx, o); err != nil {
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

// pauseOf is the time between two looks at a session.
func pauseOf(ttl time.Duration) time.Duration { return min(ttl/readsInTTL, longestLook) }

// watch finds out whether a session is dead: whether it has not beaten for its TTL, by a clock that never jumps. Only pauses between two reads
// count, and of a long one no more than twice what it should be: neither a database that is away or slow nor a watcher that was asleep lets
// a session look dead.
type watch struct {
	number, beat int64
	read         time.Time // when the newest answer came
	silent       time.Duration
	alive        bool // it has beaten while it was looked at
}

// look notes what a read has found, which was sent and answered then. It reports whether the session is dead.
func (w *watch) look(o *session, sent, answered time.Time) (dead bool) {
	switch {
	case w.number != o.number:
		*w = watch{number: o.number, beat: o.beat}
	case w.beat != o.beat:
		w.beat, w.silent, w.alive = o.beat, 0, true
	default:
		w.silent += min(sent.Sub(w.read), 2*pauseOf(o.ttl))
	}
	w.read = answered
	return w.silent >= o.ttl
}

// terminate ends the connections that have a lock, except the own one.
const terminate = `SELECT pg_terminate_backend(pid) ` + locks + ` AND objid = $2::int::oid AND pid <> pg_backend_pid()`

// bury ends a session unless it has beaten since it was read: from then on it writes nothing. Its connections are ended, which may hold rows: at
// first for the row of the worker, and when all who connect again find that they are buried.
func (s *server) bury(ctx context.Context, o *session) error {
	return s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error { return s.buryOnce(ctx, conn, o) })
}

func (s *server) buryOnce(ctx context.Context, conn *pgx.Conn, o *session) error {
	dead := false
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `DELETE FROM beat WHERE session = (SELECT session FROM beat WHERE session = $1 AND number = $2 FOR UPDATE SKIP LOCKED)`, o.number, o.beat)
		if dead = tag.RowsAffected() > 0; err != nil || !dead {
			return err
		}
		if _, err = tx.Exec(ctx, terminate, s.job, o.lock); err == nil {
			_, err = tx.Exec(ctx, `UPDATE worker SET buried = true WHERE session = $1`, o.number)
		}
		return err
	})
	if err == nil && dead {
		_, err = conn.Exec(ctx, terminate, s.job, o.lock)
	}
	return err
}

// giveUp ends the own sessions, also one of which it is not known that it has begun: others may have its partitions at once.
func (s *server) giveUp(ctx context.Context) error {
	s.session = 0 // a second attempt may find that the first one has done it
	return s.patiently(ctx, "closing", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `WITH own AS (DELETE FROM beat WHERE lock = $1 RETURNING session)
				UPDATE worker AS w SET buried = true FROM own WHERE w.session = own.session`, s.lock)
			return err
		})
	})
}
