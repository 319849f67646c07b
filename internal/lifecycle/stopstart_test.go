package lifecycle_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/lifecycle"
)

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

// A refused call writes nothing. Fails when Enter sets the status, or hands out a leave that
// restores it, before it has looked whether the change is allowed: somebody else's work then ends
// in a status that nobody can leave.
func TestRefusalWritesNothing(t *testing.T) {
	for _, status := range statuses {
		for _, wanted := range statuses {
			m := at(t, status)
			leave, err := m.Enter(wanted)
			if err == nil {
				continue
			}
			if leave != nil || m.Status() != status {
				t.Errorf("%s to %s is refused, yet leave is given: %t, status %s", status, wanted, leave != nil, m.Status())
			}
		}
	}
	// One at work, others refused, and it is never stuck.
	m := at(t, initialized)
	for range 500 {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { m.Do(starting, func() error { return nil }) })
			wg.Go(func() { m.Do(stopping, func() error { return nil }) })
		}
		wg.Wait()
		if s := m.Status(); s != started && s != stopped {
			t.Fatalf("it is stuck in %s", s)
		}
	}
}
