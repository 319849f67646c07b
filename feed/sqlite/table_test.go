package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/sqlite"
)

// pair is what the tables of these tests hold.
type pair struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

func TestTables(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []string
		opts   []sqlite.Option
		want   string // the columns afterwards
		errs   string // or a part of the error
		sql    string // that mends it
	}{
		{name: "none", want: "tegenaria_row INTEGER, id INTEGER, name TEXT"},
		{name: "none, key", opts: []sqlite.Option{sqlite.Upsert("id")}, want: "id INTEGER, name TEXT"},
		{name: "same", before: []string{"CREATE TABLE pairs (name VARCHAR(10), ID INT)"}, want: "name VARCHAR(10), ID INT, tegenaria_row INTEGER"},
		{name: "strict", before: []string{"CREATE TABLE pairs (name TEXT, id INT) STRICT"}, want: "name TEXT, id INT, tegenaria_row INTEGER"},
		{name: "without rowid", before: []string{"CREATE TABLE pairs (name TEXT PRIMARY KEY, id INT) WITHOUT ROWID"}, want: "name TEXT, id INT, tegenaria_row INTEGER"},
		{name: "missing", before: []string{"CREATE TABLE pairs (other REAL DEFAULT 1.5 NOT NULL)"}, want: "other REAL, id INTEGER, name TEXT, tegenaria_row INTEGER"},
		{name: "wrong type", before: []string{"CREATE TABLE pairs (id INTEGER, name INTEGER)"}, errs: `column name has the type "INTEGER"`, sql: `ALTER TABLE "pairs" RENAME TO "pairs_old"`},
		{name: "wrong type of a number", before: []string{"CREATE TABLE pairs (id TEXT, name TEXT)"}, errs: `column id has the type "TEXT"`, sql: `ALTER TABLE "pairs" RENAME TO "pairs_old"`},
		{name: "computed", before: []string{"CREATE TABLE pairs (id INTEGER, name TEXT AS (id || ''))"}, errs: "column name", sql: `ALTER TABLE "pairs" RENAME TO "pairs_old"`},
		{name: "required", before: []string{"CREATE TABLE pairs (id INTEGER, name TEXT, other TEXT NOT NULL)"}, errs: "column other must not be NULL", sql: `ALTER TABLE "pairs" RENAME TO "pairs_old"`},
		{name: "view", before: []string{"CREATE VIEW pairs AS SELECT 1 AS id, 'x' AS name"}, errs: "it is a view"},
		{name: "key without index", before: []string{"CREATE TABLE pairs (id INTEGER, name TEXT)", "CREATE UNIQUE INDEX both ON pairs (id, name)"},
			opts: []sqlite.Option{sqlite.Upsert("id")}, errs: `no unique index is on the key ["id"]`, sql: `CREATE UNIQUE INDEX "pairs_key" ON "pairs" ("id")`},
		{name: "key with index", before: []string{"CREATE TABLE pairs (id INTEGER, name TEXT)", "CREATE UNIQUE INDEX both ON pairs (name, id)"},
			opts: []sqlite.Option{sqlite.Upsert("id", "name")}, want: "id INTEGER, name TEXT"},
		{name: "key that is the primary one", before: []string{"CREATE TABLE pairs (id INTEGER PRIMARY KEY, name TEXT)"}, opts: []sqlite.Option{sqlite.Upsert("id")}, want: "id INTEGER, name TEXT"},
		{name: "not empty", before: []string{"CREATE TABLE pairs (id INTEGER, name TEXT)", "INSERT INTO pairs VALUES (7, 'x')"}, errs: "pairs of"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "pairs.db")
			run(t, path, c.before...)
			opts := append([]sqlite.Option{sqlite.Table("pairs")}, c.opts...)
			f := sqlite.New[pair](path, opts...)
			err := f.Restore(t.Context(), nil)
			if c.errs != "" {
				var table *feed.TableError
				var filled *feed.NotEmptyError
				if !errors.As(err, &table) && !errors.As(err, &filled) || !strings.Contains(err.Error(), c.errs) || !strings.Contains(err.Error(), path) {
					t.Fatalf("%v", err)
				}
				if c.sql != "" { // it mends it
					if !strings.Contains(err.Error(), c.sql) {
						t.Fatalf("%v", err)
					}
					run(t, path, table.SQL)
					f = sqlite.New[pair](path, opts...)
					feedtest.Restore(t, f, nil)
					feedtest.End(t, f)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			feedtest.Prepare(t, f)
			feedtest.Put(t, f, "a", pair{7, "x"})
			feedtest.Prepare(t, f, "a")
			feedtest.End(t, f)
			if got := strings.Join(read(t, path, "SELECT name || ' ' || type FROM pragma_table_info('pairs')"), ", "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if got := read(t, path, "SELECT id || name FROM pairs"); !slices.Equal(got, []string{"7x"}) {
				t.Errorf("%q", got)
			}
		})
	}
}

// The names that SQLite has for the number of a row are names of columns like others, in a table with a key and without.
func TestNamesOfRowID(t *testing.T) {
	type item struct {
		A string `json:"rowid"`
		B string `json:"oid"`
		C string `json:"_rowid_"`
	}
	for _, opts := range [][]sqlite.Option{nil, {sqlite.Upsert("rowid")}} {
		path := filepath.Join(t.TempDir(), "items.db")
		feedtest.Write(t, sqlite.New[item](path, append(opts, sqlite.Table("items"))...), item{"a", "b", "c"}, item{"d", "e", "f"})
		if got := read(t, path, `SELECT rowid || oid || _rowid_ FROM items ORDER BY rowid`); !slices.Equal(got, []string{"abc", "def"}) {
			t.Errorf("%q", got)
		}
	}
}

// A new job refuses a table with rows, adds to it, or empties it.
func TestTablesThatAreNotEmpty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.db")
	for i, c := range []struct {
		opts []sqlite.Option
		want string
	}{
		{nil, "[0]"},
		{nil, "[0] refused"},
		{[]sqlite.Option{sqlite.Append()}, "[0 2]"},
		{[]sqlite.Option{sqlite.Overwrite()}, "[3]"},
	} {
		f := sqlite.New[pair](path, c.opts...)
		err := f.Restore(t.Context(), nil)
		var filled *feed.NotEmptyError
		refused := errors.As(err, &filled)
		if !refused {
			if err != nil {
				t.Fatal(err)
			}
			feedtest.Prepare(t, f)
			feedtest.Put(t, f, "a", &pair{ID: i})
			feedtest.Prepare(t, f, "a")
			feedtest.End(t, f)
		}
		got := fmt.Sprint(read(t, path, "SELECT id FROM pair ORDER BY rowid"))
		if refused {
			got += " refused"
		}
		if got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// Rows of other jobs and of users stay when a batch is taken back.
func TestOtherRowsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.db")
	one, two := sqlite.New[pair](path, sqlite.Append()), sqlite.New[pair](path, sqlite.Append(), sqlite.JobKey("two"), sqlite.Rejects(path+".two"))
	stored := feedtest.Restore(t, one, nil)
	feedtest.Restore(t, two, nil)
	for i := range 3 {
		feedtest.Put(t, two, "a", pair{ID: 10 + i})
		feedtest.Prepare(t, two, "a")
		if i == 1 {
			feedtest.Put(t, one, "a", pair{ID: 1})
			feedtest.Prepare(t, one, "a")
			run(t, path, "INSERT INTO pair (id) VALUES (20)")
		}
	}
	feedtest.End(t, one)
	feedtest.End(t, two)
	one = sqlite.New[pair](path, sqlite.Append())
	feedtest.Restore(t, one, stored)
	feedtest.End(t, one)
	if got := fmt.Sprint(read(t, path, "SELECT id FROM pair ORDER BY rowid")); got != "[10 11 20 12]" {
		t.Error(got)
	}
}

// Items of other types are not for the table, and pointers to its own are.
func TestTypesOfItems(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pairs.db")
	f := sqlite.New[pair](path, sqlite.Select(func(item tegenaria.ItemInterface) bool { p, ok := item.(*pair); return !ok || p.ID != 3 }))
	p := &pair{ID: 2}
	feedtest.Write[any](t, f, pair{ID: 1}, p, &p, &pair{ID: 3}, (*pair)(nil), nil, feedtest.Book{}, map[string]any{"id": 4})
	if got := fmt.Sprint(read(t, path, "SELECT id FROM pair ORDER BY rowid")); got != "[1 2 2]" {
		t.Error(got)
	}
	if left, err := filepath.Glob(path + "?*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestMistakes(t *testing.T) {
	type two struct {
		A int `json:"a"`
		B int `json:"A"`
	}
	type own struct {
		Row int `json:"Tegenaria_row"`
	}
	path := filepath.Join(t.TempDir(), "x.db")
	for _, c := range []struct {
		feed *sqlite.Feed
		want string
	}{
		{sqlite.New[pair](""), "is no path"},
		{sqlite.New[pair](path, nil), "option 1 is nil"},
		{sqlite.New[pair](path, sqlite.Table("")), "no name of a table"},
		{sqlite.New[pair](path, sqlite.Table("sqlite_x")), "belongs to the database"},
		{sqlite.New[pair](path, sqlite.Patience(0)), "must be above 0"},
		{sqlite.New[pair](path, sqlite.Upsert()), "Upsert without a column"},
		{sqlite.New[pair](path, sqlite.Upsert("other")), "is no field"},
		{sqlite.New[pair](path, sqlite.Upsert("id", "id")), "twice: name it once"},
		{sqlite.New[map[string]int](path, sqlite.Table("x")), "no fixed columns"},
		{sqlite.New[struct{ a int }](path, sqlite.Table("x")), "no fields"},
		{sqlite.New[two](path), "would be one column"},
		{sqlite.New[own](path), "of the feed's own"},
	} {
		if err := c.feed.Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if err := c.feed.Mistake(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("before the crawl it says: %v, want %q", err, c.want)
		}
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a database was made")
	}
}

// What is wrong with the file is said with its path and a remedy.
func TestBadFiles(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text.db")
	write(t, text, strings.Repeat("this is no database ", 1000))
	gone := filepath.Join(folder, "gone.db")
	f := sqlite.New[pair](gone)
	stored := feedtest.Restore(t, f, nil)
	feedtest.End(t, f)
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path       string
		checkpoint []byte
		want       string
	}{
		{text, nil, "no SQLite database"},
		{filepath.Join(folder, "no", "x.db"), nil, "make the folder"},
		{folder, nil, "make the folder"},
		{gone, stored, "knows nothing of this job"},
		{gone, []byte("{}"), "its checkpoint is"},
	} {
		err := sqlite.New[pair](c.path).Restore(t.Context(), c.checkpoint)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
