package slots_test

import (
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/slots"
)

// Grants from before the slot had a delay are early but for one, and that one until the delay is over.
func TestEarly(t *testing.T) {
	tab := free()
	tab.Add("a", 0, 3)
	first, one, two := acquire(t, tab, at(0)), acquire(t, tab, at(0)), acquire(t, tab, at(0))
	early := func(g *slots.Grant, now float64, want bool) {
		t.Helper()
		if got := tab.Early(g, at(now)); got != want {
			t.Errorf("early at %v s: %t, want %t", now, got, want)
		}
	}
	early(one, 0, false) // no delay
	tab.Started(first, at(0))
	tab.SetDelay("a", slots.Robots, 10*time.Second)
	early(first, 0, false) // it has started
	early(one, 20, true)   // two would start too
	tab.Release(two)
	early(two, 0, false) // it was given back
	early(one, 9, true)
	early(one, 10, false)
	tab.Started(one, at(10))
	early(one, 10, false)
}
