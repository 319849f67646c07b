package frontier_test

import (
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria/internal/frontier"
)

// take returns the next job, which holds its slot and a worker.
func (w *world) take(t *testing.T) *job {
	t.Helper()
	j, ok, err := w.Take(t.Context())
	if !ok || err != nil {
		t.Fatalf("Take: %v, %v", ok, err)
	}
	return j
}

// A page that is reserved is nobody else's, but its slot has not had it yet: only when the download has begun is the slot
// spent for good. It fails if Frontier.IsSpent counts what is reserved.
func TestReservedPageMayComeBack(t *testing.T) {
	const slot = "a"
	w := newWorld(frontier.Config[*job]{Rules: frontier.NewRules(frontier.Rule{Pages: 1}, nil)})
	w.send(0, record{id: 1, slot: slot}, record{id: 2, slot: slot})
	first, second := w.take(t), w.take(t)
	spent := func(when string, want bool) {
		t.Helper()
		if got := w.IsSpent(slot); got != want {
			t.Errorf("%s: IsSpent is %v, want %v", when, got, want)
		}
	}
	reserve := func(j *job, want error) {
		t.Helper()
		if err := w.Reserve(j); !errors.Is(err, want) {
			t.Errorf("Reserve for %d: %v, want %v", j.id, err, want)
		}
	}
	spent("at the beginning", false)
	reserve(first, nil)
	spent("while the page is reserved", false)
	reserve(second, frontier.ErrSpent)
	w.Overrule(first)
	reserve(first, frontier.ErrOver)
	spent("when the page has come back", false)
	reserve(second, nil)
	if err := w.Spend(second); err != nil {
		t.Errorf("Spend: %v", err)
	}
	spent("when the download has begun", true)
	w.SetRule(slot, frontier.Rule{Pages: 2})
	spent("with another page", false)
	if n := w.Reserved(); n != 0 {
		t.Errorf("%d pages are reserved", n)
	}
}
