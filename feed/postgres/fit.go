package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/table"
)

// existing is a column of a table that is there.
type existing struct {
	oid       uint32
	modifier  int32
	sql       string // its type
	required  bool   // it cannot be left out
	generated bool   // it cannot be written
}

// fit makes the table, or checks it and adds columns that it lacks.
func (s *store) fit(ctx context.Context) error {
	var kind string
	err := s.conn.QueryRow(ctx, "SELECT c.relkind::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = "+
		"c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
		s.schema, s.table).Scan(&kind)
	if errors.Is(err, pgx.ErrNoRows) {
		if err := s.exec(ctx, s.create()); err != nil {
			return err
		}
	} else if err != nil {
		return err
	} else if kind != "r" && kind != "p" && kind != "f" {
		return &feed.TableError{Table: s.label(), Why: "it is no table: choose another name"}
	}
	there, err := s.existing(ctx)
	if err != nil {
		return err
	}
	s.there = s.there[:0]
	for i, c := range s.columns {
		old, ok := there[c.Name]
		if !ok {
			if err := s.exec(ctx, "ALTER TABLE "+s.name(s.table)+" ADD COLUMN "+table.Quote(c.Name)+" "+typeOf(c)); err != nil {
				return err
			}
			old = made(c)
		}
		if old.generated {
			return &feed.TableError{Table: s.label(), Why: "its column " + c.Name + " is computed by the database, and cannot be written",
				SQL: "ALTER TABLE " + s.name(s.table) + " RENAME COLUMN " + table.Quote(c.Name) + " TO " + table.Quote(c.Name+"_old") + ";"}
		}
		if !holds(c, old.oid, old.modifier) {
			return s.mistyped(c, old)
		}
		most := 0
		if old.oid == pgtype.VarcharOID && old.modifier > 4 {
			most = int(old.modifier) - 4
		}
		s.there = append(s.there, column{Column: c, oid: old.oid, most: most, sql: old.sql, isKey: slices.Contains(s.isKey, i)})
		delete(there, c.Name)
	}
	own, hasOwn := there[rowColumn]
	delete(there, rowColumn)
	for name, old := range there {
		if old.required {
			return &feed.TableError{Table: s.label(), Why: "its column " + name + " must not be NULL, and the items have no such field",
				SQL: "ALTER TABLE " + s.name(s.table) + " ALTER COLUMN " + table.Quote(name) + " DROP NOT NULL;"}
		}
	}
	switch {
	case len(s.key) > 0:
		if hasOwn && own.required { // rows were added without a key before
			return &feed.TableError{Table: s.label(), Why: "it was made without a key",
				SQL: "ALTER TABLE " + s.name(s.table) + " DROP COLUMN " + rowColumn + ";"}
		}
		return s.checkKey(ctx)
	case !hasOwn:
		return s.exec(ctx, "ALTER TABLE "+s.name(s.table)+" ADD COLUMN "+rowColumn+" bigint", "CREATE UNIQUE INDEX ON "+s.name(s.table)+" ("+rowColumn+")")
	case own.oid != pgtype.Int8OID:
		return &feed.TableError{Table: s.label(), Why: "its column " + rowColumn + " is not the feed's own",
			SQL: "ALTER TABLE " + s.name(s.table) + " RENAME COLUMN " + rowColumn + " TO " + rowColumn + "_old;"}
	}
	return nil
}

// mistyped is the error for a column that cannot hold a field.
func (s *store) mistyped(c table.Column, old existing) error {
	name, to := table.Quote(c.Name), typeOf(c)
	return &feed.TableError{Table: s.label(),
		Why: fmt.Sprintf("its column %s has the type %s, and the field of the items needs %s", c.Name, old.sql, to),
		SQL: "ALTER TABLE " + s.name(s.table) + " ALTER COLUMN " + name + " TYPE " + to + " USING " + name + "::text::" + to + ";"}
}

func (s *store) create() string {
	var parts []string
	if len(s.key) == 0 {
		parts = append(parts, rowColumn+" bigint PRIMARY KEY")
	}
	for _, c := range s.columns {
		parts = append(parts, table.Quote(c.Name)+" "+typeOf(c))
	}
	if len(s.key) > 0 {
		parts = append(parts, "PRIMARY KEY ("+table.QuoteAll(s.key)+")")
	}
	return "CREATE TABLE " + s.name(s.table) + " (\n\t" + strings.Join(parts, ",\n\t") + ")"
}

// made is a column as the feed makes it.
func made(c table.Column) existing {
	e := existing{sql: typeOf(c), modifier: -1}
	switch c.Kind {
	case table.Bool:
		e.oid = pgtype.BoolOID
	case table.Int, table.Uint:
		e.oid = pgtype.Int8OID
		if c.Kind == table.Uint && c.Bits == 64 {
			e.oid = pgtype.NumericOID
		}
	case table.Float:
		e.oid = pgtype.Float8OID
		if c.Bits == 32 {
			e.oid = pgtype.Float4OID
		}
	case table.Bytes:
		e.oid = pgtype.ByteaOID
	case table.Time:
		e.oid = pgtype.TimestamptzOID
	case table.JSON:
		e.oid = pgtype.JSONBOID
	default:
		e.oid = pgtype.TextOID
	}
	return e
}

// existing returns the columns of the table.
func (s *store) existing(ctx context.Context) (map[string]existing, error) {
	rows, err := s.conn.Query(ctx, `SELECT attname::text, atttypid, atttypmod, format_type(atttypid, atttypmod), attnotnull AND NOT atthasdef AND attidentity = '',
		attgenerated <> '' OR attidentity = 'a' FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped`, s.name(s.table))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := make(map[string]existing)
	for rows.Next() {
		var name string
		var e existing
		if err := rows.Scan(&name, &e.oid, &e.modifier, &e.sql, &e.required, &e.generated); err != nil {
			return nil, err
		}
		list[name] = e
	}
	return list, rows.Err()
}

// checkKey wants a unique index on the columns of the key, and on no others.
func (s *store) checkKey(ctx context.Context) error {
	rows, err := s.conn.Query(ctx, `SELECT array_agg(a.attname::text) FROM pg_index AS i LEFT JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
		WHERE i.indrelid = $1::text::regclass AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = i.indnatts
		GROUP BY i.indexrelid`, s.name(s.table))
	if err != nil {
		return err
	}
	defer rows.Close()
	want, found := slices.Sorted(slices.Values(s.key)), false
	for rows.Next() {
		var have []string
		if err := rows.Scan(&have); err != nil {
			return err
		}
		slices.Sort(have)
		found = found || slices.Equal(have, want)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !found {
		return &feed.TableError{Table: s.label(), Why: fmt.Sprintf("no unique index is on the key %q alone", s.key),
			SQL: "CREATE UNIQUE INDEX ON " + s.name(s.table) + " (" + table.QuoteAll(s.key) + ");"}
	}
	return nil
}
