package frontier_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// yielder is a frontier with one slot for one job, which a job of the queue has.
type yielder struct {
	*world
	t   *testing.T
	job *job
}

// yields runs code in a bubble where a job of the queue has the only slot. When the code returns, nothing may be claimed.
func yields(t *testing.T, code func(l *yielder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rules := frontier.NewRules(frontier.Rule{Policy: slots.Policy{Limit: 1}}, nil)
		l := &yielder{world: newWorld(frontier.Config[*job]{Rules: rules, Fetchers: 2, Inline: 2}), t: t}
		l.send(0, record{id: 1, slot: "a"})
		l.job = l.take(t)
		leads := make(chan struct{})
		go func() { // a worker that has nothing to do serves those in line
			defer close(leads)
			if j, ok, err := l.Take(t.Context()); ok || err != nil {
				t.Errorf("Take: %v, %v", j, err)
			}
		}()
		synctest.Wait()
		code(l)
		l.ledger.Settle(fetched, "")
		l.ledger.Started()
		<-leads
		l.wantLeft(l.t, 2, 2)
		l.wantNoneInHand(t)
	})
}

// noError wants the result of a wait to be none.
func (l *yielder) noError(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Error(err)
	}
}

// wantOneBusy wants one worker to be claimed, of the queues or for inline requests.
func (l *yielder) wantOneBusy() {
	l.t.Helper()
	if free, inline, _ := l.Left(); free+inline != 3 {
		l.t.Errorf("%d workers and %d for inline requests are left, want 3 together", free, inline)
	}
}

// begins starts to reacquire the slot, and returns where the result comes.
func (l *yielder) begins(ctx context.Context, j *job) <-chan error {
	l.t.Helper()
	if !l.EndFetch(j) {
		l.t.Fatal("the last call does not reacquire")
	}
	result := inBackground(func() error { return l.ReacquireSlot(ctx, j) })
	synctest.Wait()
	return result
}

func (l *yielder) want(when string, j *job, has bool) {
	l.t.Helper()
	if l.HasSlot(j) != has {
		l.t.Errorf("%s: the job has its slot: %t, want %t", when, !has, has)
	}
}

// A job yields its slot while its callback fetches, and has it again when the last fetch is over and the slot is free.
func TestSlotIsLent(t *testing.T) {
	yields(t, func(l *yielder) {
		l.BeginFetch(l.job)
		l.BeginFetch(l.job)
		l.want("while it fetches", l.job, false)
		j := l.inline(l.t, "a")
		if l.EndFetch(l.job) {
			l.t.Error("the first of two calls reacquires the slot")
		}
		result := l.begins(l.t.Context(), l.job)
		l.want("while another job has it", l.job, false)
		l.Release(j, false)
		l.noError(<-result)
		l.want("at the end", l.job, true)
		l.BeginFetch(l.job) // it may yield it again
		l.noError(<-l.begins(l.t.Context(), l.job))
		l.want("after another fetch", l.job, true)
		l.Release(l.job, false)
	})
}

// An inline job whose middleware fetches yields its worker, too, and has both again.
func TestInlineJobLendsItsWorker(t *testing.T) {
	yields(t, func(l *yielder) {
		l.Release(l.job, false)
		j := l.inline(l.t, "a")
		l.wantOneBusy()
		l.BeginFetch(j)
		l.wantLeft(l.t, 2, 2)
		l.noError(<-l.begins(l.t.Context(), j))
		l.want("at the end", j, true)
		l.wantOneBusy()
		l.Release(j, false)
	})
}

// A slot that is granted to a job after another fetch has begun goes to that one; the last call reacquires it once more.
func TestSlotIsReclaimedByTheLast(t *testing.T) {
	yields(t, func(l *yielder) {
		l.BeginFetch(l.job)
		other := l.inline(l.t, "a")
		first := l.begins(l.t.Context(), l.job)
		l.BeginFetch(l.job)
		l.Release(other, false)
		l.noError(<-first)
		l.want("while a second call fetches", l.job, false)
		other = l.inline(l.t, "a")
		second := l.begins(l.t.Context(), l.job)
		l.BeginFetch(l.job)
		if l.EndFetch(l.job) {
			l.t.Error("two calls reacquire the slot at once")
		}
		l.Release(other, false)
		l.noError(<-second)
		l.want("at the end", l.job, true)
		l.Release(l.job, false)
	})
}

// A job that is over when its slot is granted does not have it: neither one that was released, nor one whose answer has come.
func TestSlotOfJobThatIsOver(t *testing.T) {
	for name, over := range map[string]func(l *yielder){
		"released": func(l *yielder) { l.Release(l.job, false) },
		"answered": func(l *yielder) { l.Answered(l.job, frontier.Answer{}, time.Now()) },
		"put back": func(l *yielder) {
			l.PutBack(l.job)
			for range l.Stop() {
				l.Release(l.job, true)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			yields(t, func(l *yielder) {
				l.BeginFetch(l.job)
				l.BeginFetch(l.job)
				other := l.inline(l.t, "a")
				l.EndFetch(l.job)
				result := l.begins(l.t.Context(), l.job)
				over(l)
				l.Release(other, false)
				l.noError(<-result)
				l.want("after the end", l.job, false)
				l.BeginFetch(l.job)
				if l.EndFetch(l.job) {
					l.t.Error("a job that is over reacquires its slot")
				}
				l.Release(l.job, false)
			})
		})
	}
}

// A job that gives up waiting for its slot leaves the line, and takes nothing along that comes at the same moment.
func TestWaitForSlotEnds(t *testing.T) {
	why := errors.New("given up")
	wait := map[string]func(l *yielder, ctx context.Context, j *job) <-chan error{
		"slot": func(l *yielder, ctx context.Context, j *job) <-chan error {
			return inBackground(func() error { return l.WaitSlot(ctx, j) })
		},
		"slot again": func(l *yielder, ctx context.Context, j *job) <-chan error {
			return inBackground(func() error { return l.WaitAgain(ctx, j) })
		},
		"slot that was yielded": func(l *yielder, ctx context.Context, j *job) <-chan error {
			j.claim.Inline = false
			l.Release(l.job, false)
			l.noError(l.WaitSlot(l.t.Context(), j))
			l.BeginFetch(j)
			l.job = l.inline(l.t, "a")
			return l.begins(ctx, j)
		},
	}
	for name, begin := range wait {
		for round := range 60 {
			late := round > 0
			t.Run(name, func(t *testing.T) {
				yields(t, func(l *yielder) {
					ctx, cancel := context.WithCancelCause(l.t.Context())
					j := newInline("a")
					result := begin(l, ctx, j)
					synctest.Wait()
					if late { // the slot is granted at once
						l.Release(l.job, false)
						for range round % 6 {
							runtime.Gosched()
						}
					}
					cancel(why)
					if err := <-result; err != nil && err != why || err == nil && !late {
						l.t.Errorf("the error is %v, want %v", err, why)
					} else if l.want("at the end", j, err == nil); err == nil {
						l.Release(j, false)
					}
					if !late {
						l.Release(l.job, false)
					}
					synctest.Wait()
					l.Release(l.inline(l.t, "a"), false) // nobody stands before it
				})
			})
		}
	}
}
