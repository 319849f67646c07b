package frontier_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
)

// Of a large table all slots are looked at only now and then. In between the busiest ones of the last look are looked at again: their
// numbers are new, and a slot that has become busy since is not among them. It fails if each call looks at all, or if a
// look is kept for too long.
func TestBusiestOfALargeTable(t *testing.T) {
	for _, c := range []struct {
		name  string
		slots int
		tick  time.Duration // that each question about the time takes
		most  bool          // the look is kept for 30 seconds, or else for 200 times as long as it took
	}{
		{"small table", 19_000, time.Millisecond, false},
		{"large table", 21_000, 10 * time.Microsecond, false},
		{"slow look", 21_000, time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, tick := time.Now(), time.Duration(0)
			w := newWorld(frontier.Config[*job]{Now: func() time.Time { now = now.Add(tick); return now }})
			id := 0
			send := func(slot string) {
				w.send(0, record{id: id, slot: slot})
				id++
			}
			for i := range c.slots {
				send(fmt.Sprint("host", i))
			}
			for range 2 {
				send("first")
			}
			busiest := func(n int) (got []string) {
				for _, s := range w.Busiest(n) {
					got = append(got, fmt.Sprint(s.Name, " ", s.Pending))
				}
				return got
			}
			tick = c.tick
			began := now.Add(tick)
			if got, want := busiest(2), []string{"first 2", "host0 1"}; !slices.Equal(got, want) {
				t.Fatalf("the first look finds %q, want %q", got, want)
			}
			looked := now
			kept := 200 * looked.Sub(began)
			if c.most {
				kept = 30 * time.Second
			}
			tick = 0
			send("first")
			for range 5 {
				send("second")
			}
			old, all := []string{"first 3", "host0 1"}, []string{"second 5", "first 3"}
			check := func(after time.Duration, want []string) {
				t.Helper()
				now = looked.Add(after)
				if got := busiest(2); !slices.Equal(got, want) {
					t.Errorf("after %s: %q, want %q", after, got, want)
				}
			}
			if c.slots > 20_000 {
				check(0, old)
				check(kept-1, old)
				if got := w.Busiest(101); len(got) != 101 || got[0].Name != "second" {
					t.Errorf("more than the last look has found: %d, the first is %s", len(got), got[0].Name)
				}
				check(kept, all)
				return
			}
			check(0, all)
		})
	}
}

// A look is over when most of what it has found has no work any more.
func TestAnotherLookAtALargeTable(t *testing.T) {
	for _, c := range []struct {
		name   string
		ended  bool
		become string
	}{
		{"its only slot has work", false, "first"},
		{"its only slot is done", true, "second"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, tick := time.Now(), time.Duration(0)
			w := newWorld(frontier.Config[*job]{Now: func() time.Time { now = now.Add(tick); return now }})
			w.send(9, record{id: 1, slot: "first"}) // the others come into the table and have no work
			for i := range 21_000 {
				w.SetDelay(fmt.Sprint("host", i), time.Second, now)
			}
			tick = 10 * time.Millisecond
			if got := w.Busiest(1); len(got) != 1 || got[0].Name != "first" {
				t.Fatalf("the first look finds %v", got)
			}
			tick = 0
			for i := range 3 {
				w.send(0, record{id: 2 + i, slot: "second"})
			}
			if c.ended {
				w.Release(w.take(t), true)
			}
			if got := w.Busiest(1); len(got) != 1 || got[0].Name != c.become {
				t.Errorf("then it is %v, want %s", got, c.become)
			}
		})
	}
}
