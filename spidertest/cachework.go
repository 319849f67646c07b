package spidertest

import (
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
)

func testSettle(t *testing.T, c *cacheUnderTest) {
	c.accept(records("s", "a", "b", "c"))
	got := c.next("s", 2)
	c.settle(tegenaria.Batch{Settled: append(settled(got[:1], tegenaria.Fetched), settled(got[1:], tegenaria.Failed)...)})
	c.settle(tegenaria.Batch{}) // nothing to say
	if w := c.waiting(); w["s"] != 1 || len(w) != 1 {
		t.Errorf("waiting: %v", w)
	}
	c.accept(records("s", "a", "b"), known, known)
	c.done(c.expect("s", "c")...)
	if w := c.waiting(); len(w) != 0 {
		t.Errorf("waiting: %v", w)
	}
	c.accept(records("s", "d")) // the slot lives on
	c.done(c.expect("s", "d")...)
}

func testCounters(t *testing.T, c *cacheUnderTest) {
	counters := map[string]int64{"fetched": 3, "failed": -1, "big": 1 << 60}
	expect := func(want map[string]int64) {
		t.Helper()
		got, err := c.Counters(t.Context())
		c.ok(err)
		if !maps.Equal(got, want) {
			t.Errorf("counters %v, want %v", got, want)
		}
	}
	expect(nil)
	c.settle(tegenaria.Batch{Counters: counters})
	want := maps.Clone(counters)
	counters["fetched"] = 9 // the engine goes on counting
	expect(want)
	c.settle(tegenaria.Batch{Checkpoints: map[string][]byte{"a": nil}})
	expect(want)
	c.settle(tegenaria.Batch{Counters: counters})
	expect(counters)
}

func testDeadLetters(t *testing.T, c *cacheUnderTest) {
	c.accept(records("s", "a", "b", "c", "d"))
	got := c.expect("s", "a", "b", "c", "d")
	batch := settled(got, tegenaria.Fetched)
	batch[1].Outcome, batch[1].Reason, batch[1].Status = tegenaria.Failed, "download", 0
	batch[2].Outcome, batch[2].Reason, batch[2].Status = tegenaria.GaveUp, "status 503", 503
	batch[3].Outcome, batch[3].Reason = tegenaria.Filtered, "offsite"
	c.settle(tegenaria.Batch{Settled: batch})
	dead := func() map[string]tegenaria.Settled {
		letters := make(map[string]tegenaria.Settled)
		for s, err := range c.DeadLetters(t.Context()) {
			c.ok(err)
			letters[string(s.Record.Data)] = s
		}
		return letters
	}
	check := func() {
		t.Helper()
		letters := dead()
		if len(letters) != 2 {
			t.Fatalf("dead letters %v, want b and c", letters)
		}
		for i, name := range []string{"b", "c"} {
			s, want := letters[name], batch[i+1]
			if s.Outcome != want.Outcome || s.Reason != want.Reason || s.Status != want.Status || !s.At.Equal(want.At) {
				t.Errorf("dead letter %+v, want %+v", s, want)
			}
			if err := same(s.Record, want.Record); err != nil {
				t.Errorf("dead letter %s: %v", name, err)
			}
		}
	}
	check()
	for range c.DeadLetters(t.Context()) {
		break
	}
	if c.h.Reopen != nil {
		c.reopen()
		check()
	}
}

// testWorkConcurrently crawls: workers take records, accept their children and settle them, until
// nothing is left. Each is handed out once.
func testWorkConcurrently(t *testing.T, c *cacheUnderTest) {
	const workers, depth, slots = 4, 6, 3
	slotOf := func(name string) string { return fmt.Sprint("s", len(name)%slots) }
	c.accept([]tegenaria.Record{record("r", slotOf("r"))})
	var mu sync.Mutex
	times := make(map[string]int)
	open := 1
	work := func(w int) error {
		for {
			mu.Lock()
			finished := open <= 0
			mu.Unlock()
			if finished {
				return nil
			}
			got, _, err := c.Next(t.Context(), fmt.Sprint("s", w%slots), 2)
			w++
			if err != nil {
				return err
			}
			for _, rec := range got {
				name := string(rec.Data)
				var children []tegenaria.Record
				for i := range 3 { // the last two are the same
					if len(name) < depth {
						child := fmt.Sprint(name, min(i, 1))
						children = append(children, record(child, slotOf(child)))
					}
				}
				verdicts, err := c.Accept(t.Context(), children)
				if err != nil {
					return err
				}
				fresh := 0
				for _, v := range verdicts {
					if v == isNew {
						fresh++
					}
				}
				mu.Lock()
				times[name]++
				open += fresh - 1
				mu.Unlock()
			}
			if len(got) > 0 {
				if err := c.Settle(t.Context(), tegenaria.Batch{Settled: settled(got, tegenaria.Fetched)}); err != nil {
					return err
				}
			}
		}
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			if err := work(w); err != nil {
				t.Error(err)
				mu.Lock()
				open = 0
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(times) != 1<<depth-1 {
		t.Errorf("%d records were handed out, want %d", len(times), 1<<depth-1)
	}
	for name, n := range times {
		if n != 1 {
			t.Errorf("%s was handed out %d times", name, n)
		}
	}
	if w := c.waiting(); len(w) != 0 {
		t.Errorf("waiting: %v", w)
	}
}
