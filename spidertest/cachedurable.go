package spidertest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

func testReopen(t *testing.T, c *cacheUnderTest) {
	var batch []tegenaria.Record
	for i, priority := range []int{0, 0, 3, -2} {
		rec := record(fmt.Sprint("r", i), "s")
		rec.Priority, rec.Depth, rec.Attempt = priority, i, 2*i
		batch = append(batch, rec)
	}
	c.accept(batch)
	delayed := record("delayed", "other")
	delayed.NotBefore, delayed.Depth = epoch.Add(time.Hour), 5
	c.accept([]tegenaria.Record{delayed}, later)
	lower := delayed
	lower.Depth = 1
	lower.NotBefore = time.Time{}
	c.accept([]tegenaria.Record{lower}, known)
	got := c.next("s", 2) // r2, r0
	got[1].Attempt = 9
	c.back(got[1], epoch, isNew)
	allowed := epoch.Add(time.Minute)
	c.settle(tegenaria.Batch{
		Settled: settled(got[:1], tegenaria.Fetched),
		Slots: []tegenaria.SlotState{
			{Name: "s", NextAllowed: allowed, Delay: 7 * time.Second, Penalty: 4 * time.Second, AutoThrottle: 5 * time.Second, Pages: 3},
			{Name: "empty", NextAllowed: allowed},
			{Name: "budget", Pages: 12}, // its requests are settled, and still count
		},
		Checkpoints: map[string][]byte{"feed": []byte("one"), "gone": {}},
		Counters:    map[string]int64{"fetched": 1},
	})
	c.settle(tegenaria.Batch{Checkpoints: map[string][]byte{"feed": []byte("two")}})

	for range 2 { // the second time with nothing changed
		c.reopen()
		if c.state.Started || c.state.Finished || c.state.Delayed != 1 {
			t.Errorf("state %+v, want one delayed record", c.state)
		}
		if !maps.Equal(c.state.Counters, map[string]int64{"fetched": 1}) {
			t.Errorf("counters %v", c.state.Counters)
		}
		if cp := c.state.Checkpoints; string(cp["feed"]) != "two" || len(cp) != 2 || len(cp["gone"]) != 0 {
			t.Errorf("checkpoints %q", cp)
		}
		slots := make(map[string]tegenaria.SlotState)
		for s, err := range c.Slots(t.Context()) {
			c.ok(err)
			slots[s.Name] = s
		}
		if s := slots["s"]; s.Pending != 3 || s.Priority != 0 || !s.NextAllowed.Equal(allowed) || s.Delay != 7*time.Second || s.Penalty != 4*time.Second ||
			s.AutoThrottle != 5*time.Second || s.Pages != 3 {
			t.Errorf("slot %+v, want 3 records of priority 0, not before %v, a delay of 7s, 4s of them penalty, and 3 pages", s, allowed)
		}
		if s := slots["budget"]; s.Pending != 0 || s.Pages != 12 {
			t.Errorf("slot %+v, want no records and 12 pages", s)
		}
		// All requests of a host may be delayed: it must not be asked by those to come either.
		if s := slots["empty"]; s.Pending != 0 || !s.NextAllowed.Equal(allowed) {
			t.Errorf("slot %+v, want no records, not before %v", s, allowed)
		}
	}

	c.accept(batch, known, known, known, known)
	c.accept([]tegenaria.Record{delayed}, known)
	rest := c.next("s", 9)
	slices.SortStableFunc(rest, func(a, b tegenaria.Record) int { return bytes.Compare(a.Data, b.Data) })
	if !slices.Equal(names(rest), []string{"r0", "r1", "r3"}) {
		t.Fatalf("s holds %v", names(rest))
	}
	batch[0].Attempt = 9
	for i, want := range []tegenaria.Record{batch[0], batch[1], batch[3]} {
		if err := same(rest[i], want); err != nil {
			t.Error(err)
		}
	}
	if moved, next := c.due(epoch); len(moved) != 0 || !next.Equal(delayed.NotBefore) {
		t.Errorf("due %v, next %v", moved, next)
	}
	if moved, _ := c.due(delayed.NotBefore); len(moved) != 1 {
		t.Errorf("due %v", moved)
	}
	if got := c.expect("other", "delayed"); got[0].Depth != 1 {
		t.Errorf("depth %d, want 1", got[0].Depth)
	}
	before := rest[0].Seq
	c.accept(records("s", "young"))
	if got := c.expect("s", "young"); got[0].Seq <= before {
		t.Errorf("Seq %d after the cache was opened again, %d before", got[0].Seq, before)
	}
}

func testStartedFinished(t *testing.T, c *cacheUnderTest) {
	c.settle(tegenaria.Batch{Started: true})
	c.settle(tegenaria.Batch{Counters: map[string]int64{"a": 1}}) // does not take it back
	c.reopen()
	if !c.state.Started || c.state.Finished {
		t.Errorf("state %+v, want Started", c.state)
	}
	c.settle(tegenaria.Batch{Finished: "finished"})
	c.reopen()
	if !c.state.Started || !c.state.Finished || c.state.Reason != "finished" {
		t.Errorf("state %+v, want Started and Finished", c.state)
	}
}

func testOtherKeys(t *testing.T, c *cacheUnderTest) {
	c.accept(records("s", "a"))
	cache := c.h.Reopen(t, c.CacheInterface)
	other := c.job
	other.KeyVersion++
	c.CacheInterface = cache
	if _, err := cache.Begin(t.Context(), other); err == nil {
		t.Error("a job of another key version was resumed")
	}
	c.reopen()
	c.expect("s", "a")
}

func testRefusesLive(t *testing.T, c *cacheUnderTest) {
	rec := record("a", "s")
	rec.Live = new(int)
	if _, err := c.Accept(t.Context(), []tegenaria.Record{record("b", "s"), rec}); err == nil {
		t.Error("a durable cache accepted a live part")
	}
	c.accept(records("s", "a", "b"))
}

func testCrashInFlight(t *testing.T, c *cacheUnderTest) {
	batch := records("s", "a", "b", "c", "d", "e")
	batch[3].Priority = 1
	c.accept(batch)
	c.settle(tegenaria.Batch{Started: true})
	c.crash()
	if !c.state.Started {
		t.Error("the crash took back that StartRequest had finished")
	}
	got := c.next("s", 3) // d, a, b
	c.done(got[1])
	c.next("s", 1) // c
	for range 2 {
		c.crash()
		c.expect("s", "d", "b", "c", "e")
	}
	c.crash()
	if w := c.waiting(); w["s"] != 4 || len(w) != 1 {
		t.Errorf("waiting: %v", w)
	}
	rec := c.next("s", 1)[0]
	rec.Attempt, rec.NotBefore = 1, epoch
	c.back(rec, epoch.Add(-time.Second), later)
	c.settle(tegenaria.Batch{})
	c.crash()
	if c.state.Delayed != 1 {
		t.Errorf("%d delayed, want 1", c.state.Delayed)
	}
	c.done(c.expect("s", "b", "c", "e")...)
	c.due(epoch)
	c.crash()
	c.due(epoch) // whether the move was durable is open
	if got := c.expect("s", "d"); got[0].Attempt != 1 {
		t.Errorf("attempt %d, want 1", got[0].Attempt)
	}
}

// What was accepted but not settled may be lost, but never by half: known and gone.
func testCrashAccept(t *testing.T, c *cacheUnderTest) {
	for round := range 5 {
		slot := fmt.Sprint("s", round)
		var want []string
		for i := range 50 {
			want = append(want, fmt.Sprint(round, "/", i))
			c.accept(records(slot, want[i]))
			if i == 10*round {
				c.settle(tegenaria.Batch{})
			}
		}
		c.crash()
		if got := c.waiting()[slot]; got < 10*round+1 {
			t.Fatalf("%d of the first %d records are left, all of them durable", got, 10*round+1)
		}
		verdicts, err := c.Accept(t.Context(), records(slot, want...))
		c.ok(err)
		lost := false
		for i, v := range verdicts {
			if v == isNew {
				lost = true
			} else if lost {
				t.Errorf("record %d is there, an earlier one was lost", i)
			}
		}
		c.done(c.expect(slot, want...)...)
	}
}

// Settled records, checkpoints and counters are stored in one step, after the children.
func testCrashSettle(t *testing.T, c *cacheUnderTest) {
	c.accept(records("s", "p0"))
	for i := range 10 {
		parent := c.expect("s", fmt.Sprint("p", i))[0]
		c.accept(records("s", fmt.Sprint("p", i+1)))
		c.settle(tegenaria.Batch{
			Settled:     settled([]tegenaria.Record{parent}, tegenaria.Failed),
			Checkpoints: map[string][]byte{"feed": fmt.Append(nil, i)},
			Counters:    map[string]int64{"failed": int64(i)},
		})
		c.crash()
		if string(c.state.Checkpoints["feed"]) != fmt.Sprint(i) || c.state.Counters["failed"] != int64(i) {
			t.Fatalf("round %d: checkpoint %q, counters %v", i, c.state.Checkpoints["feed"], c.state.Counters)
		}
		counters, err := c.Counters(t.Context())
		c.ok(err)
		if counters["failed"] != int64(i) {
			t.Fatalf("round %d: counters %v", i, counters)
		}
		letters := 0
		for _, err := range c.DeadLetters(t.Context()) {
			c.ok(err)
			letters++
		}
		if letters != i+1 {
			t.Fatalf("round %d: %d dead letters", i, letters)
		}
		c.accept(records("s", fmt.Sprint("p", i), fmt.Sprint("p", i+1)), known, known)
	}
	c.expect("s", "p10")
}
