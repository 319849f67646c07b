package slots_test

import (
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// Of grants from before the slot had a delay one may start, and that one when the delay is over.
func TestStartable(t *testing.T) {
	tab := free()
	tab.Add("a", 0, 3)
	first, one, two := acquire(t, tab, at(0)), acquire(t, tab, at(0)), acquire(t, tab, at(0))
	startable := func(g *slots.Grant, now float64, want bool) {
		t.Helper()
		if got := tab.Startable(g, at(now)); got != want {
			t.Errorf("startable at %v s: %t, want %t", now, got, want)
		}
	}
	startable(one, 0, true) // no delay
	tab.Started(first, at(0))
	tab.SetDelay("a", slots.Robots, at(0), 10*time.Second)
	startable(one, 9, false)
	startable(one, 10, false) // two would start
	tab.Release(two)
	startable(one, 10, true)
	tab.Started(one, at(10))
	startable(one, 20, false) // it has started
	tab.SetDelay("a", slots.Robots, at(20), 0)
	tab.Block("a", at(20), at(30))
	startable(one, 29, false)
	startable(one, 30, true)
}
