package spidertest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

// CacheHarness gives a suite access to the cache under test. Its funcs are called in the test's goroutine, and fail the test
// themselves if they cannot do their work.
type CacheHarness struct {
	// Open returns a new cache that holds nothing, before Begin. The suite closes it.
	Open func(t *testing.T) tegenaria.CacheInterface

	// Reopen closes a cache that Open or Reopen returned and opens what it stored again, before Begin. Nil
	// says that the cache forgets everything: the tests of durability are left out.
	Reopen func(t *testing.T, cache tegenaria.CacheInterface) tegenaria.CacheInterface

	// Crash gives a cache up as a crash of the machine would, without Close: what was not durable is
	// lost. It opens what is left, before Begin. Nil leaves out the tests of crashes.
	Crash func(t *testing.T, cache tegenaria.CacheInterface) tegenaria.CacheInterface

	// Kill gives a cache up as the death of the process would, without Close: what was written is there, synced or not. It
	// opens what is left, before Begin. Nil leaves out the tests of tegenaria.FlightRecorder.
	Kill func(t *testing.T, cache tegenaria.CacheInterface) tegenaria.CacheInterface
}

// TestCache runs the conformance suite of tegenaria.CacheInterface.
func TestCache(t *testing.T, h CacheHarness) {
	if h.Open == nil {
		t.Fatal("spidertest: CacheHarness.Open is nil")
	}
	if h.Reopen == nil {
		t.Log("the tests of durability are left out: set CacheHarness.Reopen for a cache that is kept on disk")
	}
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, c *cacheUnderTest)
		need bool // for the test to make sense
	}{
		{"AcceptTwice", testAcceptTwice, true},
		{"AcceptConcurrently", testAcceptConcurrently, true},
		{"Order", testOrder, true},
		{"Record", testRecord, true},
		{"UnknownSlot", testUnknownSlot, true},
		{"Left", testLeft, true},
		{"Slots", testSlots, true},
		{"Due", testDue, true},
		{"Return", testReturn, true},
		{"Depth", testDepth, true},
		{"Settle", testSettle, true},
		{"Counters", testCounters, true},
		{"DeadLetters", testDeadLetters, true},
		{"WorkConcurrently", testWorkConcurrently, true},
		{"Random", testRandom, true},
		{"Reopen", testReopen, h.Reopen != nil},
		{"StartedFinished", testStartedFinished, h.Reopen != nil},
		{"OtherKeys", testOtherKeys, h.Reopen != nil},
		{"RefusesLive", testRefusesLive, h.Reopen != nil},
		{"CrashInFlight", testCrashInFlight, h.Crash != nil},
		{"CrashAccept", testCrashAccept, h.Crash != nil},
		{"CrashSettle", testCrashSettle, h.Crash != nil},
		{"KillSuspects", testKillSuspects, h.Kill != nil},
		{"KillAlone", testKillAlone, h.Kill != nil},
		{"KillUnstored", testKillUnstored, h.Kill != nil},
		{"KillDelayed", testKillDelayed, h.Kill != nil},
	} {
		if tt.need {
			t.Run(tt.name, func(t *testing.T) {
				c := &cacheUnderTest{t: t, h: h, job: tegenaria.Job{Spider: "spider", KeyVersion: 1, BloomBits: 1 << 16, BloomHashes: 4}}
				c.begin(h.Open(t))
				defer func() { c.ok(c.Close()) }()
				tt.run(t, c)
			})
		}
	}
}

// cacheUnderTest is a cache whose errors end the test.
type cacheUnderTest struct {
	tegenaria.CacheInterface
	t     *testing.T
	h     CacheHarness
	job   tegenaria.Job
	state tegenaria.State // as Begin gave it
}

func (c *cacheUnderTest) ok(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cacheUnderTest) begin(cache tegenaria.CacheInterface) {
	c.t.Helper()
	state, err := cache.Begin(c.t.Context(), c.job)
	c.CacheInterface = cache
	c.ok(err)
	if durable := c.h.Reopen != nil || c.h.Crash != nil || c.h.Kill != nil; state.Durable != durable {
		c.t.Fatalf("State.Durable = %v; the harness says %v", state.Durable, durable)
	}
	c.state = state
}

func (c *cacheUnderTest) reopen() { c.t.Helper(); c.begin(c.h.Reopen(c.t, c.CacheInterface)) }
func (c *cacheUnderTest) crash()  { c.t.Helper(); c.begin(c.h.Crash(c.t, c.CacheInterface)) }
func (c *cacheUnderTest) kill()   { c.t.Helper(); c.begin(c.h.Kill(c.t, c.CacheInterface)) }

// accept expects these verdicts, or VerdictNew for all if none are given.
func (c *cacheUnderTest) accept(records []tegenaria.Record, want ...tegenaria.Verdict) {
	c.t.Helper()
	got, err := c.Accept(c.t.Context(), records)
	c.ok(err)
	if want == nil {
		want = slices.Repeat([]tegenaria.Verdict{tegenaria.VerdictNew}, len(records))
	}
	if !slices.Equal(got, want) {
		c.t.Fatalf("Accept: verdicts %v, want %v", got, want)
	}
}

func (c *cacheUnderTest) next(slot string, n int) []tegenaria.Record {
	c.t.Helper()
	records, _, err := c.Next(c.t.Context(), slot, n)
	c.ok(err)
	if len(records) > n {
		c.t.Fatalf("Next(%q, %d) handed out %d records", slot, n, len(records))
	}
	return records
}

// expect takes all that waits in a slot and compares it.
func (c *cacheUnderTest) expect(slot string, want ...string) []tegenaria.Record {
	c.t.Helper()
	records := c.next(slot, len(want)+1)
	if got := names(records); !slices.Equal(got, want) {
		c.t.Fatalf("slot %q holds %v, want %v", slot, got, want)
	}
	return records
}

// due asks until all that is due was moved.
func (c *cacheUnderTest) due(now time.Time) (moved []tegenaria.SlotState, next time.Time) {
	c.t.Helper()
	for {
		some, next, err := c.Due(c.t.Context(), now)
		c.ok(err)
		moved = append(moved, some...)
		if next.IsZero() || next.After(now) {
			return moved, next
		}
		if len(some) == 0 {
			c.t.Fatalf("Due moved nothing at %v, though %v is due", now, next)
		}
	}
}

func (c *cacheUnderTest) back(rec tegenaria.Record, now time.Time, want tegenaria.Verdict) {
	c.t.Helper()
	verdict, err := c.Return(c.t.Context(), rec, now)
	c.ok(err)
	if verdict != want {
		c.t.Fatalf("Return: verdict %d, want %d", verdict, want)
	}
}

func (c *cacheUnderTest) settle(batch tegenaria.Batch) {
	c.t.Helper()
	c.ok(c.Settle(c.t.Context(), batch))
}

// done settles records as fetched.
func (c *cacheUnderTest) done(records ...tegenaria.Record) {
	c.t.Helper()
	c.settle(tegenaria.Batch{Settled: settled(records, tegenaria.Fetched)})
}

func settled(records []tegenaria.Record, outcome tegenaria.Outcome) []tegenaria.Settled {
	var s []tegenaria.Settled
	for _, rec := range records {
		s = append(s, tegenaria.Settled{Record: rec, Outcome: outcome, Status: 200, At: epoch})
	}
	return s
}

// waiting returns the slots that hold records, and how many.
func (c *cacheUnderTest) waiting() map[string]int {
	c.t.Helper()
	slots := make(map[string]int)
	for s, err := range c.Slots(c.t.Context()) {
		c.ok(err)
		if s.Pending == 0 && (!s.NextAllowed.IsZero() || s.Pages+s.Delayed > 0) {
			continue // there for its politeness alone
		}
		if s.Pending == 0 && slices.ContainsFunc(c.state.Suspects, func(rec tegenaria.Record) bool { return rec.Slot == s.Name }) {
			continue // all that waited there are suspects
		}
		if _, twice := slots[s.Name]; twice || s.Pending <= 0 {
			c.t.Fatalf("Slots: %+v, again or empty", s)
		}
		slots[s.Name] = s.Pending
	}
	return slots
}

// epoch is when the tests play.
var epoch = time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)

// record makes a record of a name, which is its data too.
func record(name, slot string) tegenaria.Record {
	return tegenaria.Record{Key: keyOf(name), Parent: keyOf("parent"), Slot: slot, Data: []byte(name)}
}

func records(slot string, names ...string) (made []tegenaria.Record) {
	for _, name := range names {
		made = append(made, record(name, slot))
	}
	return made
}

// keyOf spreads names over all bits, as fingerprints do.
func keyOf(name string) (key tegenaria.Key) {
	h := uint64(14695981039346656037)
	for round := range 16 {
		for _, b := range []byte(name) {
			h = (h ^ uint64(b)) * 1099511628211
		}
		h ^= h >> 29
		key[round] = byte(h >> 13)
	}
	return key
}

func names(records []tegenaria.Record) []string {
	names := []string{}
	for _, rec := range records {
		names = append(names, string(rec.Data))
	}
	return names
}

// same says how a record differs from the one that was accepted, in what a cache must keep.
func same(got, want tegenaria.Record) error {
	if got.Key != want.Key || got.Slot != want.Slot || got.Priority != want.Priority || got.Depth != want.Depth ||
		got.Attempt != want.Attempt || !bytes.Equal(got.Data, want.Data) {
		return fmt.Errorf("the record is %+v, want %+v", got, want)
	}
	return nil
}
