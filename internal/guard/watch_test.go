package guard_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// pause sleeps in a bubble of synctest.
func pause(d time.Duration) { <-time.After(d) }

// owner notes what it is told, and when.
type owner struct {
	began time.Time
	takes time.Duration // how long Abandon takes

	mu   sync.Mutex // guards the fields below
	told []string
	loss guard.Loss
}

func newOwner() *owner { return &owner{began: time.Now()} }

func (o *owner) note(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, fmt.Sprintf(format, args...)+fmt.Sprintf(" at %s", time.Since(o.began)))
}

func (o *owner) Slow(at string, took time.Duration) { o.note("%s slow after %s", at, took) }

func (o *owner) Abandon(l guard.Loss) {
	o.note("%s abandoned", l.At)
	if o.takes > 0 {
		pause(o.takes)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.loss = l
}

func (o *owner) all() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.told)
}

// lateError is the error of a piece over the limit.
type lateError struct{ at string }

func (e lateError) Error() string { return e.at + " takes too long" }

func tooLate(at string) error { return lateError{at} }

// bounded is code with a life of its own.
type bounded struct {
	life guard.Context
	told func(format string, args ...any)
}

// limitError is the error of an bounded over its limit.
type limitError struct{ limit time.Duration }

func (e *limitError) Error() string { return "over " + e.limit.String() }

func (e *bounded) TooLate(limit time.Duration) error { return &limitError{limit} }

func (e *bounded) Cancel(cause error) {
	e.told("cancelled: %v", cause)
	e.life.Cancel(cause)
}

func (e *bounded) Abandoned() { e.told("let go") }

// starts notes when it was started.
type starts func(format string, args ...any)

func (s starts) Start() { s("started") }

// What becomes of one piece, to the nanosecond: it is told of, cancelled, and given up in time, the time that it waits for the
// engine is not its own, and a limit that ends in time has no effect.
func TestWatch(t *testing.T) {
	second := func(n int) func(w *guard.Watch, c *guard.Call, o *owner) {
		return func(*guard.Watch, *guard.Call, *owner) { pause(time.Duration(n) * time.Second) }
	}
	waits := func(before, waits, after int) func(w *guard.Watch, c *guard.Call, o *owner) {
		return func(w *guard.Watch, c *guard.Call, _ *owner) {
			pause(time.Duration(before)*time.Second + time.Millisecond)
			w.Pause(c)
			w.Pause(c)
			pause(time.Duration(waits) * time.Second / 2)
			w.Resume(c)
			pause(time.Duration(waits) * time.Second / 2)
			w.Resume(c)
			pause(time.Duration(after) * time.Second)
		}
	}
	bound := func(took ...int) func(w *guard.Watch, c *guard.Call, o *owner) {
		return func(w *guard.Watch, c *guard.Call, o *owner) {
			e := &bounded{told: o.note}
			e.life.Parent = t.Context()
			w.Limited(c, time.Second, errors.New("has no bounded")) // no effect
			for i, d := range took {
				switch i {
				case 0:
					w.Bound(c, e, time.Now(), 10*time.Second)
				case 1:
					w.Limited(c, 5*time.Second, errors.New("writing"))
				default:
					w.Limited(c, 0, nil)
				}
				pause(time.Duration(d) * time.Second)
			}
		}
	}
	for name, tt := range map[string]struct {
		limit time.Duration
		at    string
		late  bool
		code  func(w *guard.Watch, c *guard.Call, o *owner)
		told  []string
		alive bool
	}{
		"returns in time":   {10 * time.Second, "parse", false, second(9), nil, true},
		"returns when told": {10 * time.Second, "parse", false, func(_ *guard.Watch, c *guard.Call, _ *owner) { <-c.Life.Done() }, []string{"overdue at 10s"}, true},
		"does not return":   {10 * time.Second, "parse", false, second(20), []string{"overdue at 10s", "parse abandoned at 11s"}, false},
		"returns in the cancel grace": {10 * time.Second, "parse", false, func(_ *guard.Watch, c *guard.Call, _ *owner) {
			if <-c.Life.Done(); !c.Overdue() || context.Cause(&c.Life) != tooLate("parse") {
				pause(time.Hour)
			}
			pause(time.Second - 1)
		}, []string{"overdue at 10s"}, true},
		"slow, without a limit":        {0, "parse", false, second(500), []string{"parse slow after 1m0s at 1m0s"}, true},
		"slow, with a long limit":      {100 * time.Second, "parse", false, second(500), []string{"parse slow after 1m0s at 1m0s", "overdue at 1m40s", "parse abandoned at 1m41s"}, false},
		"not slow, with a short limit": {time.Minute, "parse", false, second(500), []string{"overdue at 1m0s", "parse abandoned at 1m1s"}, false},
		"untimed":                      {10 * time.Second, "start", false, second(500), nil, true},
		"waits for the engine":         {10 * time.Second, "parse", false, waits(9, 100, 0), nil, true},
		"goes on after it":             {10 * time.Second, "parse", false, waits(4, 100, 20), []string{"overdue at 1m50s", "parse abandoned at 1m51s"}, false},
		"slow after it":                {0, "parse", false, waits(50, 100, 20), []string{"parse slow after 1m0s at 2m40s"}, true},
		"waits too late":               {10 * time.Second, "parse", false, waits(10, 100, 0), []string{"overdue at 10s", "parse abandoned at 11s"}, false},
		"late":                         {10 * time.Second, "parse", true, second(1), []string{"started at 1ms"}, true},
		"not late":                     {10 * time.Second, "parse", true, func(*guard.Watch, *guard.Call, *owner) { pause(time.Millisecond - 1) }, nil, true},
		"late and given up":            {10 * time.Second, "parse", true, second(20), []string{"started at 1ms", "overdue at 10s", "parse abandoned at 11s"}, false},
		"bounded in time":              {time.Second, "download", false, bound(9), nil, true},
		"bounded too late":             {time.Second, "download", false, bound(11), []string{"cancelled: over 10s at 10s"}, true},
		"bounded given up":             {time.Second, "download", false, bound(20), []string{"cancelled: over 10s at 10s", "let go at 12s", "download abandoned at 12s"}, false},
		"part in time":                 {time.Second, "download", false, bound(9, 4, 100), nil, true},
		"part too late":                {time.Second, "download", false, bound(9, 6, 100), []string{"cancelled: writing at 14s"}, true},
		"part given up":                {time.Second, "download", false, bound(9, 60, 100), []string{"cancelled: writing at 14s", "let go at 16s", "download abandoned at 16s"}, false},
		"ends its goroutine":           {time.Second, "parse", true, func(*guard.Watch, *guard.Call, *owner) { runtime.Goexit() }, []string{"started at 0s", "parse abandoned at 0s"}, false},
		"ends it when given up":        {time.Second, "parse", false, func(*guard.Watch, *guard.Call, *owner) { pause(time.Minute); runtime.Goexit() }, []string{"overdue at 1s", "parse abandoned at 2s"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOwner()
				call := &guard.Call{Owner: o}
				w := guard.NewWatch(guard.Config{
					Limit: tt.limit, TooLate: tooLate, Untimed: []string{"start", "download"},
					Overdue: func() { o.note("overdue") },
				})
				call.Life.Parent = t.Context()
				alive := false
				code := guard.Go(func() {
					w.Join(call)
					var late guard.Late
					if tt.late {
						late = starts(o.note)
					}
					alive = run(w, call, tt.at, late, func() { tt.code(w, call, o) })
					w.Leave(call)
				})
				<-code.Done()
				if alive != tt.alive || call.GivenUp() == alive || call.GivenUp() != call.Overdue() {
					t.Errorf("alive %v, given up %v", alive, call.GivenUp())
				}
				if !slices.Equal(o.all(), tt.told) {
					t.Errorf("told %q, want %q", o.all(), tt.told)
				}
				if counts := w.Counts(); !tt.alive && (len(counts) != 1 || counts[tt.at] != 1) || tt.alive && len(counts) != 0 {
					t.Errorf("counted %v", counts)
				}
				if again := run(w, call, tt.at, nil, func() {}); again != tt.alive {
					t.Errorf("another piece: %v", again)
				}
				if n := w.Unreturned(); n != 0 {
					t.Errorf("%d have not returned, though all have", n)
				}
				w.Close()
			})
		})
	}
}

// Why a call was given up is known if it was over a limit of Bound or Limited, and of no other call.
func TestWatchWhy(t *testing.T) {
	writing := errors.New("writing")
	for name, tt := range map[string]struct {
		limits []time.Duration // of Bound, then of Limited
		takes  time.Duration   // before the watch is closed
		why    error
	}{
		"in time":         {[]time.Duration{10 * time.Second}, 9 * time.Second, nil},
		"too late":        {[]time.Duration{10 * time.Second}, 11 * time.Second, &limitError{10 * time.Second}},
		"given up":        {[]time.Duration{10 * time.Second}, time.Minute, &limitError{10 * time.Second}},
		"without a limit": {[]time.Duration{0}, time.Minute, nil},
		"part in time":    {[]time.Duration{10 * time.Second, 20 * time.Second}, 19 * time.Second, nil},
		"part too late":   {[]time.Duration{10 * time.Second, 5 * time.Second}, 6 * time.Second, writing},
		"after a part":    {[]time.Duration{10 * time.Second, 5 * time.Second, 0}, time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOwner()
				w := guard.NewWatch(guard.Config{Untimed: []string{"download"}})
				call := &guard.Call{Owner: o}
				end := make(chan struct{})
				code := guard.Go(func() {
					w.Enter(call, "download")
					e := &bounded{told: o.note}
					e.life.Parent = t.Context()
					w.Bound(call, e, time.Now(), tt.limits[0])
					for _, limit := range tt.limits[1:] {
						w.Limited(call, limit, writing)
					}
					<-end
					if w.Exit(call) {
						t.Error("it was given up")
					}
				})
				pause(tt.takes)
				if err := w.Why(call); err != nil && !call.GivenUp() {
					t.Errorf("before it was given up: %v", err)
				}
				w.Close()
				w.Wait()
				close(end)
				<-code.Done()
				why := fmt.Sprint(tt.why)
				if fmt.Sprint(w.Why(call)) != why || fmt.Sprint(o.loss.TooLate) != why || o.loss.At != "download" {
					t.Errorf("why %v, %+v, want %v", w.Why(call), o.loss, tt.why)
				}
			})
		})
	}
}

// What a piece leaves behind that waits for the engine stops the clock of the next one. It fails if begin does not note since
// when.
func TestWatchPausedFromTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOwner()
		w := guard.NewWatch(guard.Config{Limit: 10 * time.Second, TooLate: tooLate})
		call := &guard.Call{Owner: o}
		call.Life.Parent = t.Context()
		w.Join(call)
		run(w, call, "request", nil, func() { w.Pause(call) })
		pause(time.Minute)
		time.AfterFunc(30*time.Second, func() { w.Resume(call) })
		if !run(w, call, "response", nil, func() { <-call.Life.Done() }) {
			t.Error("it was given up")
		}
		if took := time.Since(o.began); took != 100*time.Second {
			t.Errorf("the limit was over after %s", took)
		}
		w.Close()
	})
}

// While a call waits for the engine, the clocks of all stand that wait for the call, and not its own.
func TestWatchPausesCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := guard.NewWatch(guard.Config{Limit: 10 * time.Second, TooLate: tooLate})
		var last *guard.Call
		var all sync.WaitGroup
		for i, want := range []time.Duration{70 * time.Second, 70 * time.Second, 10 * time.Second} {
			o := newOwner()
			call := &guard.Call{Owner: o, Caller: last}
			call.Life.Parent = t.Context()
			last = call
			all.Go(func() {
				w.Join(call)
				defer w.Leave(call)
				run(w, call, "parse", nil, func() { <-call.Life.Done() })
				if took := time.Since(o.began); took != want {
					t.Errorf("the limit of call %d was over after %s, want %s", i, took, want)
				}
			})
		}
		pause(time.Second)
		resume := w.PauseCallers(last)
		pause(time.Minute)
		resume()
		all.Wait()
		w.Close()
	})
}

// Apart returns when the code has returned, or when its owner has been told that it was given up.
func TestWatchApart(t *testing.T) {
	for name, tt := range map[string]struct {
		code  func()
		close time.Duration // when the watch is closed
		err   error
		took  time.Duration
		told  int
	}{
		"returns":            {func() { pause(time.Second) }, time.Minute, nil, time.Second, 0},
		"is over its limit":  {func() { pause(time.Hour) }, time.Minute, guard.ErrGivenUp, 11*time.Second + 500*time.Millisecond, 1},
		"is given up":        {func() { pause(time.Hour) }, 5 * time.Second, guard.ErrGivenUp, 5*time.Second + 500*time.Millisecond, 1},
		"returns meanwhile":  {func() { pause(5*time.Second + time.Millisecond) }, 5 * time.Second, guard.ErrGivenUp, 5*time.Second + 500*time.Millisecond, 1},
		"ends its goroutine": {func() { pause(time.Second); runtime.Goexit() }, time.Minute, guard.ErrGivenUp, time.Second + 500*time.Millisecond, 1},
		"is refused":         {func() { t.Error("it runs") }, 0, guard.ErrClosed, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOwner()
				o.takes = 500 * time.Millisecond
				w := guard.NewWatch(guard.Config{Limit: 10 * time.Second, TooLate: tooLate})
				if tt.close == 0 {
					w.Close()
				} else {
					time.AfterFunc(tt.close, w.Close)
				}
				err := w.Apart(&guard.Call{Owner: o}, "parse", tt.code)
				if took := time.Since(o.began); err != tt.err || took != tt.took || len(o.all()) != tt.told {
					t.Errorf("%v after %s, told %q", err, took, o.all())
				}
				pause(2 * time.Hour)
			})
		})
	}
}

// run runs a piece of a call, and reports whether it came to its end.
func run(w *guard.Watch, c *guard.Call, at string, late guard.Late, code func()) (alive bool) {
	return w.Run(c, at, late, func() error { code(); return nil }) == nil
}

// Begun and ended pieces allocate nothing.
func TestWatchAllocates(t *testing.T) {
	w := guard.NewWatch(guard.Config{Limit: time.Hour, TooLate: tooLate, Untimed: []string{"start"}})
	defer w.Close()
	call := &guard.Call{Owner: newOwner()}
	code := func() error { return nil }
	w.Join(call)
	w.Run(call, "parse", nil, code) // sets the timer
	if n := testing.AllocsPerRun(100, func() {
		w.Run(call, "parse", nil, code)
		w.Pause(call)
		w.Resume(call)
		w.Leave(call)
		w.Join(call)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
