package spidertest

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

const (
	isNew = tegenaria.VerdictNew
	known = tegenaria.VerdictKnown
	later = tegenaria.VerdictLater
)

func testAcceptTwice(t *testing.T, c *cacheUnderTest) {
	c.accept(nil)
	c.accept(records("s", "a", "b", "a"), isNew, isNew, known)
	c.accept(records("s", "b", "c"), known, isNew)
	c.accept(records("other", "a"), known) // the key alone counts
	got := c.expect("s", "a", "b", "c")
	c.expect("other")
	c.accept(records("s", "a", "b", "c"), known, known, known) // in flight
	c.done(got...)
	c.accept(records("s", "a", "b", "c"), known, known, known) // settled
	c.expect("s")

	var zero tegenaria.Record
	zero.Slot = "zero"
	c.accept([]tegenaria.Record{zero, zero}, isNew, known)
	if got := c.next("zero", 2); len(got) != 1 || got[0].Key != zero.Key {
		t.Errorf("of the zero key: %v", got)
	}
}

func testAcceptConcurrently(t *testing.T, c *cacheUnderTest) {
	const workers, batches, size = 6, 20, 10
	fresh := make([]int, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for b := range batches {
				var batch []tegenaria.Record
				for i := range size {
					batch = append(batch, record(fmt.Sprint("r", (b*size+i+w*7)%(batches*size)), "s"))
				}
				verdicts, err := c.Accept(t.Context(), batch)
				if err != nil {
					t.Error(err)
					return
				}
				for _, v := range verdicts {
					if v == isNew {
						fresh[w]++
					}
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range fresh {
		total += n
	}
	got := names(c.next("s", 2*batches*size))
	slices.Sort(got)
	if unique := len(slices.Compact(slices.Clone(got))); total != batches*size || len(got) != total || unique != total {
		t.Errorf("%d accepted as new, %d handed out, %d of them different; want %d", total, len(got), unique, batches*size)
	}
}

func testOrder(t *testing.T, c *cacheUnderTest) {
	var batch []tegenaria.Record
	for i, priority := range []int{0, -1, 5, 0, 1 << 30, 5, -1 << 30, -1, 0} {
		rec := record(fmt.Sprintf("%d/%d", priority, i), "s")
		rec.Priority = priority
		batch = append(batch, rec)
	}
	c.accept(batch[:5])
	c.accept(batch[5:])
	got := c.expect("s", "1073741824/4", "5/2", "5/5", "0/0", "0/3", "0/8", "-1/1", "-1/7", "-1073741824/6")
	for i, rec := range got[1:] {
		if rec.Priority == got[i].Priority && rec.Seq <= got[i].Seq {
			t.Errorf("Seq %d comes after Seq %d", rec.Seq, got[i].Seq)
		}
	}

	// What comes later with a higher priority goes first, whatever was handed out before.
	low := records("t", "a", "b", "c")
	c.accept(low)
	if got := names(c.next("t", 1)); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("handed out %v", got)
	}
	high := record("high", "t")
	high.Priority = 1
	c.accept([]tegenaria.Record{high})
	c.expect("t", "high", "b", "c")

	// Many of one slot, in batches of all sizes.
	var want []string
	for i := 0; i < 300; i += 1 + i%7 {
		var names []string
		for j := range 1 + i%7 {
			names = append(names, fmt.Sprint("m", i+j))
		}
		c.accept(records("many", names...))
		want = append(want, names...)
	}
	var all []string
	for i := 0; len(all) < len(want); i++ {
		got := c.next("many", 1+i%5)
		if len(got) == 0 {
			break
		}
		all = append(all, names(got)...)
	}
	if !slices.Equal(all, want) {
		t.Errorf("handed out %v, want %v", all, want)
	}
}

func testRecord(t *testing.T, c *cacheUnderTest) {
	batch := []tegenaria.Record{
		{Key: keyOf("full"), Parent: keyOf("p"), Slot: "s", Priority: -3, Depth: 70_000, Attempt: 4, Data: []byte("data\x00\xff")},
		{Key: keyOf("empty"), Slot: "s", Priority: -4},
		{Key: keyOf("large"), Slot: "s", Priority: -5, Data: make([]byte, 300<<10)},
		{Key: keyOf("odd slot"), Slot: "sl\x00ot\xff/", Data: []byte("x")},
		{Key: keyOf("no slot"), Slot: "", Data: []byte("y")},
	}
	sent := make([]tegenaria.Record, len(batch))
	for i := range batch {
		sent[i] = batch[i]
		sent[i].Data = slices.Clone(batch[i].Data)
	}
	c.accept(sent)
	for i := range sent {
		for j := range sent[i].Data { // the caller uses its buffer again
			sent[i].Data[j] = '!'
		}
	}
	got := append(append(c.next("s", 9), c.next("sl\x00ot\xff/", 9)...), c.next("", 9)...)
	if len(got) != len(batch) {
		t.Fatalf("%d records came back, want %d", len(got), len(batch))
	}
	for i := range got {
		if err := same(got[i], batch[i]); err != nil {
			t.Error(err)
		}
	}

	// What was handed out stays as it is while the slot goes on.
	var all []tegenaria.Record
	for i := range 300 {
		c.accept(records("steady", fmt.Sprintf("record %03d", 2*i), fmt.Sprintf("record %03d", 2*i+1)))
		all = append(all, c.next("steady", 1+i%3)...)
	}
	for i, rec := range all {
		if want := fmt.Sprintf("record %03d", i); string(rec.Data) != want {
			t.Fatalf("the data of %q, which was handed out, has become %q", want, rec.Data)
		}
	}
}

func testUnknownSlot(t *testing.T, c *cacheUnderTest) {
	c.accept(records("slot", "a"))
	for _, slot := range []string{"unknown", "slo", "slot2", ""} {
		got, left, err := c.Next(t.Context(), slot, 5)
		if err != nil || len(got) != 0 || left.Pending != 0 || left.Name != slot {
			t.Errorf("Next(%q): %v, %+v, %v", slot, got, left, err)
		}
	}
	if got := c.next("slot", 0); len(got) != 0 {
		t.Errorf("Next of none: %v", got)
	}
	c.expect("slot", "a")
}

func testLeft(t *testing.T, c *cacheUnderTest) {
	batch := records("s", "a", "b", "c", "d")
	for i := range batch {
		batch[i].Priority = -i / 2
	}
	c.accept(batch)
	c.accept(records("s", "a", "a", "c"), known, known, known)
	for i, want := range []tegenaria.SlotState{{Pending: 3}, {Pending: 2, Priority: -1}, {Pending: 1, Priority: -1}, {}} {
		got, left, err := c.Next(t.Context(), "s", 1)
		if err != nil || len(got) != 1 || left.Pending != want.Pending || left.Pending > 0 && left.Priority != want.Priority || left.Name != "s" {
			t.Errorf("number %d: %v, left %+v, %v; want left %+v", i, names(got), left, err, want)
		}
		if i == 1 {
			c.back(got[0], epoch, isNew)
			c.next("s", 1)
			if got := c.waiting()["s"]; got != 2 {
				t.Errorf("%d wait, want 2", got)
			}
		}
	}
}

func testSlots(t *testing.T, c *cacheUnderTest) {
	want := make(map[string]int)
	for i := range 50 {
		slot := fmt.Sprint("host", i)
		for j := range 1 + i%3 {
			rec := record(fmt.Sprint(slot, "/", j), slot)
			rec.Priority = i - j
			c.accept([]tegenaria.Record{rec})
			want[slot]++
		}
	}
	rec := record("delayed", "delayed")
	rec.NotBefore = epoch
	c.accept([]tegenaria.Record{rec}, later)
	if got := c.waiting(); !maps.Equal(got, want) {
		t.Errorf("Slots: %v, want %v", got, want)
	}
	for s, err := range c.Slots(t.Context()) {
		c.ok(err)
		var i int
		fmt.Sscanf(s.Name, "host%d", &i)
		if s.Priority != i && s.Pending > 0 {
			t.Errorf("%+v, want priority %d", s, i)
		}
	}
	n := 0
	for range c.Slots(t.Context()) {
		if n++; n == 3 {
			break
		}
	}
	for slot, pending := range want { // handing out while iterating does not hang
		c.next(slot, pending)
	}
	for s := range c.Slots(t.Context()) {
		if s.Delayed == 0 {
			t.Errorf("Slots lists one whose records are all in flight: %+v", s)
		}
	}
}

func testDue(t *testing.T, c *cacheUnderTest) {
	if moved, next := c.due(epoch); len(moved) != 0 || !next.IsZero() {
		t.Fatalf("an empty list: %v, %v", moved, next)
	}
	var batch []tegenaria.Record
	for i, after := range []int{3, 1, 2, 1} {
		rec := record(fmt.Sprintf("r%d%d", after, i), fmt.Sprint("s", i%2))
		rec.NotBefore = epoch.Add(time.Duration(after) * time.Second)
		rec.Priority = i
		rec.Depth = 3
		batch = append(batch, rec)
	}
	past := record("past", "s0")
	past.NotBefore = epoch.Add(-time.Hour)
	batch = append(batch, past)
	c.accept(batch, later, later, later, later, later)
	c.accept(records("s0", "r30", "past"), known, known)
	c.expect("s0")
	c.expect("s1")

	if moved, next := c.due(epoch); len(moved) != 1 || moved[0].Name != "s0" || !next.Equal(epoch.Add(time.Second)) {
		t.Fatalf("what was due before: %v, %v", moved, next)
	}
	c.expect("s0", "past")
	if moved, next := c.due(epoch.Add(time.Second - 1)); len(moved) != 0 || !next.Equal(epoch.Add(time.Second)) {
		t.Fatalf("too early: %v, %v", moved, next)
	}
	moved, next := c.due(epoch.Add(time.Second))
	if len(moved) != 2 || moved[0].Name != "s1" || moved[1].Name != "s1" || moved[0].Priority+moved[1].Priority != 4 || !next.Equal(epoch.Add(2*time.Second)) {
		t.Fatalf("after 1 s: %v, %v", moved, next)
	}
	got := c.expect("s1", "r13", "r11")
	if got[0].Depth != 3 {
		t.Errorf("depth %d, want 3", got[0].Depth)
	}
	lower := record("r22", "s0")
	lower.Depth = 1
	c.accept([]tegenaria.Record{lower}, known)
	if moved, next := c.due(epoch.Add(time.Hour)); len(moved) != 2 || !next.IsZero() {
		t.Fatalf("after an hour: %v, %v", moved, next)
	}
	got = c.expect("s0", "r22", "r30")
	if got[0].Depth != 1 || got[1].Depth != 0 {
		t.Errorf("depths %d and %d, want 1 and 0", got[0].Depth, got[1].Depth)
	}
}

func testReturn(t *testing.T, c *cacheUnderTest) {
	c.accept(records("s", "a", "b"))
	rec := c.expect("s", "a", "b")[0]

	rec.Attempt++
	c.back(rec, epoch, isNew)
	got := c.expect("s", "a")[0]
	if err := same(got, rec); err != nil {
		t.Error(err)
	}

	rec.Attempt++
	rec.Priority--
	rec.NotBefore = epoch.Add(time.Minute)
	c.back(rec, epoch, later)
	c.expect("s")
	c.accept(records("s", "a"), known)
	if len(c.waiting()) != 0 {
		t.Errorf("waiting: %v", c.waiting())
	}
	if moved, next := c.due(epoch); len(moved) != 0 || !next.Equal(rec.NotBefore) {
		t.Errorf("too early: %v, %v", moved, next)
	}
	if moved, _ := c.due(rec.NotBefore); len(moved) != 1 || moved[0].Name != "s" || moved[0].Priority != -1 {
		t.Errorf("due: %v", moved)
	}
	got = c.expect("s", "a")[0]
	if err := same(got, rec); err != nil {
		t.Error(err)
	}

	rec.NotBefore = epoch // not ahead any more
	c.back(rec, epoch, isNew)
	rec = c.expect("s", "a")[0]
	rec.Priority = 7
	c.accept(records("s", "c"))
	c.back(rec, epoch, isNew)
	rec = c.expect("s", "a", "c")[0]
	c.done(rec)
	c.expect("s")
}

func testDepth(t *testing.T, c *cacheUnderTest) {
	at := func(depth int) []tegenaria.Record {
		rec := record("a", "s")
		rec.Depth = depth
		return []tegenaria.Record{rec}
	}
	c.accept(at(5))
	for _, depth := range []int{7, 3, 4} {
		c.accept(at(depth), known)
	}
	rec := c.expect("s", "a")[0]
	if rec.Depth != 3 {
		t.Errorf("depth %d, want 3", rec.Depth)
	}
	c.accept(at(2), known) // too late: it is in flight
	c.back(rec, epoch, isNew)
	c.accept(at(1), known)
	if rec = c.expect("s", "a")[0]; rec.Depth != 1 {
		t.Errorf("depth %d, want 1", rec.Depth)
	}
	c.done(rec)
	c.accept(at(0), known)
	c.expect("s")
}
