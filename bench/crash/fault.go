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
	// befalls says what befalls a start. left is how many pages were never served; random numbers are those of the run.
	befalls func(left int, random *rand.Rand) []killtest.Fault
}

var faults = []fault{
	{"kill", "SIGKILL at a random request", true, atRequest(syscall.SIGKILL)},
	{"first", "SIGKILL within half a second of the start", true, func(_ int, random *rand.Rand) []killtest.Fault {
		return []killtest.Fault{{After: time.Duration(random.Int64N(int64(500 * time.Millisecond)))}}
	}},
	{"last", "SIGKILL at one of the last requests, or up to 200 ms later", true, func(left int, random *rand.Rand) []killtest.Fault {
		return []killtest.Fault{{Count: max(1, left-random.IntN(20)), After: time.Duration(random.Int64N(int64(200 * time.Millisecond)))}}
	}},
	{"term", "SIGTERM at a random request", true, atRequest(syscall.SIGTERM)},
	{"int", "SIGINT at a random request", true, atRequest(syscall.SIGINT)},
	{"pause", "SIGSTOP at a random request, and SIGCONT two seconds later", false, func(left int, random *rand.Rand) []killtest.Fault {
		at := 1 + random.IntN(max(1, left))
		return []killtest.Fault{{Count: at, Signal: syscall.SIGSTOP}, {Count: at, Signal: syscall.SIGCONT, After: 2 * time.Second}}
	}},
}

// atRequest sends a signal at a random request, or up to 30 ms later.
func atRequest(signal syscall.Signal) func(int, *rand.Rand) []killtest.Fault {
	return func(left int, random *rand.Rand) []killtest.Fault {
		return []killtest.Fault{{Count: 1 + random.IntN(max(1, left)), Signal: signal, After: time.Duration(random.Int64N(int64(30 * time.Millisecond)))}}
	}
}
