package cluster_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/pgtest"
	"github.com/tegenaria/tegenaria/spidertest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

var jobs atomic.Int64

// newJob returns the name of a job that is not there yet.
func newJob() string { return fmt.Sprint("job ", jobs.Add(1)) }

// database returns how to connect to a database.
func database(t testing.TB) string {
	t.Helper()
	server := pgtest.Get(t)
	dsn := server.DSN("postgres")
	setFsync(t, dsn, "on")
	return dsn
}

// setFsync changes whether the server syncs what it has written.
func setFsync(t testing.TB, dsn, value string) {
	t.Helper()
	conn := connect(t, dsn)
	run(t, conn, "ALTER SYSTEM SET fsync = "+value)
	run(t, conn, "SELECT pg_reload_conf()")
	for read(t, conn, "SELECT current_setting('fsync')") != value {
		conn = connect(t, dsn)
	}
}

func connect(t testing.TB, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

func run(t testing.TB, conn *pgx.Conn, statement string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// read returns the one value of a query as a text.
func read(t testing.TB, conn *pgx.Conn, query string) (text string) {
	t.Helper()
	if err := conn.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// open opens a job, or fails the test.
func open(t testing.TB, dsn, job string, o cluster.Options) *cluster.Cache {
	t.Helper()
	o.Worker = "one"
	c, err := cluster.Open(t.Context(), dsn, job, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// begin opens and begins a job, or fails the test.
func begin(t testing.TB, dsn, job string, o cluster.Options) (*cluster.Cache, tegenaria.State) {
	t.Helper()
	c := open(t, dsn, job, o)
	state, err := c.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c, state
}

func closed(t testing.TB, c *cluster.Cache) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// underTest is a cache without the checkpoint by which Items knows it: TestCache wants those alone that were settled.
type underTest struct{ *cluster.Cache }

func (c underTest) Begin(ctx context.Context, job tegenaria.Job) (tegenaria.State, error) {
	state, err := c.Cache.Begin(ctx, job)
	delete(state.Checkpoints, "cluster/items")
	return state, err
}

func TestConforms(t *testing.T) {
	dsn := database(t)
	for name, o := range map[string]cluster.Options{
		"plain":  {},
		"narrow": {QueueBytes: 1}, // so that queues are read again and again
		"folder": {Dir: "of the test"},
	} {
		t.Run(name, func(t *testing.T) {
			var job string
			crash := func(t *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
				c.(underTest).Cache.Abandon()
				return underTest{open(t, dsn, job, o)}
			}
			kill := crash
			if o.Dir == "" {
				kill = nil
			}
			spidertest.TestCache(t, spidertest.CacheHarness{
				Open: func(t *testing.T) tegenaria.CacheInterface {
					job = newJob()
					if o.Dir != "" {
						o.Dir = t.TempDir()
					}
					return underTest{open(t, dsn, job, o)}
				},
				Reopen: func(t *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
					closed(t, c.(underTest).Cache)
					return underTest{open(t, dsn, job, o)}
				},
				Crash: crash,
				Kill:  kill,
			})
		})
	}
}

// dial sees a job from outside.
func dial(t *testing.T, dsn, job string) *cluster.Job {
	t.Helper()
	j, err := cluster.Dial(t.Context(), dsn, job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}
