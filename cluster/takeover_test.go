package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// join opens a job as a worker, and has it share the job.
func join(t *testing.T, dsn, job, worker string, run tegenaria.SharedRun) *cluster.Cache {
	t.Helper()
	c, err := cluster.Open(t.Context(), dsn, job, cluster.Options{Worker: worker, TTL: shortTTL, Partitions: 8})
	if err != nil {
		t.Fatal(err)
	}
	c.Attach(complete(run))
	if _, err := c.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1}); err != nil {
		t.Fatal(err)
	}
	c.Join()
	return c
}

// complete gives a run the funcs that it does not have.
func complete(run tegenaria.SharedRun) tegenaria.SharedRun {
	all := tegenaria.SharedRun{
		Resume: func() {}, Halt: func(error) {}, Lose: func(error) {}, Start: func() {}, Open: func(int64) {}, Share: func(int) {}, Allow: func([]byte) {}, Gain: func([]tegenaria.SlotState, int64) {},
		Give: func(int64, int64) {}, Arrive: func([]tegenaria.Record, []tegenaria.Verdict) {}, Finish: func(int64) {}, Stop: func(string) {},
		Log: func(bool, string, map[string]any) {},
	}
	if run.Log != nil {
		all.Log = run.Log
	}
	if run.Resume != nil {
		all.Resume, all.Halt, all.Lose = run.Resume, run.Halt, run.Lose
	}
	if run.Gain != nil {
		all.Gain = run.Gain
	}
	if run.Arrive != nil {
		all.Arrive = run.Arrive
	}
	if run.Share != nil {
		all.Share = run.Share
	}
	return all
}

// awaitRow waits until a query has a result.
func awaitRow(t *testing.T, dsn, query, want string) {
	t.Helper()
	admin := connect(t, dsn)
	for read(t, admin, query) != want {
		runtime.Gosched()
	}
}

// A session is dead when no heartbeat came over its TTL of pauses between reads, whatever the reads took and however
// long one pause was.
func TestSessionExpires(t *testing.T) {
	const ttl = 800 * time.Millisecond // a pause should be 100 ms
	same := func(n int, r cluster.Read) (reads []cluster.Read) {
		for range n {
			reads = append(reads, r)
		}
		return reads
	}
	usual := cluster.Read{Pause: 100 * time.Millisecond}
	alive := same(100, usual)
	for i := range alive {
		alive[i].Heartbeat = int64(i / 8) // just in time
	}
	for name, c := range map[string]struct {
		reads []cluster.Read
		want  int
	}{
		"silent":                  {same(20, usual), 9},
		"alive":                   {alive, 0},
		"one long pause":          {same(2, cluster.Read{Pause: time.Hour}), 0},
		"four long pauses":        {same(20, cluster.Read{Pause: time.Hour}), 5},
		"a slow database":         {same(8, cluster.Read{Pause: 100 * time.Millisecond, Took: time.Hour}), 0},
		"a heartbeat at the last": {append(same(8, usual), cluster.Read{Pause: usual.Pause, Heartbeat: 1}), 0},
	} {
		if got := cluster.ReadsUntilExpired(ttl, c.reads); got != c.want {
			t.Errorf("%s: dead after %d reads, want %d", name, got, c.want)
		}
	}
}

// A worker that stands still in the middle of a transaction is expired, and the rows it holds are freed: the other one
// gets its partitions with what waits there. When it goes on it writes nothing.
func TestTakeOver(t *testing.T) {
	dsn := database(t)
	first := join(t, dsn, "seized", "one", tegenaria.SharedRun{})
	var records []tegenaria.Record
	for i := range 40 {
		rec := record(fmt.Sprint("request", i))
		rec.Slot = fmt.Sprint("host", i, ".example")
		records = append(records, rec)
	}
	if _, err := first.Accept(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	if err := first.Settle(t.Context(), tegenaria.Batch{
		Counters: map[string]int64{"n": 3}, Checkpoints: map[string][]byte{"file": {1}, "tegenaria/loopback": {2}},
	}); err != nil {
		t.Fatal(err)
	}
	takes := make(chan int, 100)
	second := join(t, dsn, "seized", "two", tegenaria.SharedRun{Gain: func(slots []tegenaria.SlotState, _ int64) {
		n := 0
		for i := range slots {
			n += slots[i].Pending
		}
		takes <- n
	}})
	awaitRow(t, dsn, `SELECT count(DISTINCT owner)::text || count(owner) FROM seized.partition`, "28")
	if err := first.Freeze(t.Context(), `DELETE FROM seized.queue; UPDATE seized.worker SET batch = 99`); err != nil {
		t.Fatal(err)
	}
	frozen := time.Now()
	moved := 0 // the first worker had all, so that the second one was told of each partition
	for len(takes) > 0 {
		moved += <-takes
	}
	sum := moved
	for sum < len(records) {
		sum += <-takes
	}
	t.Logf("%d requests moved at once, the others %v after the worker stood still", moved, time.Since(frozen))
	first.Thaw()
	var fenced *cluster.FencedError
	if err := first.Settle(t.Context(), tegenaria.Batch{Started: true}); !errors.As(err, &fenced) {
		t.Errorf("the first worker: %v, want a FencedError", err)
	}
	if err := first.Close(); !errors.As(err, &fenced) {
		t.Errorf("closing the first worker: %v, want a FencedError", err)
	}
	if verdicts, err := second.Accept(t.Context(), records); err != nil || slices.ContainsFunc(verdicts, func(v tegenaria.Verdict) bool { return v != tegenaria.VerdictKnown }) {
		t.Errorf("%v, %v; all requests are known", verdicts, err)
	}
	waiting := 0
	for slots, err := range second.Slots(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		waiting += slots.Pending
	}
	if waiting != len(records) {
		t.Errorf("%d requests wait, want %d", waiting, len(records))
	}
	if !second.MayStart() {
		t.Error("the new owner may not start")
	}
	admin := connect(t, dsn)
	if got := read(t, admin, "SELECT started || ' ' || (SELECT count(*) FROM seized.queue) FROM seized.job"); got != "false 40" {
		t.Errorf("started, requests that wait: %s, want false 40", got)
	}
	// A third worker has what the dead one has counted, and nothing of its files.
	third := join(t, dsn, "seized", "three", tegenaria.SharedRun{})
	if got := read(t, admin, "SELECT string_agg(worker || name || value, ' ') FROM seized.counter"); got != "threen3" {
		t.Errorf("counters %s, want n = 3 of three alone", got)
	}
	closed(t, second)
	released := time.Now()
	awaitRow(t, dsn, `SELECT count(DISTINCT owner)::text || count(owner) FROM seized.partition`, "18")
	t.Logf("all taken %v after the second worker was closed", time.Since(released))
	closed(t, third)
	wantCounted(t, dsn, "seized")
	if got := read(t, admin, `SELECT string_agg(worker || convert_from(name, 'UTF8'), ' ' ORDER BY worker) FROM seized.checkpoint`); got != "tegenaria/loopback onefile" {
		t.Errorf("checkpoints: %s", got)
	}
}

// While the database is away nobody is expired: the workers start nothing, and go on when the database is back.
func TestNobodyExpiresInAnOutage(t *testing.T) {
	dsn := database(t)
	resumed, halted, lost := make(chan struct{}, 10), make(chan error, 10), make(chan error, 10)
	run := tegenaria.SharedRun{
		Resume: func() { resumed <- struct{}{} }, Halt: func(err error) { halted <- err }, Lose: func(err error) { lost <- err },
	}
	first, second := join(t, dsn, "outage", "one", run), join(t, dsn, "outage", "two", run)
	awaitRow(t, dsn, `SELECT count(DISTINCT owner)::text || count(owner) FROM outage.partition`, "28")
	owners := read(t, connect(t, dsn), `SELECT string_agg(owner::text, ' ' ORDER BY number) FROM outage.partition`)
	server := pgtest.Get(t)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	for first.MayStart() || second.MayStart() {
		runtime.Gosched()
	}
	for range 2 {
		var away *cluster.Error
		if err := <-halted; !errors.As(err, &away) || away.Away < shortTTL {
			t.Errorf("%v, want an Error: away for %v", err, shortTTL)
		}
	}
	<-time.After(time.Until(stopped.Add(2 * shortTTL)))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	<-resumed
	<-resumed
	for _, c := range []*cluster.Cache{first, second} {
		if _, err := c.Accept(t.Context(), []tegenaria.Record{record("a")}); err != nil {
			t.Error(err)
		}
		if err := c.Settle(t.Context(), tegenaria.Batch{}); err != nil || !c.MayStart() {
			t.Error(err)
		}
	}
	select {
	case err := <-lost:
		t.Fatal(err)
	default:
	}
	if got := read(t, connect(t, dsn), `SELECT string_agg(owner::text, ' ' ORDER BY number) FROM outage.partition`); got != owners {
		t.Errorf("owners %s, want %s as before", got, owners)
	}
	closed(t, first)
	closed(t, second)
}

// One page that two workers link to is taken in once, by its owner, with the smaller depth.
func TestForwarded(t *testing.T) {
	dsn := database(t)
	arrived := make(chan tegenaria.Verdict, 100)
	run := tegenaria.SharedRun{Arrive: func(records []tegenaria.Record, verdicts []tegenaria.Verdict) {
		for i := range records {
			arrived <- verdicts[i]
		}
	}}
	workers := []*cluster.Cache{join(t, dsn, "mail", "one", run), join(t, dsn, "mail", "two", run), join(t, dsn, "mail", "three", run)}
	awaitRow(t, dsn, `SELECT count(DISTINCT owner)::text || count(owner) FROM mail.partition`, "38")
	verdicts := make(map[tegenaria.Verdict]int)
	for i, c := range workers {
		rec := record("page")
		rec.Depth = 9 - i
		for range 2 {
			got, err := c.Accept(t.Context(), []tegenaria.Record{rec})
			if err != nil {
				t.Fatal(err)
			}
			verdicts[got[0]]++
		}
		if err := c.Settle(t.Context(), tegenaria.Batch{Started: true}); err != nil {
			t.Fatal(err)
		}
	}
	if verdicts[tegenaria.VerdictHandedOn] == 0 || verdicts[tegenaria.VerdictNew] > 1 {
		t.Errorf("verdicts %v", verdicts)
	}
	awaitRow(t, dsn, `SELECT (SELECT count(*) FROM mail.queue)::text || (SELECT count(*) FROM mail.inbox) || (SELECT string_agg(depth::text, ' ') FROM mail.request)`, "107")
	if accepted := verdicts[tegenaria.VerdictNew]; accepted == 0 && <-arrived != tegenaria.VerdictNew {
		t.Error("the first message was not new")
	}
	for _, c := range workers {
		closed(t, c)
	}
}

// A worker of another name takes the partitions of one that has died, and one of the same name begins at once.
func TestDeadWorker(t *testing.T) {
	dsn := database(t)
	first := join(t, dsn, "dies", "one", tegenaria.SharedRun{})
	accept(t, first, tegenaria.VerdictNew, "a")
	if err := first.Settle(t.Context(), tegenaria.Batch{Started: true}); err != nil {
		t.Fatal(err)
	}
	first.Abandon()
	again := join(t, dsn, "dies", "one", tegenaria.SharedRun{})
	accept(t, again, tegenaria.VerdictKnown, "a")
	again.Abandon()
	taken := make(chan struct{}, 1)
	third := join(t, dsn, "dies", "three", tegenaria.SharedRun{Gain: func([]tegenaria.SlotState, int64) { taken <- struct{}{} }})
	<-taken
	accept(t, third, tegenaria.VerdictKnown, "a")
	closed(t, third)
}

// A partition that was to be released stays when the other worker has ended before: the run is told of its queues
// again, which it has seen as empty ones, and Next hands their requests out.
func TestPartitionStays(t *testing.T) {
	const hosts = 40
	dsn, takes := database(t), make(chan []tegenaria.SlotState, 10)
	first := join(t, dsn, "stays", "one", tegenaria.SharedRun{Gain: func(slots []tegenaria.SlotState, _ int64) { takes <- slots }})
	defer closed(t, first)
	name := func(i int) string { return fmt.Sprint("host", i, ".example") }
	for i := range 2 * hosts {
		rec := record(fmt.Sprint("request", i))
		rec.Slot = name(i % hosts)
		if _, err := first.Accept(t.Context(), []tegenaria.Record{rec}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range hosts { // something is in flight everywhere, so that nothing can be released
		if got, _, err := first.Next(t.Context(), name(i), 1); err != nil || len(got) != 1 {
			t.Fatal(got, err)
		}
	}
	second := join(t, dsn, "stays", "two", tegenaria.SharedRun{})
	var leaving map[string]bool
	for len(leaving) == 0 {
		leaving = make(map[string]bool)
		for i := range hosts {
			if _, left, err := first.Next(t.Context(), name(i), 0); err != nil {
				t.Fatal(err)
			} else if left.Pending == 0 {
				leaving[name(i)] = true
			}
		}
	}
	closed(t, second)
	for _, slot := range <-takes {
		if slot.Pending != 1 {
			t.Errorf("the run was told that %d requests wait in %s", slot.Pending, slot.Name)
		}
		delete(leaving, slot.Name)
	}
	if len(leaving) > 0 {
		t.Errorf("the run was not told of %v", leaving)
	}
	for i := range hosts {
		if got, _, err := first.Next(t.Context(), name(i), 1); err != nil || len(got) != 1 {
			t.Errorf("%s: %d requests, %v", name(i), len(got), err)
		}
	}
}

// Run begins anew after a run that was fenced, with another cache, and not after other errors.
func TestRunBeginsAnew(t *testing.T) {
	dsn, runs, broken := database(t), 0, errors.New("broken")
	seen := make(map[*cluster.Cache]bool)
	err := cluster.Run(t.Context(), dsn, "again", cluster.Options{Worker: "one"}, func(ctx context.Context, c *cluster.Cache) error {
		seen[c] = true
		if _, err := c.Begin(ctx, tegenaria.Job{Spider: "spider", KeyVersion: 1}); err != nil {
			return err
		}
		if runs++; runs == 1 {
			return &cluster.FencedError{Job: "again", Worker: "one"}
		}
		return broken
	})
	if !errors.Is(err, broken) || runs != 2 || len(seen) != 2 {
		t.Errorf("%v after %d runs with %d caches", err, runs, len(seen))
	}
}

// A run is told among how many workers the limits are divided that are of addresses and proxies, when one joins and
// when one ends or dies.
func TestLimitsAreShared(t *testing.T) {
	dsn := database(t)
	told := make(chan int)
	until := func(want int) {
		t.Helper()
		for n := range told {
			if n == want {
				return
			}
		}
	}
	first := join(t, dsn, "divided", "one", tegenaria.SharedRun{Share: func(n int) {
		select {
		case told <- n:
		case <-t.Context().Done():
		}
	}})
	until(1)
	second := join(t, dsn, "divided", "two", tegenaria.SharedRun{})
	third := join(t, dsn, "divided", "three", tegenaria.SharedRun{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		until(3)
		closed(t, third)
		until(2)
		second.Abandon()
		until(1)
	}()
	<-ended
	go func() {
		for range told {
		}
	}()
	closed(t, first)
	close(told)
}
