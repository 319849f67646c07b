//go:build unix

package main

import (
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestMain makes the test binary its own launcher, as the race is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "launch" {
		if err := launch(os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

// What a process took, how it ended and what it said come back from the launcher.
func TestLaunch(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		limit  time.Duration
		check  func(t *testing.T, p *process, u usage, stopped bool)
	}{
		"an end": {"exit 0", time.Hour, func(t *testing.T, p *process, u usage, stopped bool) {
			if u.Exit != 0 || stopped || u.Seconds <= 0 || u.CPU <= 0 || u.PeakRSS < 1<<20 || u.PeakRSS > 1<<28 {
				t.Errorf("%+v, stopped %t", u, stopped)
			}
		}},
		"a failure": {"echo once; echo why >&2; exit 3", time.Hour, func(t *testing.T, p *process, u usage, stopped bool) {
			if u.Exit != 3 || stopped || p.lastWords() != "\nonce\nwhy" {
				t.Errorf("%+v, stopped %t, said %q", u, stopped, p.lastWords())
			}
		}},
		"the limit": {"exec sleep 3600", time.Millisecond, func(t *testing.T, p *process, u usage, stopped bool) {
			if u.Exit != -1 || !stopped {
				t.Errorf("%+v, stopped %t", u, stopped)
			}
		}},
		"the environment": {`echo "$GOMAXPROCS"`, time.Hour, func(t *testing.T, p *process, u usage, stopped bool) {
			if p.lastWords() != "\n7" {
				t.Errorf("said %q", p.lastWords())
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := start("", []string{"GOMAXPROCS=7"}, "sh", "-c", c.script)
			if err != nil {
				t.Fatal(err)
			}
			u, stopped, err := p.wait(c.limit)
			if err != nil {
				t.Fatal(err)
			}
			c.check(t, p, u, stopped)
		})
	}
}

// What does not start is an error that names it.
func TestLaunchNothing(t *testing.T) {
	if p, err := start("", nil, "/no/such/program"); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("%v, %v", p, err)
	}
}

// A contestant does not outlive its judge.
func TestLaunchWithoutJudge(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	launcher := exec.Command(self, "launch", "sleep", "3600")
	stdin, err := launcher.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := launcher.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := launcher.Start(); err != nil {
		t.Fatal(err)
	}
	if err := stdin.Close(); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(stdout) // to the launcher's end, which is after that of sleep
	if err != nil || !strings.Contains(string(said), `"exit":-1`) {
		t.Errorf("%s, %v", said, err)
	}
	if err := launcher.Wait(); err != nil {
		t.Error(err)
	}
}
