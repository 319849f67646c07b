//go:build unix

// Command crash shows what crawlers lose when they are killed: each crawls a site whose every page and item is known, is killed, or
// asked to end, or stopped for a while, and is started again until it has come to its end. It counts the pages by the log of the
// server, and the items by the file that is left.
//
//	go -C bench run ./crash                                     ours, every fault, 20 rounds of each
//	go -C bench run ./crash -contestants all -rounds 30         and the others, where they are installed
//	go -C bench run ./crash -faults kill -rounds 1 -seed 7      one crawl again
//
// With -postgres DIR, the folder of PostgreSQL's programs, our crawl also delivers to a database, and as a cluster.
//
// The results are in docs/crash-race.md. The exit status is 1 if our durable crawl has lost something, has something twice, or has not
// come to its end.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/bench/contestant"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// race is what the flags say.
type race struct {
	rounds, parallel int
	seed             uint64

	programs string         // folder
	database *pgtest.Server // nil: there is none
}

func main() {
	var r race
	who := flag.String("contestants", "ours", "`names` of contestants or groups: all, ours, peers")
	what := flag.String("faults", "all", "`names` of faults")
	flag.IntVar(&r.rounds, "rounds", 20, "`crawls` of each contestant under each fault")
	flag.IntVar(&r.parallel, "parallel", 1, "`crawls` at a time")
	flag.Uint64Var(&r.seed, "seed", uint64(time.Now().UnixNano()), "`number` that the first crawl draws from; the next ones count on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	broken, err := r.run(ctx, os.Stdout, strings.Split(*who, ","), strings.Split(*what, ","))
	if err != nil {
		log.Fatal(err)
	}
	if broken {
		os.Exit(1)
	}
}

// run has the contestants crawl under faults, and writes a table of each fault. broken says that one of our durable crawls was not safe.
func (r *race) run(ctx context.Context, out io.Writer, who, what []string) (broken bool, err error) {
	chosen := slices.DeleteFunc(entrants(), func(e *entrant) bool {
		return !slices.ContainsFunc(who, func(name string) bool { return name == "all" || name == e.Name || slices.Contains(e.Groups, name) })
	})
	faulty := slices.DeleteFunc(faults(), func(f fault) bool {
		return !slices.Contains(what, "all") && !slices.Contains(what, f.name)
	})
	if len(chosen) == 0 || len(faulty) == 0 {
		return false, fmt.Errorf("no contestant is called %q, or no fault %q", who, what)
	}
	if flag.Lookup("postgres").Value.String() != "" && slices.ContainsFunc(chosen, func(e *entrant) bool { return e.database }) {
		if r.database, err = pgtest.Open(); err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, r.database.Close()) }()
	}
	if r.programs, err = os.MkdirTemp("", "crash-programs"); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.programs)) }()
	versions, err := build(r.programs, chosen)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%s; %d pages, %d crawls each, seeds from %d\n", strings.Join(versions, ", "), pages, r.rounds, r.seed)
	kills := 0
	for _, f := range faulty {
		fmt.Fprintf(out, "\n## %s: %s\n\n%s\n", f.name, f.title, header)
		for _, e := range chosen {
			sum, missing := sum{}, e.missing(r.database)
			if missing == nil {
				sum, err = r.repeat(ctx, e, f)
			}
			var trouble troubleError
			switch {
			case missing != nil:
				fmt.Fprintln(out, emptyRow(e.Name, missing))
				continue
			case errors.As(err, &trouble):
				fmt.Fprintln(out, emptyRow(e.Name, trouble))
				continue
			case err != nil:
				return broken, err
			}
			fmt.Fprintln(out, sum.row(e.Name))
			if e.Durable && e.Ours() {
				kills += sum.kills
				broken = broken || sum.safe < r.rounds
			}
		}
	}
	fmt.Fprintf(out, "\nOur durable crawls were killed %d times.\n", kills)
	return broken, nil
}

// build builds the programs, and returns the versions of all that is in them.
func build(programs string, chosen []*entrant) ([]string, error) {
	list := make([]*contestant.Contestant, len(chosen))
	for i, e := range chosen {
		list[i] = e.Contestant
	}
	if err := contestant.Build(programs, list); err != nil {
		return nil, err
	}
	return contestant.Versions(programs, list)
}

// repeat has an entrant crawl so often under a fault.
func (r *race) repeat(ctx context.Context, e *entrant, f fault) (sum, error) {
	results, errs := make([]result, r.rounds), make([]error, r.rounds)
	next := make(chan int)
	var crawling sync.WaitGroup
	for range r.parallel {
		crawling.Go(func() {
			for i := range next {
				results[i], errs[i] = crash(ctx, r.programs, r.database, e, f, r.seed+uint64(i))
			}
		})
	}
	for i := range r.rounds {
		next <- i
	}
	close(next)
	crawling.Wait()
	var s sum
	for i, one := range results {
		seed := r.seed + uint64(i)
		if errs[i] != nil {
			return s, fmt.Errorf("%s, %s, seed %d: %w", e.Name, f.name, seed, errs[i])
		}
		if !one.safe() {
			log.Printf("%s, %s, seed %d: %v, %d starts, success %t %s", e.Name, f.name, seed, one.Verdict, one.Starts, one.Success, one.Said)
		}
		s.add(one)
	}
	return s, nil
}

// sum is what came of all crawls of a contestant under a fault.
type sum struct {
	crawls, safe, starts, kills             int
	lost, again, missing, twice, unreadable int
	mostAgain, stuck, hung, falseSuccess    int
}

func (s *sum) add(r result) {
	one := func(is bool) int {
		if is {
			return 1
		}
		return 0
	}
	s.crawls++
	s.starts, s.kills = s.starts+r.Starts, s.kills+r.Kills
	s.safe += one(r.safe())
	s.lost, s.again, s.missing, s.twice, s.unreadable = s.lost+r.Lost, s.again+r.Repeats, s.missing+r.Missing, s.twice+r.Twice, s.unreadable+r.Wrong
	s.mostAgain = max(s.mostAgain, r.Repeats)
	s.stuck, s.hung, s.falseSuccess = s.stuck+one(r.Stuck), s.hung+one(r.Hung), s.falseSuccess+one(r.falseSuccess())
}

const header = `| contestant | crawls | safe | starts | killed | pages never fetched | fetched again | of one crawl, at most | items lost | items twice | unreadable lines | stuck | hung | false success |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|`

func (s *sum) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |", name, s.crawls, s.safe, s.starts, s.kills, s.lost, s.again,
		s.mostAgain, s.missing, s.twice, s.unreadable, s.stuck, s.hung, s.falseSuccess)
}

// emptyRow is that of a contestant which cannot be tried here.
func emptyRow(name string, why error) string {
	columns := strings.Count(strings.SplitN(header, "\n", 2)[0], "|") - 2
	return fmt.Sprintf("| %s (%v) |%s", name, why, strings.Repeat(" |", columns))
}
