package spidertest

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

// fly notes in the cache how far records are.
func (c *cacheUnderTest) fly(now tegenaria.Flight, records ...tegenaria.Record) {
	c.t.Helper()
	recorder, ok := c.CacheInterface.(tegenaria.FlightRecorder)
	if !ok {
		c.t.Fatalf("CacheHarness.Kill is set, and %T is no tegenaria.FlightRecorder", c.CacheInterface)
	}
	for i := range records {
		c.ok(recorder.RecordFlight(&records[i], now))
	}
}

// suspects expects these suspects of the last Begin, with their crashes, and returns them in the order in which they came.
func (c *cacheUnderTest) suspects(want map[string]int) []tegenaria.Record {
	c.t.Helper()
	got := make(map[string]int)
	for _, rec := range c.state.Suspects {
		if err := same(rec, record(string(rec.Data), rec.Slot)); err != nil {
			c.t.Error(err)
		}
		got[string(rec.Data)] = rec.Crashes
	}
	if !maps.Equal(got, want) {
		c.t.Fatalf("suspects %v, want %v", got, want)
	}
	return c.state.Suspects
}

// What runs when the process dies is suspected, and nothing else; whatever the process lives through counts nothing.
func testKillSuspects(t *testing.T, c *cacheUnderTest) {
	c.accept(records("s", "a", "b", "c", "d", "e", "f"))
	c.accept(records("other", "alone"))
	c.settle(tegenaria.Batch{Started: true})
	got := c.next("s", 5)
	c.fly(tegenaria.FlightBegun, got[:4]...) // e was handed out and not begun
	c.fly(tegenaria.FlightPaused, got[1])
	c.fly(tegenaria.FlightOver, got[2]) // and dies with the batch that would settle it
	c.fly(tegenaria.FlightBegun, c.next("other", 1)...)
	c.kill()
	c.suspects(map[string]int{"a": 1, "d": 1, "alone": 1})
	if w := c.waiting(); w["s"] != 4 {
		t.Errorf("waiting: %v, want four in s", w)
	}
	c.expect("s", "b", "c", "e", "f")

	c.kill() // while none of them runs
	suspects := c.suspects(map[string]int{"a": 1, "d": 1, "alone": 1})
	c.fly(tegenaria.FlightBegun, suspects...)
	c.reopen()
	c.suspects(map[string]int{"a": 1, "d": 1, "alone": 1})
	c.begin(c.CacheInterface) // another run of the same process
	suspects = c.suspects(map[string]int{"a": 1, "d": 1, "alone": 1})

	c.fly(tegenaria.FlightBegun, suspects...)
	i := slices.IndexFunc(suspects, func(rec tegenaria.Record) bool { return string(rec.Data) == "a" })
	c.fly(tegenaria.FlightOver, suspects[i])
	c.fly(tegenaria.FlightPaused, suspects[(i+1)%3])
	c.fly(tegenaria.FlightPaused, suspects[(i+2)%3])
	c.kill()
	suspects = c.suspects(map[string]int{"d": 1, "alone": 1})
	c.done(suspects...) // given up before they have run
	c.kill()
	c.suspects(map[string]int{})
	c.expect("s", "a", "b", "c", "e", "f")
	c.expect("other")
}

// Each crash counts for what runs alone then; it is handed out last.
func testKillAlone(t *testing.T, c *cacheUnderTest) {
	c.accept(records("s", "a", "b", "x"))
	c.settle(tegenaria.Batch{})
	c.fly(tegenaria.FlightBegun, c.next("s", 3)...)
	for crashes := range 4 {
		c.kill()
		got := c.suspects(map[string]int{"a": 1, "b": 1, "x": 1 + crashes})
		if crashes > 0 && string(got[2].Data) != "x" {
			t.Errorf("suspects in the order %v", names(got))
		}
		i := slices.IndexFunc(got, func(rec tegenaria.Record) bool { return string(rec.Data) == "x" })
		c.fly(tegenaria.FlightBegun, got[i])
	}
	c.kill()
	got := c.suspects(map[string]int{"a": 1, "b": 1, "x": 5})
	got[2].Attempt = 1
	c.back(got[2], epoch, isNew) // in order: it begins anew
	c.settle(tegenaria.Batch{})
	c.kill()
	c.suspects(map[string]int{"a": 1, "b": 1})
	if got := c.expect("s", "x"); got[0].Crashes != 0 || got[0].Attempt != 1 {
		t.Errorf("%+v, want no crashes", got[0])
	}
	c.settle(tegenaria.Batch{Finished: "finished"})
	c.reopen()
	c.suspects(map[string]int{})
}

// A suspect that the crash has taken back is known when it is handed out again.
func testKillUnstored(t *testing.T, c *cacheUnderTest) {
	c.accept(records("s", "p"))
	c.settle(tegenaria.Batch{})
	for crashes := range 3 {
		for _, rec := range c.state.Suspects {
			c.fly(tegenaria.FlightPaused, rec)
		}
		if crashes == 0 {
			c.next("s", 1)
		}
		rec := record("x", "s")
		rec.Parent = keyOf("p")
		if _, err := c.Accept(t.Context(), []tegenaria.Record{rec}); err != nil {
			t.Fatal(err)
		}
		got := c.next("s", 9)
		if len(c.state.Suspects) > 0 { // it was stored after all
			got = c.state.Suspects
		}
		i := slices.IndexFunc(got, func(rec tegenaria.Record) bool { return string(rec.Data) == "x" })
		if i < 0 || got[i].Crashes != crashes {
			t.Fatalf("after %d crashes x comes as %+v", crashes, got)
		}
		c.fly(tegenaria.FlightBegun, got[i])
		c.kill()
	}
}

// A suspect in the due list waits for its time, and for its turn alone.
func testKillDelayed(t *testing.T, c *cacheUnderTest) {
	rec := record("x", "s")
	rec.NotBefore = epoch
	c.accept([]tegenaria.Record{rec}, later)
	c.settle(tegenaria.Batch{})
	for crashes := range 3 {
		for i, found := range c.state.Suspects {
			rec.NotBefore = epoch
			if found.Crashes != crashes {
				t.Fatal(fmt.Sprint(i, found))
			}
		}
		if len(c.state.Suspects) == 0 {
			c.due(epoch.Add(time.Second))
			got := c.expect("s", "x")
			if got[0].Crashes != crashes {
				t.Fatalf("%d crashes, want %d", got[0].Crashes, crashes)
			}
			c.fly(tegenaria.FlightBegun, got...)
		} else {
			c.fly(tegenaria.FlightBegun, c.state.Suspects...)
		}
		c.kill()
	}
}
