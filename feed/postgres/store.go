package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/table"
	"github.com/tegenaria/tegenaria/internal/pgretry"
)

// What is the feed's own in a schema.
const (
	notes     = "tegenaria_batches" // the table with the last batch of each job
	counters  = "tegenaria_rows"    // the table with the next number of a row, for each table without a key
	rowColumn = "tegenaria_row"     // the number of a row in a table without a key
)

// store is the table of a feed.
type store struct {
	pool      *pgxpool.Pool
	schema    string
	table     string
	columns   []table.Column
	key       []string
	isKey     []int // indexes of the key's columns
	append    bool
	overwrite bool
	patience  time.Duration

	// Set by Open.
	job    table.Job
	commit string        // a statement that says how sure a commit has to be, or ""
	there  []column      // the columns as they are in the table
	conn   *pgxpool.Conn // nil between batches

	next, end int64 // numbers of rows that were drawn and not used
}

// label names the table in messages.
func (s *store) label() string {
	if s.schema == "" {
		return s.table
	}
	return s.schema + "." + s.table
}

// name writes the name of something in the schema of the table.
func (s *store) name(of string) string { return table.Quote(s.schema) + "." + table.Quote(of) }

// literal writes a text as SQL has it, whatever the settings of the connection are.
func literal(text string) string {
	return " E'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

// patiently runs do with a connection until it succeeds, or fails by something else than that the database is away, or patience is over.
// Then the connection goes back to its pool, where other feeds may wait for one.
func (s *store) patiently(ctx context.Context, doing string, do func(ctx context.Context) error) error {
	defer s.release()
	away, err := pgretry.Do(ctx, s.patience, pgretry.IsAway, func(ctx context.Context) error { return s.attempt(ctx, do) })
	switch {
	case away > 0:
		return &Error{Table: s.label(), Doing: doing, Away: away, Err: err}
	case err != nil && ctx.Err() != nil:
		err = errors.Join(context.Cause(ctx), err)
	}
	return s.failed(doing, err)
}

// attempt runs do once. After an error the connection has no transaction, or is closed.
func (s *store) attempt(ctx context.Context, do func(ctx context.Context) error) error {
	if s.conn == nil {
		conn, err := s.pool.Acquire(ctx)
		if err != nil {
			return err
		}
		s.conn = conn
	}
	err := do(ctx)
	if err == nil {
		return nil
	}
	raw := s.conn.Conn().PgConn()
	if raw.IsClosed() {
		err = fmt.Errorf("%w: %w", pgretry.ErrConnection, err)
	} else if raw.TxStatus() == 'I' || s.exec(ctx, "ROLLBACK") == nil {
		return err
	}
	s.release()
	return err
}

// release gives the connection back. One with a transaction is closed by its pool.
func (s *store) release() {
	if s.conn != nil {
		s.conn.Release()
		s.conn = nil
	}
}

// exec runs statements without arguments.
func (s *store) exec(ctx context.Context, statements ...string) error {
	_, err := s.conn.Conn().PgConn().Exec(ctx, strings.Join(statements, ";\n")).ReadAll()
	return err
}

// number runs statements, and returns the first number of the last row that one of them gives. ok is false if none does.
func (s *store) number(ctx context.Context, statements ...string) (n int64, ok bool, err error) {
	results, err := s.conn.Conn().PgConn().Exec(ctx, strings.Join(statements, ";\n")).ReadAll()
	if err != nil {
		return 0, false, err
	}
	for _, r := range results {
		for _, row := range r.Rows {
			if n, err = strconv.ParseInt(string(row[0]), 10, 64); err != nil {
				return 0, false, err
			}
			ok = true
		}
	}
	return n, ok, nil
}

// Open connects, makes or checks the table, and takes back a batch that the cache does not know.
func (s *store) Open(ctx context.Context, job table.Job) error {
	s.job, s.next, s.end = job, 0, 0
	err := s.patiently(ctx, "opening", func(ctx context.Context) error {
		var schema, commit string
		if err := s.conn.QueryRow(ctx, "SELECT coalesce(current_schema(), 'public'), current_setting('synchronous_commit')").Scan(&schema, &commit); err != nil {
			return err
		}
		s.schema, s.commit = cmp.Or(s.schema, schema), ""
		if s.job.Lazy {
			s.commit = "SET LOCAL synchronous_commit = off"
		} else if commit == "off" { // then a crash of the server would lose what the cache takes for stored
			s.commit = "SET LOCAL synchronous_commit = on"
		}
		// One feed at a time makes tables.
		if err := s.exec(ctx, "BEGIN", s.commit, "SET LOCAL client_min_messages = warning", "SELECT pg_advisory_xact_lock(hashtext('tegenaria'))", s.makeOwn()); err != nil {
			return err
		}
		if err := s.begin(ctx); err != nil {
			return err
		}
		return s.exec(ctx, "COMMIT")
	})
	return err
}

// makeOwn makes the tables of the feed's own.
func (s *store) makeOwn() string {
	return "CREATE TABLE IF NOT EXISTS " + s.name(notes) + " (job text, feed text, table_name text NOT NULL, batch bigint NOT NULL, " +
		"first_row bigint NOT NULL, last_row bigint NOT NULL, PRIMARY KEY (job, feed));\n" +
		"CREATE TABLE IF NOT EXISTS " + s.name(counters) + " (table_name text PRIMARY KEY, next_row bigint NOT NULL)"
}

// begin goes to where the job was. It runs in a transaction.
func (s *store) begin(ctx context.Context) error {
	if !s.job.New {
		if err := s.resume(ctx); err != nil {
			return err
		}
	}
	if err := s.fit(ctx); err != nil {
		return err
	}
	if len(s.key) == 0 {
		err := s.exec(ctx, "INSERT INTO "+s.name(counters)+" SELECT"+literal(s.table)+", 1 + coalesce(max("+rowColumn+"), 0) FROM "+s.name(s.table)+" ON CONFLICT DO NOTHING")
		if err != nil {
			return err
		}
	}
	if !s.job.New {
		return nil
	}
	if s.overwrite {
		if err := s.exec(ctx, "TRUNCATE "+s.name(s.table)); err != nil {
			return err
		}
	} else if !s.append {
		_, some, err := s.number(ctx, "SELECT 1 FROM "+s.name(s.table)+" LIMIT 1")
		if err != nil {
			return err
		}
		if some {
			return &feed.NotEmptyError{Path: s.label(), Table: s.label()}
		}
	}
	// An attempt whose COMMIT was lost may have been here before.
	return s.exec(ctx, "INSERT INTO "+s.name(notes)+" VALUES ("+literal(s.job.ID)+","+literal(s.job.Feed)+","+literal(s.table)+", 0, 0, -1) ON CONFLICT DO NOTHING")
}

// mine is the condition of the job's line in the notes.
func (s *store) mine() string {
	return " WHERE job =" + literal(s.job.ID) + " AND feed =" + literal(s.job.Feed)
}

// lockNote reads the last batch. A transaction that writes one has to end first, also one of a program that is gone.
func (s *store) lockNote() string {
	return "SELECT batch FROM " + s.name(notes) + s.mine() + " AND table_name =" + literal(s.table) + " FOR UPDATE"
}

// note writes down the last batch.
func (s *store) note(batch, first, last int64) string {
	return fmt.Sprintf("UPDATE %s SET batch = %d, first_row = %d, last_row = %d%s", s.name(notes), batch, first, last, s.mine())
}

// resume deletes the rows of the one batch that the cache may not know.
func (s *store) resume(ctx context.Context) error {
	batch, ok, err := s.number(ctx, s.lockNote())
	if err != nil {
		return err
	}
	if !ok {
		return &feed.CorruptError{Path: s.label(), Err: errors.New("it knows nothing of this job")}
	}
	switch batch {
	case s.job.Batch:
		return nil
	case s.job.Batch + 1:
		if len(s.key) == 0 {
			err := s.exec(ctx, "DELETE FROM "+s.name(s.table)+" AS t USING "+s.name(notes)+" AS n WHERE n.job ="+literal(s.job.ID)+
				" AND n.feed ="+literal(s.job.Feed)+" AND t."+rowColumn+" BETWEEN n.first_row AND n.last_row")
			if err != nil {
				return err
			}
		}
		return s.exec(ctx, s.note(s.job.Batch, 0, -1))
	}
	return &feed.CorruptError{Path: s.label(), Err: fmt.Errorf("it ends with batch %d, and the job with %d", batch, s.job.Batch)}
}

// Close has nothing to do: no connection is kept between batches.
func (s *store) Close(context.Context, bool) error { return nil }
