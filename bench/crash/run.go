//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

const (
	pages       = 300
	latency     = 20 * time.Millisecond
	concurrency = 16
	struck      = 2 // starts that a fault befalls; our durable crawl gives up what was in flight at three kills in a row, see the guide to jobs
	mostStarts  = 20
	patience    = 3                // starts in a row that bring nothing new, until the program is said to be stuck
	limit       = 10 * time.Minute // for a start: Crawlee's queue gives a request that was in progress free again after three minutes
)

// result is what came of one crawl, however often it was started.
type result struct {
	site.Verdict
	Starts  int
	Kills   int    // starts that SIGKILL has ended
	Success bool   // its last start ended by itself, with exit code 0
	Stuck   bool   // it went on failing
	Hung    bool   // a start did not end
	Said    string // the end of its output
}

// falseSuccess reports whether the program says that all is well, and it is not.
func (r result) falseSuccess() bool {
	return r.Success && (r.Lost > 0 || r.Missing > 0 || r.Wrong > 0 || r.Twice > 0)
}

// safe reports whether nothing was lost, nothing came twice, and the crawl has come to its end.
func (r result) safe() bool {
	return r.Success && r.Lost == 0 && r.Missing == 0 && r.Wrong == 0 && r.Twice == 0
}

// troubleError says that a fault cannot be had here.
type troubleError struct{ error }

// crash has an entrant crawl the site while a fault befalls it, and starts it again until it has come to its end.
func crash(ctx context.Context, programs string, database *pgtest.Server, e *entrant, f fault, seed uint64) (r result, err error) {
	loop := &killtest.Loop{Seed: seed, Starts: mostStarts, Limit: limit}
	var more *trouble
	var mu sync.Mutex
	var troubles error
	s, err := newScene(ctx, e, database, seed, func(s *scene) http.Handler {
		var whole http.Handler = s.pages
		if e.parts {
			whole = members(s, whole)
		}
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if loop.Count() && more != nil && more.come != nil { // before the answer
				mu.Lock()
				troubles = errors.Join(troubles, more.come())
				mu.Unlock()
			}
			whole.ServeHTTP(w, r)
		})
	})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if f.trouble != nil {
		if more, err = f.trouble(s); err != nil {
			return r, troubleError{err}
		}
		if more.close != nil {
			defer func() { err = errors.Join(err, more.close()) }()
		}
	}
	others, err := s.startOthers(programs, e)
	defer func() { stop(others) }() // those that still run after an error
	if err != nil {
		return r, err
	}
	loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		of := s.files(e, 1)
		if !e.Durable { // it begins anew
			_ = os.Remove(of.Items) // there may be none
		}
		argv := e.Command(programs, s.url(), concurrency, s.plan.Hosts > 1, of)
		if more != nil && more.command != nil {
			argv = more.command(argv)
		}
		cmd := s.command(argv)
		if start >= f.starts {
			return cmd, nil
		}
		return cmd, f.befalls(s.plan.Pages-s.pages.Log().Pages, random)
	}
	idle, before := 0, int64(-1)
	loop.Judge = func(exit killtest.Exit) (again bool, err error) {
		r.Starts, r.Said = exit.Start+1, lastLine(exit.Output)
		if exit.Killed() {
			r.Kills++
		}
		if more != nil && more.ended != nil {
			if err := more.ended(); err != nil {
				return false, err
			}
		}
		now := int64(s.pages.Log().Pages)<<32 + size(s.files(e, 1).Items)
		if idle++; now != before || exit.Struck {
			idle, before = 0, now
		}
		switch {
		case exit.Hung:
			r.Hung = true
		case exit.Err == nil && (!exit.Struck || !f.ends): // a program that was asked to end has not come to its end
			r.Success = true
		case idle < patience:
			return true, nil
		default:
			r.Stuck = true
		}
		return false, nil
	}
	var unfinished *killtest.UnfinishedError
	if _, err := loop.Run(ctx); errors.As(err, &unfinished) {
		r.Stuck = true
	} else if err != nil {
		return r, err
	}
	for len(others) > 0 {
		other := others[0]
		others = others[1:]
		late := time.AfterFunc(limit, func() { other.Signal(syscall.SIGKILL) })
		if exit := other.Wait(); !late.Stop() {
			r.Hung, r.Success = true, false
		} else if exit.Err != nil {
			r.Success, r.Said = false, lastLine(exit.Output)
		}
	}
	var lines []byte
	for worker := range max(e.workers, 1) {
		lines = append(lines, readItems(s.files(e, worker+1).Items, s.env)...)
	}
	if r.Verdict, err = site.JudgeItems(s.plan, s.pages.Log(), bytes.NewReader(lines)); err == nil && e.parts {
		err = s.judgeParts(lines, &r)
	}
	mu.Lock()
	defer mu.Unlock()
	return r, errors.Join(err, troubles)
}

// command is that of a program of the scene.
func (s *scene) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.WaitDelay = s.env, time.Second
	return cmd
}

// startOthers starts the workers of a cluster that no fault befalls.
func (s *scene) startOthers(programs string, e *entrant) (list []*killtest.Process, err error) {
	for worker := 2; worker <= e.workers; worker++ {
		p, err := killtest.Start(s.command(e.Command(programs, s.url(), concurrency, s.plan.Hosts > 1, s.files(e, worker))))
		if err != nil {
			return list, err
		}
		list = append(list, p)
	}
	return list, nil
}

// stop ends programs.
func stop(list []*killtest.Process) {
	for _, p := range list {
		p.Signal(syscall.SIGKILL)
		p.Wait()
	}
}

// size is how long a file is, 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// lastLine is the last line of an output that says something.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return lines[len(lines)-1]
}
