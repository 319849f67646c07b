package postgres_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/postgres"
	"github.com/tegenaria/tegenaria/internal/pgtest"
	"github.com/tegenaria/tegenaria/spidertest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var databases atomic.Int64

// database makes a new database, and connects to it.
func database(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return connect(t, newDatabase(t))
}

// newDatabase makes a new database, and returns how to connect to it.
func newDatabase(t testing.TB) (dsn string) {
	t.Helper()
	server := pgtest.Get(t)
	admin := connect(t, server.DSN("postgres"))
	name := fmt.Sprint("test", databases.Add(1))
	if _, err := admin.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	admin.Close()
	return server.DSN(name)
}

func connect(t testing.TB, dsn string, configure ...func(c *pgxpool.Config)) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range configure {
		c(config)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// read returns the values of one column as texts.
func read(t testing.TB, pool *pgxpool.Pool, query string) (list []string) {
	t.Helper()
	rows, err := pool.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var s *string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		if s == nil {
			list = append(list, "NULL")
			continue
		}
		list = append(list, *s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func run(t testing.TB, pool *pgxpool.Pool, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := pool.Exec(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCrashes(t *testing.T) {
	for _, key := range []bool{false, true} {
		t.Run(fmt.Sprint("key ", key), func(t *testing.T) {
			pool := database(t)
			opts := []postgres.Option{postgres.Table("books"), postgres.StageBytes(500), postgres.Rejects(filepath.Join(t.TempDir(), "rejects"))}
			order := "tegenaria_row"
			if key {
				opts, order = append(opts, postgres.Upsert("sku")), "sku"
			}
			h := feedtest.Harness(func() feedtest.Feed { return postgres.New[feedtest.Book](pool, opts...) }, func(t testing.TB) []string {
				return read(t, pool, "SELECT sku || ' ' || title FROM books ORDER BY "+order)
			}, key)
			h.Rounds = 300
			spidertest.TestCommitter(t, h)
		})
	}
}
