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

// lender is a frontier with one slot for one job, which a job of the queue has.
type lender struct {
	*world
	t   *testing.T
	job *job
}

// lends runs code in a bubble where a job of the queue has the only slot. When the code returns, nothing may be claimed.
func lends(t *testing.T, code func(l *lender)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rules := frontier.NewRules(frontier.Rule{Policy: slots.Policy{Limit: 1}}, nil)
		l := &lender{world: newWorld(frontier.Config[*job]{Rules: rules, Fetchers: 2, Inline: 2}), t: t}
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
func (l *lender) noError(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Error(err)
	}
}

// wantOneBusy wants one worker to be claimed, of the queues or for inline requests.
func (l *lender) wantOneBusy() {
	l.t.Helper()
	if free, inline, _ := l.Left(); free+inline != 3 {
		l.t.Errorf("%d workers and %d for inline requests are left, want 3 together", free, inline)
	}
}

// begins starts to reclaim the slot, and returns where the result comes.
func (l *lender) begins(ctx context.Context, j *job) <-chan error {
	l.t.Helper()
	if !l.EndFetch(j) {
		l.t.Fatal("the last call does not reclaim")
	}
	result := inBackground(func() error { return l.ReclaimSlot(ctx, j) })
	synctest.Wait()
	return result
}

func (l *lender) want(when string, j *job, has bool) {
	l.t.Helper()
	if l.HasSlot(j) != has {
		l.t.Errorf("%s: the job has its slot: %t, want %t", when, !has, has)
	}
}

// A job lends its slot while its callback fetches, and has it again when the last fetch is over and the slot is free.
func TestSlotIsLent(t *testing.T) {
	lends(t, func(l *lender) {
		l.BeginFetch(l.job)
		l.BeginFetch(l.job)
		l.want("while it fetches", l.job, false)
		j := l.inline(l.t, "a")
		if l.EndFetch(l.job) {
			l.t.Error("the first of two calls reclaims the slot")
		}
		result := l.begins(l.t.Context(), l.job)
		l.want("while another job has it", l.job, false)
		l.Release(j, false)
		l.noError(<-result)
		l.want("at the end", l.job, true)
		l.BeginFetch(l.job) // it may lend it again
		l.noError(<-l.begins(l.t.Context(), l.job))
		l.want("after another fetch", l.job, true)
		l.Release(l.job, false)
	})
}

// An inline job whose middleware fetches lends its worker, too, and has both again.
func TestInlineJobLendsItsWorker(t *testing.T) {
	lends(t, func(l *lender) {
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

// A slot that is granted to a job after another fetch has begun goes to that one; the last call reclaims it once more.
func TestSlotIsReclaimedByTheLast(t *testing.T) {
	lends(t, func(l *lender) {
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
			l.t.Error("two calls reclaim the slot at once")
		}
		l.Release(other, false)
		l.noError(<-second)
		l.want("at the end", l.job, true)
		l.Release(l.job, false)
	})
}

// A job that is over when its slot is granted does not have it: neither one that was released, nor one whose answer has come.
func TestSlotOfJobThatIsOver(t *testing.T) {
	for name, over := range map[string]func(l *lender){
		"released": func(l *lender) { l.Release(l.job, false) },
		"answered": func(l *lender) { l.Answered(l.job, frontier.Answer{}, time.Now()) },
		"put back": func(l *lender) {
			l.PutBack(l.job)
			for range l.Stop() {
				l.Release(l.job, true)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			lends(t, func(l *lender) {
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
					l.t.Error("a job that is over reclaims its slot")
				}
				l.Release(l.job, false)
			})
		})
	}
}

// A job that gives up waiting for its slot leaves the line, and takes nothing along that comes at the same moment.
func TestWaitForSlotEnds(t *testing.T) {
	why := errors.New("given up")
	wait := map[string]func(l *lender, ctx context.Context, j *job) <-chan error{
		"slot": func(l *lender, ctx context.Context, j *job) <-chan error {
			return inBackground(func() error { return l.WaitSlot(ctx, j) })
		},
		"slot again": func(l *lender, ctx context.Context, j *job) <-chan error {
			return inBackground(func() error { return l.WaitAgain(ctx, j) })
		},
		"slot that was lent": func(l *lender, ctx context.Context, j *job) <-chan error {
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
				lends(t, func(l *lender) {
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
