package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/lifecycle"
)

// pause lets time pass in a bubble of synctest.
func pause(d time.Duration) { <-time.After(d) }

var errOver = errors.New("the grace is over")

// run is a run that has an ending, and notes when each of its steps came.
type run struct {
	*lifecycle.Ending
	began     time.Time
	mu        sync.Mutex
	cancelled bool
	steps     []string
	done      sync.WaitGroup
}

// begin starts a run with 20 s of grace and a cancel grace of 1 s.
func begin(ctx context.Context, limit, grace time.Duration) *run {
	r := &run{began: time.Now()}
	r.Ending = lifecycle.NewEnding(lifecycle.Steps{
		Limit: limit, Grace: grace, CancelGrace: time.Second, Over: errOver,
		Now:  func() time.Time { return r.began.Add(time.Since(r.began)) },
		Stop: func() { r.note("stop") },
		Cancel: func(cause error) bool {
			r.mu.Lock()
			before := r.cancelled
			r.cancelled = true
			r.mu.Unlock()
			if before {
				return false
			}
			r.note("cancel: " + cause.Error())
			return true
		},
		Leave:   func() { r.note("leave") },
		Abandon: func() { r.note("abandon") },
	})
	r.done.Go(func() { r.Supervise(ctx) })
	return r
}

func (r *run) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.steps = append(r.steps, fmt.Sprintf("%s %s", time.Since(r.began), what))
}

// end returns what has happened by the end of the run, which ends after that time.
func (r *run) end(after time.Duration) string {
	pause(time.Until(r.began.Add(after)))
	r.Over()
	r.done.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.steps, "; ")
}

func TestEnding(t *testing.T) {
	const s = time.Second
	broke := errors.New("broke")
	tests := []struct {
		name   string
		limit  time.Duration
		grace  time.Duration
		play   func(r *run, cancel context.CancelCauseFunc)
		want   string
		reason string
	}{
		{"nothing", 0, 20 * s, func(*run, context.CancelCauseFunc) {}, "", ""},
		{"asked", 0, 20 * s, func(r *run, _ context.CancelCauseFunc) {
			pause(2 * s)
			r.Ask("mine", nil)
			r.Ask("another", nil)
		}, "2s stop; 21s cancel: the grace is over; 22s leave; 23s abandon", "mine"},
		{"asked with little grace", 0, 2 * s, func(r *run, _ context.CancelCauseFunc) { r.Ask("mine", nil) },
			"0s stop; 1.5s cancel: the grace is over; 2s leave; 3s abandon", "mine"},
		{"limit", 3 * s, 20 * s, func(*run, context.CancelCauseFunc) {},
			"3s stop; 22s cancel: the grace is over; 23s leave; 24s abandon", lifecycle.TimeLimit},
		{"limit after it was asked", 3 * s, 20 * s, func(r *run, _ context.CancelCauseFunc) { r.Ask("mine", nil) },
			"0s stop; 19s cancel: the grace is over; 20s leave; 21s abandon", "mine"},
		{"cancelled", 0, 20 * s, func(_ *run, cancel context.CancelCauseFunc) {
			pause(2 * s)
			cancel(errors.New("enough"))
		}, "2s stop; 2s cancel: enough; 3s leave; 4s abandon", lifecycle.Cancelled},
		{"cancelled in its grace", 0, 20 * s, func(r *run, cancel context.CancelCauseFunc) {
			r.Ask("mine", nil)
			pause(5 * s)
			cancel(errors.New("enough"))
		}, "0s stop; 5s cancel: enough; 6s leave; 7s abandon", "mine"},
		{"hurried", 0, 20 * s, func(r *run, _ context.CancelCauseFunc) {
			pause(2 * s)
			r.Hurry(s)
		}, "2s stop; 2s cancel: the grace is over; 3s leave; 4s abandon", lifecycle.Requested},
		{"hurried at once", 0, 20 * s, func(r *run, _ context.CancelCauseFunc) { r.Hurry(0) },
			"0s stop; 0s cancel: the grace is over; 0s leave; 1s abandon", lifecycle.Requested},
		{"hurried again, sooner", 0, 20 * s, func(r *run, _ context.CancelCauseFunc) {
			r.Hurry(s)
			pause(s / 4)
			r.Hurry(s / 4)
		}, "0s stop; 0s cancel: the grace is over; 500ms leave; 1.5s abandon", lifecycle.Requested},
		{"hurried again, later", 0, 20 * s, func(r *run, _ context.CancelCauseFunc) {
			r.Hurry(s / 2)
			pause(s / 4)
			r.Hurry(s)
		}, "0s stop; 0s cancel: the grace is over; 500ms leave; 1.5s abandon", lifecycle.Requested},
		{"hurried when code was left behind", 0, 20 * s, func(r *run, _ context.CancelCauseFunc) {
			r.Hurry(0)
			pause(s / 2)
			r.Hurry(0)
		}, "0s stop; 0s cancel: the grace is over; 0s leave; 1s abandon", lifecycle.Requested},
		{"hurried after the grace", 0, 4 * s, func(r *run, _ context.CancelCauseFunc) {
			r.Ask("mine", nil)
			pause(3*s + s/2)
			r.Hurry(s / 4)
		}, "0s stop; 3s cancel: the grace is over; 3.75s leave; 4.75s abandon", "mine"},
		{"broken", 0, 20 * s, func(r *run, _ context.CancelCauseFunc) {
			r.Break(broke)
			r.Break(errors.New("again"))
			r.Hurry(s)
		}, "0s stop; 0s cancel: the grace is over; 1s leave; 2s abandon", lifecycle.Broken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(context.Background())
				defer cancel(nil)
				r := begin(ctx, tt.limit, tt.grace)
				synctest.Wait()
				tt.play(r, cancel)
				if got := r.end(time.Minute); got != tt.want {
					t.Errorf("steps\n%s, want\n%s", got, tt.want)
				}
				reason, cause, broken := r.Why()
				if reason != tt.reason {
					t.Errorf("reason %q, want %q", reason, tt.reason)
				}
				if (broken == broke) != (reason == lifecycle.Broken) || (cause == broke) != (reason == lifecycle.Broken) {
					t.Errorf("cause %v, broken by %v", cause, broken)
				}
			})
		})
	}
}

// A run that ends before its grace is over takes no step more.
func TestEndingIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begin(t.Context(), time.Minute, 20*time.Second)
		pause(time.Second)
		r.Ask("mine", nil)
		select {
		case <-r.Asked():
		default:
			t.Error("Asked is open")
		}
		if got := r.end(5 * time.Second); got != "1s stop" {
			t.Errorf("steps %q", got)
		}
		pause(time.Hour)
		if len(r.steps) != 1 {
			t.Errorf("steps after the end: %q", r.steps)
		}
	})
}

// A reason that somebody insists on stays, whatever comes later, and takes the place of one that nobody has insisted on. Nothing
// left to do is how any other run ends, whoever asked it to stop, unless it is broken.
func TestEndingReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name     string
			do       func(r *lifecycle.Ending)
			reason   string
			insisted bool
			finishes bool
		}{
			{"asked", func(r *lifecycle.Ending) { r.Ask("mine", nil) }, "mine", false, true},
			{"insisted first", func(r *lifecycle.Ending) { r.Insist("mine"); r.Ask("yours", nil) }, "mine", true, false},
			{"insisted second", func(r *lifecycle.Ending) { r.Ask("yours", nil); r.Insist("mine"); r.Insist("late") }, "mine", true, false},
			{"insisted after the end of ctx", func(r *lifecycle.Ending) { r.Ask(lifecycle.Cancelled, errOver); r.Insist("mine") }, lifecycle.Cancelled, false, true},
			{"broken", func(r *lifecycle.Ending) { r.Break(errOver) }, lifecycle.Broken, false, false},
		} {
			r := begin(t.Context(), 0, time.Second)
			tt.do(r.Ending)
			if reason, _, _ := r.Why(); reason != tt.reason || r.Insisted() != tt.insisted {
				t.Errorf("%s: reason %q, insisted %t", tt.name, reason, r.Insisted())
			}
			want := tt.reason
			if tt.finishes {
				want = lifecycle.Finished
			}
			finished := r.Finish(lifecycle.Finished)
			if reason, _, broken := r.Why(); finished != tt.finishes || reason != want || (broken != nil) != (want == lifecycle.Broken) {
				t.Errorf("%s: finished %t, reason %q, broken by %v", tt.name, finished, reason, broken)
			}
			r.end(0)
		}
	})
}

// Await reports whether the run has ended within the time that its work and its parts have.
func TestEndingAwait(t *testing.T) {
	const s = time.Second
	tests := []struct {
		name    string
		close   time.Duration // when two parts begin to be closed; 0: never
		gone    time.Duration // 0: never
		patient time.Duration // of the context; 0: for ever
		took    time.Duration
		over    bool
		late    bool
	}{
		{"gone", s, 2 * s, 0, 2 * s, true, false},
		{"its work does not end", 0, 0, 0, 11*s + s/2, false, true},
		{"its parts do not close", 3 * s, 0, 0, 26 * s, false, true}, // 20 s of grace and 1 for each and the end
		{"its parts take long", 11 * s, 30 * s, 0, 30 * s, true, false},
		{"who waits has no patience", s, 9 * s, 4 * s, 4 * s, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := begin(t.Context(), 0, 20*s)
				r.end(0)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tt.patient > 0 {
					time.AfterFunc(tt.patient, cancel)
				}
				if tt.close > 0 {
					time.AfterFunc(tt.close, func() { r.Close(2) })
				}
				if tt.gone > 0 {
					time.AfterFunc(tt.gone, r.Gone)
				}
				over, late := r.Await(ctx, 10*s)
				if took := time.Since(r.began); over != tt.over || late != tt.late || took != tt.took {
					t.Errorf("over %t, late %t after %s, want %t, %t after %s", over, late, took, tt.over, tt.late, tt.took)
				}
			})
		})
	}
}

// A Hurry cuts the closing of the parts short if it comes while they are closed, not if it has come before.
func TestEndingHurried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hurried := func(r *run) bool {
			select {
			case <-r.Hurried():
				return true
			default:
				return false
			}
		}
		r := begin(t.Context(), 0, time.Second)
		r.end(0)
		r.Hurry(0)
		r.Close(1)
		if hurried(r) {
			t.Error("a Hurry from before cuts the closing short")
		}
		r.Hurry(0)
		r.Hurry(0)
		if !hurried(r) || hurried(r) {
			t.Error("two calls of Hurry yield not one token")
		}
	})
}

// In any order of calls: Stop comes once and first, the work is cancelled once, code is left behind no later than asked for.
func TestEndingModel(t *testing.T) {
	seed := deep.Seed()
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range 300 {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			r := begin(ctx, time.Duration(rng.IntN(2))*5*time.Second, 8*time.Second)
			leaveBy := time.Duration(1 << 62)
			stopped := leaveBy
			for range rng.IntN(6) {
				pause(time.Duration(rng.IntN(3000)) * time.Millisecond)
				now := time.Since(r.began)
				switch rng.IntN(4) {
				case 0:
					r.Ask("mine", nil)
					leaveBy, stopped = min(leaveBy, now+8*time.Second), min(stopped, now)
				case 1:
					r.Break(errOver)
					leaveBy, stopped = min(leaveBy, now+8*time.Second), min(stopped, now)
				case 2:
					bye := time.Duration(rng.IntN(1000)) * time.Millisecond
					r.Hurry(bye)
					leaveBy, stopped = min(leaveBy, now+bye), min(stopped, now)
				case 3:
					cancel(errOver)
					leaveBy, stopped = min(leaveBy, now+time.Second), min(stopped, now)
				}
			}
			got := r.end(time.Hour)
			if stopped == 1<<62 && got == "" {
				return
			}
			names := make([]string, len(r.steps))
			var left time.Duration
			for i, step := range r.steps {
				at, name, _ := strings.Cut(step, " ")
				names[i], _, _ = strings.Cut(name, ":")
				if name == "leave" {
					left, _ = time.ParseDuration(at)
				}
			}
			if want := "[stop cancel leave abandon]"; fmt.Sprint(names) != want {
				t.Errorf("seed %d, round %d: steps %s", seed, round, got)
			}
			if left > leaveBy {
				t.Errorf("seed %d, round %d: left behind after %s, asked for %s: %s", seed, round, left, leaveBy, got)
			}
		})
	}
}
