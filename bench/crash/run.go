//go:build unix

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/bench/contestant"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

// plan is the site. A page takes so long that there is something in flight at each moment.
var plan = site.Plan{Pages: 300, Bytes: 4_000, Links: 13, Latency: 20 * time.Millisecond}

const (
	concurrency = 16
	struck      = 3 // starts that a fault befalls
	mostStarts  = 20
	patience    = 3 // starts in a row that bring nothing new, until the program is said to be stuck
	limit       = 60 * time.Second
)

// result is what came of one crawl, however often it was started.
type result struct {
	site.Verdict
	Starts  int
	Success bool   // its last start ended by itself, with exit code 0
	Stuck   bool   // it went on failing
	Hung    bool   // a start did not end
	Said    string // the end of its output if it was not a success
}

// falseSuccess reports whether the program says that all is well, and it is not.
func (r result) falseSuccess() bool {
	return r.Success && (r.Lost > 0 || r.Missing > 0 || r.Wrong > 0 || r.Twice > 0)
}

// safe reports whether nothing was lost, nothing came twice, and the crawl has come to its end.
func (r result) safe() bool {
	return r.Success && r.Lost == 0 && r.Missing == 0 && r.Wrong == 0 && r.Twice == 0
}

// crash has a contestant crawl the site while a fault befalls it, and starts it again until it has come to its end.
func crash(ctx context.Context, programs string, c *contestant.Contestant, f fault, seed uint64) (r result, err error) {
	dir, err := os.MkdirTemp("", "crash")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pages := site.FromPlan(plan)
	loop := &killtest.Loop{Seed: seed, Starts: mostStarts, Limit: limit}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loop.Count() // before the answer
		pages.ServeHTTP(w, r)
	}))
	defer server.Close()
	of := contestant.Files{Items: filepath.Join(dir, "items.jsonl"), Stats: filepath.Join(dir, "stats")}
	if c.Durable {
		of.Dir = filepath.Join(dir, "job")
	}
	loop.Next = func(start int, random *rand.Rand) (*exec.Cmd, []killtest.Fault) {
		if !c.Durable { // it begins anew
			_ = os.Remove(of.Items) // there may be none
		}
		argv := c.Command(programs, server.URL+"/", concurrency, false, of)
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.WaitDelay = time.Second
		if start >= struck {
			return cmd, nil
		}
		return cmd, f.befalls(plan.Pages-pages.Log().Pages, random)
	}
	idle, before := 0, int64(-1)
	loop.Judge = func(e killtest.Exit) (again bool, err error) {
		r.Starts, r.Said = e.Start+1, lastLine(e.Output)
		now := int64(pages.Log().Pages)<<32 + size(of.Items)
		if idle++; now != before || e.Struck {
			idle, before = 0, now
		}
		switch {
		case e.Hung:
			r.Hung = true
		case e.Err == nil && (!e.Struck || !f.ends): // a program that was asked to end has not come to its end
			r.Success, r.Said = true, ""
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
	r.Verdict, err = site.Judge(plan, pages.Log(), of.Items)
	return r, err
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
