package cluster_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// record makes a record of a name, which is its key and its data too.
func record(name string) tegenaria.Record {
	rec := tegenaria.Record{Slot: "host", Data: []byte(name)}
	copy(rec.Key[:], name)
	return rec
}

func accept(t testing.TB, c *cluster.Cache, want tegenaria.Verdict, names ...string) {
	t.Helper()
	for _, name := range names {
		verdicts, err := c.Accept(t.Context(), []tegenaria.Record{record(name)})
		if err != nil || verdicts[0] != want {
			t.Fatalf("Accept(%s): %v, %v; want %v", name, verdicts, err, want)
		}
	}
}

// Each refusal is an error of its own type, which names the thing.
func TestRefusals(t *testing.T) {
	dsn := database(t)
	admin := connect(t, dsn)
	first, _ := begin(t, dsn, "first", cluster.Options{Partitions: 7})
	closed(t, first)
	openError := func(dsn, job string, o cluster.Options) error {
		c, err := cluster.Open(t.Context(), dsn, job, o)
		if err == nil {
			_, err = c.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1})
			closed(t, c)
		}
		return err
	}
	mismatch := func(t *testing.T, err error, what, stored, asked string) {
		t.Helper()
		var e *cluster.MismatchError
		if !errors.As(err, &e) || e.Job != "first" || e.What != what || e.Stored != stored || e.Asked != asked || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, want a MismatchError about the %s", err, what)
		}
	}
	t.Run("spider and keys", func(t *testing.T) {
		c := open(t, dsn, "first", cluster.Options{})
		defer closed(t, c)
		_, err := c.Begin(t.Context(), tegenaria.Job{Spider: "other", KeyVersion: 1})
		mismatch(t, err, "spider", "spider", "other")
		_, err = c.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 2})
		mismatch(t, err, "key version", "1", "2")
		if _, err = c.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1}); err != nil {
			t.Error(err)
		}
	})
	t.Run("partitions", func(t *testing.T) {
		mismatch(t, openError(dsn, "first", cluster.Options{Partitions: 8}), "number of partitions", "7", "8")
		if err := openError(dsn, "first", cluster.Options{Partitions: 7}); err != nil {
			t.Error(err)
		}
	})
	t.Run("in use", func(t *testing.T) {
		c, _ := begin(t, dsn, "first", cluster.Options{})
		defer closed(t, c)
		var e *cluster.InUseError
		if err := openError(dsn, "first", cluster.Options{Worker: "one"}); !errors.As(err, &e) || e.Worker != "one" {
			t.Errorf("%v, want an InUseError of the worker one", err)
		}
	})
	t.Run("rights", func(t *testing.T) {
		run(t, admin, "CREATE ROLE guest LOGIN")
		guest := strings.Replace(dsn, "user=tester", "user=guest", 1)
		for _, job := range []string{"first", "new"} {
			var e *cluster.RightsError
			if err := openError(guest, job, cluster.Options{}); !errors.As(err, &e) || e.Job != job {
				t.Errorf("the job %s: %v, want a RightsError", job, err)
			}
		}
		run(t, admin, "GRANT USAGE ON SCHEMA first TO guest")
		run(t, admin, "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA first TO guest")
		if err := openError(guest, "first", cluster.Options{}); err != nil {
			t.Errorf("a user with rights: %v", err)
		}
	})
	t.Run("schema", func(t *testing.T) {
		run(t, admin, "UPDATE first.job SET version = 99")
		mismatch(t, openError(dsn, "first", cluster.Options{}), "schema version", "99", "6")
		run(t, admin, "CREATE SCHEMA taken")
		run(t, admin, "CREATE TABLE taken.other ()")
		var e *cluster.Error
		if err := openError(dsn, "taken", cluster.Options{}); !errors.As(err, &e) || !strings.Contains(err.Error(), "something else") {
			t.Errorf("%v, want an Error: the schema is somebody else's", err)
		}
		run(t, admin, "CREATE SCHEMA empty")
		if err := openError(dsn, "empty", cluster.Options{}); err != nil {
			t.Errorf("an empty schema: %v", err)
		}
	})
	t.Run("names", func(t *testing.T) {
		for _, job := range []string{"", "pg_job", strings.Repeat("x", 64), "a\x00b"} {
			if err := openError(dsn, job, cluster.Options{}); err == nil {
				t.Errorf("the job %q was opened", job)
			}
		}
	})
	t.Run("fsync", func(t *testing.T) {
		setFsync(t, dsn, "off")
		defer setFsync(t, dsn, "on")
		var e *cluster.ServerError
		if err := openError(dsn, "unsafe", cluster.Options{}); !errors.As(err, &e) || e.What != "fsync" {
			t.Errorf("%v, want a ServerError about fsync", err)
		}
	})
}

func TestServerVersion(t *testing.T) {
	var e *cluster.ServerError
	if err := cluster.CheckServer("130014", "on"); !errors.As(err, &e) || e.What != "version" || !strings.Contains(err.Error(), "14") {
		t.Errorf("PostgreSQL 13: %v", err)
	}
	if err := cluster.CheckServer("140000", "on"); err != nil {
		t.Errorf("PostgreSQL 14: %v", err)
	}
}

// A worker whose session is over writes nothing, not even a part: it fails if the fence does not undo what came before
// it.
func TestFence(t *testing.T) {
	dsn := database(t)
	for name, sql := range map[string]string{
		"expired": `UPDATE %s.worker SET expired = true`,
		"session": `UPDATE %s.worker SET session = session + 1`,
		"batch":   `UPDATE %s.worker SET batch = batch + 1`,
	} {
		t.Run(name, func(t *testing.T) {
			admin := connect(t, dsn)
			c, _ := begin(t, dsn, "fence "+name, cluster.Options{})
			accept(t, c, tegenaria.VerdictNew, "a")
			if err := c.Settle(t.Context(), tegenaria.Batch{}); err != nil {
				t.Fatal(err)
			}
			schema := `"fence ` + name + `"`
			run(t, admin, strings.ReplaceAll(sql, "%s", schema))
			accept(t, c, tegenaria.VerdictNew, "b")
			var e *cluster.FencedError
			if err := c.Settle(t.Context(), tegenaria.Batch{Started: true}); !errors.As(err, &e) || e.Worker != "one" {
				t.Errorf("Settle: %v, want a FencedError", err)
			}
			if _, err := c.Accept(t.Context(), []tegenaria.Record{record("c")}); !errors.As(err, &e) {
				t.Errorf("Accept after that: %v, want a FencedError", err)
			}
			if err := c.Close(); !errors.As(err, &e) {
				t.Errorf("Close: %v, want a FencedError", err)
			}
			if got := read(t, admin, "SELECT count(*) || ' ' || (SELECT started FROM "+schema+".job) FROM "+schema+".request"); got != "1 false" {
				t.Errorf("requests, started: %s, want 1 false", got)
			}
		})
	}
}

// The server crashes at a time when half is settled. What Settle has answered is there, and the other half is as it
// was.
func TestServerCrash(t *testing.T) {
	dsn := database(t)
	c, _ := begin(t, dsn, "crash", cluster.Options{})
	accept(t, c, tegenaria.VerdictNew, "a", "b")
	records, _, err := c.Next(t.Context(), "host", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(t.Context(), tegenaria.Batch{Settled: []tegenaria.Settled{{Record: records[0], Outcome: tegenaria.Fetched}}}); err != nil {
		t.Fatal(err)
	}
	accept(t, c, tegenaria.VerdictNew, "c")
	server := pgtest.Get(t)
	if err := server.Crash(); err != nil {
		t.Fatal(err)
	}
	accept(t, c, tegenaria.VerdictKnown, "a", "b", "c") // while it is away
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	accept(t, c, tegenaria.VerdictNew, "d")
	if err := c.Settle(t.Context(), tegenaria.Batch{}); err != nil {
		t.Fatal(err)
	}
	c.Abandon()
	c, _ = begin(t, dsn, "crash", cluster.Options{})
	defer closed(t, c)
	accept(t, c, tegenaria.VerdictKnown, "a", "b", "c", "d")
	records, _, err = c.Next(t.Context(), "host", 9)
	if err != nil || len(records) != 3 {
		t.Errorf("%d records wait, %v; want 3", len(records), err)
	}
}

// What people ask a job, with texts that a database does not take.
func TestTextsOfJobs(t *testing.T) {
	dsn := database(t)
	c, _ := begin(t, dsn, "texts", cluster.Options{})
	accept(t, c, tegenaria.VerdictNew, "a")
	records, _, err := c.Next(t.Context(), "host", 1)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Settle(t.Context(), tegenaria.Batch{
		Settled:  []tegenaria.Settled{{Record: records[0], Outcome: tegenaria.Failed, Reason: "a\x00b\xff"}},
		Counters: map[string]int64{"n\x00": 1, "n\xff": 2, strings.Repeat("é", 4000): 3},
		Slots:    []tegenaria.SlotState{{Name: strings.Repeat("s", 10_000), Pages: 1}},
		Finished: "\x00",
	})
	if err != nil {
		t.Fatal(err)
	}
	closed(t, c)
	admin := connect(t, dsn)
	if got := read(t, admin, "SELECT outcome || ' ' || reason || ' ' || count(*) FROM texts.outcome GROUP BY outcome, reason"); got != "failed a\uFFFDb\uFFFD 1" {
		t.Errorf("outcomes: %q", got)
	}
	if got := read(t, admin, "SELECT sum(value)::text FROM texts.counter"); got != "6" {
		t.Errorf("the sum of the counters is %s, want 6", got)
	}
}

// What nobody settles is written all the same.
func TestWrittenSoon(t *testing.T) {
	dsn := database(t)
	c, _ := begin(t, dsn, "soon", cluster.Options{})
	defer closed(t, c)
	admin := connect(t, dsn)
	accept(t, c, tegenaria.VerdictNew, "a")
	for read(t, admin, "SELECT count(*)::text FROM soon.queue") != "1" {
		if t.Context().Err() != nil {
			t.Fatal("it was not written")
		}
	}
	// So is what has become much, at once.
	large := record("large")
	large.Data = make([]byte, 5<<20)
	if _, err := c.Accept(t.Context(), []tegenaria.Record{large}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, admin, "SELECT count(*)::text FROM soon.queue"); got != "2" {
		t.Errorf("%s requests are written, want 2", got)
	}
}

func TestPartitions(t *testing.T) {
	for _, other := range []string{"example.com", "a.b.example.com", "www.example.com:8080"} {
		if got, want := cluster.PartitionOf(other, 1000), cluster.PartitionOf("www.example.com", 1000); got != want {
			t.Errorf("%s is in the partition %d, www.example.com in %d", other, got, want)
		}
	}
	if cluster.PartitionOf("a.example", 1000) == cluster.PartitionOf("b.example", 1000) {
		t.Error("two domains are in one partition of a thousand")
	}
}
