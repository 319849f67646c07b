package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/table"
)

// typeOf is the declared type of a column.
func typeOf(kind table.Kind) string {
	switch kind {
	case table.Bool:
		return "BOOLEAN"
	case table.Int, table.Uint:
		return "INTEGER"
	case table.Float:
		return "REAL"
	case table.Bytes:
		return "BLOB"
	}
	return "TEXT"
}

// existing is a column of a table that is there.
type existing struct {
	declared string
	required bool // it cannot be left out
	key      int  // its place in the primary key, 0 if it is not in it
}

// fit makes the table, or checks it and adds columns that it lacks.
func (s *store) fit(ctx context.Context) error {
	var kind string
	err := s.conn.QueryRowContext(ctx, "SELECT type FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN "+
		"('table', 'view')", s.table).Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) {
		return s.create(ctx)
	}
	if err != nil {
		return err
	}
	if kind != "table" {
		return &feed.TableError{Table: s.label(), Why: "it is a " + kind + ", and no table: choose another name"}
	}
	there, err := s.existing(ctx)
	if err != nil {
		return err
	}
	for _, c := range s.columns {
		old, ok := there[asciiLower(c.Name)]
		if !ok {
			if err := s.exec(ctx, "ALTER TABLE "+table.Quote(s.table)+" ADD COLUMN "+table.Quote(c.Name)+" "+typeOf(c.Kind)); err != nil {
				return err
			}
			continue
		}
		if !holds(affinityOf(old.declared), c.Kind) {
			return s.mismatch(fmt.Sprintf("its column %s has the type %q, which would change values of the kind %s; %s fits", c.Name, old.declared, c.Kind, typeOf(c.Kind)))
		}
		delete(there, asciiLower(c.Name))
	}
	own, ok := there[rowColumn]
	delete(there, rowColumn)
	for name, old := range there {
		if old.required {
			return s.mismatch(fmt.Sprintf("its column %s must not be NULL, and the items have no such field", name))
		}
	}
	if len(s.key) > 0 {
		return s.checkKey(ctx)
	}
	if ok {
		if own.key != 1 && affinityOf(own.declared) != "INTEGER" {
			return s.mismatch("its column " + rowColumn + " is not the feed's own")
		}
		return nil
	}
	if err := s.exec(ctx, "ALTER TABLE "+table.Quote(s.table)+" ADD COLUMN "+rowColumn+" INTEGER"); err != nil {
		return err
	}
	return s.exec(ctx, "CREATE UNIQUE INDEX "+table.Quote(s.table+"_"+rowColumn)+" ON "+table.Quote(s.table)+" ("+rowColumn+")")
}

// mismatch is an error whose remedy is to put the table aside.
func (s *store) mismatch(why string) error {
	return &feed.TableError{Table: s.label(), Why: why, SQL: "ALTER TABLE " + table.Quote(s.table) + " RENAME TO " + table.Quote(s.table+"_old") + ";"}
}

func (s *store) create(ctx context.Context) error {
	var parts []string
	if len(s.key) == 0 {
		parts = append(parts, rowColumn+" INTEGER PRIMARY KEY")
	}
	for i, c := range s.columns {
		part := table.Quote(c.Name) + " " + typeOf(c.Kind)
		if slices.Contains(s.isKey, i) {
			part += " NOT NULL"
		}
		parts = append(parts, part)
	}
	if len(s.key) > 0 {
		parts = append(parts, "PRIMARY KEY ("+table.QuoteAll(s.key)+")")
	}
	return s.exec(ctx, "CREATE TABLE "+table.Quote(s.table)+" (\n\t"+strings.Join(parts, ",\n\t")+")")
}

// existing returns the columns of the table, by their names in lower case.
func (s *store) existing(ctx context.Context) (map[string]existing, error) {
	rows, err := s.conn.QueryContext(ctx, `SELECT name, type, "notnull", dflt_value IS NOT NULL, pk, hidden FROM pragma_table_xinfo(?)`, s.table)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list, keys := make(map[string]existing), 0
	for rows.Next() {
		var name, declared string
		var notNull, hasDefault bool
		var key, hidden int
		if err := rows.Scan(&name, &declared, &notNull, &hasDefault, &key, &hidden); err != nil {
			return nil, err
		}
		if hidden > 1 {
			declared = "GENERATED" // it cannot be written
		}
		if key > 0 {
			keys++
		}
		list[asciiLower(name)] = existing{declared, notNull && !hasDefault && hidden == 0, key}
	}
	if keys == 1 { // a column like this gets its number by itself
		for name, c := range list {
			if c.key == 1 && strings.EqualFold(c.declared, "INTEGER") {
				c.required = false
				list[name] = c
			}
		}
	}
	return list, rows.Err()
}

// checkKey wants a unique index on the columns of the key, and on no others.
func (s *store) checkKey(ctx context.Context) error {
	rows, err := s.conn.QueryContext(ctx, `SELECT i.name, c.name FROM pragma_index_list(?) AS i, pragma_index_info(i.name) AS c WHERE i."unique" AND NOT i.partial
		UNION ALL SELECT '', name FROM pragma_table_info(?) WHERE pk > 0`, s.table, s.table)
	if err != nil {
		return err
	}
	defer rows.Close()
	indexes := make(map[string][]string)
	for rows.Next() {
		var index string
		var column sql.NullString // NULL: an expression
		if err := rows.Scan(&index, &column); err != nil {
			return err
		}
		indexes[index] = append(indexes[index], asciiLower(column.String))
	}
	if err := rows.Err(); err != nil {
		return err
	}
	var want []string
	for _, k := range s.key {
		want = append(want, asciiLower(k))
	}
	slices.Sort(want)
	for _, have := range indexes {
		if slices.Sort(have); slices.Equal(have, want) {
			return nil
		}
	}
	return &feed.TableError{Table: s.label(), Why: fmt.Sprintf("no unique index is on the key %q alone", s.key),
		SQL: "CREATE UNIQUE INDEX " + table.Quote(s.table+"_key") + " ON " + table.Quote(s.table) + " (" + table.QuoteAll(s.key) + ");"}
}

// affinityOf is what SQLite makes of the type of a column: https://www.sqlite.org/datatype3.html, section 3.1.
func affinityOf(declared string) string {
	d := strings.ToUpper(declared)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(d, p) })
	}
	switch {
	case d == "GENERATED":
		return d
	case has("INT"):
		return "INTEGER"
	case has("CHAR", "CLOB", "TEXT"):
		return "TEXT"
	case d == "" || has("BLOB"):
		return "BLOB"
	case has("REAL", "FLOA", "DOUB"):
		return "REAL"
	}
	return "NUMERIC"
}

// holds reports whether a column with this affinity keeps values of a kind as they are.
func holds(affinity string, kind table.Kind) bool {
	switch kind {
	case table.Bool, table.Int, table.Uint:
		return affinity == "INTEGER" || affinity == "NUMERIC" || affinity == "BLOB"
	case table.Float:
		return affinity == "REAL" || affinity == "BLOB"
	case table.Bytes:
		return affinity != "GENERATED"
	case table.Time:
		return affinity == "TEXT" || affinity == "NUMERIC" || affinity == "BLOB"
	}
	return affinity == "TEXT" || affinity == "BLOB"
}

// asciiLower turns a name into lower case as SQLite does.
func asciiLower(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
