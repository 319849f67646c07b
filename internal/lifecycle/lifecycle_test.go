package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria/internal/lifecycle"
)

const (
	uninitialized = lifecycle.Uninitialized
	initializing  = lifecycle.Initializing
	initialized   = lifecycle.Initialized
	starting      = lifecycle.Starting
	started       = lifecycle.Started
	stopping      = lifecycle.Stopping
	stopped       = lifecycle.Stopped
	paused        = lifecycle.Paused
)

var statuses = []lifecycle.Status{uninitialized, initializing, initialized, starting, started, stopping, stopped, paused}

// at returns a machine in the given status.
func at(t *testing.T, s lifecycle.Status) *lifecycle.Machine {
	t.Helper()
	paths := map[lifecycle.Status][]lifecycle.Status{
		uninitialized: {},
		initializing:  {initializing},
		initialized:   {initializing, initialized},
		starting:      {initializing, initialized, starting},
		started:       {initializing, initialized, starting, started},
		stopping:      {initializing, initialized, starting, started, stopping},
		stopped:       {initializing, initialized, starting, started, stopping, stopped},
		paused:        {initializing, initialized, starting, started, paused},
	}
	m := new(lifecycle.Machine)
	var leave func(error)
	var err error
	for _, step := range paths[s] {
		switch step {
		case initialized, started, stopped:
			leave(nil)
		case paused:
			err = m.Pause()
		default:
			leave, err = m.Enter(step)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if m.Status() != s {
		t.Fatalf("on the way to %s the machine is %s", s, m.Status())
	}
	return m
}

func TestStatus(t *testing.T) {
	names := []string{"uninitialized", "initializing", "initialized", "starting", "started", "stopping", "stopped", "paused", "status(8)"}
	for i, name := range names {
		if got := lifecycle.Status(i).String(); got != name {
			t.Errorf("status %d is %q, want %q", i, got, name)
		}
	}
}

// The whole table of what may follow what, written out: every status against everything that can
// be asked for.
func TestTransitions(t *testing.T) {
	type row struct{ initializing, starting, stopping, paused, started bool }
	table := map[lifecycle.Status]row{
		uninitialized: {initializing: true},
		initializing:  {},
		initialized:   {initializing: true, starting: true},
		starting:      {},
		started:       {stopping: true, paused: true},
		stopping:      {},
		stopped:       {initializing: true, starting: true},
		paused:        {stopping: true, started: true},
	}
	for _, from := range statuses {
		row := table[from]
		enter := func(to lifecycle.Status) func(*lifecycle.Machine) error {
			return func(m *lifecycle.Machine) error {
				_, err := m.Enter(to)
				return err
			}
		}
		tests := []struct {
			to      lifecycle.Status
			ask     func(*lifecycle.Machine) error
			allowed bool
		}{
			{initializing, enter(initializing), row.initializing},
			{starting, enter(starting), row.starting},
			{stopping, enter(stopping), row.stopping},
			{paused, (*lifecycle.Machine).Pause, row.paused},
			{started, (*lifecycle.Machine).Resume, row.started},
			// Only work can be entered.
			{uninitialized, enter(uninitialized), false},
			{initialized, enter(initialized), false},
			{started, enter(started), false},
			{stopped, enter(stopped), false},
			{paused, enter(paused), false},
			{lifecycle.Status(99), enter(lifecycle.Status(99)), false},
		}
		next := make(map[lifecycle.Status]bool)
		for i, tt := range tests {
			t.Run(fmt.Sprintf("%s to %s %d", from, tt.to, i), func(t *testing.T) {
				m := at(t, from)
				err := tt.ask(m)
				if tt.allowed {
					next[tt.to] = true
					if err != nil || m.Status() != tt.to {
						t.Errorf("error %v, status %s; want it to become %s", err, m.Status(), tt.to)
					}
					return
				}
				var refused *lifecycle.TransitionError
				if !errors.As(err, &refused) || *refused != (lifecycle.TransitionError{From: from, To: tt.to}) {
					t.Errorf("error %v, want a TransitionError of both", err)
				}
				if m.Status() != from {
					t.Errorf("the refusal made it %s", m.Status())
				}
			})
		}
		if got := from.Next(); len(got) != len(next) || slices.ContainsFunc(got, func(s lifecycle.Status) bool { return !next[s] }) {
			t.Errorf("%s: Next %v, want %v", from, got, next)
		}
	}
}

func TestLeave(t *testing.T) {
	tests := []struct{ from, through, to lifecycle.Status }{
		{uninitialized, initializing, initialized},
		{initialized, initializing, initialized},
		{stopped, initializing, initialized},
		{initialized, starting, started},
		{stopped, starting, started},
		{started, stopping, stopped},
		{paused, stopping, stopped},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s from %s", tt.through, tt.from), func(t *testing.T) {
			m := at(t, tt.from)
			for _, fail := range []error{errors.New("failed"), nil} {
				leave, err := m.Enter(tt.through)
				if err != nil || m.Status() != tt.through {
					t.Fatalf("Enter: %v, status %s", err, m.Status())
				}
				leave(fail)
				want := tt.to
				if fail != nil {
					want = tt.from
				}
				if m.Status() != want {
					t.Errorf("after leave(%v) it is %s, want %s", fail, m.Status(), want)
				}
				leave(nil)
				leave(errors.New("late"))
				if m.Status() != want {
					t.Errorf("a second leave made it %s", m.Status())
				}
			}
		})
	}
}

func TestDo(t *testing.T) {
	failed := errors.New("failed")
	m := at(t, initialized)
	if err := m.Do(starting, func() error {
		if m.Status() != starting {
			t.Errorf("it is %s while at work", m.Status())
		}
		return failed
	}); err != failed || m.Status() != initialized {
		t.Errorf("failing work: %v, status %s", err, m.Status())
	}
	func() {
		defer func() {
			if p := recover(); p != failed {
				t.Errorf("recovered %v, want the panic of the work", p)
			}
		}()
		m.Do(starting, func() error { panic(failed) })
	}()
	if m.Status() != initialized {
		t.Errorf("after a panic it is %s", m.Status())
	}
	if err := m.Do(starting, func() error { return nil }); err != nil || m.Status() != started {
		t.Errorf("good work: %v, status %s", err, m.Status())
	}
	var refused *lifecycle.TransitionError
	if err := m.Do(starting, func() error { panic("must not run") }); !errors.As(err, &refused) || m.Status() != started {
		t.Errorf("refused work: %v, status %s", err, m.Status())
	}
}

func TestTransitionError(t *testing.T) {
	tests := []struct {
		err  lifecycle.TransitionError
		want string
	}{
		{lifecycle.TransitionError{From: started, To: initializing}, "lifecycle: started cannot become initializing, only stopping or paused"},
		{lifecycle.TransitionError{From: uninitialized, To: stopping}, "lifecycle: uninitialized cannot become stopping, only initializing"},
		{lifecycle.TransitionError{From: stopping, To: starting}, "lifecycle: stopping cannot become starting: wait until it is no longer stopping"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%q\nwant %q", got, tt.want)
		}
	}
}

// Everybody asks for everything; each piece of work is alone while it lasts.
func TestParallel(t *testing.T) {
	var m lifecycle.Machine
	var working, done [8]atomic.Int32
	var inside atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 3000 {
				switch wanted := []lifecycle.Status{initializing, starting, stopping, paused, started}[(n+i)%5]; wanted {
				case paused:
					m.Pause()
				case started:
					m.Resume()
				default:
					leave, err := m.Enter(wanted)
					if err != nil {
						break
					}
					working[wanted].Add(1)
					if inside.Add(1) != 1 || m.Status() != wanted {
						t.Errorf("not alone in %s", wanted)
					}
					inside.Add(-1)
					if n%7 == 0 {
						leave(errors.New("failed"))
					} else {
						done[wanted].Add(1)
						leave(nil)
					}
				}
			}
		})
	}
	wg.Wait()
	for _, s := range []lifecycle.Status{initializing, starting, stopping} {
		if done[s].Load() == 0 || working[s].Load() < done[s].Load() {
			t.Errorf("%s: entered %d times, done %d times", s, working[s].Load(), done[s].Load())
		}
	}
	if s := m.Status(); s == initializing || s == starting || s == stopping {
		t.Errorf("it is stuck in %s", s)
	}
}

// Looking and changing is one step: each pause that succeeds is followed by one resume that does.
func TestChangesAlternate(t *testing.T) {
	m := at(t, started)
	var wg sync.WaitGroup
	var pauses, resumes atomic.Int64
	for range 4 {
		wg.Go(func() {
			for range 100_000 {
				if m.Pause() == nil {
					pauses.Add(1)
				}
				if m.Resume() == nil {
					resumes.Add(1)
				}
			}
		})
	}
	wg.Wait()
	want := resumes.Load()
	if m.Status() == paused {
		want++
	}
	if pauses.Load() != want {
		t.Errorf("%d pauses and %d resumes end %s", pauses.Load(), resumes.Load(), m.Status())
	}
}

// Of many who stop it at once, one does, and it ends stopped.
func TestConcurrentStop(t *testing.T) {
	for _, from := range []lifecycle.Status{started, paused} {
		synctest.Test(t, func(t *testing.T) {
			m := at(t, from)
			release := make(chan struct{})
			var wg sync.WaitGroup
			var stops, refusals atomic.Int32
			for range 50 {
				wg.Go(func() {
					err := m.Do(stopping, func() error {
						stops.Add(1)
						<-release
						return nil
					})
					var refused *lifecycle.TransitionError
					if errors.As(err, &refused) {
						refusals.Add(1)
					}
				})
			}
			synctest.Wait()
			if m.Status() != stopping {
				t.Errorf("while one is at it: %s", m.Status())
			}
			close(release)
			wg.Wait()
			if stops.Load() != 1 || refusals.Load() != 49 || m.Status() != stopped {
				t.Errorf("%d stops, %d refusals, status %s", stops.Load(), refusals.Load(), m.Status())
			}
		})
	}
}

func ExampleMachine() {
	var life lifecycle.Machine
	nothing := func() error { return nil }
	fmt.Println(life.Do(lifecycle.Starting, nothing))
	fmt.Println(life.Do(lifecycle.Initializing, nothing), life.Status())
	fmt.Println(life.Do(lifecycle.Starting, func() error { return errors.New("no network") }), life.Status())
	fmt.Println(life.Do(lifecycle.Starting, nothing), life.Status())
	fmt.Println(life.Pause(), life.Status())
	fmt.Println(life.Do(lifecycle.Stopping, nothing), life.Status())
	// Output:
	// lifecycle: uninitialized cannot become starting, only initializing
	// <nil> initialized
	// no network initialized
	// <nil> started
	// <nil> paused
	// <nil> stopped
}
