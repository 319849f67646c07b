//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria/bench/contestant"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/site"
)

// race is what the runs share.
type race struct {
	programs string // folder of the programs
	work     string // folder for what they write
	profiles string // folder for profiles; "": none
	server   *server
	rounds   int
	scale    float64
	limit    time.Duration // of one run
}

// entrant is a row of a table: a contestant, and how it runs there.
type entrant struct {
	*contestant.Contestant
	label string
	procs int    // GOMAXPROCS
	cpus  string // those it is kept to
	twice bool   // two of it run at the same time, each with a CPU
}

// run is what came out of running an entrant once.
type run struct {
	site.Verdict
	stopped     bool    // by the limit of time, before its end
	wall        float64 // seconds, start of the process to its exit
	clocked     float64 // seconds by its own clock, for those who have one
	cpu         float64 // seconds
	peakRSS     int64
	connections int64
	mallocs     uint64 // 0 if it does not tell
	allocated   uint64 // bytes; 0 if it does not tell
	growth      [2]point
}

// point is the memory of a growing crawl.
type point struct {
	pages      int
	rss        int64
	live       uint64 // 0 if it does not tell
	goroutines int
}

// run runs an entrant once, or two of it at the same time.
func (r *race) run(s scenario, e entrant) (run, error) {
	if !e.twice {
		return r.once(s, e, "")
	}
	other := e
	other.cpus = serverCPU // which has nothing to do
	var there run
	var failed error
	done := make(chan struct{})
	go func() { // waited for below
		defer close(done)
		there, failed = r.once(s, other, "")
	}()
	here, err := r.once(s, e, "")
	<-done
	here.clocked = 1 / (1/here.clocked + 1/there.clocked) // a page of either
	here.cpu, here.peakRSS = here.cpu+there.cpu, max(here.peakRSS, there.peakRSS)
	here.Verdict = here.Worse(there.Verdict)
	here.stopped = here.stopped || there.stopped
	return here, errors.Join(err, failed)
}

// once runs an entrant once.
func (r *race) once(s scenario, e entrant, profile string) (result run, err error) {
	dir, err := os.MkdirTemp(r.work, s.name+"-"+e.Name+"-")
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	f := contestant.Files{Items: filepath.Join(dir, "items.jsonl"), Profile: profile}
	if e.IsGo() {
		f.Stats = filepath.Join(dir, "stats.json")
	}
	if e.Durable {
		f.Dir = filepath.Join(dir, "job")
	}
	if s.tls {
		f.CA = filepath.Join(dir, "ca.pem")
		if err := os.WriteFile(f.CA, []byte(r.server.Certificate), 0o600); err != nil {
			return result, err
		}
	}
	if err := r.server.plan(s.plan); err != nil {
		return result, err
	}
	argv := e.Command(r.programs, r.server.url(s.tls), s.concurrency, s.plan.Hosts > 1, f)
	if s.kind == scaling {
		argv = append(argv, "-pages", strconv.Itoa(s.plan.Pages), "-bytes", strconv.Itoa(s.plan.Bytes), "-links", strconv.Itoa(s.plan.Links))
	}
	begin := func() (*process, error) {
		return start(e.cpus, []string{"GOMAXPROCS=" + strconv.Itoa(e.procs)}, argv...)
	}
	switch s.kind {
	case growing:
		return result, r.grow(s, f, begin, &result)
	default:
		err = r.crawl(begin, &result)
	}
	if err != nil {
		return result, err
	}
	return result, r.settle(s, f, &result)
}

// crawl runs a process to its end and adds what it took.
func (r *race) crawl(begin func() (*process, error), result *run) error {
	p, err := begin()
	if err != nil {
		return err
	}
	u, stopped, err := p.wait(r.limit)
	if err != nil {
		return err
	}
	result.stopped = stopped
	result.add(u)
	if u.Exit != 0 && !stopped {
		return fmt.Errorf("exit status %d%s", u.Exit, p.lastWords())
	}
	return nil
}

func (r *run) add(u usage) {
	r.wall += u.Seconds
	r.cpu += u.CPU
	r.peakRSS = max(r.peakRSS, u.PeakRSS)
}

// grow measures the memory of a process at two points, and kills it.
func (r *race) grow(s scenario, f contestant.Files, begin func() (*process, error), result *run) (err error) {
	points := [2]int{max(1, int(growthStart*r.scale)), max(2, int(growthEnd*r.scale))}
	if err := r.server.hold(points[0]); err != nil {
		return err
	}
	p, err := begin()
	if err != nil {
		return err
	}
	timer := time.AfterFunc(r.limit, func() { _ = p.kill() }) // it may have ended
	defer timer.Stop()
	for i, pages := range points {
		if err = r.server.hold(pages); err != nil {
			break
		}
		if result.growth[i], err = r.measure(p, pages, f); err != nil {
			break
		}
	}
	_ = p.kill() // it may have ended
	u, _, waited := p.wait(time.Minute)
	result.add(u)
	if err = errors.Join(err, waited); err != nil && !timer.Stop() {
		result.stopped, err = true, nil
	}
	if err != nil {
		return fmt.Errorf("%w%s", err, p.lastWords())
	}
	log, err := r.server.log()
	if err != nil {
		return err
	}
	result.Pages, result.Repeats, result.Others, result.connections = log.Pages, log.Repeats, log.Others, log.Connections
	return nil
}

// measure waits until a process has done with all the pages that it got, and measures its memory.
func (r *race) measure(p *process, pages int, f contestant.Files) (at point, err error) {
	const patience = 20 * time.Second
	if err := r.server.reached(p.ended, pages); err != nil {
		return at, fmt.Errorf("page %d was not asked for: %w", pages, err)
	}
	if err := awaitQuiet(p.pid, patience); err != nil {
		return at, err
	}
	at.pages = pages
	if at.rss, err = residentSet(p.pid); err != nil {
		return at, err
	}
	if f.Stats == "" {
		return at, nil
	}
	if err := syscall.Kill(p.pid, syscall.SIGUSR1); err != nil {
		return at, err
	}
	stats, err := awaitStats(f.Stats, patience)
	at.live, at.goroutines = stats.Live, stats.Goroutines
	return at, err
}

// awaitStats takes the file of statistics as soon as it is there.
func awaitStats(path string, patience time.Duration) (stats job.Stats, err error) {
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); ; {
		stats, err = readStats(path)
		if err == nil {
			return stats, os.Remove(path)
		}
		if !errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			return stats, err
		}
		<-ticker.C
	}
}

func readStats(path string) (stats job.Stats, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return stats, err
	}
	return stats, json.Unmarshal(text, &stats)
}

// settle judges a run that has ended.
func (r *race) settle(s scenario, f contestant.Files, result *run) error {
	log, err := r.server.log()
	if err != nil {
		return err
	}
	if s.kind == scaling {
		log.Pages = s.plan.Pages // nobody but the contestant saw them: the items alone are judged
	}
	result.connections = log.Connections
	if result.Verdict, err = site.Judge(s.plan, log.Log, f.Items); err != nil {
		return err
	}
	stats, err := readStats(f.Stats)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	result.mallocs, result.allocated, result.clocked = stats.Mallocs, stats.Allocated, stats.Seconds
	return err
}
