package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria/internal/pgretry"
)

// server is the connection over which a worker reads and writes. It holds a lock, by which other workers find it.
// Its methods are called by whoever holds the store.
type server struct {
	member // its job is the schema
	location
	peers    []*peer // by server, nil: the own one
	config   *pgx.ConnConfig
	patience time.Duration
	lock     int32 // number of the advisory lock that the connection holds; random

	conn *pgx.Conn
}

const oldestServer = 14_00_00

// patiently runs do with a connection until it succeeds, or fails by something else than that the database is away, or
// patience is over.
func (s *server) patiently(ctx context.Context, doing string, do func(ctx context.Context, conn *pgx.Conn) error) error {
	away, err := pgretry.Do(ctx, s.patience, isAway, func(ctx context.Context) error { return s.attempt(ctx, do) })
	var fenced *FencedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fenced):
		return fenced
	case away > 0:
	case ctx.Err() != nil:
		return fmt.Errorf("cluster: %s the job %s: %w", doing, s.job, errors.Join(context.Cause(ctx), err))
	case pgretry.IsCode(err, noRights):
		return &RightsError{Job: s.job, Doing: doing, Err: err}
	}
	return &Error{Job: s.job, Doing: doing, Away: away, Err: err}
}

// attempt runs do once, after connecting again if that is necessary.
func (s *server) attempt(ctx context.Context, do func(ctx context.Context, conn *pgx.Conn) error) error {
	if s.conn == nil || s.conn.IsClosed() {
		if err := s.reconnect(ctx); err != nil {
			return err
		}
	}
	err := do(ctx, s.conn)
	if err != nil && s.conn.IsClosed() {
		err = fmt.Errorf("%w: %w", pgretry.ErrConnection, err)
	}
	return err
}

// settings make the connection keep what it says it keeps, and make plans that do not depend on how large the tables
// were when they were made: each statement of ours finds its rows by an index.
const settings = `
	SET synchronous_commit = on;
	SET plan_cache_mode = force_generic_plan;
	SET enable_seqscan = off;
	SET enable_hashjoin = off;
	SET enable_mergejoin = off;
	SET jit = off;
	SET client_min_messages = warning`

// unprepared is for statements that are not worth being prepared.
const unprepared = pgx.QueryExecModeExec

// dial connects.
func (s *server) dial(ctx context.Context, config *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	// A worker that stands still while it begins must not keep others from it.
	statements := fmt.Sprintf("%s; SET idle_in_transaction_session_timeout = %d", settings, max(s.ttl.Milliseconds(), 1))
	if _, err = conn.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol); err == nil {
		_, err = conn.Exec(ctx, `SELECT set_config('search_path', quote_ident($1), false),
			set_config('application_name', $2, false)`, unprepared, s.job, s.worker)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

// reconnect connects. It takes the place of a connection that broke, whose server may not have noticed and be writing
// still: that is ended.
func (s *server) reconnect(ctx context.Context) (err error) {
	if s.conn, err = s.dial(ctx, s.config); err != nil {
		return err
	}
	if _, err = s.conn.Exec(ctx, terminate, s.job, s.lock); err == nil {
		_, err = s.conn.Exec(ctx, `SELECT pg_advisory_lock(hashtext('tegenaria job ' || $1), $2)`, s.job, s.lock) // once the other is gone
	}
	if err == nil && s.session > 0 { // now that whoever expires this session ends the connection
		_, err = s.written(ctx)
	}
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	return nil
}

// written returns the number of the last batch that this session has written, or a [*FencedError] if it is not ours any
// more.
func (s *server) written(ctx context.Context) (batch int64, err error) {
	var session int64
	var expired bool
	err = s.conn.QueryRow(ctx, `SELECT session, batch, expired FROM worker
		WHERE name = $1`, unprepared, s.worker).Scan(&session, &batch, &expired)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (session != s.session || expired) {
		return 0, &FencedError{Job: s.job, Worker: s.worker}
	}
	return batch, err
}

// close closes the connection.
func (s *server) close(ctx context.Context) error {
	if s.conn == nil {
		return nil
	}
	conn := s.conn
	s.conn = nil
	return conn.Close(ctx)
}
