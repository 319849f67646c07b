package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/table"
)

// What is the feed's own in a database.
const (
	notes     = "tegenaria_batches" // the table with the last batch of each job
	rowColumn = "tegenaria_row"     // the number of a row in a table without a key
)

const makeNotes = `CREATE TABLE IF NOT EXISTS ` + notes + ` (
	job TEXT NOT NULL, feed TEXT NOT NULL, table_name TEXT NOT NULL,
	batch INTEGER NOT NULL, first_row INTEGER NOT NULL, last_row INTEGER NOT NULL,
	PRIMARY KEY (job, feed))`

// store is the database of a feed.
type store struct {
	path      string
	table     string
	columns   []table.Column
	key       []string
	isKey     []int // indexes of the key's columns
	append    bool
	overwrite bool
	patience  time.Duration

	file os.FileInfo // as it was opened
	job  table.Job
	db   *sql.DB
	conn *sql.Conn
}

// label names the table in messages.
func (s *store) label() string { return s.table + " of " + s.path }

// failed says what could not be done, and what to do about it where that is known.
func (s *store) failed(doing string, err error) error {
	if err == nil {
		return nil
	}
	switch err.(type) {
	case *feed.NotEmptyError, *feed.CorruptError, *feed.TableError:
		return err // which says it all
	}
	var e *sqlite3.Error
	remedy := ""
	if errors.As(err, &e) {
		if remedy = remedies[e.Code()&0xFF]; e.Code()&0xFF == cannotOpen {
			remedy = "make the folder " + filepath.Dir(s.path) + remedy
		}
	}
	return &Error{Path: s.path, Table: s.table, Doing: doing, Remedy: remedy, Err: err}
}

// Open opens the database, checks the table, and takes back a batch that the cache does not know.
func (s *store) Open(ctx context.Context, job table.Job) (err error) {
	s.job = job
	path, err := filepath.Abs(s.path)
	if err != nil {
		return s.failed("opening", err)
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive of Windows
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(0)"}
	if s.db, err = sql.Open("sqlite", name.String()); err != nil {
		return s.failed("opening", err)
	}
	s.db.SetMaxOpenConns(1)
	if s.conn, err = s.db.Conn(ctx); err != nil {
		return s.failed("opening", err)
	}
	synchronous := "FULL" // a commit is on the disk
	if job.Lazy {
		synchronous = "NORMAL" // the database is whole after a power cut, and may lack the last batches
	}
	if err := s.patiently(ctx, "PRAGMA journal_mode = WAL; PRAGMA synchronous = "+synchronous); err != nil {
		return s.failed("opening", err)
	}
	if err := s.inTransaction(ctx, s.begin); err != nil {
		return s.failed("opening", err)
	}
	s.file, err = os.Stat(s.path)
	return s.failed("opening", err)
}

const (
	firstPause   = time.Millisecond // after another program was found to write; it doubles
	longestPause = 100 * time.Millisecond
)

// patiently runs a statement for which the database may have to be free, until it is or patience is over. The driver's own waiting
// could not be stopped.
func (s *store) patiently(ctx context.Context, statement string) error {
	begin, pause := time.Now(), firstPause
	for {
		err := s.exec(ctx, statement)
		var e *sqlite3.Error
		if !errors.As(err, &e) || e.Code()&0xFF != busy || time.Since(begin)+pause > s.patience {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(context.Cause(ctx), err)
		}
		pause = min(2*pause, longestPause)
	}
}

// check reports a file that is gone, or another one: what is written would be lost.
func (s *store) check() error {
	file, err := os.Stat(s.path)
	if err == nil && os.SameFile(file, s.file) {
		return nil
	}
	return &feed.CorruptError{Path: s.label(), Err: errors.Join(errors.New("its file was removed or replaced while the job ran"), err)}
}

func (s *store) exec(ctx context.Context, statement string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, statement, args...)
	return err
}

// inTransaction runs do in a transaction that no other program's can come between.
func (s *store) inTransaction(ctx context.Context, do func(ctx context.Context) error) error {
	if err := s.patiently(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := do(ctx)
	if err == nil {
		err = s.patiently(ctx, "COMMIT")
	}
	if err != nil {
		s.exec(context.WithoutCancel(ctx), "ROLLBACK") // it may be rolled back already
	}
	return err
}

// begin makes or checks the table, and then goes to where the job was.
func (s *store) begin(ctx context.Context) error {
	if err := s.exec(ctx, makeNotes); err != nil {
		return err
	}
	if !s.job.New {
		if err := s.resume(ctx); err != nil {
			return err
		}
		return s.fit(ctx)
	}
	if err := s.fit(ctx); err != nil {
		return err
	}
	if s.overwrite {
		if err := s.exec(ctx, "DELETE FROM "+table.Quote(s.table)); err != nil {
			return err
		}
	} else if !s.append {
		var some int
		err := s.conn.QueryRowContext(ctx, "SELECT 1 FROM "+table.Quote(s.table)+" LIMIT 1").Scan(&some)
		if err == nil {
			return &feed.NotEmptyError{Path: s.path, Table: s.label()}
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return s.exec(ctx, "INSERT INTO "+notes+" VALUES (?, ?, ?, 0, 0, -1)", s.job.ID, s.job.Feed, s.table)
}

// resume deletes the rows of the one batch that the cache may not know.
func (s *store) resume(ctx context.Context) error {
	var batch, first, last int64
	err := s.conn.QueryRowContext(ctx, "SELECT batch, first_row, last_row FROM "+notes+" WHERE job = ? AND feed = ? AND table_name = ?",
		s.job.ID, s.job.Feed, s.table).Scan(&batch, &first, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return &feed.CorruptError{Path: s.label(), Err: errors.New("it knows nothing of this job")}
	}
	if err != nil {
		return err
	}
	switch batch {
	case s.job.Batch:
		return nil
	case s.job.Batch + 1:
		if len(s.key) == 0 {
			if err := s.exec(ctx, "DELETE FROM "+table.Quote(s.table)+" WHERE "+rowColumn+" BETWEEN ? AND ?", first, last); err != nil {
				return err
			}
		}
		return s.note(ctx, s.job.Batch, last+1, last)
	}
	return &feed.CorruptError{Path: s.label(), Err: fmt.Errorf("it ends with batch %d, and the job with %d", batch, s.job.Batch)}
}

// note writes down the last batch. Its numbers of rows are never used again, also when there are no such rows.
func (s *store) note(ctx context.Context, batch, first, last int64) error {
	return s.exec(ctx, "UPDATE "+notes+" SET batch = ?, first_row = ?, last_row = ? WHERE job = ? AND feed = ?",
		batch, first, last, s.job.ID, s.job.Feed)
}

// nextRow returns the number of the next row: one that no row had, as far as the batches of jobs know.
func (s *store) nextRow(ctx context.Context) (next int64, err error) {
	err = s.conn.QueryRowContext(ctx, "SELECT 1 + max(coalesce((SELECT max("+rowColumn+") FROM "+table.Quote(s.table)+"), 0), "+
		"coalesce((SELECT max(last_row) FROM "+notes+" WHERE table_name = ?), 0))", s.table).Scan(&next)
	return next, err
}

// insertSQL is the statement that stores a row. The number of the row comes after the columns.
func (s *store) insertSQL() string {
	var names, set []string
	isKey := make(map[string]bool)
	for _, k := range s.key {
		isKey[k] = true
	}
	for _, c := range s.columns {
		names = append(names, c.Name)
		if !isKey[c.Name] {
			set = append(set, table.Quote(c.Name)+" = excluded."+table.Quote(c.Name))
		}
	}
	ending := ""
	if len(s.key) == 0 {
		names = append(names, rowColumn)
	} else {
		ending = " ON CONFLICT (" + table.QuoteAll(s.key) + ") DO NOTHING"
		if len(set) > 0 {
			ending = " ON CONFLICT (" + table.QuoteAll(s.key) + ") DO UPDATE SET " + strings.Join(set, ", ")
		}
	}
	return "INSERT INTO " + table.Quote(s.table) + " (" + table.QuoteAll(names) + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")" + ending
}

// Write stores rows as a batch.
func (s *store) Write(ctx context.Context, batch int64, rows [][]byte) (refused []table.Refused, err error) {
	err = s.inTransaction(ctx, func(ctx context.Context) error {
		refused = nil
		var last int64
		if err := s.conn.QueryRowContext(ctx, "SELECT batch FROM "+notes+" WHERE job = ? AND feed = ?", s.job.ID, s.job.Feed).Scan(&last); err != nil {
			return err
		}
		if last != batch-1 {
			return &feed.CorruptError{Path: s.label(), Err: fmt.Errorf("it ends with batch %d, and the job with %d: two "+
				"programs run the same job", last, batch-1)}
		}
		first := int64(1)
		if len(s.key) == 0 {
			if first, err = s.nextRow(ctx); err != nil {
				return err
			}
		}
		if refused, err = s.insertAll(ctx, first, rows); err != nil {
			return err
		}
		return s.note(ctx, batch, first, first+int64(len(rows))-1)
	})
	if err == nil {
		err = s.check()
	}
	return refused, s.failed("writing", err)
}

// insertAll inserts rows with numbers from first on, and returns those that break a rule of the table.
func (s *store) insertAll(ctx context.Context, first int64, rows [][]byte) (refused []table.Refused, err error) {
	args := make([]driver.NamedValue, len(s.columns), len(s.columns)+1)
	values := args
	if len(s.key) == 0 {
		args = args[:len(args)+1]
	}
	for i := range args {
		args[i].Ordinal = i + 1
	}
	err = s.conn.Raw(func(raw any) error {
		prepared, err := raw.(driver.ConnPrepareContext).PrepareContext(ctx, s.insertSQL())
		if err != nil {
			return err
		}
		defer prepared.Close()
		statement, uncancelled := prepared.(driver.StmtExecContext), context.WithoutCancel(ctx) // which spares the driver a goroutine for each row
		for i, row := range rows {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := bind(values, row); err != nil {
				return err
			}
			if len(args) > len(values) {
				args[len(values)].Value = first + int64(i)
			}
			_, err := statement.ExecContext(uncancelled, args)
			var e *sqlite3.Error
			if errors.As(err, &e) && isRefusal(e.Code()) {
				refused = append(refused, table.Refused{Row: i, Err: &feed.RefusedError{Table: s.label(), Err: err}})
				continue
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return refused, err
}

// Close closes the database. Its file stands alone then, unless another program has it open too.
func (s *store) Close(ctx context.Context, _ bool) error {
	if s.db == nil {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	var err error
	if s.conn != nil {
		s.exec(ctx, "PRAGMA journal_mode = DELETE") // refused while another program reads
		err = errors.Join(err, s.conn.Close())
	}
	err = errors.Join(err, s.db.Close())
	s.db, s.conn = nil, nil
	return s.failed("closing", err)
}
