package cluster_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// shortTTL is that of tests in which a worker dies.
const shortTTL = 600 * time.Millisecond

// standBy opens a job as another worker, and begins it when it can.
func standBy(t *testing.T, dsn, job, worker string) (c *cluster.Cache, begun chan error) {
	t.Helper()
	c, err := cluster.Open(t.Context(), dsn, job, cluster.Options{Worker: worker, TTL: shortTTL, Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	begun = make(chan error, 1)
	go func() {
		_, err := c.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1})
		begun <- err
	}()
	return c, begun
}

// A session is dead when it has not beaten over its TTL of pauses between reads, whatever the reads took and however long one pause was.
func TestDead(t *testing.T) {
	const ttl = 800 * time.Millisecond // a pause should be 100 ms
	same := func(n int, r cluster.Read) (reads []cluster.Read) {
		for range n {
			reads = append(reads, r)
		}
		return reads
	}
	usual := cluster.Read{Pause: 100 * time.Millisecond}
	beating := same(100, usual)
	for i := range beating {
		beating[i].Beat = int64(i / 8) // just in time
	}
	for name, c := range map[string]struct {
		reads []cluster.Read
		want  int
	}{
		"silent":             {same(20, usual), 9},
		"beating":            {beating, 0},
		"one long pause":     {same(2, cluster.Read{Pause: time.Hour}), 0},
		"four long pauses":   {same(20, cluster.Read{Pause: time.Hour}), 5},
		"a slow database":    {same(8, cluster.Read{Pause: 100 * time.Millisecond, Took: time.Hour}), 0},
		"a beat at the last": {append(same(8, usual), cluster.Read{Pause: usual.Pause, Beat: 1}), 0},
	} {
		if got := cluster.Dead(ttl, c.reads); got != c.want {
			t.Errorf("%s: dead after %d reads, want %d", name, got, c.want)
		}
	}
}

// A worker that stands still in the middle of a transaction is buried, and the rows it holds are freed. When it goes on it writes nothing.
// Of two standbys one wins; the other one follows when that one has ended.
func TestTakeOver(t *testing.T) {
	dsn := database(t)
	first, _ := begin(t, dsn, "handed", cluster.Options{TTL: shortTTL})
	accept(t, first, tegenaria.VerdictNew, "a")
	if err := first.Settle(t.Context(), tegenaria.Batch{
		Counters: map[string]int64{"n": 3}, Checkpoints: map[string][]byte{"file": {1}, "tegenaria/loopback": {2}},
	}); err != nil {
		t.Fatal(err)
	}
	second, secondBegun := standBy(t, dsn, "handed", "two")
	third, thirdBegun := standBy(t, dsn, "handed", "three")
	select {
	case err := <-secondBegun:
		t.Fatalf("two workers have the job: %v", err)
	case err := <-thirdBegun:
		t.Fatalf("two workers have the job: %v", err)
	case <-time.After(2 * shortTTL): // the first one beats all the while
	}
	accept(t, first, tegenaria.VerdictNew, "unwritten")
	if err := first.Freeze(t.Context(), `DELETE FROM handed.queue; UPDATE handed.worker SET batch = 99`); err != nil {
		t.Fatal(err)
	}
	var err error
	select {
	case err = <-secondBegun:
	case err = <-thirdBegun:
		second, third, thirdBegun = third, second, secondBegun
	}
	if err != nil {
		t.Fatal(err)
	}
	first.Thaw()
	var fenced *cluster.FencedError
	if err := first.Settle(t.Context(), tegenaria.Batch{Started: true}); !errors.As(err, &fenced) {
		t.Errorf("the first worker: %v, want a FencedError", err)
	}
	if err := first.Close(); !errors.As(err, &fenced) {
		t.Errorf("closing the first worker: %v, want a FencedError", err)
	}
	accept(t, second, tegenaria.VerdictKnown, "a")
	accept(t, second, tegenaria.VerdictNew, "unwritten")
	if err := second.Settle(t.Context(), tegenaria.Batch{Counters: map[string]int64{"n": 4}}); err != nil {
		t.Fatal(err)
	}
	if !second.MayStart() {
		t.Error("the new owner may not start")
	}
	select {
	case err := <-thirdBegun:
		t.Fatalf("two workers have the job: %v", err)
	default:
	}
	admin := connect(t, dsn)
	closed(t, second)
	given := time.Now()
	if got := read(t, admin, "SELECT buried::text FROM handed.worker WHERE name = '"+second.Worker()+"'"); got != "true" {
		t.Error("a worker that was closed has the job")
	}
	if err := <-thirdBegun; err != nil {
		t.Fatal(err)
	}
	t.Logf("begun %v after it was given up", time.Since(given))
	defer closed(t, third)
	if got := read(t, admin, "SELECT string_agg(worker || name || value, ' ') FROM handed.counter"); got != third.Worker()+"n4" {
		t.Errorf("counters %s, want n = 4 of %s alone", got, third.Worker())
	}
	if got := read(t, admin, "SELECT started || ' ' || (SELECT count(*) FROM handed.queue) FROM handed.job"); got != "false 2" {
		t.Errorf("started, requests that wait: %s, want false 2", got)
	}
	if got := read(t, admin, `SELECT string_agg(worker || convert_from(name, 'UTF8'), ' ' ORDER BY worker) FROM handed.checkpoint`); got != "tegenaria/loopback onefile" {
		t.Errorf("checkpoints: %s", got)
	}
}

// While the database is away nobody is buried: the worker starts nothing, and goes on when the database is back.
func TestAwayBuriesNobody(t *testing.T) {
	dsn := database(t)
	first := open(t, dsn, "outage", cluster.Options{TTL: shortTTL})
	resumed, halted, lost := make(chan struct{}, 1), make(chan error, 1), make(chan error, 1)
	first.Attach(tegenaria.SharedRun{
		Resume: func() { resumed <- struct{}{} }, Halt: func(err error) { halted <- err }, Lose: func(err error) { lost <- err },
	})
	if _, err := first.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1}); err != nil {
		t.Fatal(err)
	}
	defer closed(t, first)
	second, begun := standBy(t, dsn, "outage", "two")
	server := pgtest.Get(t)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	stopped := time.Now()
	for first.MayStart() {
		runtime.Gosched()
	}
	var away *cluster.Error
	if err := <-halted; !errors.As(err, &away) || away.Away < shortTTL {
		t.Errorf("%v, want an Error: away for %v", err, shortTTL)
	}
	<-time.After(time.Until(stopped.Add(2 * shortTTL)))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	<-resumed
	accept(t, first, tegenaria.VerdictNew, "a")
	if err := first.Settle(t.Context(), tegenaria.Batch{}); err != nil || !first.MayStart() {
		t.Error(err)
	}
	select {
	case err := <-begun:
		t.Fatalf("the standby has begun: %v", err)
	case err := <-lost:
		t.Fatal(err)
	default:
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := <-begun; err == nil {
		t.Error("a closed standby has begun")
	}
}

// A standby stops when its context ends; and without Wait a worker of another name takes the job of one that has died.
func TestStandbyEnds(t *testing.T) {
	dsn := database(t)
	first, _ := begin(t, dsn, "ends", cluster.Options{TTL: shortTTL})
	second, err := cluster.Open(t.Context(), dsn, "ends", cluster.Options{Worker: "two", TTL: shortTTL, Wait: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := second.Begin(ctx, tegenaria.Job{Spider: "spider", KeyVersion: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of the context", err)
	}
	closed(t, second)
	first.Abandon()
	third, err := cluster.Open(t.Context(), dsn, "ends", cluster.Options{Worker: "three"})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, third)
	if _, err := third.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1}); err != nil {
		t.Error(err)
	}
}
