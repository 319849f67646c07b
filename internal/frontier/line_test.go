package frontier_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

var errGivenUp = errors.New("given up")

// givenUp is a context that is done, and does something before anybody learns why.
type givenUp struct {
	context.Context
	meanwhile func()
}

func (g givenUp) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

func (g givenUp) Err() error {
	g.meanwhile()
	return errGivenUp
}

// What is granted at the moment when a job gives up is given to the next: slot and worker. It fails if one that has given up keeps
// them.
func TestGrantComesTooLate(t *testing.T) {
	for name, wait := range map[string]func(l *yielder, ctx context.Context, j *job) error{
		"slot":       func(l *yielder, ctx context.Context, j *job) error { return l.WaitSlot(ctx, j) },
		"slot again": func(l *yielder, ctx context.Context, j *job) error { return l.WaitAgain(ctx, j) },
		"slot that was yielded": func(l *yielder, ctx context.Context, j *job) error {
			l.BeginFetch(j)
			l.EndFetch(j)
			return l.ReacquireSlot(ctx, j)
		},
	} {
		t.Run(name, func(t *testing.T) {
			yields(t, func(l *yielder) {
				j := newInline("a")
				granted := false
				err := wait(l, givenUp{context.Background(), func() {
					l.Release(l.job, false)
					<-time.NewTimer(time.Millisecond).C // until the worker that sleeps has served the job
					free, inline, _ := l.Left()
					granted = free+inline == 3
				}}, j)
				if err != errGivenUp || !granted {
					l.t.Errorf("the error is %v, and the job was granted its slot: %t", err, granted)
				}
				l.want("at the end", j, false)
				l.wantLeft(l.t, 2, 2)
				l.Release(l.inline(l.t, "a"), false)
			})
		})
	}
}

// A job whose answer has come has no slot any more: it holds back nobody, and is never delayed.
func TestAnsweredHasNoSlot(t *testing.T) {
	rules := frontier.NewRules(frontier.Rule{Policy: slots.Policy{Limit: 1, Delay: time.Second}}, nil)
	w := newWorld(frontier.Config[*job]{Rules: rules})
	w.send(0, record{id: 1, slot: "a"})
	j := w.take(t)
	if !w.HasSlot(j) || !w.IsStartable(j) || !w.IsDelayed(j) {
		t.Error("a job that was taken has no slot")
	}
	at, ok := w.Start(j)
	if !ok || w.IsStartable(j) || !w.Answered(j, frontier.Answer{Came: true}, at) {
		t.Error("a job that may start does not")
	}
	if w.HasSlot(j) || w.IsDelayed(j) || !w.IsStartable(j) || w.Answered(j, frontier.Answer{Refused: true}, at) {
		t.Error("a job whose answer has come has its slot")
	}
	if _, ok := w.Start(j); !ok || !w.Enter(j, gate("address", 1, true)) {
		t.Error("a job without a slot does not start")
	}
	if free, _, _ := w.Left(); free != 3 {
		t.Errorf("%d workers are free, want 3", free)
	}
	if s := w.Status(); len(s) != 1 || s[0].InFlight != 0 {
		t.Errorf("the slot has %+v", s)
	}
}

// A job that has its slot and may not pass its gate stands in line before it releases the slot: the slot remembers the gate. It
// releases its worker, too, and has another one when the gate opens. It fails if the slot is released first: then the slot is
// forgotten, and with it the gate.
func TestWaitAtTheGate(t *testing.T) {
	yields(t, func(l *yielder) {
		if !l.Enter(l.job, gate("address", 1, true)) {
			l.t.Error("the gate is closed")
		}
		j := l.inline(l.t, "b")
		if l.Enter(j, gate("address", 1, true)) {
			l.t.Error("the gate is open")
		}
		result := inBackground(func() error { return l.WaitAgain(l.t.Context(), j) })
		synctest.Wait()
		if len(result) > 0 {
			l.t.Error("the job has its slot before the gate opens")
		}
		l.wantOneBusy()
		l.Release(l.job, false)
		if err := <-result; err != nil || !l.Enter(j, gate("address", 1, true)) {
			l.t.Errorf("the gate is closed: %v", err)
		}
		l.Release(j, false)
	})
}

// The limit of a gate is divided among the programs that there are, and each has 1 at least.
func TestSharedGate(t *testing.T) {
	for programs, want := range map[int]int{0: 4, 1: 4, 2: 2, 3: 1, 9: 1} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(frontier.Config[*job]{Fetchers: 9})
			w.Share(programs)
			entered := 0
			for i := range 6 {
				w.send(0, record{id: i + 1, slot: string(rune('a' + i))})
				if w.Enter(w.take(t), gate("address", 4, false)) {
					entered++
				}
			}
			if entered != want {
				t.Errorf("%d of 4 requests pass, which %d programs divide; want %d", entered, programs, want)
			}
		})
	}
}

// A worker for inline requests serves those in line alone, and goes back to those.
func TestInlineServesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(frontier.Config[*job]{Fetchers: 1, Inline: 1})
		w.send(0, record{id: 1, slot: "a"}, record{id: 2, slot: "a"})
		first := w.take(t)
		came := w.sleeper(t)
		inline := w.inline(t, "a")
		w.wantLeft(t, 0, 0)
		w.Release(inline, false)
		w.wantLeft(t, 0, 1)
		wantComes(t, "by a worker for inline requests", came, 0)
		w.Release(first, false)
		wantComes(t, "when the slot is free", came, 2)
		w.end()
	})
}

// gate is a gate of all programs.
func gate(name string, limit int, stays bool) frontier.Gate {
	return frontier.Gate{Gate: slots.Gate{Name: name, Limit: limit, Stays: stays}}
}
