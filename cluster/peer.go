package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// peer is another server of the job in PostgreSQL. It connects when it is asked for the first time.
type peer struct {
	inUse  chan struct{} // has a token in it while somebody uses the server
	server *server       // without a session, and so without heartbeats
	found  bool          // its tables are there
}

var _ remoteServer = (*peer)(nil)

// newPeer makes the peer of a server of the job that lies at another place.
func newPeer(s *server, config *pgx.ConnConfig, at location) *peer {
	m := s.member
	m.session = 0
	return &peer{inUse: make(chan struct{}, 1), server: &server{member: m, location: at, config: config, patience: s.patience, lock: rand.Int32()}}
}

// with does something with the server when nobody else does.
func (p *peer) with(ctx context.Context, doing string, do func(ctx context.Context, conn *pgx.Conn) error) error {
	select {
	case p.inUse <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("cluster: waiting for the database: %w", context.Cause(ctx))
	}
	defer func() { <-p.inUse }()
	return p.server.patiently(ctx, doing, func(ctx context.Context, conn *pgx.Conn) error {
		if !p.found {
			if err := p.server.check(ctx); err != nil {
				return err
			}
			if _, err := p.server.find(ctx, p.server.partitions); err != nil {
				return err
			}
			p.found = true
		}
		return do(ctx, conn)
	})
}

// briefly does something that is not to wait for long.
func (p *peer) briefly(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, settlingTime)
	defer cancel()
	return do(ctx)
}

func (p *peer) close(ctx context.Context) error {
	p.inUse <- struct{}{}
	defer func() { <-p.inUse }()
	return p.server.close(ctx)
}

func (p *peer) expire(ctx context.Context, o *session) error {
	return p.with(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) error { return p.server.expireOnce(ctx, conn, o) })
}

func (p *peer) stop(ctx context.Context, reason string) error {
	return p.execute(ctx, `UPDATE job SET stopped = coalesce(stopped, $1)`, clean(reason))
}

// execute executes a statement that may be executed twice.
func (p *peer) execute(ctx context.Context, sql string, args ...any) error {
	return p.with(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, args...)
		return err
	})
}

// remoteLeaseGrace is how much longer than its request may take a lease of another server counts after it was requested
// last.
const remoteLeaseGrace = 30 * time.Second

func (p *peer) requestLease(ctx context.Context, t *hostLease) (granted, attended bool, err error) {
	err = p.with(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `INSERT INTO host_lease VALUES ($1, $2, $3, $4, $5, 0, clock_timestamp() + $6 * interval '1 microsecond')
			ON CONFLICT (id) DO UPDATE SET until = excluded.until
			RETURNING owner <> 0 AND owner = (SELECT p.owner FROM partition AS p
				WHERE p.number = host_lease.partition), EXISTS (SELECT FROM heartbeat)`,
			t.id, t.partition, []byte(t.slot), t.session, int64(t.atMost), (t.atMost+remoteLeaseGrace).Microseconds()).Scan(&granted, &attended)
	})
	return granted, attended, err
}

func (p *peer) endLease(ctx context.Context, id int64) error {
	return p.execute(ctx, `DELETE FROM host_lease WHERE id = $1`, id)
}

func (p *peer) report(ctx context.Context, from int, r *serverReport) error {
	err := p.execute(ctx, `DELETE FROM host_lease WHERE session % $1 = $2 AND session <= $3
		AND session <> ALL ($4)`, p.server.servers, from, r.newestSession, r.sessions)
	if err == nil && p.server.ownServer == 0 {
		err = p.execute(ctx, `UPDATE peer SET open = $2 WHERE server = $1 AND open <> $2`, from, r.unfinished)
	}
	return err
}

func (p *peer) receive(ctx context.Context, batch *outboxBatch) error {
	messages := make([]*message, len(batch.messages))
	for i := range messages {
		messages[i] = &batch.messages[i]
	}
	return p.with(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `UPDATE peer SET received = $2, messages = messages + $3 WHERE server = $1
				AND received = $2 - 1`, batch.from, batch.number, len(messages))
			if err == nil && tag.RowsAffected() > 0 { // otherwise it was received before
				_, err = tx.Exec(ctx, insertInbox, columnsOf(messages)...)
			}
			return err
		})
	})
}

func (p *peer) status(ctx context.Context) (s *serverStatus, err error) {
	err = p.with(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) (err error) {
		s, err = readServerStatus(ctx, conn)
		return err
	})
	return s, err
}

func (s *server) status(ctx context.Context) (now *serverStatus, err error) {
	err = s.patiently(ctx, "reading", func(ctx context.Context, conn *pgx.Conn) (err error) {
		now, err = readServerStatus(ctx, conn)
		return err
	})
	return now, err
}

// Parts of statements: nothing waits, is delayed or in flight, and no inbox has a message; how many pages the runs of a
// job have read.
const (
	idle      = `NOT EXISTS (SELECT FROM queue) AND NOT EXISTS (SELECT FROM due) AND NOT EXISTS (SELECT FROM inbox)`
	pagesRead = `(SELECT coalesce(sum(value), 0)::bigint FROM counter WHERE name = 'read')`
)

// readServerStatus reads how the job is doing on a server.
func readServerStatus(ctx context.Context, conn *pgx.Conn) (*serverStatus, error) {
	var s serverStatus
	var batch pgx.Batch
	queueSessions(&batch, &s.sessions)
	batch.Queue(`SELECT started, paused, over IS NOT NULL, coalesce(stopped, ''),
		(SELECT value FROM checkpoint WHERE worker = '' AND name = $1),
		`+idle+`, reached, NOT EXISTS (SELECT FROM outbox), EXISTS (SELECT FROM host_lease WHERE until > clock_timestamp()), `+pagesRead+`,
		sessions, (SELECT coalesce(sum(batch), 0)::bigint FROM worker),
			(SELECT coalesce(sum(received), 0)::bigint FROM peer) FROM job`, []byte(loopbackCheckpoint)).
		QueryRow(func(row pgx.Row) error {
			return row.Scan(&s.started, &s.paused, &s.over, &s.stopped, &s.allowed, &s.idle, &s.reached, &s.empty, &s.leaseRequested, &s.read,
				&s.changes.sessions, &s.changes.batches, &s.changes.received)
		})
	return &s, conn.SendBatch(ctx, &batch).Close()
}

func (s *server) nextOutboxBatch(ctx context.Context, to int) (p *outboxBatch, err error) {
	err = s.patiently(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		p = &outboxBatch{from: s.ownServer, to: to}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			var ids []int64
			err := tx.QueryRow(ctx, `SELECT sent, ids FROM peer WHERE server = $1 FOR UPDATE`, to).Scan(&p.number, &ids)
			if err == nil && len(ids) == 0 {
				rows, _ := tx.Query(ctx, `SELECT id FROM outbox WHERE server = $1 ORDER BY id LIMIT $2`, to, mostMessages)
				ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
				if err == nil && len(ids) == 0 {
					p = nil
					return nil
				}
				if err == nil {
					p.number++
					_, err = tx.Exec(ctx, `UPDATE peer SET sent = $2, ids = $3 WHERE server = $1`, to, p.number, ids)
				}
			}
			if err != nil {
				return err
			}
			rows, _ := tx.Query(ctx, `SELECT id, `+messageColumns+` FROM outbox WHERE server = $1 AND id = ANY ($2) ORDER BY id`, to, ids)
			p.messages, err = readMessages(rows)
			return err
		})
	})
	return p, err
}

func (s *server) confirmOutboxBatch(ctx context.Context, p *outboxBatch) error {
	return s.patiently(ctx, "writing", func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, `UPDATE peer SET ids = '{}', messages = messages - $3 WHERE server = $1
				AND sent = $2 AND ids <> '{}'`, p.to, p.number, len(p.messages))
			if err != nil || tag.RowsAffected() == 0 { // it has been said before
				return err
			}
			ids := make([]int64, len(p.messages))
			for i := range ids {
				ids[i] = p.messages[i].id
			}
			_, err = tx.Exec(ctx, `DELETE FROM outbox WHERE server = $1 AND id = ANY ($2)`, p.to, ids)
			return err
		})
	})
}

func (s *server) follow(ctx context.Context, server int, first *serverStatus) error {
	err := s.execute(ctx, `UPDATE peer SET workers = $2 WHERE server = $1 AND workers <> $2`, server, len(first.sessions))
	if err != nil || server > 0 {
		return err
	}
	var over *int64
	if first.over {
		over = &first.read
	}
	if err := s.execute(ctx, `UPDATE job SET started = started OR $1, paused = $2,
		stopped = coalesce(stopped, nullif($3, '')), over = coalesce(over, $4)
		WHERE NOT started AND $1 OR paused <> $2 OR stopped IS NULL AND $3 <> '' OR over IS NULL
			AND $4::bigint IS NOT NULL`, first.started, first.paused, first.stopped, over); err != nil {
		return err
	}
	if first.allowed == nil {
		return nil
	}
	return s.execute(ctx, `INSERT INTO checkpoint VALUES ('', $1, $2)
		ON CONFLICT (worker, name) DO UPDATE SET value = excluded.value WHERE checkpoint.value <> excluded.value`,
		[]byte(loopbackCheckpoint), first.allowed)
}

func (s *server) conclude(ctx context.Context, read int64, stopped string) error {
	if stopped != "" {
		return s.execute(ctx, `UPDATE job SET stopped = coalesce(stopped, $1)`, stopped)
	}
	return s.execute(ctx, `UPDATE job SET over = $1`, read)
}

// othersAlive reports whether another process works on the job on a server, as far as is known there, and why the job
// was stopped there.
const othersAlive = `SELECT EXISTS (SELECT FROM worker AS w JOIN heartbeat AS b ON b.session = w.session
	WHERE NOT w.expired AND b.lock <> $1), coalesce(stopped, '') FROM job`

// resumeStopped has a job that was stopped go on if no process works on it, with all the pages of its limit.
const resumeStopped = `WITH again AS (UPDATE job SET stopped = NULL, reached = false
	WHERE (stopped IS NOT NULL OR servers > 1) AND NOT EXISTS
	(SELECT FROM worker AS w JOIN heartbeat AS b ON b.session = w.session WHERE NOT w.expired AND b.lock <> $1) RETURNING 1)
	UPDATE worker SET reserved_pages = 0 WHERE EXISTS (SELECT FROM again)`

// resumeStoppedEverywhere has a job that was stopped go on if no process works on it on any server. If one does, or may
// do so on a server that is away, what has stopped the job here is spread to the first server once more.
func (s *server) resumeStoppedEverywhere(ctx context.Context) error {
	if s.servers == 1 {
		return nil // beginOnce does it
	}
	alive, ended, stopped := false, false, ""
	ask := func(ctx context.Context, conn *pgx.Conn) error {
		var here bool
		var why string
		err := conn.QueryRow(ctx, othersAlive, unprepared, s.lock).Scan(&here, &why)
		alive, ended = alive || here, ended || why != ""
		if conn == s.conn {
			stopped = why
		}
		return err
	}
	for _, p := range s.peers {
		if p != nil && p.briefly(ctx, func(ctx context.Context) error { return p.with(ctx, "opening", ask) }) != nil {
			alive = true // nobody can say that it is not
		}
	}
	// This server is asked last: a process that works on another one may have had the job go on just now, here too.
	err := s.patiently(ctx, "opening", func(ctx context.Context, conn *pgx.Conn) error { return ask(ctx, conn) })
	if err != nil {
		return err
	}
	if alive {
		if stopped != "" && s.ownServer > 0 {
			_ = s.peers[0].briefly(ctx, func(ctx context.Context) error { return s.peers[0].stop(ctx, stopped) })
		}
		return nil
	}
	if !ended {
		return nil
	}
	for _, p := range s.peers {
		if p != nil {
			err = errors.Join(err, p.execute(ctx, resumeStopped, s.lock))
		}
	}
	return errors.Join(err, s.execute(ctx, resumeStopped, s.lock))
}
