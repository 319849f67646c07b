package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/postgres"
	"github.com/tegenaria/tegenaria/internal/pgtest"
	"github.com/tegenaria/tegenaria/spidertest"
)

// The ways to break a connection.
const (
	unbroken       = iota
	beforeCommit   // COMMIT never arrives
	withCommit     // COMMIT was sent, and nobody waits for the answer
	afterCommit    // COMMIT was answered, and the answer is lost
	inCopy         // half of the rows arrived
	waysToBreakOne // how many there are
)

// cutter breaks one connection, in the way that it is told.
type cutter struct {
	way    atomic.Int32
	broken atomic.Int32      // how many it has broken
	failed func(dials int64) // called after a dial that failed
	dials  atomic.Int64      // that failed, one after the other
	inCopy func()            // called when a connection breaks in COPY
}

func (c *cutter) configure(config *pgxpool.Config) {
	dial := config.ConnConfig.DialFunc
	config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			if n := c.dials.Add(1); c.failed != nil {
				c.failed(n)
			}
			return nil, err
		}
		c.dials.Store(0)
		return &cutConn{conn, c}, nil
	}
}

type cutConn struct {
	net.Conn
	cutter *cutter
}

func (c *cutConn) Write(b []byte) (int, error) {
	way := c.cutter.way.Load()
	switch {
	case way == unbroken:
		return c.Conn.Write(b)
	case way == inCopy && b[0] == 'd':
		c.Conn.Write(b[:len(b)/2])
		if c.cutter.inCopy != nil {
			c.cutter.inCopy()
		}
	case way == inCopy || !bytes.Contains(b, []byte("COMMIT")) || bytes.Contains(b, []byte("BEGIN")):
		return c.Conn.Write(b)
	case way != beforeCommit:
		c.Conn.Write(b)
	}
	if way == afterCommit {
		c.Conn.Read(make([]byte, 1))
	}
	c.cutter.way.Store(unbroken)
	c.cutter.broken.Add(1)
	c.Conn.Close()
	return 0, net.ErrClosed
}

// The model test, while connections break at the worst moments, and the server crashes and recovers. It fails if a batch whose COMMIT was
// lost is written again, or not at all.
func TestCrashesOfTheDatabase(t *testing.T) {
	for _, key := range []bool{false, true} {
		t.Run(fmt.Sprint("key ", key), func(t *testing.T) {
			dsn, server := newDatabase(t), pgtest.Get(t)
			cut := &cutter{}
			pool := connect(t, dsn, cut.configure)
			opts := []postgres.Option{postgres.Table("books"), postgres.Rejects(filepath.Join(t.TempDir(), "rejects"))}
			order := "tegenaria_row"
			if key {
				opts, order = append(opts, postgres.Upsert("sku")), "sku"
			}
			var crashes atomic.Int32 // also by goroutines that copy
			crash := func() {
				crashes.Add(1)
				if err := errors.Join(server.Crash(), server.Start()); err != nil {
					t.Error(err)
				}
			}
			cut.inCopy = func() {
				if cut.broken.Load()%8 == 0 {
					crash()
				}
			}
			h := feedtest.Harness(func() feedtest.Feed { return postgres.New[feedtest.Book](pool, opts...) }, func(t testing.TB) []string {
				return read(t, connect(t, dsn), "SELECT sku || ' ' || title FROM books ORDER BY "+order)
			}, key)
			h.Rounds = 300
			h.Before = func(random *rand.Rand) {
				if random.IntN(2) == 0 {
					cut.way.Store(int32(random.IntN(waysToBreakOne)))
				}
				if random.IntN(60) == 0 {
					crash()
				}
			}
			spidertest.TestCommitter(t, h)
			t.Logf("%d connections were broken, and the server crashed %d times", cut.broken.Load(), crashes.Load())
			if cut.broken.Load() < 10 {
				t.Error("too few connections were broken")
			}
		})
	}
}

// The crawl waits while the server is down, and then goes on as if nothing had been.
func TestServerThatComesBack(t *testing.T) {
	dsn, server := newDatabase(t), pgtest.Get(t)
	back := make(chan error, 1)
	cut := &cutter{failed: func(dials int64) {
		if dials == 4 {
			back <- server.Start()
		}
	}}
	f := postgres.New[feedtest.Book](connect(t, dsn, cut.configure), postgres.Rejects(filepath.Join(t.TempDir(), "rejects")))
	feedtest.Restore(t, f, nil)
	feedtest.Put(t, f, "a", feedtest.Book{SKU: "1"})
	feedtest.Prepare(t, f, "a")
	feedtest.Put(t, f, "b", feedtest.Book{SKU: "2"})
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	feedtest.Prepare(t, f, "b")
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	feedtest.End(t, f)
	if got := read(t, connect(t, dsn), "SELECT sku FROM book ORDER BY tegenaria_row"); fmt.Sprint(got) != "[1 2]" {
		t.Errorf("%q", got)
	}
}

// When patience is over the run ends with an error that names the table and the remedy, and never the password; the same job goes on
// when the server is back.
func TestPatienceEnds(t *testing.T) {
	dsn, server := newDatabase(t), pgtest.Get(t)
	opts := []postgres.Option{postgres.Patience(time.Second / 2), postgres.Rejects(filepath.Join(t.TempDir(), "rejects"))}
	f := postgres.New[feedtest.Book](connect(t, dsn), opts...)
	stored := feedtest.Restore(t, f, nil)
	feedtest.Put(t, f, "a", &feedtest.Book{SKU: "1"})
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	_, err := f.Prepare(t.Context(), []string{"a"})
	var away *postgres.Error
	if !errors.As(err, &away) || away.Away <= 0 || away.Table != "public.book" || !strings.Contains(err.Error(), "start the same job again") {
		t.Errorf("%v", err)
	}
	wantNoPassword(t, err)
	feedtest.End(t, f)
	err = postgres.New[feedtest.Book](connect(t, dsn), opts...).Restore(t.Context(), stored)
	if !errors.As(err, &away) || away.Doing != "opening" {
		t.Errorf("%v", err)
	}
	wantNoPassword(t, err)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	f = postgres.New[feedtest.Book](connect(t, dsn), opts...)
	feedtest.Restore(t, f, stored)
	feedtest.Put(t, f, "a", &feedtest.Book{SKU: "1"})
	feedtest.Prepare(t, f, "a")
	feedtest.End(t, f)
	if got := read(t, connect(t, dsn), "SELECT sku FROM book"); fmt.Sprint(got) != "[1]" {
		t.Errorf("%q", got)
	}
}

// A run that is stopped does not wait for the database.
func TestStopWhileAway(t *testing.T) {
	dsn, server := newDatabase(t), pgtest.Get(t)
	ctx, stop := context.WithCancel(t.Context())
	cut := &cutter{failed: func(int64) { stop() }}
	f := postgres.New[feedtest.Book](connect(t, dsn, cut.configure), postgres.Rejects(filepath.Join(t.TempDir(), "rejects")))
	feedtest.Restore(t, f, nil)
	feedtest.Put(t, f, "a", feedtest.Book{SKU: "1"})
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Prepare(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	feedtest.End(t, f)
}

// A mistake in the credentials is no absence: nobody waits for it.
func TestWrongDatabase(t *testing.T) {
	dsn := strings.Replace(newDatabase(t), "dbname=", "dbname=no", 1)
	err := postgres.New[feedtest.Book](connect(t, dsn), postgres.Rejects(filepath.Join(t.TempDir(), "rejects"))).Restore(t.Context(), nil)
	var e *postgres.Error
	if !errors.As(err, &e) || e.Away != 0 || !strings.Contains(err.Error(), "make the database") {
		t.Errorf("%v", err)
	}
	wantNoPassword(t, err)
}

func wantNoPassword(t *testing.T, err error) {
	t.Helper()
	for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err)} {
		if strings.Contains(text, "swordfish") {
			t.Errorf("the password is in %q", text)
		}
	}
}

// A server that may lose what was committed is told not to, since the cache takes it for stored.
func TestForgetfulServer(t *testing.T) {
	pool := database(t)
	run(t, pool, "DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = off'; END $$",
		"CREATE TABLE commits (how text)",
		"CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO commits VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$")
	pool.Reset()
	if got := read(t, pool, "SHOW synchronous_commit"); got[0] != "off" {
		t.Fatal(got)
	}
	f := postgres.New[feedtest.Book](pool, postgres.Rejects(filepath.Join(t.TempDir(), "rejects")))
	feedtest.Restore(t, f, nil)
	for _, table := range []string{"book", "tegenaria_batches", "tegenaria_rows"} {
		run(t, pool, "CREATE TRIGGER note AFTER INSERT OR UPDATE ON "+table+" FOR EACH ROW EXECUTE FUNCTION note()")
	}
	feedtest.Put(t, f, "a", feedtest.Book{})
	feedtest.Prepare(t, f, "a")
	feedtest.End(t, f)
	if got := fmt.Sprint(read(t, pool, "SELECT how FROM commits")); got != "[on on on]" {
		t.Error(got)
	}
}
