package frontier_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
)

// in returns the instant that is so long from now.
func in(d time.Duration) time.Time { return time.Now().Add(d) }

// delays wants the next requests to come so long after now, in this order.
func (w *world) delays(t *testing.T, ids []int, after ...time.Duration) {
	t.Helper()
	began := time.Now()
	for i, id := range ids {
		j := w.take(t)
		if d := time.Since(began); j.id != id || d != after[i] {
			t.Errorf("request %d comes after %v, want %d after %v", j.id, d, id, after[i])
		}
		w.finish(t, j)
	}
}

// A request comes at the very instant when it is due, in whatever order such instants are told. It fails if the frontier asks
// late, forgets when the next one is due, or has the latest instant count.
func TestDueInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		w.send(0, record{id: 2, slot: "a", due: in(20 * time.Second)}, record{id: 1, slot: "b", due: in(10 * time.Second)}, record{id: 4, slot: "a", due: in(time.Hour)})
		w.send(0, record{id: 3, slot: "c", due: in(30 * time.Second)})
		w.wantOpen(t, 0, 4, 0)
		w.delays(t, []int{1, 2, 3, 4}, 10*time.Second, 20*time.Second, 30*time.Second, time.Hour)
		w.wantOpen(t, 0, 0, 0)
	})
}

// What is sent while the source is asked what is due comes in time. It fails if the answer of the source, which does not know of it,
// replaces its instant.
func TestDueMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		w.send(0, record{id: 1, slot: "a", due: in(10 * time.Second)}, record{id: 3, slot: "a", due: in(time.Hour)})
		w.store.moves = func() {
			w.store.moves = nil
			w.send(0, record{id: 2, slot: "b", due: in(5 * time.Second)})
		}
		w.delays(t, []int{1, 2, 3}, 10*time.Second, 15*time.Second, time.Hour)

		w.ledger.Resume(0, 1) // of an earlier run
		w.store.add(record{id: 5, slot: "a", due: in(time.Minute)})
		w.send(0, record{id: 4, slot: "a", due: in(time.Second)})
		w.store.moves = func() {
			w.store.moves = nil
			w.LookAtDue()
		}
		w.delays(t, []int{4, 5}, time.Second, time.Minute)
	})
}

// A worker that has gone to sleep while another one asks what is due is woken for what has come, and for when the next one is due.
func TestDueWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		w.send(0, record{id: 1, slot: "a", due: in(time.Second)}, record{id: 2, slot: "a", due: in(time.Second)}, record{id: 3, slot: "a", due: in(time.Minute)})
		<-time.NewTimer(time.Second).C
		moves := make(chan struct{})
		w.store.moves = func() { <-moves }
		first, second := w.sleeper(t), w.sleeper(t)
		close(moves)
		if sum := comes(first) + comes(second); sum != 3 {
			t.Errorf("the numbers of the requests that come make %d, want 1 and 2", sum)
		}
		third := w.sleeper(t)
		if r := <-third; r.job.id != 3 || !r.at.Equal(in(0)) {
			t.Errorf("request %d comes at %v, now is %v", r.job.id, r.at, in(0))
		}
		w.end()
	})
}

// An error of the source is that of Take: when it is asked what is due, and when it is asked for a request. What was claimed for it
// is released.
func TestSourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{Readers: 1, Pages: 5})
		w.store.err = errors.New("disk full")
		fails := func(when string) {
			t.Helper()
			for range 2 {
				if _, ok, err := w.Take(t.Context()); ok || err != w.store.err {
					t.Errorf("%s: Take: %t, %v", when, ok, err)
				}
			}
			if free, inline, pages := w.Left(); free != 4 || inline != 0 || pages != 5 {
				t.Errorf("%s: %d workers, %d for inline requests, %d pages are left", when, free, inline, pages)
			}
		}
		w.send(0, record{id: 1, slot: "a", priority: 1}, record{id: 2, slot: "b"})
		fails("a queue")
		w.wantOpen(t, 2, 0, 0)
		for range 2 {
			w.send(0, record{id: 3, slot: "a", due: in(0)})
			if _, ok, err := w.Take(t.Context()); ok || err != w.store.err {
				t.Errorf("the due list: Take: %t, %v", ok, err)
			}
		}
	})
}

// A queue that turns out to be empty is left alone, and what was claimed for it is released.
func TestNothingInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{Readers: 1, Pages: 5})
		w.ledger.Discover(3)
		w.Accepted(frontier.Stored{Runs: []frontier.Run{{Queue: "a", Number: 3}}})
		came := w.sleeper(t)
		if free, _, pages := w.Left(); free != 4 || pages != 5 {
			t.Errorf("%d workers and %d pages are left", free, pages)
		}
		w.wantOpen(t, 3, 0, 0)
		if all := w.Status(); len(all) != 0 {
			t.Errorf("%+v has nothing to do", all)
		}
		w.send(0, record{id: 1, slot: "a"})
		wantComes(t, "when there is one", came, 1)
		w.end()
	})
}

// A request whose time has come is counted as pending, before it is taken too.
func TestDueIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		for id := 1; id <= 3; id++ {
			w.send(0, record{id: id, slot: "a", due: in(time.Second)})
		}
		w.wantOpen(t, 0, 3, 0)
		j := w.take(t)
		w.wantOpen(t, 2, 0, 1)
		w.finish(t, j)
		w.order(t, 2)
	})
}
