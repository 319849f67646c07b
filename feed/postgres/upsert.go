package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/feed/internal/table"
)

// upsert puts rows from one index to another in the places of those with their keys; of several with one key, the last. A whole
// batch stays in the new table, which loses its rows when the transaction ends.
func (w *writing) upsert(ctx context.Context, from, to int) error {
	rows, err := w.lastOfKeys(w.rows[from:to])
	if err != nil {
		return err
	}
	r := copyReader{fields: uint16(len(w.there)), rows: rows}
	if _, err := w.conn.Conn().PgConn().CopyFrom(ctx, &r, "COPY "+w.newTable()+" FROM STDIN BINARY"); err != nil {
		return err
	}
	if to-from == len(w.rows) {
		return w.exec(ctx, w.merge())
	}
	return w.exec(ctx, w.merge(), "DELETE FROM "+w.newTable())
}

// newTable is a table of the connection, which rows go to before they take the places of others.
func (s *store) newTable() string {
	return "pg_temp." + table.Quote(fmt.Sprintf("tegenaria_new_%s", s.job.ID[:12]))
}

// makeNew makes the table that new rows go to.
func (s *store) makeNew() string {
	var parts []string
	for _, c := range s.there {
		parts = append(parts, table.Quote(c.Name)+" "+c.sql)
	}
	return "SET LOCAL client_min_messages = warning;\nCREATE TEMP TABLE IF NOT EXISTS " + s.newTable() + " (" + strings.Join(parts, ", ") + ") ON COMMIT DELETE ROWS"
}

// merge is the statement that puts new rows in the places of old ones.
func (s *store) merge() string {
	var names, set []string
	for _, c := range s.there {
		names = append(names, c.Name)
		if !c.isKey {
			set = append(set, table.Quote(c.Name)+" = excluded."+table.Quote(c.Name))
		}
	}
	action := "NOTHING"
	if len(set) > 0 {
		action = "UPDATE SET " + strings.Join(set, ", ")
	}
	return "INSERT INTO " + s.name(s.table) + " (" + table.QuoteAll(names) + ") SELECT * FROM " + s.newTable() +
		" ON CONFLICT (" + table.QuoteAll(s.key) + ") DO " + action
}

// lastOfKeys returns the last row of each key, in the order of the keys' first ones.
func (s *store) lastOfKeys(rows [][]byte) ([][]byte, error) {
	places := make(map[string]int, len(rows))
	list := slices.Grow([][]byte(nil), len(rows))
	var key []byte
	for _, row := range rows {
		var err error
		if key, err = s.keyOf(key[:0], row); err != nil {
			return nil, err
		}
		if place, twice := places[string(key)]; twice {
			list[place] = row
			continue
		}
		places[string(key)] = len(list)
		list = append(list, row)
	}
	return list, nil
}

// copyReader reads rows in the binary form of COPY.
type copyReader struct {
	fields   uint16
	rows     [][]byte
	numbered bool  // each row begins with its number
	first    int64 // number of the first row
	begun    bool
	ended    bool
	head     []byte   // to be read before the rest of the row
	space    [16]byte // of head
	rest     []byte
}

// Read is part of io.Reader.
func (r *copyReader) Read(dst []byte) (n int, err error) {
	for n < len(dst) {
		if len(r.head) > 0 {
			size := copy(dst[n:], r.head)
			r.head, n = r.head[size:], n+size
			continue
		}
		if len(r.rest) > 0 {
			size := copy(dst[n:], r.rest)
			r.rest, n = r.rest[size:], n+size
			continue
		}
		if !r.more() {
			break
		}
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// more prepares what comes next, and reports whether there is something.
func (r *copyReader) more() bool {
	switch {
	case !r.begun:
		r.begun = true
		r.head = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	case len(r.rows) > 0:
		r.rest, r.rows = r.rows[0], r.rows[1:]
		fields := r.fields
		if r.numbered {
			fields++
		}
		r.head = binary.BigEndian.AppendUint16(r.space[:0], fields)
		if r.numbered {
			r.head = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(r.head, 8), uint64(r.first))
			r.first++
		}
	case !r.ended:
		r.ended = true
		r.head = []byte{0xFF, 0xFF}
	default:
		return false
	}
	return true
}
