package postgres_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/postgres"
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
		opts   []postgres.Option
		want   string // the columns afterwards
		errs   string // or a part of the error
		sql    string // that mends it
	}{
		{name: "none", want: "tegenaria_row bigint, id bigint, name text"},
		{name: "none, key", opts: []postgres.Option{postgres.Upsert("id")}, want: "id bigint, name text"},
		{name: "other types that fit", before: []string{"CREATE TABLE pairs (name varchar(10), id smallint)"}, want: "name character varying(10), id smallint, tegenaria_row bigint"},
		{name: "numeric", before: []string{"CREATE TABLE pairs (name text, id numeric(5))"}, want: "name text, id numeric(5,0), tegenaria_row bigint"},
		{name: "partitioned", before: []string{"CREATE TABLE pairs (id bigint, name text, tegenaria_row bigint) PARTITION BY RANGE (id)", "CREATE TABLE part PARTITION OF pairs FOR VALUES FROM (0) TO (100)"}, want: "id bigint, name text, tegenaria_row bigint"},
		{name: "missing", before: []string{"CREATE TABLE pairs (other real DEFAULT 1.5 NOT NULL, serial int GENERATED ALWAYS AS IDENTITY)"}, want: "other real, serial integer, id bigint, name text, tegenaria_row bigint"},
		{name: "another schema", before: []string{"CREATE SCHEMA lake", "CREATE TABLE pairs (id text)"}, opts: []postgres.Option{postgres.Schema("lake")}, want: "id text"},
		{name: "wrong type", before: []string{"CREATE TABLE pairs (id bigint, name integer)"}, errs: "column name has the type integer, and the field of the items needs text",
			sql: `ALTER TABLE "public"."pairs" ALTER COLUMN "name" TYPE text USING "name"::text::text;`},
		{name: "wrong type of a number", before: []string{"CREATE TABLE pairs (id text, name text)"}, errs: "column id has the type text", sql: `TYPE bigint`},
		{name: "computed", before: []string{"CREATE TABLE pairs (id integer, name text GENERATED ALWAYS AS ('x') STORED)"}, errs: "column name is computed", sql: `RENAME COLUMN "name" TO "name_old"`},
		{name: "required", before: []string{"CREATE TABLE pairs (id bigint, name text, other text NOT NULL)"}, errs: "column other must not be NULL", sql: `DROP NOT NULL`},
		{name: "view", before: []string{"CREATE VIEW pairs AS SELECT 1 AS id, 'x' AS name"}, errs: "it is no table"},
		{name: "key without index", before: []string{"CREATE TABLE pairs (id bigint, name text)", "CREATE UNIQUE INDEX ON pairs (id, name)", "CREATE INDEX ON pairs (id)", "CREATE UNIQUE INDEX ON pairs (id) WHERE id > 0"},
			opts: []postgres.Option{postgres.Upsert("id")}, errs: `no unique index is on the key ["id"]`, sql: `CREATE UNIQUE INDEX ON "public"."pairs" ("id")`},
		{name: "key with index", before: []string{"CREATE TABLE pairs (id bigint, name text)", "CREATE UNIQUE INDEX ON pairs (name, id)"},
			opts: []postgres.Option{postgres.Upsert("id", "name")}, want: "id bigint, name text"},
		{name: "not empty", before: []string{"CREATE TABLE pairs (id bigint, name text)", "INSERT INTO pairs VALUES (7, 'x')"}, errs: "table public.pairs is not empty"},
		{name: "made without a key", before: []string{"CREATE TABLE pairs (tegenaria_row bigint PRIMARY KEY, id bigint UNIQUE, name text)"}, opts: []postgres.Option{postgres.Upsert("id")},
			errs: "made without a key", sql: "DROP COLUMN tegenaria_row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := database(t)
			run(t, pool, c.before...)
			opts := append([]postgres.Option{postgres.Table("pairs"), postgres.Rejects(filepath.Join(t.TempDir(), "rejects"))}, c.opts...)
			f := postgres.New[pair](pool, opts...)
			err := f.Restore(t.Context(), nil)
			if c.errs != "" {
				var table *feed.TableError
				var filled *feed.NotEmptyError
				if !errors.As(err, &table) && !errors.As(err, &filled) || !strings.Contains(err.Error(), c.errs) {
					t.Fatalf("%v", err)
				}
				if c.sql != "" { // it mends it
					if !strings.Contains(err.Error(), c.sql) {
						t.Fatalf("%v", err)
					}
					run(t, pool, table.SQL)
					f = postgres.New[pair](pool, opts...)
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
			if got := strings.Join(read(t, pool, "SELECT attname || ' ' || format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'public.pairs'::regclass AND attnum > 0 ORDER BY attnum"), ", "); c.name != "another schema" && got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			schema := "public"
			if c.name == "another schema" {
				schema = "lake"
			}
			if got := read(t, pool, "SELECT id || name FROM "+schema+".pairs"); !slices.Equal(got, []string{"7x"}) {
				t.Errorf("%q", got)
			}
		})
	}
}

// A new job refuses a table with rows, adds to it, or empties it.
func TestTablesThatAreNotEmpty(t *testing.T) {
	pool := database(t)
	rejects := postgres.Rejects(filepath.Join(t.TempDir(), "rejects"))
	for i, c := range []struct {
		opts []postgres.Option
		want string
	}{
		{nil, "[0]"},
		{nil, "[0] refused"},
		{[]postgres.Option{postgres.Append()}, "[0 2]"},
		{[]postgres.Option{postgres.Overwrite()}, "[3]"},
	} {
		f := postgres.New[pair](pool, append(c.opts, rejects)...)
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
		got := fmt.Sprint(read(t, pool, "SELECT id::text FROM pair ORDER BY tegenaria_row"))
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
	pool, folder := database(t), t.TempDir()
	rejects := func(name string) postgres.Option { return postgres.Rejects(filepath.Join(folder, name)) }
	one := postgres.New[pair](pool, postgres.Append(), rejects("one"))
	two := postgres.New[pair](pool, postgres.Append(), postgres.JobKey("two"), rejects("two"))
	stored := feedtest.Restore(t, one, nil)
	feedtest.Restore(t, two, nil)
	for i := range 3 {
		feedtest.Put(t, two, "a", pair{ID: 10 + i})
		feedtest.Prepare(t, two, "a")
		if i == 1 {
			feedtest.Put(t, one, "a", pair{ID: 1})
			feedtest.Prepare(t, one, "a")
			run(t, pool, "INSERT INTO pair (id, tegenaria_row) VALUES (20, 1000000)")
		}
	}
	feedtest.End(t, one)
	feedtest.End(t, two)
	one = postgres.New[pair](pool, postgres.Append(), rejects("one"))
	feedtest.Restore(t, one, stored)
	feedtest.End(t, one)
	if got := fmt.Sprint(read(t, pool, "SELECT id::text FROM pair ORDER BY id")); got != "[10 11 12 20]" {
		t.Error(got)
	}
}

func TestMistakes(t *testing.T) {
	type own struct {
		Row int `json:"tegenaria_row"`
	}
	pool := new(pgxpool.Pool) // which nobody uses
	for _, c := range []struct {
		feed *postgres.Feed
		want string
	}{
		{postgres.New[pair](nil), "without a pool"},
		{postgres.New[pair](pool, nil), "option 1 is nil"},
		{postgres.New[pair](pool, postgres.Table("")), "no name of a table"},
		{postgres.New[pair](pool, postgres.Table(strings.Repeat("x", 64))), "no name of a table"},
		{postgres.New[pair](pool, postgres.Schema("\x00")), "no name of a schema"},
		{postgres.New[pair](pool, postgres.Patience(0)), "must be above 0"},
		{postgres.New[pair](pool, postgres.Upsert()), "Upsert without a column"},
		{postgres.New[pair](pool, postgres.Upsert("other")), "is no field"},
		{postgres.New[map[string]int](pool, postgres.Table("x")), "no fixed columns"},
		{postgres.New[own](pool), "of the feed's own"},
		{postgres.New[struct {
			A int `json:"ctid"`
		}](pool, postgres.Table("x")), "the field ctid has the name of a column that PostgreSQL has"},
		{postgres.New[struct {
			A int `json:"xmin"`
		}](pool, postgres.Table("x")), "the field xmin has"},
		{postgres.New[struct {
			A int `json:"xmax"`
		}](pool, postgres.Table("x")), "the field xmax has"},
		{postgres.New[struct {
			A int `json:"cmin"`
		}](pool, postgres.Table("x")), "the field cmin has"},
		{postgres.New[struct {
			A int `json:"cmax"`
		}](pool, postgres.Table("x")), "the field cmax has"},
		{postgres.New[struct {
			A int `json:"tableoid"`
		}](pool, postgres.Table("x")), "the field tableoid has"},
	} {
		if err := c.feed.Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
		if err := c.feed.Mistake(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("before the crawl it says: %v, want %q", err, c.want)
		}
	}
}

// Names that a table may have, though some versions or other databases have such columns, are no mistake.
func TestNoMistakes(t *testing.T) {
	type fine struct {
		A int `json:"oid"`
		B int `json:"CTID"`
		C int `json:"rowid"`
	}
	if err := postgres.New[fine](new(pgxpool.Pool)).Mistake(); err != nil {
		t.Error(err)
	}
}

// A job does not go on in a database that is not the one it has written to.
func TestAnotherDatabase(t *testing.T) {
	opts := []postgres.Option{postgres.Rejects(filepath.Join(t.TempDir(), "rejects"))}
	f := postgres.New[pair](database(t), opts...)
	stored := feedtest.Restore(t, f, nil)
	feedtest.End(t, f)
	err := postgres.New[pair](database(t), opts...).Restore(t.Context(), stored)
	var corrupt *feed.CorruptError
	if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "public.pair") {
		t.Errorf("%v", err)
	}
}
