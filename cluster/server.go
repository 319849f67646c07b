package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is the one connection of a worker. The lock of the job is held by it, so that it is lost with it. Its methods are called by whoever
// has the turn.
type server struct {
	config   *pgx.ConnConfig
	job      string // which is the schema
	worker   string
	session  int64 // 0 before Begin
	patience time.Duration

	conn     *pgx.Conn
	backends []backend // of conn, and of those that broke before it and may not have noticed
}

// backend is the process of a server that serves a connection.
type backend struct {
	pid  int
	born time.Time // without it, it may be another one
}

const (
	oldestServer = 14_00_00
	firstPause   = 20 * time.Millisecond // after an attempt that failed; it doubles
	longestPause = 5 * time.Second
	heldFor      = time.Second // how long Open waits for the lock: that of a process that died is free a moment later
)

// patiently runs do with a connection until it succeeds, or fails by something else than that the database is away, or patience is over.
func (s *server) patiently(ctx context.Context, doing string, do func(ctx context.Context, conn *pgx.Conn) error) error {
	begin, pause := time.Now(), firstPause
	for {
		err := s.attempt(ctx, do)
		var final *FencedError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &final):
			return final
		case ctx.Err() != nil:
			return fmt.Errorf("cluster: %s the job %s: %w", doing, s.job, errors.Join(context.Cause(ctx), err))
		case isCode(err, noRights):
			return &RightsError{Job: s.job, Doing: doing, Err: err}
		case !isAway(err):
			return &Error{Job: s.job, Doing: doing, Err: err}
		}
		if away := time.Since(begin); away+pause > s.patience {
			return &Error{Job: s.job, Doing: doing, Away: max(away, 1), Err: err}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		pause = min(2*pause, longestPause)
	}
}

// attempt runs do once, after connecting again if that is necessary.
func (s *server) attempt(ctx context.Context, do func(ctx context.Context, conn *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	if s.conn == nil || s.conn.IsClosed() {
		if err := s.reconnect(ctx); err != nil {
			return err
		}
	}
	err := do(ctx, s.conn)
	if err != nil && s.conn.IsClosed() {
		err = fmt.Errorf("%w: %w", errConnection, err)
	}
	return err
}

// settings make the connection keep what it says it keeps, and make plans that do not depend on how large the tables were when
// they were made: each statement of ours finds its rows by an index.
const settings = `
	SET synchronous_commit = on;
	SET plan_cache_mode = force_generic_plan;
	SET enable_seqscan = off;
	SET enable_hashjoin = off;
	SET enable_mergejoin = off;
	SET jit = off;
	SET client_min_messages = warning`

// once is for statements that are not worth being prepared.
const once = pgx.QueryExecModeExec

// connect connects.
func (s *server) connect(ctx context.Context) error {
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return err
	}
	var b backend
	if _, err = conn.Exec(ctx, settings, pgx.QueryExecModeSimpleProtocol); err == nil {
		err = conn.QueryRow(ctx, `SELECT pid, backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()`, once).Scan(&b.pid, &b.born)
	}
	if err == nil {
		_, err = conn.Exec(ctx, `SELECT set_config('search_path', quote_ident($1), false), set_config('application_name', $2, false)`, once, s.job, s.worker)
	}
	if err != nil {
		return errors.Join(err, conn.Close(ctx))
	}
	s.conn, s.backends = conn, append(s.backends, b)
	return nil
}

// reconnect takes the place of a connection that broke. Backends that have not noticed are ended: they hold the lock, and may still be
// writing.
func (s *server) reconnect(ctx context.Context) error {
	if err := s.connect(ctx); err != nil {
		return err
	}
	current := len(s.backends) - 1
	var pids []int
	var born []time.Time
	for _, b := range s.backends[:current] {
		pids, born = append(pids, b.pid), append(born, b.born)
	}
	_, err := s.conn.Exec(ctx, `SELECT pg_terminate_backend(a.pid) FROM pg_stat_activity AS a, unnest($1::int[], $2::timestamptz[]) AS b (pid, born)
		WHERE a.pid = b.pid AND a.backend_start = b.born`, once, pids, born)
	if err == nil && s.session > 0 {
		_, err = s.written(ctx)
	}
	if err == nil {
		err = s.lock(ctx)
	}
	if err != nil {
		return errors.Join(err, s.close(ctx))
	}
	s.backends = s.backends[current:]
	return nil
}

// lock takes the lock of the job.
func (s *server) lock(ctx context.Context) error {
	var ok bool
	err := s.conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtextextended('tegenaria job ' || $1, 0))`, once, s.job).Scan(&ok)
	if err == nil && !ok {
		err = errHeld
	}
	return err
}

// lockSoon takes the lock of the job, unless another worker goes on holding it.
func (s *server) lockSoon(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, heldFor, errHeld)
	defer cancel()
	tick := time.NewTicker(firstPause)
	defer tick.Stop()
	for {
		if err := s.lock(ctx); !errors.Is(err, errHeld) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// written returns the number of the last batch that this session has written, or a [*FencedError] if it is not ours any more.
func (s *server) written(ctx context.Context) (batch int64, err error) {
	var session int64
	var buried bool
	err = s.conn.QueryRow(ctx, `SELECT session, batch, buried FROM worker WHERE name = $1`, once, s.worker).Scan(&session, &batch, &buried)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && (session != s.session || buried) {
		return 0, &FencedError{Job: s.job, Worker: s.worker}
	}
	return batch, err
}

// close closes the connection, and frees the lock with it.
func (s *server) close(ctx context.Context) error {
	if s.conn == nil {
		return nil
	}
	conn := s.conn
	s.conn = nil
	return conn.Close(ctx)
}
