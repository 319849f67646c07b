package graph

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite" // the driver "sqlite", without cgo
)

// schema is made by the first to open a file. WITHOUT ROWID keeps the rows in the order of their keys,
// which is the one that the iterators read them in.
const schema = `
CREATE TABLE IF NOT EXISTS links (
	id           BLOB PRIMARY KEY,
	url          TEXT NOT NULL UNIQUE,
	retrieved_at INTEGER NOT NULL,
	submitted    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS edges (
	src        BLOB NOT NULL REFERENCES links (id),
	dst        BLOB NOT NULL REFERENCES links (id),
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (src, dst)
) WITHOUT ROWID;`

const (
	upsertLink = `INSERT INTO links (id, url, retrieved_at, submitted) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (id) DO UPDATE SET
			retrieved_at = max(retrieved_at, excluded.retrieved_at),
			submitted = submitted OR excluded.submitted
		RETURNING retrieved_at, submitted`
	selectLink = `SELECT url, retrieved_at, submitted FROM links WHERE id = ?1`
	// An edge of an unknown link inserts nothing.
	upsertEdge = `INSERT INTO edges (src, dst, updated_at)
		SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM links WHERE id = ?1) AND EXISTS (SELECT 1 FROM links WHERE id = ?2)
		ON CONFLICT (src, dst) DO UPDATE SET updated_at = excluded.updated_at`
	removeStaleEdges = `DELETE FROM edges WHERE src = ?1 AND updated_at < ?2`
	// Both lists come in pieces, so that no cursor stays open while the loop uses the store.
	selectLinks = `SELECT id, url, retrieved_at, submitted FROM links
		WHERE id >= ?1 AND id <= ?2 AND retrieved_at < ?3 ORDER BY id LIMIT ?4`
	selectEdges = `SELECT src, dst, updated_at FROM edges
		WHERE (src, dst) >= (?1, ?5) AND src <= ?2 AND updated_at < ?3 ORDER BY src, dst LIMIT ?4`
)

// piece is the number of rows that are read at once.
const piece = 256

// SQLite is a Graph in a file. One process may have the file open at a time.
type SQLite struct {
	clock clock
	db    *sql.DB

	upsertLink, selectLink, upsertEdge, removeStaleEdges, selectLinks, selectEdges *sql.Stmt
}

var _ Graph = (*SQLite)(nil)

// OpenSQLite opens the graph in a file, which it makes if there is none. The caller closes it.
//
// A write is visible at once and survives the end of the process. After a power cut the last ones may
// be missing, never half of one: the journal is written ahead, and synced now and then.
func OpenSQLite(path string) (*SQLite, error) {
	location := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: url.Values{
		"_pragma": {"journal_mode(WAL)", "synchronous(NORMAL)", "busy_timeout(5000)", "foreign_keys(ON)"},
	}.Encode()}
	db, err := sql.Open("sqlite", location.String())
	if err != nil {
		return nil, fmt.Errorf("graph: opening %s: %w", path, err)
	}
	db.SetMaxOpenConns(1) // SQLite has one writer; a second connection would only meet it as "busy"
	s := &SQLite{db: db}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("graph: opening %s: %w", path, errors.Join(err, db.Close()))
	}
	return s, nil
}

// prepare makes the schema and the statements, and sets the clock after all times that were given.
func (s *SQLite) prepare() error {
	if _, err := s.db.Exec(schema); err != nil {
		return err
	}
	for stmt, query := range map[**sql.Stmt]string{
		&s.upsertLink: upsertLink, &s.selectLink: selectLink, &s.upsertEdge: upsertEdge,
		&s.removeStaleEdges: removeStaleEdges, &s.selectLinks: selectLinks, &s.selectEdges: selectEdges,
	} {
		var err error
		if *stmt, err = s.db.Prepare(query); err != nil {
			return err
		}
	}
	return s.db.QueryRow(`SELECT max(
		(SELECT coalesce(max(updated_at), 0) FROM edges), (SELECT coalesce(max(retrieved_at), 0) FROM links))`).Scan(&s.clock.last)
}

// UpsertLink implements Graph.
func (s *SQLite) UpsertLink(ctx context.Context, link *Link) error {
	id := LinkID(link.URL)
	var retrieved int64
	var submitted bool
	err := s.upsertLink.QueryRowContext(ctx, id[:], link.URL, toNano(link.RetrievedAt), link.Submitted).Scan(&retrieved, &submitted)
	if err != nil {
		return fmt.Errorf("graph: upserting %s: %w", link.URL, err)
	}
	*link = Link{ID: id, URL: link.URL, RetrievedAt: fromNano(retrieved), Submitted: submitted}
	return nil
}

// Link implements Graph.
func (s *SQLite) Link(ctx context.Context, id uuid.UUID) (*Link, error) {
	link := &Link{ID: id}
	var retrieved int64
	switch err := s.selectLink.QueryRowContext(ctx, id[:]).Scan(&link.URL, &retrieved, &link.Submitted); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	case err != nil:
		return nil, fmt.Errorf("graph: looking up %s: %w", id, err)
	}
	link.RetrievedAt = fromNano(retrieved)
	return link, nil
}

// UpsertEdge implements Graph.
func (s *SQLite) UpsertEdge(ctx context.Context, edge *Edge) error {
	updated := s.clock.now()
	result, err := s.upsertEdge.ExecContext(ctx, edge.Src[:], edge.Dst[:], updated.UnixNano())
	if err != nil {
		return fmt.Errorf("graph: upserting the edge %s → %s: %w", edge.Src, edge.Dst, err)
	}
	switch n, err := result.RowsAffected(); {
	case err != nil:
		return fmt.Errorf("graph: upserting the edge %s → %s: %w", edge.Src, edge.Dst, err)
	case n == 0:
		return fmt.Errorf("%w: %s → %s", ErrUnknownLink, edge.Src, edge.Dst)
	}
	edge.UpdatedAt = updated
	return nil
}

// RemoveStaleEdges implements Graph.
func (s *SQLite) RemoveStaleEdges(ctx context.Context, src uuid.UUID, before time.Time) error {
	if _, err := s.removeStaleEdges.ExecContext(ctx, src[:], toNano(before)); err != nil {
		return fmt.Errorf("graph: removing the stale edges of %s: %w", src, err)
	}
	return nil
}

// Links implements Graph.
func (s *SQLite) Links(ctx context.Context, ids Range, retrievedBefore time.Time) iter.Seq2[*Link, error] {
	return func(yield func(*Link, error) bool) {
		first, more := ids.First, true
		for more {
			var links []*Link
			err := each(ctx, s.selectLinks, func(rows *sql.Rows) error {
				link := new(Link)
				var retrieved int64
				err := rows.Scan(&link.ID, &link.URL, &retrieved, &link.Submitted)
				link.RetrievedAt = fromNano(retrieved)
				links = append(links, link)
				return err
			}, first[:], ids.Last[:], toNano(retrievedBefore), piece)
			if err != nil {
				yield(nil, fmt.Errorf("graph: listing links: %w", err))
				return
			}
			for _, link := range links {
				if !yield(link, nil) {
					return
				}
			}
			if more = len(links) == piece; more {
				first, more = next(links[piece-1].ID)
			}
		}
	}
}

// Edges implements Graph.
func (s *SQLite) Edges(ctx context.Context, srcs Range, updatedBefore time.Time) iter.Seq2[*Edge, error] {
	return func(yield func(*Edge, error) bool) {
		src, dst, more := srcs.First, uuid.Nil, true
		for more {
			var edges []*Edge
			err := each(ctx, s.selectEdges, func(rows *sql.Rows) error {
				edge := new(Edge)
				var updated int64
				err := rows.Scan(&edge.Src, &edge.Dst, &updated)
				edge.UpdatedAt = fromNano(updated)
				edges = append(edges, edge)
				return err
			}, src[:], srcs.Last[:], toNano(updatedBefore), piece, dst[:])
			if err != nil {
				yield(nil, fmt.Errorf("graph: listing edges: %w", err))
				return
			}
			for _, edge := range edges {
				if !yield(edge, nil) {
					return
				}
			}
			if more = len(edges) == piece; more {
				src = edges[piece-1].Src
				if dst, more = next(edges[piece-1].Dst); !more {
					src, more = next(src)
				}
			}
		}
	}
}

// each calls f for every row of a query, and leaves no cursor open.
func each(ctx context.Context, query *sql.Stmt, f func(*sql.Rows) error, args ...any) error {
	rows, err := query.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// next returns the ID after this one, and whether there is one; after the last it is the first.
func next(id uuid.UUID) (uuid.UUID, bool) {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i]++; id[i] != 0 {
			return id, true
		}
	}
	return id, false
}

// Now implements Graph.
func (s *SQLite) Now() time.Time { return s.clock.now() }

// Close implements Graph: it closes the file.
func (s *SQLite) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("graph: closing: %w", err)
	}
	return nil
}
