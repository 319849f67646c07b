//go:build unix

package killtest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/killtest"
)

// shell is a program that does what a script says.
func shell(script string) *exec.Cmd { return exec.Command("sh", "-c", script) }

const endless = "echo begun; exec sleep 1000"

// It fails if a fault does not come, comes too early, or sends another signal than it should, and if Exit does not say how
// the process ended.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name   string
		script string
		faults []killtest.Fault
		signal syscall.Signal // that ends the program
		struck bool
		output string
		code   int
	}{
		{"none", "echo out; echo err >&2", nil, 0, false, "out\nerr\n", 0},
		{"failure", "echo out; exit 3", nil, 0, false, "out\n", 3},
		{"the program kills itself", "kill -KILL $$", nil, syscall.SIGKILL, false, "", -1},
		{"a fault that is too late", "echo begun", []killtest.Fault{{Line: "begun", After: time.Hour}}, 0, false, "begun\n", 0},
		{"at once", endless, []killtest.Fault{{}}, syscall.SIGKILL, true, "", -1},
		{"after a time", endless, []killtest.Fault{{After: time.Millisecond}}, syscall.SIGKILL, true, "", -1},
		{"at a line", "printf 'one\\ntw'; echo o; exec sleep 1000",
			[]killtest.Fault{{Line: "two"}}, syscall.SIGKILL, true, "one\ntwo\n", -1},
		{"after a line", endless,
			[]killtest.Fault{{Line: "begun", After: time.Millisecond}}, syscall.SIGKILL, true, "begun\n", -1},
		{"another signal", "trap 'echo stopped; exit 5' TERM; echo begun; while :; do :; done",
			[]killtest.Fault{{Line: "begun", Signal: syscall.SIGTERM}}, 0, true, "begun\nstopped\n", 5},
		{"two faults", "trap 'echo again' INT; echo begun; while :; do :; done",
			[]killtest.Fault{{Line: "begun", Signal: syscall.SIGINT}, {Line: "again"}}, syscall.SIGKILL, true, "begun\nagain\n", -1},
		{"a pause", "trap 'echo continued; exit 0' CONT; echo begun; while :; do :; done",
			[]killtest.Fault{{Line: "begun", Signal: syscall.SIGSTOP}, {Line: "begun", Signal: syscall.SIGCONT, After: 10 * time.Millisecond}},
			0, true, "begun\ncontinued\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := killtest.Start(shell(tt.script), tt.faults...)
			if err != nil {
				t.Fatal(err)
			}
			e := p.Wait()
			code := 0
			if exit := (*exec.ExitError)(nil); errors.As(e.Err, &exit) {
				code = exit.ExitCode()
			}
			if e.Signal != tt.signal || e.Killed() != (tt.signal == syscall.SIGKILL) || e.Struck != tt.struck || code != tt.code ||
				tt.output != "" && e.Output != tt.output {
				t.Errorf("%+v, exit code %d", e, code)
			}
			p.Signal(syscall.SIGKILL) // which is nobody's
		})
	}
	if _, err := killtest.Start(exec.Command("/no/such/program")); err == nil {
		t.Error("a program that does not exist was started")
	}
}

// It fails if a program is not killed within the call of Count that is due, if the counts of one start go on in the next
// one, or if the same seed draws other numbers.
func TestLoop(t *testing.T) {
	run := func(seed uint64) (drawn []int, log string) {
		loop := &killtest.Loop{Seed: seed, Log: func(format string, args ...any) { log += fmt.Sprintf(format+"\n", args...) }}
		if loop.Count() {
			t.Error("a fault has come before a program was started")
		}
		loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
			if start == 4 {
				return shell("exit 0"), nil
			}
			count := 1 + random.IntN(20)
			drawn = append(drawn, count)
			// A line that the program has written is what it has done.
			cmd := shell(fmt.Sprintf("for i in $(seq %d); do echo did; done; exec sleep 1000", count))
			cmd.Stdout = writer(func(b []byte) {
				for range strings.Count(string(b), "did") {
					count--
					if loop.Count() != (count == 0) {
						t.Errorf("start %d: wrong with %d to go", start, count)
					}
				}
			})
			return cmd, []killtest.Fault{{Count: count}}
		}
		if starts, err := loop.Run(t.Context()); starts != 5 || err != nil {
			t.Errorf("%d starts, %v", starts, err)
		}
		return drawn, log
	}
	first, log := run(7)
	if log != "seed 7\n5 starts\n" {
		t.Errorf("the log: %q", log)
	}
	if again, _ := run(7); !slices.Equal(first, again) {
		t.Errorf("the same seed gave %v and %v", first, again)
	}
	if other, _ := run(8); slices.Equal(first, other) {
		t.Errorf("two seeds gave %v", first)
	}
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// It fails if a loop goes on when it must not, or ends without saying why.
func TestLoopEnds(t *testing.T) {
	killing := []killtest.Fault{{}}
	broken := errors.New("broken")
	for _, tt := range []struct {
		name   string
		loop   *killtest.Loop // without Next
		script string
		faults []killtest.Fault
		starts int
		says   string // the error
	}{
		{"a failure of its own", &killtest.Loop{}, "echo words; exit 1", nil, 1, "start 0: exit status 1\nwords"},
		{"a signal that is no kill", &killtest.Loop{}, "kill -TERM $$", nil, 1, "start 0: signal: terminated"},
		{"too many starts", &killtest.Loop{Starts: 3}, endless, killing, 3, "not finished in 3 starts"},
		{"the limit", &killtest.Loop{Limit: 50 * time.Millisecond}, endless, nil, 1, "not ended after"},
		{"the judge", &killtest.Loop{Judge: func(e killtest.Exit) (bool, error) {
			if e.Start == 1 {
				return true, broken
			}
			return true, nil
		}}, "exit 1", nil, 2, "broken"},
		{"the judge is content", &killtest.Loop{Judge: func(e killtest.Exit) (bool, error) { return e.Start < 2, nil }}, endless, killing, 3, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.loop.Next = func(int, *rand.Rand) (*exec.Cmd, []killtest.Fault) { return shell(tt.script), tt.faults }
			starts, err := tt.loop.Run(t.Context())
			if starts != tt.starts || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%d starts, %v", starts, err)
			}
			if unfinished := (*killtest.UnfinishedError)(nil); errors.As(err, &unfinished) != (tt.loop.Starts > 0) {
				t.Errorf("%#v", err)
			}
		})
	}
	t.Run("the context", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		loop := &killtest.Loop{Next: func(int, *rand.Rand) (*exec.Cmd, []killtest.Fault) {
			cmd := shell(endless)
			cmd.Stdout = writer(func([]byte) { cancel() })
			return cmd, nil
		}}
		for range 2 { // the second time it is done from the first
			if starts, err := loop.Run(ctx); starts != 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("%d starts, %v", starts, err)
			}
		}
	})
}
