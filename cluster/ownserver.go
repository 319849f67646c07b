package cluster

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// movedFor is how many TTL a worker that has moved to a server may take to begin there, before another one moves there
// too.
const movedFor = 4

// openServers opens the job on the first of its servers, and on that of the worker, which it returns.
func (s *server) openServers(ctx context.Context, configs []*pgx.ConnConfig, partitions int) (*server, error) {
	found, err := s.open(ctx, partitions)
	if s.partitions = found; err != nil || len(configs) == 1 {
		return s, err
	}
	var own int
	var before *int
	err = s.patiently(ctx, "opening", func(ctx context.Context, conn *pgx.Conn) (err error) {
		own, before, err = s.assignServer(ctx, conn)
		return err
	})
	var mismatch *MismatchError
	if errors.As(err, &mismatch) {
		err = mismatch
	}
	if err != nil || own > 0 {
		err = errors.Join(err, s.close(ctx))
	}
	if err != nil {
		return nil, err
	}
	s.ownServer, s.config = own, configs[own]
	for i, config := range configs {
		var p *peer
		if i != own {
			p = newPeer(s, config, location{suffixes: s.suffixes, ownServer: i, servers: len(configs), partitions: found})
		}
		s.peers = append(s.peers, p)
	}
	if own > 0 {
		if _, err := s.open(ctx, found); err != nil {
			return nil, err
		}
	}
	if before != nil {
		if err := s.fetchCheckpoints(ctx, configs[*before], *before); err != nil {
			return nil, errors.Join(err, s.close(ctx))
		}
	}
	return s, nil
}

// assignServer returns the server of the worker: that on which it was before, or that with the fewest workers; and
// where its checkpoints are, if that is elsewhere.
func (s *server) assignServer(ctx context.Context, conn *pgx.Conn) (own int, before *int, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM job FOR UPDATE`, unprepared); err != nil { // one worker at a time
			return err
		}
		var list string // all servers have the same
		err := tx.QueryRow(ctx, `UPDATE job SET suffixes = coalesce(suffixes, $1)
			RETURNING suffixes`, unprepared, s.suffixes.version).Scan(&list)
		if err == nil && list != s.suffixes.version {
			err = &MismatchError{Job: s.job, What: suffixList, Stored: list, Asked: s.suffixes.version}
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO worker_server SELECT $1, n FROM generate_series(0, $2 - 1) AS n
			ORDER BY (SELECT count(*) FROM worker_server WHERE server = n), n LIMIT 1
			ON CONFLICT DO NOTHING`, unprepared, s.worker, s.servers)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT server, nullif(previous, server) FROM worker_server
			WHERE worker = $1`, unprepared, s.worker).Scan(&own, &before)
	})
	return own, before, err
}

// fetchCheckpoints copies the checkpoints of the worker from the server on which it was before, where its session ends.
func (s *server) fetchCheckpoints(ctx context.Context, config *pgx.ConnConfig, before int) error {
	old := &server{member: s.member, location: s.location, config: config, patience: s.patience, lock: s.lock}
	old.ownServer = before
	if _, err := old.open(ctx, s.partitions); err != nil {
		return err
	}
	l := newLoaded(0)
	err := old.await(ctx) // until it writes no more
	if err == nil {
		err = old.endSession(ctx)
	}
	if err == nil {
		err = old.patiently(ctx, "opening", func(ctx context.Context, conn *pgx.Conn) error {
			rows, _ := conn.Query(ctx, `SELECT name, value FROM checkpoint WHERE worker = $1`, unprepared, s.worker)
			return l.readCheckpoints(rows)
		})
	}
	if err = errors.Join(err, old.close(ctx)); err != nil {
		return err
	}
	var names, values [][]byte
	for name, value := range l.state.Checkpoints {
		names, values = append(names, []byte(name)), append(values, value)
	}
	err = s.execute(ctx, `INSERT INTO checkpoint SELECT $1, * FROM unnest($2::bytea[], $3::bytea[])
		ON CONFLICT (worker, name) DO UPDATE SET value = excluded.value`, s.worker, names, values)
	if err != nil {
		return err
	}
	return s.onFirst(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `UPDATE worker_server SET previous = NULL WHERE worker = $1 AND server = $2`, s.worker, s.ownServer)
		return err
	})
}

// onFirst does something with the first server.
func (s *server) onFirst(ctx context.Context, do func(ctx context.Context, conn *pgx.Conn) error) error {
	if s.ownServer > 0 {
		return s.peers[0].with(ctx, "writing", do)
	}
	return s.patiently(ctx, "writing", do)
}

// moveTo makes another server that of the worker, and reports whether it has. It does not if another worker has moved
// there within movedFor TTL: one is enough. A move whose answer was lost counts as done.
func (s *server) moveTo(ctx context.Context, to int) (moved bool, err error) {
	doubt := false
	err = s.onFirst(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT FROM job FOR UPDATE`); err != nil { // one worker at a time
				return err
			}
			tag, err := tx.Exec(ctx, `UPDATE worker_server SET server = $2, previous = coalesce(previous, server),
				moved = clock_timestamp() WHERE worker = $1 AND (server = $3
				AND NOT EXISTS (SELECT FROM worker_server WHERE server = $2
					AND moved > clock_timestamp() - $4 * interval '1 microsecond') OR server = $2 AND $5)`,
				s.worker, to, s.ownServer, (movedFor * s.ttl).Microseconds(), doubt)
			moved, doubt = tag.RowsAffected() > 0, true
			return err
		})
	})
	return moved, err
}
