//go:build unix

package main

import (
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria/internal/killtest"
)

// fault is what befalls a program in each of its first starts.
type fault struct {
	name, title string
	ends        bool // it ends the program, or asks it to end
	starts      int  // that it befalls
	// befalls says what befalls a start. left is how many pages were never served; random numbers are those of the run.
	befalls func(left int, random *rand.Rand) []killtest.Fault
	// trouble makes what is more than signals; nil: nothing is. The error says why it cannot be made here.
	trouble func(*scene) (*trouble, error)
}

// trouble is a fault of what a program needs. Each func may be nil.
type trouble struct {
	command func(argv []string) []string // changes the command of a start
	come    func() error                 // it comes: a Count of befalls has been reached
	ended   func() error                 // the start has ended, and the next one is to find all in order
	close   func() error
}

// nothing is a signal that does nothing to a program that runs.
const nothing = syscall.SIGCONT

const outage = time.Minute

func faults() []fault {
	return append([]fault{
		{"kill", "SIGKILL at a random request", true, struck, atRequest(syscall.SIGKILL), nil},
		{"first", "SIGKILL within a second of the start", true, struck, func(_ int, random *rand.Rand) []killtest.Fault {
			return []killtest.Fault{{After: time.Duration(random.Int64N(int64(time.Second)))}}
		}, nil},
		{"last", "SIGKILL at one of the last requests, or up to 200 ms later", true, struck, func(left int, random *rand.Rand) []killtest.Fault {
			return []killtest.Fault{{Count: max(1, left-random.IntN(20)), After: time.Duration(random.Int64N(int64(200 * time.Millisecond)))}}
		}, nil},
		{"term", "SIGTERM at a random request", true, struck, atRequest(syscall.SIGTERM), nil},
		{"int", "SIGINT at a random request", true, struck, atRequest(syscall.SIGINT), nil},
		{"pause", "SIGSTOP at a random request, and SIGCONT two seconds later", false, struck, func(left int, random *rand.Rand) []killtest.Fault {
			at := 1 + random.IntN(max(1, left))
			return []killtest.Fault{{Count: at, Signal: syscall.SIGSTOP}, {Count: at, Signal: syscall.SIGCONT, After: 2 * time.Second}}
		}, nil},
		{"down", "from a random request on, the site is away for a minute", false, 1, comes, outages},
	}, systemFaults()...)
}

// atRequest sends a signal at a random request, or up to 30 ms later.
func atRequest(signal syscall.Signal) func(int, *rand.Rand) []killtest.Fault {
	return func(left int, random *rand.Rand) []killtest.Fault {
		return []killtest.Fault{{Count: 1 + random.IntN(max(1, left)), Signal: signal, After: time.Duration(random.Int64N(int64(30 * time.Millisecond)))}}
	}
}

// comes has the trouble come at a random request.
func comes(left int, random *rand.Rand) []killtest.Fault {
	return []killtest.Fault{{Count: 1 + random.IntN(max(1, left)), Signal: nothing}}
}

// outages has the site go away. Nobody starts a program again before it is back.
func outages(s *scene) (*trouble, error) {
	var back chan error // nil: it has not gone
	return &trouble{
		come: func() error {
			gone := make(chan error, 1)
			back = gone
			time.AfterFunc(outage, func() { gone <- s.server.up() })
			return s.server.down()
		},
		ended: func() error {
			if back == nil {
				return nil
			}
			err := <-back
			back = nil
			return err
		},
	}, nil
}
