package frontier_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// order takes and finishes n requests, and returns their numbers.
func (w *world) order(t *testing.T, n int) string {
	t.Helper()
	var ids []int
	for range n {
		j := w.take(t)
		ids = append(ids, j.id)
		w.finish(t, j)
	}
	return fmt.Sprint(ids)
}

// Requests come by priority, whatever slots and batches they were sent in; slots of the same priority take turns. It fails if one
// slot starves another, or if a batch is entered with one number or priority for all.
func TestOrder(t *testing.T) {
	w := newWorld(frontier.Config[*job]{})
	var records []record
	for i, slot := range []string{"a", "a", "a", "b", "b", "c"} {
		records = append(records, record{id: i + 1, slot: slot})
	}
	records = append(records, record{id: 7, slot: "c", priority: 2}, record{id: 8, slot: "c", priority: 1}, record{id: 9, slot: "d", priority: -1})
	w.send(0, records...)
	w.send(0, record{id: 10, slot: "b", priority: 2}, record{id: 11, slot: "b", priority: 2})
	if got := w.order(t, 11); got != "[10 7 11 8 1 4 6 2 5 3 9]" {
		t.Errorf("the order is %s", got)
	}
}

// A job that was put into its queue again comes before the rest of its queue, those that were put there before it first, and with
// its own priority. It fails if it is forgotten when the source says what is left, or changes places.
func TestRequeuedComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		w.send(0, record{id: 1, slot: "a", priority: 5}, record{id: 2, slot: "a", priority: 5}, record{id: 3, slot: "a", priority: 5}, record{id: 4, slot: "b", priority: 4})
		first, second := w.take(t), w.take(t)
		for _, j := range []*job{first, second} {
			if !w.PutBack(j) {
				t.Error("a job is not put back")
			}
		}
		if got := w.order(t, 4); got != "[1 2 3 4]" {
			t.Errorf("the order is %s", got)
		}

		// The queue is empty, as the source says while the job comes to it again.
		w.send(0, record{id: 5, slot: "a", priority: 5}, record{id: 6, slot: "b", priority: 4})
		j := w.take(t)
		w.store.reads = func(slot string) {
			w.store.reads = nil
			w.PutBack(j)
		}
		w.send(0, record{id: 8, slot: "a", priority: 9})
		if got := w.order(t, 3); got != "[8 5 6]" {
			t.Errorf("the order is %s", got)
		}
		came := w.sleeper(t) // and nothing is left
		wantComes(t, "in the end", came, 0)
		w.end()
	})
}

// A pause holds all that waits in queues; those that stand in line for their slots are served. Nothing is forgotten, however
// often it is paused.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{Inline: 1})
		w.send(0, record{id: 1, slot: "a"}, record{id: 2, slot: "b"})
		j := w.take(t)
		w.Pause()
		w.Pause()
		w.PutBack(j)
		w.send(0, record{id: 3, slot: "c", due: in(time.Second)}, record{id: 4, slot: "d", crashes: 1})
		came := w.sleeper(t)
		w.Release(w.inline(t, "b"), false)
		<-time.NewTimer(time.Minute).C
		wantComes(t, "while it is paused", came, 0)
		w.Resume()
		r := <-came
		w.finish(t, r.job)
		got := []int{0, 0, 0, 0, 0}
		got[r.job.id]++
		for range 3 {
			j := w.take(t)
			got[j.id]++
			w.GotThrough(func(other *job) bool { return other == j })
			w.finish(t, j)
		}
		if fmt.Sprint(got) != "[0 1 1 1 1]" {
			t.Errorf("the requests come so often: %v", got)
		}
	})
}

// While nothing may start, no job is taken and none begins: of the queues, of the lines, of suspects. Workers wait
// without a clock, and Wake has them look again. It fails if a worker asks again and again, or if one of these ways
// leads past Config.MayStart.
func TestMayStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var barred atomic.Bool
		var asked atomic.Int64
		w := newWorld(frontier.Config[*job]{Inline: 1, MayStart: func() bool {
			asked.Add(1)
			return !barred.Load()
		}})
		w.send(0, record{id: 1, slot: "a"}, record{id: 2, slot: "b", crashes: 1})
		first := w.take(t)
		if !w.IsStartable(first) {
			t.Error("a job may not start")
		}
		barred.Store(true)
		if _, ok := w.Start(first); ok || w.IsStartable(first) {
			t.Error("a job starts")
		}
		w.PutBack(first)
		w.Block("c", in(time.Second))
		w.send(0, record{id: 3, slot: "c"})
		inline := newInline("d")
		served := inBackground(func() error { return w.WaitSlot(t.Context(), inline) })
		came := w.sleeper(t)
		before := asked.Load()
		<-time.NewTimer(time.Hour).C
		wantComes(t, "while nothing may start", came, 0)
		if n := asked.Load() - before; n > 10 {
			t.Errorf("%d questions in an hour", n)
		}
		select {
		case <-served:
			t.Error("an inline job is served")
		default:
		}
		barred.Store(false)
		w.Wake()
		j := (<-came).job
		if err := <-served; err != nil {
			t.Error(err)
		}
		w.Release(inline, false)
		got := []int{0, 0, 0, 0}
		for n := 1; ; n++ {
			got[j.id]++
			w.GotThrough(func(other *job) bool { return other == j })
			w.finish(t, j)
			if n == 3 {
				break
			}
			j = w.take(t)
		}
		if fmt.Sprint(got) != "[0 1 1 1]" {
			t.Errorf("the requests come so often: %v", got)
		}
	})
}

// A limit that comes with a request holds for its slot; a gate that is closed holds a job, which comes when the gate opens.
func TestLimitAndGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		w.ledger.Discover(2)
		stored := frontier.Stored{Slot: "a", Limit: 1}
		for id := 1; id <= 2; id++ {
			w.store.add(record{id: id, slot: "a"})
			stored.Queue("a", 0)
		}
		w.Accepted(stored)
		j := w.take(t)
		came := w.sleeper(t)
		wantComes(t, "beside another one, though one is the limit", came, 0)
		w.finish(t, j)
		w.finish(t, (<-came).job)

		w.send(0, record{id: 3, slot: "b"}, record{id: 4, slot: "c"})
		first, second := w.take(t), w.take(t)
		if !w.Enter(first, gate("address", 1, true)) || w.Enter(second, gate("address", 1, true)) || !w.PutBack(second) {
			t.Error("the gate is open, or closed, to both")
		}
		came = w.sleeper(t)
		wantComes(t, "though its gate is closed", came, 0)
		w.finish(t, first)
		wantComes(t, "when the gate opens", came, 4)
		w.end()
	})
}

// So many pages come as Pages allows: what brought none makes room for another, and what holds no worker makes none.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{Pages: 2, Inline: 1})
		for id := 1; id <= 4; id++ {
			w.send(0, record{id: id, slot: "a"})
		}
		first, second := w.take(t), w.take(t)
		came := w.sleeper(t)
		inline := w.inline(t, "b")
		w.Release(inline, false)
		w.Release(inline, true) // it has nothing
		w.Release(first, false)
		wantComes(t, "though all pages were had", came, 0)
		w.Release(second, true)
		w.Release(second, true)
		wantComes(t, "for the page that was not had", came, 3)
		if _, _, pages := w.Left(); pages != 0 {
			t.Errorf("%d pages are left", pages)
		}
		w.end()
	})
}

// What stops returns all that it has, once, and takes nothing any more; it serves who stands in line.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := frontier.NewRules(frontier.Rule{Policy: slots.Policy{Limit: 1}}, nil)
		w := newWorld(frontier.Config[*job]{Rules: rules, Inline: 1})
		w.send(0, record{id: 1, slot: "a"}, record{id: 2, slot: "b"})
		first, second := w.take(t), w.take(t)
		w.send(0, record{id: 3, slot: "c", crashes: 1})
		came := w.sleeper(t)
		w.lineUp(t, record{id: 4, slot: "d", crashes: 2})
		synctest.Wait()
		w.PutBack(first)
		inline := newInline("c")
		served := inBackground(func() error { return w.WaitSlot(t.Context(), inline) })
		synctest.Wait()
		if w.HasSlot(inline) {
			t.Error("a job has the slot of the suspect that goes next")
		}
		sum := 0
		for _, j := range w.Stop() {
			sum += 1 << j.id
		}
		if sum != 1<<1|1<<3|1<<4 {
			t.Errorf("requests of the sum %b are returned, want those of 1, 3 and 4", sum)
		}
		if again := w.Stop(); len(again) > 0 {
			t.Errorf("%d are returned twice", len(again))
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
		if w.Requeue(first) || w.PutBack(second) || w.LineUp(newJob(record{id: 5, slot: "c", crashes: 1})) {
			t.Error("a job is taken after the stop")
		}
		w.Release(inline, false)
		w.send(0, record{id: 6, slot: "e"})
		wantComes(t, "after the stop", came, 0)
		w.wantLeft(t, 4, 1)
		w.wantNoneInHand(t)
		w.end()
	})
}
