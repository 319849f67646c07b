//go:build unix

package lifecycle_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/lifecycle"
)

// A signal that comes while no run is on counts as none. Then the first one asks the run to end, the second one cancels
// its work, which has a cancel grace, and the third one leaves it behind at once.
func TestObeySignals(t *testing.T) {
	steps := make(chan string)
	cancelled := false
	cancel := func(error) bool {
		if cancelled {
			return false
		}
		cancelled = true
		steps <- "cancel"
		return true
	}
	e := lifecycle.NewEnding(lifecycle.Steps{
		Grace: 4 * time.Hour, CancelGrace: time.Hour, Now: time.Now, Over: errOver,
		Stop: func() { steps <- "stop" }, Cancel: cancel, Leave: func() { steps <- "leave" }, Abandon: func() {},
	})
	ctrlC := errors.New("Ctrl-C")
	asked := false
	end := lifecycle.ObeySignals(func() *lifecycle.Ending {
		if !asked {
			asked = true
			steps <- "nothing"
			return nil
		}
		return e
	}, ctrlC)
	defer end()
	supervised := make(chan struct{})
	go func() {
		defer close(supervised)
		e.Supervise(t.Context())
	}()
	for _, want := range []string{"nothing", "stop", "cancel", "leave"} {
		if err := syscall.Kill(syscall.Getpid(), syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if got := <-steps; got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	if reason, cause, _ := e.Why(); reason != lifecycle.Requested || cause != ctrlC {
		t.Errorf("it was asked for %q: %v", reason, cause)
	}
	e.Over()
	<-supervised
}
