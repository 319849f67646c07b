package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

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
	m := new(lifecycle.Machine)
	var leave func(error)
	var err error
	way := statuses[1 : s+1]
	if s == paused {
		way = append(slices.Clone(statuses[1:started+1]), paused)
	}
	for _, step := range way {
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

// The whole table of what may follow what, written out: every status against everything that can be asked for. A refused call
// writes nothing, and gives no leave that could write later: somebody else's work would end in a status that nobody can leave.
func TestTransitions(t *testing.T) {
	table := map[lifecycle.Status][]lifecycle.Status{
		uninitialized: {initializing},
		initialized:   {initializing, starting},
		started:       {stopping, paused},
		stopped:       {initializing, starting},
		paused:        {stopping, started},
	}
	for _, from := range statuses {
		if got := from.Next(); !slices.Equal(got, table[from]) {
			t.Errorf("%s: Next %v, want %v", from, got, table[from])
		}
		check := func(call string, to lifecycle.Status, ask func(*lifecycle.Machine) error) {
			t.Run(fmt.Sprintf("%s from %s to %s", call, from, to), func(t *testing.T) {
				m := at(t, from)
				err := ask(m)
				may := call != "Enter" || to == initializing || to == starting || to == stopping
				if may && slices.Contains(table[from], to) {
					if err != nil || m.Status() != to {
						t.Errorf("error %v, status %s", err, m.Status())
					}
					return
				}
				if refused, ok := errors.AsType[*lifecycle.TransitionError](err); !ok || *refused != (lifecycle.TransitionError{From: from, To: to}) || m.Status() != from {
					t.Errorf("error %v, status %s; want a TransitionError of both, and no change", err, m.Status())
				}
			})
		}
		for _, to := range append(slices.Clone(statuses), lifecycle.Status(99)) {
			check("Enter", to, func(m *lifecycle.Machine) error {
				leave, err := m.Enter(to)
				if (leave == nil) != (err != nil) {
					t.Errorf("%s to %s gives a leave: %t, %v", from, to, leave != nil, err)
				}
				return err
			})
		}
		check("Pause", paused, (*lifecycle.Machine).Pause)
		check("Resume", started, (*lifecycle.Machine).Resume)
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

// What was stopped can be started again, as often as one likes, and each start is a piece of work
// that can fail by itself. Fails when starting is not allowed from stopped, or when leaving an
// earlier run still has a say in a later one.
func TestStopThenStart(t *testing.T) {
	m := at(t, initialized)
	var earlier []func(error)
	for range 3 {
		for _, wanted := range []lifecycle.Status{starting, stopping} {
			leave, err := m.Enter(wanted)
			if err != nil {
				t.Fatal(err)
			}
			for _, old := range earlier {
				old(nil)
			}
			if m.Status() != wanted {
				t.Fatalf("an earlier run made it %s", m.Status())
			}
			leave(nil)
			earlier = append(earlier, leave)
		}
		if m.Status() != stopped {
			t.Fatalf("it is %s", m.Status())
		}
		if err := m.Do(starting, func() error { return errors.New("no") }); err == nil || m.Status() != stopped {
			t.Fatalf("a failed start: %v, status %s", err, m.Status())
		}
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
