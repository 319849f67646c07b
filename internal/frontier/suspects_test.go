package frontier_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// lineUp has a request that was in flight when an earlier run died stand in line.
func (w *world) lineUp(t *testing.T, r record) *job {
	t.Helper()
	w.ledger.Resume(1, 0)
	w.ledger.Take()
	j := newJob(r)
	if !w.LineUp(j) {
		t.Error("a suspect is not lined up")
	}
	return j
}

// through ends a suspect.
func (w *world) through(t *testing.T, j *job) {
	t.Helper()
	w.GotThrough(func(other *job) bool { return other == j })
	w.finish(t, j)
}

// A suspect runs alone: it waits for the jobs in flight, but not for those that are parked or wait themselves, and while it runs
// nothing else is handed out but to those who stand in line. Then comes the next one, of fewer crashes first.
func TestSuspectRunsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{Inline: 1, Pages: 50})
		w.send(0, record{id: 1, slot: "a"}, record{id: 2, slot: "b"})
		busy, parked := w.take(t), w.take(t)
		w.Park("b")
		w.Release(parked, true)
		w.lineUp(t, record{id: 3, slot: "c", crashes: 1})
		w.lineUp(t, record{id: 4, slot: "d", crashes: 3})
		w.lineUp(t, record{id: 5, slot: "e", crashes: 2})
		w.send(0, record{id: 6, slot: "f"})
		came := w.sleeper(t)
		<-time.NewTimer(30 * time.Second).C
		wantComes(t, "beside a job in flight", came, 0)
		w.finish(t, busy)
		for _, want := range []int{3, 5, 4} {
			r := <-came
			if r.job.id != want {
				t.Errorf("request %d comes, want the suspect %d", r.job.id, want)
			}
			came = w.sleeper(t)
			w.Release(w.inline(t, "f"), false)
			w.GotThrough(func(*job) bool { return false })
			<-time.NewTimer(time.Hour).C
			wantComes(t, fmt.Sprint("beside the suspect ", want), came, 0)
			w.through(t, r.job)
		}
		w.finish(t, (<-came).job)
		w.Unpark("b")
		w.Requeue(parked)
		w.finish(t, w.take(t))
		if free, inline, pages := w.Left(); free != 4 || inline != 1 || pages != 50-6 {
			t.Errorf("%d workers, %d for inline requests, %d pages are left", free, inline, pages)
		}
		w.wantNoneInHand(t)
	})
}

// A suspect waits a minute for a job that goes on and on, and the next ones do not wait for it again.
func TestSuspectLosesPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		w.send(0, record{id: 1, slot: "a"})
		busy := w.take(t)
		began := time.Now()
		w.send(0, record{id: 2, slot: "b", crashes: 1})
		j := w.take(t)
		if d := time.Since(began); j.id != 2 || d != time.Minute {
			t.Errorf("request %d comes after %v, want the suspect after a minute", j.id, d)
		}
		w.through(t, j)
		w.send(0, record{id: 3, slot: "b", crashes: 1})
		w.lineUp(t, record{id: 4, slot: "c", crashes: 1})
		for _, want := range []int{3, 4} {
			j := w.take(t)
			if d := time.Since(began); d != time.Minute || j.id < 3 {
				t.Errorf("request %d comes after %v, want the suspect %d at once", j.id, d, want)
			}
			w.through(t, j)
		}
		w.finish(t, busy)
	})
}

// A suspect that was put back stands in line again, and others may run meanwhile; it never waits for a page that is reserved.
func TestSuspectIsPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{Rules: frontier.NewRules(frontier.Rule{Pages: 1}, nil), Pages: 5})
		w.send(0, record{id: 1, slot: "a", crashes: 1})
		j := w.take(t)
		w.Block("a", in(time.Hour))
		if _, ok := w.Start(j); ok || !w.PutBack(j) {
			t.Error("the suspect starts, or is not put back")
		}
		w.send(0, record{id: 2, slot: "b"})
		w.finish(t, w.take(t))
		began := time.Now()
		if again := w.take(t); again != j || time.Since(began) != time.Hour {
			t.Errorf("request %d comes after %v, want the suspect after an hour", again.id, time.Since(began))
		}
		inline := newInline("a")
		if err := w.Reserve(inline); err != nil {
			t.Error(err)
		}
		if w.IsShort(j) || !w.Starves(j) {
			t.Error("the suspect waits for a page")
		}
		w.Overrule(inline)
		w.through(t, j)
		if _, _, pages := w.Left(); pages != 3 {
			t.Errorf("%d pages are left, want 3", pages)
		}
	})
}

// A suspect that loses its turn while the crawl is paused, or has no page left, has it later.
func TestSuspectIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{Pages: 1})
		w.Pause()
		w.lineUp(t, record{id: 1, slot: "a", crashes: 1})
		came := w.sleeper(t)
		wantComes(t, "while it is paused", came, 0)
		if s := w.Status(); len(s) != 0 {
			t.Errorf("what is held has %+v", s)
		}
		w.Resume()
		j := (<-came).job
		w.lineUp(t, record{id: 2, slot: "b", crashes: 1})
		w.GotThrough(func(other *job) bool { return other == j })
		came = w.sleeper(t)
		wantComes(t, "without a page", came, 0)
		w.Release(j, true)
		w.ledger.Settle(filtered, "")
		wantComes(t, "when there is a page again", came, 2)
		w.end()
	})
}

// A suspect whose turn it is does not keep its slot while all fetch workers are taken: the job that has the worker fetches a page
// of that slot, and comes to its end first. Then the suspect runs, alone. It fails if summon does not look where the worker
// comes from: then both wait for ever.
func TestSuspectWithoutAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := frontier.NewRules(frontier.Rule{Policy: slots.Policy{Limit: 1}}, nil)
		w := newWorld(frontier.Config[*job]{Rules: rules, Fetchers: 1, Inline: 2})
		w.send(0, record{id: 1, slot: "a"})
		first := w.take(t)
		w.BeginFetch(first)
		w.ledger.Discover(1)
		w.ledger.Take()
		suspect := newJob(record{id: 2, slot: "a", crashes: 1})
		w.LineUp(suspect)
		w.send(0, record{id: 3, slot: "b"})
		taken := make(chan *job, 2)
		go func() {
			for {
				j, ok, err := w.Take(t.Context())
				if !ok || err != nil {
					close(taken)
					return
				}
				taken <- j
			}
		}()
		synctest.Wait() // the suspect stands before the inline request, and is told that it is next
		inline := newInline("a")
		w.ledger.Inline()
		fetches := make(chan error, 2)
		go func() {
			fetches <- w.WaitSlot(t.Context(), inline)
			w.Release(inline, false)
			w.ledger.Settle(fetched, "")
			w.EndFetch(first)
			fetches <- w.ReacquireSlot(t.Context(), first)
		}()
		<-time.NewTimer(time.Hour).C
		for range 2 {
			select {
			case err := <-fetches:
				if err != nil {
					t.Fatal(err)
				}
			default:
				t.Fatal("a job waits for the slot of a suspect, which waits for the worker of the job")
			}
		}
		if len(taken) > 0 {
			t.Error("a job was taken without a worker")
		}
		w.Release(first, false)
		w.ledger.Settle(fetched, "")
		if j := <-taken; j != suspect {
			t.Errorf("request %d is taken, want the suspect", j.id)
		}
		synctest.Wait()
		if len(taken) > 0 {
			t.Error("the suspect does not run alone")
		}
		w.Release(suspect, false)
		w.GotThrough(func(j *job) bool { return j == suspect })
		w.ledger.Settle(fetched, "")
		last := <-taken
		if last.id != 3 {
			t.Errorf("request %d is taken, want the third", last.id)
		}
		w.Release(last, false)
		w.ledger.Settle(fetched, "")
		w.ledger.Started()
		<-taken
		w.wantLeft(t, 1, 2)
	})
}

// A suspect waits for a job that was in its queue again and was taken from there, and not at all for one that is parked.
func TestSuspectCountsWhatIsInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		w.send(0, record{id: 1, slot: "a"}, record{id: 2, slot: "b"})
		first, parked := w.take(t), w.take(t)
		w.PutBack(first)
		again := w.take(t)
		w.Park("b")
		w.Release(parked, true)
		w.lineUp(t, record{id: 3, slot: "c", crashes: 1})
		came := w.sleeper(t)
		<-time.NewTimer(30 * time.Second).C
		wantComes(t, "beside a job in flight", came, 0)
		w.finish(t, again)
		finished := time.Now()
		r := <-came
		if waited := time.Since(finished); r.job.id != 3 || waited > 0 {
			t.Errorf("request %d comes after %s, want the suspect at once", r.job.id, waited)
		}
		w.through(t, r.job)
		w.Unpark("b")
		w.Requeue(parked)
		w.finish(t, w.take(t))
	})
}
