package frontier_test

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

var passing = flag.Int("slots", 0, "slots of TestNothingGrows; 0: 10,000, or 100,000 with -deep")

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// gone is a context that has ended.
var gone = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// passes takes a request of a new slot through all its calls, in one of the ways that a slot may be used.
func (w *world) passes(t *testing.T, i int) {
	slot := fmt.Sprintf("host%07d.test", i)
	answer := frontier.Answer{Came: true, OK: true, Latency: time.Millisecond}
	if i%8 == 5 {
		slot = fmt.Sprintf("host%07d.few.test", i)
	}
	w.send(i%2, record{id: i, slot: slot})
	j := w.take(t)
	switch i % 8 {
	case 1:
		w.PutBack(j)
		j = w.take(t)
	case 2:
		w.Park(slot)
		w.Release(j, true)
		w.Requeue(j)
		w.Unpark(slot)
		j = w.take(t)
	case 3:
		answer = frontier.Answer{Came: true, Refused: true}
	case 4:
		w.Heed(slot, 2*time.Minute)
		w.Release(j, true)
		w.ledger.Settle(filtered, fmt.Sprint("blocked: ", slot))
		return
	case 5: // the page is announced, and does not begin
		if err := w.Reserve(j); err != nil {
			t.Fatal(err)
		}
		w.Overrule(j)
		w.Release(j, true)
		w.ledger.Settle(filtered, "")
		return
	case 6:
		w.SetDelay(slot, 2*time.Minute, time.Time{})
		w.SetDelay(slot, 0, time.Time{})
		w.SetCrawlDelay(slot, 2*time.Minute)
	case 7:
		w.BeginFetch(j)
		if !w.EndFetch(j) {
			t.Fatal("a job that was taken has no slot")
		}
		if err := w.ReacquireSlot(gone, j); err != context.Canceled || w.HasSlot(j) {
			t.Fatalf("a job that does not wait has its slot again: %v", err)
		}
	}
	if !w.Enter(j, gate("address "+slot, 1, true)) {
		t.Fatal("the gate is closed")
	}
	at, ok := w.Start(j)
	if !ok {
		t.Fatal("the job may not start")
	}
	if err := w.Spend(j); err != nil {
		t.Fatal(err)
	}
	w.Answered(j, answer, at)
	w.Release(j, false)
	w.ledger.Settle(fetched, "")
}

// Nothing is kept of slots that came and went. It fails if a slot that has nothing to remember stays, or an entry of one
// in any map of the frontier.
func TestNothingGrows(t *testing.T) {
	n := *passing
	if n == 0 {
		if n = 10_000; deep.Checks() {
			n = 100_000
		}
	}
	rules := frontier.NewRules(frontier.Rule{Policy: slots.Policy{Limit: 2}}, map[string]frontier.Rule{"*.few.test": {Pages: 2}})
	now := time.Now()
	w := newWorld(frontier.Config[*job]{Rules: rules, Now: func() time.Time { return now }})
	before := heap()
	most := 0
	for i := range n {
		now = now.Add(10 * time.Millisecond)
		w.passes(t, i)
		if i%1024 == 0 {
			w.TakeBlocks()
			most = max(most, w.Slots())
		}
	}
	now = now.Add(25 * time.Hour) // what robots.txt has asked for is forgotten after a day
	for i := 0; i < n && w.Slots() > 1; i++ {
		w.send(0, record{slot: "last"})
		w.finish(t, w.take(t))
	}
	bytes := heap() - before
	t.Logf("%d slots are known at most, %d entries and %d bytes are left", most, w.Entries(), bytes)
	if left := w.Status(); len(left) > 1 || most > n/2 {
		t.Errorf("%d slots are known at most, %d are left", most, len(left))
	}
	if left := w.Entries(); left > 4096 {
		t.Errorf("%d entries are left", left)
	}
	if left := len(w.ledger.Counts().Reasons); left > 1001 {
		t.Errorf("%d reasons are counted", left)
	}
	if deep.Checks() && bytes > 4<<20 {
		t.Errorf("%d bytes are left", bytes)
	}
	runtime.KeepAlive(w)
}
