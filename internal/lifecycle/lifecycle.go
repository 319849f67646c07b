// Package lifecycle guards the life of something that is initialized, started, paused, resumed and
// stopped, from any goroutine, in any order, any number of times.
//
// A [Machine] knows what may follow what. Work that takes a while enters a passing status
// ("starting") and leaves it for the one it worked for ("started") or, if it failed, for the one
// it came from. While it lasts no other call can change anything:
//
//	func (e *Engine) Start() error {
//		return e.life.Do(lifecycle.Starting, e.start)
//	}
//
// A refused call changes nothing, so it needs no undoing:
//
//	leave, err := e.life.Enter(lifecycle.Stopping)
//	if err != nil {
//		return err // *TransitionError: says what is allowed instead
//	}
//	leave(e.stop())
//
// An [Ending] takes one run of it to its end in time: it is asked to stop, its work is cancelled when its grace is over, and
// what does not return is left behind.
package lifecycle

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
)

// Status is where in its life a [Machine] is.
type Status uint8

// The statuses. Those that end in "ing" belong to a call that is at work; no other call can change
// them.
const (
	Uninitialized Status = iota // the zero value
	Initializing
	Initialized
	Starting
	Started
	Stopping
	Stopped
	Paused
)

var names = [...]string{"uninitialized", "initializing", "initialized", "starting", "started",
	"stopping", "stopped", "paused"}

// String returns the name in lower case, "status(9)" for one that does not exist.
func (s Status) String() string {
	if int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Next returns the statuses that a caller may ask for in status s: by [Machine.Enter], and by
// [Machine.Pause] and [Machine.Resume]. The rules:
//
//   - nothing while the status is initializing, starting or stopping;
//   - initializing from uninitialized, initialized and stopped;
//   - starting from initialized and stopped: what was stopped can run again;
//   - stopping from started and paused;
//   - paused from started, and started from paused.
func (s Status) Next() []Status {
	switch s {
	case Uninitialized:
		return []Status{Initializing}
	case Initialized, Stopped:
		return []Status{Initializing, Starting}
	case Started:
		return []Status{Stopping, Paused}
	case Paused:
		return []Status{Stopping, Started}
	}
	return nil
}

// allows is Next without the slice.
func (s Status) allows(to Status) bool {
	switch to {
	case Initializing:
		return s == Uninitialized || s == Initialized || s == Stopped
	case Starting:
		return s == Initialized || s == Stopped
	case Stopping:
		return s == Started || s == Paused
	case Paused:
		return s == Started
	case Started:
		return s == Paused
	}
	return false
}

// TransitionError is the refusal of a change of status. Nothing was changed.
type TransitionError struct {
	From Status // what the status was
	To   Status // what was asked for
}

// Error says what is not allowed, and what is instead.
func (e *TransitionError) Error() string {
	next := e.From.Next()
	if len(next) == 0 {
		return fmt.Sprintf("lifecycle: %s cannot become %s: wait until it is no longer %[1]s", e.From, e.To)
	}
	allowed := make([]string, len(next))
	for i, s := range next {
		allowed[i] = s.String()
	}
	return fmt.Sprintf("lifecycle: %s cannot become %s, only %s", e.From, e.To, strings.Join(allowed, " or "))
}

// Machine holds a [Status]. The zero value is uninitialized and ready for use; it must not be
// copied. All methods are safe for concurrent use and never block.
type Machine struct {
	status atomic.Uint32
}

// Status returns the status now.
func (m *Machine) Status() Status { return Status(m.status.Load()) }

// Enter begins the work that wanted names: Initializing, Starting or Stopping; anything else, and
// what the present status does not allow ([Status.Next]), is a [*TransitionError].
//
// If err is nil the caller must call leave when the work is done, with its error. leave(nil) makes
// the status initialized, started or stopped; any error makes it what it was before. Only the
// first call of leave counts.
func (m *Machine) Enter(wanted Status) (leave func(err error), err error) {
	var success Status
	switch wanted {
	case Initializing, Starting, Stopping:
		success = wanted + 1
	default:
		return nil, &TransitionError{From: m.Status(), To: wanted}
	}
	old, err := m.change(wanted)
	if err != nil {
		return nil, err
	}
	var left atomic.Bool
	return func(err error) {
		if left.Swap(true) {
			return
		}
		// A plain store is enough: only the call that entered can leave.
		if err != nil {
			m.status.Store(uint32(old))
		} else {
			m.status.Store(uint32(success))
		}
	}, nil
}

// errUnfinished is what work that panics leaves with.
var errUnfinished = errors.New("lifecycle: work did not return")

// Do enters wanted, calls work and leaves with its error, which it returns. A panic of work
// restores the status and goes on.
func (m *Machine) Do(wanted Status, work func() error) error {
	leave, err := m.Enter(wanted)
	if err != nil {
		return err
	}
	err = errUnfinished
	defer func() { leave(err) }()
	err = work()
	return err
}

// Pause turns started into paused; in any other status it is a [*TransitionError].
func (m *Machine) Pause() error {
	_, err := m.change(Paused)
	return err
}

// Resume turns paused into started; in any other status it is a [*TransitionError].
func (m *Machine) Resume() error {
	_, err := m.change(Started)
	return err
}

// change is the one place that checks and sets, as one step.
func (m *Machine) change(to Status) (from Status, err error) {
	for {
		from = m.Status()
		if !from.allows(to) {
			return from, &TransitionError{From: from, To: to}
		}
		if m.status.CompareAndSwap(uint32(from), uint32(to)) {
			return from, nil
		}
	}
}
