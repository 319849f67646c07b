//go:build unix

package cluster_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/feed"
)

// as opens a job as a worker that has a folder, and begins it.
func as(t *testing.T, dsn, job, worker, dir string) (*cluster.Cache, tegenaria.State) {
	t.Helper()
	c, err := cluster.Open(t.Context(), dsn, job, cluster.Options{Worker: worker, Dir: dir, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	state, err := c.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c, state
}

// A folder has one process at a time, and one worker for ever.
func TestFolderIsOfOneWorker(t *testing.T) {
	dsn, job, dir := database(t), newJob(), filepath.Join(t.TempDir(), "new")
	c, _ := as(t, dsn, job, "one", dir)
	defer closed(t, c)
	var inUse *cluster.InUseError
	if _, err := cluster.Open(t.Context(), dsn, job, cluster.Options{Worker: "one", Dir: dir}); !errors.As(err, &inUse) || inUse.Dir != dir {
		t.Errorf("two processes with one folder: %v", err)
	}
	closed(t, c)
	var other *cluster.DirError
	if _, err := cluster.Open(t.Context(), dsn, job, cluster.Options{Worker: "two", Dir: dir}); !errors.As(err, &other) || other.Worker != "one" {
		t.Errorf("the folder of another worker: %v", err)
	}
}

// A worker whose process stood still in the middle of a transaction, and is gone, begins at once: its folder is the
// proof, and not the TTL.
func TestFolderProvesDeath(t *testing.T) {
	dsn, job, dir := database(t), newJob(), t.TempDir()
	gone, _ := as(t, dsn, job, "one", dir)
	if err := gone.Freeze(t.Context(), "SELECT FROM job FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	gone.Unlock()
	c, _ := as(t, dsn, job, "one", dir)
	closed(t, c)
	gone.Thaw()
	gone.Abandon()
}

// Each death counts for what was in flight, whichever worker has died, and also for a page that the crash has undone.
// It counts once.
func TestDeathsAreCountedOnAllWorkers(t *testing.T) {
	dsn, job := database(t), newJob()
	dirs := map[string]string{"a": t.TempDir(), "b": t.TempDir()}
	c, _ := as(t, dsn, job, "a", dirs["a"])
	poison := tegenaria.Record{Key: tegenaria.Key{1}, Slot: "host", Data: []byte("poison")}
	if _, err := c.Accept(t.Context(), []tegenaria.Record{poison}); err != nil {
		t.Fatal(err)
	}
	if err := c.Settle(t.Context(), tegenaria.Batch{Started: true}); err != nil {
		t.Fatal(err)
	}
	suspects, _, err := c.Next(t.Context(), "host", 1)
	for deaths, worker := range []string{"a", "b", "a"} {
		if err != nil || len(suspects) != 1 || suspects[0].Crashes != deaths {
			t.Fatalf("after %d deaths the suspects are %+v, %v", deaths, suspects, err)
		}
		if err := c.RecordFlight(&suspects[0], tegenaria.FlightBegun); err != nil {
			t.Fatal(err)
		}
		c.Abandon()
		c, _ = as(t, dsn, job, worker, dirs[worker]) // which stores the death
		closed(t, c)
		next := map[string]string{"a": "b", "b": "a"}[worker]
		var state tegenaria.State
		c, state = as(t, dsn, job, next, dirs[next])
		suspects = state.Suspects
	}
	if len(suspects) != 1 || suspects[0].Crashes != 3 {
		t.Errorf("suspects %+v, want three crashes", suspects)
	}
	if err := c.Settle(t.Context(), tegenaria.Batch{Settled: []tegenaria.Settled{{Record: suspects[0], Outcome: tegenaria.Failed, At: time.Now()}}}); err != nil {
		t.Fatal(err)
	}
	closed(t, c)
	if got := read(t, connect(t, dsn), `SELECT count(*)::text FROM "`+job+`".crash`); got != "0" {
		t.Errorf("%s crashes are left of a request that is settled", got)
	}
}

// What Trim cannot cut it leaves as it is, and says why.
func TestTrimRefuses(t *testing.T) {
	dsn, job, dir := database(t), newJob(), t.TempDir()
	c, _ := as(t, dsn, job, "one", dir)
	j := dial(t, dsn, job)
	file := filepath.Join(t.TempDir(), "items.jsonl")
	const text = "\"/0\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var inUse *cluster.InUseError
	if err := cluster.Trim(t.Context(), j, dir, feed.JSONL(file)); !errors.As(err, &inUse) {
		t.Errorf("trimming the outputs of a worker that is alive: %v", err)
	}
	closed(t, c)
	var missing *cluster.CheckpointError
	if err := cluster.Trim(t.Context(), j, dir, feed.JSONL(file)); !errors.As(err, &missing) || missing.Worker != "one" {
		t.Errorf("trimming an output of which there is no checkpoint: %v", err)
	}
	if err := cluster.Trim(t.Context(), j, filepath.Join(dir, "none"), feed.JSONL(file)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != text {
		t.Errorf("the file has become %q, %v", got, err)
	}
}
