package slots_test

import (
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// HeldUp names the slot and the reason that are likely to end first.
func TestHeldUp(t *testing.T) {
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	take := func(tab *slots.Table, now time.Time) *slots.Grant {
		g, ok := tab.Acquire(now, false)
		if !ok {
			t.Fatal("no slot is ready")
		}
		return g
	}
	check := func(tab *slots.Table, slot string, why slots.Hold, gate string) {
		t.Helper()
		if _, ok := tab.Acquire(at(0), false); ok {
			t.Error("a slot is ready")
		}
		if h := tab.HeldUp(); h.Slot != slot || h.Hold != why || h.Gate != gate {
			t.Errorf("%+v, want %q, %d and %q", h, slot, why, gate)
		}
	}
	tab := slots.New(func(name string) slots.Policy {
		return map[string]slots.Policy{"limited": {Limit: 1}, "delayed": {Delay: 10 * time.Second}}[name]
	})
	check(tab, "", slots.NotHeld, "")

	tab.Add("delayed", 0, 2)
	first := take(tab, at(0))
	check(tab, "delayed", slots.Delayed, "") // its delay begins with the start
	tab.Started(first, at(0))
	check(tab, "delayed", slots.Delayed, "")

	tab.Add("limited", 0, 2)
	second := take(tab, at(0))
	check(tab, "limited", slots.AtLimit, "") // a download ends before ten seconds are over
	tab.Release(second)
	tab.Park("limited")
	check(tab, "limited", slots.Parked, "")
	tab.Unpark("limited")
	tab.Block("limited", at(0), at(time.Second))
	check(tab, "limited", slots.Blocked, "")
	tab.Refused("limited", at(0), 2*time.Second, 0)
	check(tab, "limited", slots.RetryAfter, "")
	tab.Refused("limited", at(0), 0, 0)
	check(tab, "limited", slots.RetryAfter, "") // which is longer than the penalty
	tab.Waive("limited")
	tab.Release(take(tab, at(0)))
	check(tab, "delayed", slots.Delayed, "")

	tab.Add("gated", 0, 3)
	one := take(tab, at(0))
	two := take(tab, at(0))
	gate := slots.Gate{Name: "PerIP of 192.0.2.1", Limit: 1, Stays: true}
	if !tab.Enter(one, gate) || tab.Enter(two, gate) {
		t.Fatal("the gate has room for one")
	}
	tab.Add("gated", 0, 1)
	tab.Release(two)
	check(tab, "gated", slots.AtGate, gate.Name)
	tab.Release(one)
	tab.Release(take(tab, at(0)))
	tab.Release(take(tab, at(0)))
	check(tab, "delayed", slots.Delayed, "")
}

// The counts are those of the slots by what keeps their work from starting.
func TestCount(t *testing.T) {
	now := time.Now()
	tab := slots.New(func(name string) slots.Policy {
		return map[string]slots.Policy{"limited": {Limit: 1}, "delayed": {Delay: 10 * time.Second}}[name]
	})
	check := func(ready, timed, limited, parked, gated, all int) {
		t.Helper()
		c := tab.Count()
		if c.Ready != ready || c.Timed != timed || c.Held[slots.AtLimit] != limited || c.Held[slots.Parked] != parked ||
			c.Held[slots.AtGate] != gated || c.All != all {
			t.Errorf("%+v, want %d ready, %d timed, %d at the limit, %d parked and %d gated of %d", c, ready, timed, limited, parked, gated, all)
		}
	}
	take := func() *slots.Grant {
		g, ok := tab.Acquire(now, false)
		if !ok {
			t.Fatal("no slot is ready")
		}
		tab.Started(g, now)
		return g
	}
	check(0, 0, 0, 0, 0, 0)
	tab.Add("delayed", 0, 2)
	check(1, 0, 0, 0, 0, 1)
	delayed := take()
	check(0, 1, 0, 0, 0, 1)
	tab.Add("limited", 0, 2)
	limited := take()
	check(0, 1, 1, 0, 0, 2)
	tab.Add("parked", 0, 2)
	tab.Park("parked")
	check(0, 1, 1, 1, 0, 3)
	tab.Unpark("parked")
	check(1, 1, 1, 0, 0, 3)
	gate := slots.Gate{Name: "PerIP of 192.0.2.1", Limit: 1, Stays: true}
	one := take()
	two := take()
	if !tab.Enter(one, gate) || tab.Enter(two, gate) {
		t.Fatal("the gate has room for one")
	}
	tab.Add("parked", 0, 1)
	tab.Release(two)
	check(0, 1, 1, 0, 1, 3)
	tab.Release(one)
	check(1, 1, 1, 0, 0, 3)
	tab.Release(limited)
	check(2, 1, 0, 0, 0, 3)
	tab.Release(delayed)
	check(2, 1, 0, 0, 0, 3)
}
