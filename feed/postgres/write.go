package postgres

import (
	"context"
	"fmt"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/table"
)

// mostDrawn is how many numbers of rows are drawn at once, if a batch does not need more.
const mostDrawn = 4096

// writing is a batch on its way.
type writing struct {
	*store
	batch   int64
	rows    [][]byte
	first   int64           // number of the first row
	refused []table.Refused // of the last attempt
}

// Write stores rows as a batch.
func (s *store) Write(ctx context.Context, batch int64, rows [][]byte) ([]table.Refused, error) {
	w := &writing{store: s, batch: batch, rows: rows}
	careful := false
	err := s.patiently(ctx, "writing", func(ctx context.Context) error {
		if len(s.key) == 0 && w.first == 0 {
			if err := s.draw(ctx, int64(len(rows))); err != nil {
				return err
			}
			w.first = s.next
			s.next += int64(len(rows))
		}
		err := w.try(ctx, careful)
		if _, refusal := isRefusal(err); refusal && !careful {
			if err := s.exec(ctx, "ROLLBACK"); err != nil {
				return err
			}
			careful = true
			err = w.try(ctx, careful)
		}
		return err
	})
	return w.refused, err
}

// draw has numbers for so many rows. Nobody else gets them, also after a crash of the server: it is durable that they are drawn.
func (s *store) draw(ctx context.Context, count int64) error {
	if s.end-s.next >= count {
		return nil
	}
	drawn, commit := max(count, mostDrawn), s.commit
	if s.job.Lazy {
		commit = "" // numbers that come again would end the run
	}
	end, ok, err := s.number(ctx, "BEGIN", commit, fmt.Sprintf("UPDATE %s SET next_row = next_row + %d WHERE table_name "+
		"=%s RETURNING next_row", s.name(counters), drawn, literal(s.table)), "COMMIT")
	if err != nil {
		return err
	}
	if !ok {
		return &feed.CorruptError{Path: s.schema + "." + counters, Err: fmt.Errorf("it has no row for the table %s", s.table)}
	}
	s.next, s.end = end-drawn, end
	return nil
}

// begin begins a transaction. Nobody else can write a batch of this job until it ends.
func (w *writing) begin(ctx context.Context, careful bool) (done bool, err error) {
	statements := []string{"BEGIN", w.commit, "SET LOCAL lock_timeout = '30s'"}
	if careful {
		statements = append(statements, "SET CONSTRAINTS ALL IMMEDIATE")
	}
	if len(w.key) > 0 {
		statements = append(statements, w.makeNew())
	}
	last, ok, err := w.number(ctx, append(statements, w.lockNote())...)
	switch {
	case err != nil:
		return false, err
	case ok && last == w.batch:
		return true, w.exec(ctx, "ROLLBACK") // an attempt whose COMMIT was sent, and its answer lost
	case ok && last == w.batch-1:
		return false, nil
	}
	return false, &feed.CorruptError{Path: w.label(), Err: fmt.Errorf("it ends with batch %d, and the job with %d: two "+
		"programs run the same job", last, w.batch-1)}
}

// try writes the batch in one transaction. A careful one finds out which rows are refused.
func (w *writing) try(ctx context.Context, careful bool) error {
	done, err := w.begin(ctx, careful)
	if err != nil || done {
		return err
	}
	w.refused = nil
	if careful {
		err = w.carefully(ctx, 0, len(w.rows))
	} else {
		err = w.copy(ctx, 0, len(w.rows))
	}
	if err != nil {
		return err
	}
	return w.exec(ctx, w.note(w.batch, w.first, w.first+int64(len(w.rows))-1), "COMMIT")
}

// carefully writes rows from one index to another, and halves them for as long as one of them is refused.
func (w *writing) carefully(ctx context.Context, from, to int) error {
	if from == to {
		return nil
	}
	if err := w.exec(ctx, "SAVEPOINT part"); err != nil {
		return err
	}
	err := w.copy(ctx, from, to)
	if err == nil {
		return w.exec(ctx, "RELEASE part")
	}
	p, refusal := isRefusal(err)
	if !refusal {
		return err
	}
	if err := w.exec(ctx, "ROLLBACK TO part", "RELEASE part"); err != nil {
		return err
	}
	if to-from == 1 {
		w.refused = append(w.refused, table.Refused{Row: from, Err: &feed.RefusedError{Table: w.label(), Column: p.ColumnName, Err: err}})
		return nil
	}
	middle := (from + to) / 2
	if err := w.carefully(ctx, from, middle); err != nil {
		return err
	}
	return w.carefully(ctx, middle, to)
}

// copy copies rows from one index to another.
func (w *writing) copy(ctx context.Context, from, to int) error {
	if len(w.key) > 0 {
		return w.upsert(ctx, from, to)
	}
	r := copyReader{fields: uint16(len(w.there)), rows: w.rows[from:to], first: w.first + int64(from), numbered: true}
	names := ""
	for _, c := range w.there {
		names += ", " + table.Quote(c.Name)
	}
	_, err := w.conn.Conn().PgConn().CopyFrom(ctx, &r, "COPY "+w.name(w.table)+" ("+rowColumn+names+") FROM STDIN BINARY")
	return err
}
