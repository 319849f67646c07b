//go:build unix

// Command race lets crawlers do the same job and judges them: by the log of the server, by the items that the site's
// generator says there are, and by what the system says of their processes. It prints tables in Markdown.
//
//	go -C bench run ./race                                  scenarios a b l r c d e q, contestants in Go, 3 rounds
//	go -C bench run ./race -scenarios a,b -contestants all  with Scrapy and Crawlee, where they are installed
//	go -C bench run ./race -quick                           a few hundred pages, ours and raw: is the harness whole?
//
// The server runs on one CPU and the contestant on another, one process each; see docs/race.md. The exit status is 1 if a
// contestant of ours lost or repeated a page, brought home a wrong item, or failed.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/bench/contestant"
)

func main() {
	log.SetFlags(log.Ltime)
	if len(os.Args) > 1 && os.Args[1] == "launch" {
		if err := launch(os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	names := flag.String("scenarios", "a,b,l,r,c,d,e,q", "`names` of scenarios, see docs/race.md; all: every one")
	who := flag.String("contestants", "go", "`names` of contestants or groups: all, go, ours, raw, peers")
	rounds := flag.Int("rounds", 3, "`runs` of each contestant")
	scale := flag.Float64("scale", 1, "`factor` for the number of pages")
	limit := flag.Duration("limit", 2*time.Minute, "`time` after which a run is stopped")
	profiles := flag.String("profiles", "", "`folder` for profiles of CPU time and allocations, from one more run")
	quick := flag.Bool("quick", false, "small sites, one round, ours and raw")
	flag.Parse()
	if *quick {
		*names, *who, *rounds, *scale = "a,d,q", "ours-simplest,ours-durable,raw-tokenizer", 1, 0.03
	}
	if err := compete(os.Stdout, *names, *who, &race{profiles: *profiles, rounds: *rounds, scale: *scale, limit: *limit}); err != nil {
		log.Fatal(err)
	}
}

// compete runs the scenarios and prints their tables.
func compete(out io.Writer, names, who string, r *race) (err error) {
	if r.rounds < 1 || r.scale <= 0 {
		return errors.New("a race needs a round and a scale above 0")
	}
	chosen, err := contestant.Choose(who)
	if err != nil {
		return err
	}
	list, err := chooseScenarios(names)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(s scenario) bool {
		return !slices.ContainsFunc(chosen, func(c *contestant.Contestant) bool { return slices.Contains(s.who, c.Name) })
	})
	chosen = slices.DeleteFunc(chosen, func(c *contestant.Contestant) bool {
		return !slices.ContainsFunc(list, func(s scenario) bool { return slices.Contains(s.who, c.Name) })
	})
	if len(list) == 0 {
		return fmt.Errorf("none of %s takes part in any of %s", who, names)
	}
	dir, err := os.MkdirTemp("", "race")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := r.prepare(dir, chosen); err != nil {
		return err
	}
	if err := describe(out, r, chosen); err != nil {
		return err
	}
	if r.server, err = serve(filepath.Join(r.programs, "server"), serverCPU); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.server.close()) }()
	begin, done := time.Now(), make(tables)
	var failed []error
	for _, s := range list {
		t, err := r.scenario(s.scaled(r.scale), chosen)
		if err != nil {
			return err
		}
		done[s.name] = t
		fmt.Fprintln(out, t)
		failed = append(failed, t.faults()...)
	}
	if goals := goalTable(done); goals != "" && r.scale >= 1 {
		fmt.Fprintln(out, goals)
	}
	fmt.Fprintf(out, "The race took %.0f s.\n", time.Since(begin).Seconds())
	return errors.Join(failed...)
}

// prepare makes the folders and builds the programs.
func (r *race) prepare(dir string, chosen []*contestant.Contestant) error {
	r.programs, r.work = filepath.Join(dir, "programs"), filepath.Join(dir, "work")
	for _, d := range []string{r.programs, r.work} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	if r.profiles != "" {
		if err := os.MkdirAll(r.profiles, 0o755); err != nil {
			return err
		}
	}
	log.Println("building")
	return contestant.Build(r.programs, chosen)
}

func chooseScenarios(names string) (list []scenario, err error) {
	for _, name := range strings.Split(names, ",") {
		found := false
		for _, s := range scenarios {
			if s.name == name || name == "all" {
				list, found = append(list, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("no scenario is called %q", name)
		}
	}
	return list, nil
}

// describe says when and where the race is run.
func describe(out io.Writer, r *race, chosen []*contestant.Contestant) error {
	list, err := contestant.Versions(r.programs, chosen)
	if err != nil {
		return err
	}
	where := fmt.Sprintf("server on CPU %s, contestants on CPU %s", serverCPU, crawlerCPU)
	if !canPin() {
		where = "nothing kept to a CPU, for want of taskset or of a second CPU"
	}
	_, err = fmt.Fprintf(out, "# The race\n\n- %s\n- %s, %d CPUs, %s; %s\n- load of the machine at the start: %s\n- "+
		"medians of %d rounds, sizes × %g\n- %s\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), processor(), runtime.NumCPU(), kernel(), where,
		load(), r.rounds, r.scale, strings.Join(list, "; "))
	return err
}

// memoryLabel is the name of the row of ours-memory with so many CPUs.
func memoryLabel(procs int) string {
	return fmt.Sprintf("%s, GOMAXPROCS %d", contestant.OursMemory, procs)
}

// entrants are the rows of a scenario.
func entrants(s scenario, chosen []*contestant.Contestant) (rows []*row) {
	for _, name := range s.who {
		i := slices.IndexFunc(chosen, func(c *contestant.Contestant) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		c := chosen[i]
		if s.kind == scaling {
			for _, e := range []entrant{
				{Contestant: c, label: memoryLabel(1), procs: 1, cpus: crawlerCPU},
				{Contestant: c, label: memoryLabel(2), procs: 2, cpus: bothCPUs},
				{Contestant: c, label: contestant.OursMemory + ", two crawls at once", procs: 1, cpus: crawlerCPU, twice: true}, // what the machine gives
			} {
				rows = append(rows, &row{entrant: e})
			}
			continue
		}
		one := &row{entrant: entrant{Contestant: c, label: name, procs: 1, cpus: crawlerCPU}}
		if c.Version != nil {
			_, one.failure = c.Version()
		}
		rows = append(rows, one)
	}
	return rows
}

// scenario runs the entrants of a scenario in turns.
func (r *race) scenario(s scenario, chosen []*contestant.Contestant) (*table, error) {
	t := &table{scenario: s, rows: entrants(s, chosen)}
	before, err := r.server.log()
	if err != nil {
		return nil, err
	}
	begin, machine := time.Now(), machineTime()
	for round := range r.rounds + s.more {
		for _, one := range t.rows {
			if one.failure != nil || round >= s.rounds(one.Contestant, r.rounds) {
				continue
			}
			result, err := r.run(s, one.entrant)
			if err != nil {
				one.failure = err
				log.Printf("%s %s: %v", s.name, one.label, err)
				continue
			}
			one.runs = append(one.runs, result)
			log.Printf("%s %s: %.2f s, %.2f s of CPU, %v", s.name, one.label, result.wall, result.cpu, result.Verdict)
		}
	}
	after, err := r.server.log()
	if err != nil {
		return nil, err
	}
	t.others = share(time.Since(begin), machineTime()-machine, t.cpu()+(after.CPUMicros-before.CPUMicros)/1e6)
	return t, r.profile(s, t.rows)
}

// cpu is the CPU time of all runs in seconds.
func (t *table) cpu() (sum float64) {
	for _, one := range t.rows {
		for _, result := range one.runs {
			sum += result.cpu
		}
	}
	return sum
}

// share is the part of a machine that was used beyond so many seconds of CPU time; -1 if it is not known.
func share(wall, used time.Duration, ours float64) float64 {
	if used == 0 {
		return -1
	}
	return max(0, (used.Seconds()-ours)/(wall.Seconds()*float64(runtime.NumCPU())))
}

// profile runs each contestant in Go once more and keeps its profiles.
func (r *race) profile(s scenario, rows []*row) error {
	if r.profiles == "" || s.kind == growing {
		return nil // these are killed, and would write none
	}
	for _, one := range rows {
		if !one.IsGo() || one.failure != nil || one.twice {
			continue
		}
		path, err := filepath.Abs(filepath.Join(r.profiles, fmt.Sprintf("%s-%s-%d", s.name, one.Name, one.procs)))
		if err != nil {
			return err
		}
		if _, err := r.once(s, one.entrant, path); err != nil {
			return err
		}
	}
	return nil
}

// faults are what contestants of ours did wrong.
func (t *table) faults() (list []error) {
	for _, one := range t.rows {
		if !one.Ours() {
			continue
		}
		if one.failure != nil {
			list = append(list, fmt.Errorf("scenario %s: %s: %w", t.name, one.label, one.failure))
		}
		for _, result := range one.runs {
			if fault := result.fault(); fault != "" {
				list = append(list, fmt.Errorf("scenario %s: %s: %s", t.name, one.label, fault))
			}
		}
	}
	return list
}

// fault is what is wrong with a run, "" if nothing is.
func (r run) fault() string {
	v := r.Verdict
	if r.stopped {
		return "stopped by the limit of time: " + v.String()
	}
	if v.Clean() {
		return ""
	}
	return v.String()
}
