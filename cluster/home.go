package cluster

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// movedFor is how many TTL a worker that has moved to a server may take to begin there, before another one moves there too.
const movedFor = 4

// openHome opens the job on the first of its servers, and on the home of the worker, which it returns.
func (s *server) openHome(ctx context.Context, configs []*pgx.ConnConfig, partitions int) (*server, error) {
	found, err := s.open(ctx, partitions)
	if s.partitions = found; err != nil || len(configs) == 1 {
		return s, err
	}
	var home int
	var before *int
	err = s.patiently(ctx, "opening", func(ctx context.Context, conn *pgx.Conn) (err error) {
		home, before, err = s.register(ctx, conn)
		return err
	})
	var mismatch *MismatchError
	if errors.As(err, &mismatch) {
		err = mismatch
	}
	if err != nil || home > 0 {
		err = errors.Join(err, s.close(ctx))
	}
	if err != nil {
		return nil, err
	}
	s.home, s.config = home, configs[home]
	for i, config := range configs {
		var p *peer
		if i != home {
			p = newPeer(s, config, place{suffixes: s.suffixes, home: i, servers: len(configs), partitions: found})
		}
		s.peers = append(s.peers, p)
	}
	if home > 0 {
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

// register returns the home of the worker: the server on which it was before, or that with the fewest workers; and where its checkpoints are, if
// that is elsewhere.
func (s *server) register(ctx context.Context, conn *pgx.Conn) (home int, before *int, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT FROM job FOR UPDATE`, once); err != nil { // one worker at a time
			return err
		}
		var list string // all servers have the same
		err := tx.QueryRow(ctx, `UPDATE job SET suffixes = coalesce(suffixes, $1) RETURNING suffixes`, once, s.suffixes.version).Scan(&list)
		if err == nil && list != s.suffixes.version {
			err = &MismatchError{Job: s.job, What: suffixList, Stored: list, Asked: s.suffixes.version}
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO home SELECT $1, n FROM generate_series(0, $2 - 1) AS n ORDER BY (SELECT count(*) FROM home WHERE server = n), n LIMIT 1
			ON CONFLICT DO NOTHING`, once, s.worker, s.servers)
		if err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT server, nullif(before, server) FROM home WHERE worker = $1`, once, s.worker).Scan(&home, &before)
	})
	return home, before, err
}

// fetchCheckpoints copies the checkpoints of the worker from the server on which it was before, where its session ends.
func (s *server) fetchCheckpoints(ctx context.Context, config *pgx.ConnConfig, before int) error {
	old := &server{member: s.member, place: s.place, config: config, patience: s.patience, lock: s.lock}
	old.home = before
	if _, err := old.open(ctx, s.partitions); err != nil {
		return err
	}
	l := newLoaded(0)
	err := old.await(ctx) // until it writes no more
	if err == nil {
		err = old.giveUp(ctx)
	}
	if err == nil {
		err = old.patiently(ctx, "opening", func(ctx context.Context, conn *pgx.Conn) error {
			rows, _ := conn.Query(ctx, `SELECT name, value FROM checkpoint WHERE worker = $1`, once, s.worker)
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
	err = s.execute(ctx, `INSERT INTO checkpoint SELECT $1, * FROM unnest($2::bytea[], $3::bytea[]) ON CONFLICT (worker, name) DO UPDATE SET value = excluded.value`, s.worker, names, values)
	if err != nil {
		return err
	}
	return s.onFirst(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `UPDATE home SET before = NULL WHERE worker = $1 AND server = $2`, s.worker, s.home)
		return err
	})
}

// onFirst does something with the first server.
func (s *server) onFirst(ctx context.Context, do func(ctx context.Context, conn *pgx.Conn) error) error {
	if s.home > 0 {
		return s.peers[0].with(ctx, "writing", do)
	}
	return s.patiently(ctx, "writing", do)
}

// moveTo makes another server the home of the worker, and reports whether it has. It does not if another worker has moved there within
// movedFor TTL: one is enough. A move whose answer was lost counts as done.
func (s *server) moveTo(ctx context.Context, to int) (moved bool, err error) {
	doubt := false
	err = s.onFirst(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `SELECT FROM job FOR UPDATE`); err != nil { // one worker at a time
				return err
			}
			tag, err := tx.Exec(ctx, `UPDATE home SET server = $2, before = coalesce(before, server), moved = clock_timestamp() WHERE worker = $1 AND (server = $3
				AND NOT EXISTS (SELECT FROM home WHERE server = $2 AND moved > clock_timestamp() - $4 * interval '1 microsecond') OR server = $2 AND $5)`,
				s.worker, to, s.home, (movedFor * s.ttl).Microseconds(), doubt)
			moved, doubt = tag.RowsAffected() > 0, true
			return err
		})
	})
	return moved, err
}
