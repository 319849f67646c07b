package frontier_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// waits has a request wait in a slot that lets it start in an hour alone: another one has just been there.
func waits(t *testing.T, w *world) {
	t.Helper()
	w.send(0, record{id: 10, slot: "a"}, record{id: 1, slot: "a"})
	w.finish(t, w.take(t))
}

// finish downloads and settles a job that was taken.
func (w *world) finish(t *testing.T, j *job) {
	t.Helper()
	at, ok := w.Start(j)
	if !ok {
		t.Fatal("the job may not start")
	}
	w.Answered(j, frontier.Answer{Came: true, OK: true}, at)
	w.Release(j, false)
	w.ledger.Settle(fetched, "")
}

// inHand has a request taken, and another one of its slot wait.
func inHand(t *testing.T, w *world) *job {
	t.Helper()
	w.send(0, record{id: 10, slot: "a"}, record{id: 1, slot: "a"})
	return w.take(t)
}

// isShort has a request taken that reserves the only page of its slot, and another one wait for that page.
func isShort(t *testing.T, w *world) *job {
	t.Helper()
	first := inHand(t, w)
	second := w.take(t)
	if err := w.Reserve(first); err != nil || !w.PutBack(second) {
		t.Errorf("the second job does not wait for the page: %v", err)
	}
	return first
}

// besideSuspect has a suspect run, and a request wait until it is through.
func besideSuspect(t *testing.T, w *world) *job {
	t.Helper()
	w.send(0, record{id: 10, slot: "b", crashes: 1})
	j := w.take(t)
	w.send(0, record{id: 1, slot: "a"})
	return j
}

// Whatever lets a request come wakes the worker that sleeps, at this very instant. It fails if a change of the frontier forgets
// to wake it.
func TestChangesWake(t *testing.T) {
	hour := frontier.NewRules(frontier.Rule{Policy: slots.Policy{Delay: time.Hour}}, nil)
	one := frontier.NewRules(frontier.Rule{Policy: slots.Policy{Limit: 1}}, nil)
	for _, tt := range []struct {
		name   string
		rules  *frontier.Rules
		before func(t *testing.T, w *world) *job
		change func(w *world, j *job)
	}{
		{name: "sent", change: func(w *world, _ *job) { w.send(0, record{id: 1, slot: "a"}) }},
		{name: "added", change: func(w *world, _ *job) {
			w.ledger.Discover(1)
			w.store.add(record{id: 1, slot: "a"})
			w.Added(frontier.Stored{Runs: []frontier.Run{{Queue: "a", Number: 1}}})
		}},
		{name: "asked for what is due", change: func(w *world, _ *job) {
			w.store.add(record{id: 1, slot: "a", due: time.Now()})
			w.ledger.Resume(0, 1)
			w.LookAtDue()
		}},
		{name: "unparked", before: func(_ *testing.T, w *world) *job { w.Park("a"); w.send(0, record{id: 1, slot: "a"}); return nil },
			change: func(w *world, _ *job) { w.Unpark("a") }},
		{name: "resumed", before: func(_ *testing.T, w *world) *job { w.Pause(); w.send(0, record{id: 1, slot: "a"}); return nil },
			change: func(w *world, _ *job) { w.Resume() }},
		{name: "no delay by a rule", rules: hour, before: func(t *testing.T, w *world) *job { waits(t, w); return nil },
			change: func(w *world, _ *job) { w.SetRule("a", frontier.Rule{}) }},
		{name: "no delay that was asked for", before: func(t *testing.T, w *world) *job { w.SetDelay("a", time.Hour, time.Time{}); waits(t, w); return nil },
			change: func(w *world, _ *job) { w.SetDelay("a", 0, time.Time{}) }},
		{name: "no delay of robots.txt", before: func(t *testing.T, w *world) *job { w.SetCrawlDelay("a", time.Hour); waits(t, w); return nil },
			change: func(w *world, _ *job) { w.SetCrawlDelay("a", 0) }},
		{name: "released", rules: one, before: inHand, change: func(w *world, j *job) { w.Release(j, false) }},
		{name: "answered", rules: one, before: inHand, change: func(w *world, j *job) { w.Answered(j, frontier.Answer{Came: true}, time.Now()) }},
		{
			name: "requeued", rules: one,
			before: func(t *testing.T, w *world) *job {
				w.send(0, record{id: 1, slot: "a"})
				j := w.take(t)
				w.Release(j, true)
				return j
			},
			change: func(w *world, j *job) { w.Requeue(j) },
		},
		{name: "put back", rules: one, before: func(t *testing.T, w *world) *job { w.send(0, record{id: 1, slot: "a"}); return w.take(t) },
			change: func(w *world, j *job) { w.PutBack(j) }},
		{
			name: "a suspect", change: func(w *world, _ *job) {
				w.ledger.Resume(1, 0)
				w.ledger.Take()
				w.LineUp(newJob(record{id: 1, slot: "a", crashes: 1}))
			},
		},
		{name: "a page that was reserved", rules: frontier.NewRules(frontier.Rule{Pages: 1}, nil), before: isShort,
			change: func(w *world, j *job) { w.Overrule(j) }},
		{name: "more pages", rules: frontier.NewRules(frontier.Rule{Pages: 1}, nil), before: isShort,
			change: func(w *world, _ *job) { w.SetRule("a", frontier.Rule{Pages: 2}) }},
		{
			name: "all pages begun", rules: frontier.NewRules(frontier.Rule{Policy: slots.Policy{Delay: time.Hour}, Pages: 1}, nil),
			before: func(t *testing.T, w *world) *job {
				j := inHand(t, w)
				if _, ok := w.Start(j); !ok {
					t.Error("the job may not start")
				}
				return j
			},
			change: func(w *world, j *job) { _ = w.Spend(j) },
		},
		{name: "the suspect is through", before: besideSuspect,
			change: func(w *world, j *job) { w.GotThrough(func(other *job) bool { return other == j }) }},
		{
			name: "the suspect waits once more",
			before: func(t *testing.T, w *world) *job {
				j := besideSuspect(t, w)
				w.Block("b", time.Now().Add(time.Hour))
				return j
			},
			change: func(w *world, j *job) { w.LineUp(j) },
		},
		{
			name: "the last one beside a suspect is settled",
			before: func(t *testing.T, w *world) *job {
				w.send(0, record{id: 10, slot: "a"})
				j := w.take(t)
				w.send(0, record{id: 1, slot: "b", crashes: 1})
				return j
			},
			change: func(w *world, j *job) { w.ledger.Settle(fetched, "") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(frontier.Config[*job]{Rules: tt.rules})
				var j *job
				if tt.before != nil {
					j = tt.before(t, w)
				}
				came := w.sleeper(t)
				wantComes(t, "before the change", came, 0)
				tt.change(w, j)
				wantComes(t, "after the change", came, 1)
				w.end()
			})
		})
	}
}

// A slot with a delay is ready so long after the start of its last download, wherever the worker learns that it has to wait: it
// sleeps before the download starts. It fails if the start does not wake it, or if the slot is stamped when it is picked.
func TestStartSetsTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := frontier.NewRules(frontier.Rule{Policy: slots.Policy{Delay: time.Minute}}, nil)
		w := newWorld(frontier.Config[*job]{Rules: rules})
		j := inHand(t, w)
		came := w.sleeper(t)
		<-time.NewTimer(time.Hour).C
		at, ok := w.Start(j)
		if !ok || !at.Equal(time.Now()) || !w.IsDelayed(j) || w.IsStartable(j) {
			t.Errorf("the job starts at %v (%t), now is %v", at, ok, time.Now())
		}
		if r := <-came; !r.ok || !r.at.Equal(at.Add(time.Minute)) {
			t.Errorf("the next one comes %v after the start, want a minute", r.at.Sub(at))
		}
		w.end()
	})
}

// A queue that holds more than the frontier was told is emptied by all workers. It fails if a worker that takes a request does
// not wake another one for what it has learnt of the rest.
func TestHeadWakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		read := make(chan struct{})
		w.store.reads = func(string) { <-read }
		w.ledger.Discover(2)
		w.store.add(record{id: 10, slot: "a"})
		w.store.add(record{id: 1, slot: "a"})
		w.Accepted(frontier.Stored{Runs: []frontier.Run{{Queue: "a", Number: 1}}})
		first := w.sleeper(t)
		second := w.sleeper(t)
		read <- struct{}{}
		wantComes(t, "first", first, 10)
		select {
		case read <- struct{}{}:
		case <-time.NewTimer(time.Second).C:
			t.Error("nobody reads the rest")
		}
		wantComes(t, "second", second, 1)
		close(read)
		w.end()
	})
}

// Workers that have nothing to do have what is held back handed over, once; they are hungry until one of them finds something.
func TestHungry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := newWorld(frontier.Config[*job]{Fetchers: 1, HandOver: func() { asked++ }})
		want := func(when string, hungry bool, n int) {
			t.Helper()
			if w.IsHungry() != hungry || asked != n {
				t.Errorf("%s: hungry %t, asked %d times; want %t, %d", when, w.IsHungry(), asked, hungry, n)
			}
		}
		want("at the beginning", false, 0)
		came := w.sleeper(t)
		want("without work", true, 1)
		w.SetDelay("b", time.Second, time.Time{})
		want("when something else has changed", true, 1)
		w.send(0, record{id: 1, slot: "a"})
		j := (<-came).job
		want("with work", false, 1)
		came = w.sleeper(t)
		want("without a free worker", false, 1)
		w.Release(j, false)
		synctest.Wait()
		want("with a free worker", true, 2)
		w.end()
		if r := <-came; r.ok {
			t.Error("a request comes at the end")
		}
	})
}

// A worker that sleeps returns when its context ends.
func TestTakeEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, ok, err := w.Take(ctx); ok || err != nil {
			t.Errorf("Take: %t, %v", ok, err)
		}
		came := w.sleeper(t)
		w.ledger.Started()
		if r := <-came; r.ok || r.err != nil {
			t.Errorf("Take at the end of the crawl: %t, %v", r.ok, r.err)
		}
	})
}
