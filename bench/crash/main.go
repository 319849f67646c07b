//go:build unix

// Command crash shows what crawlers lose when they are killed: each crawls a site whose every page and item is known, is killed, or
// asked to end, or stopped for a while, and is started again until it has come to its end. It counts the pages by the log of the
// server, and the items by the file that is left.
//
//	go -C bench run ./crash                                     ours, every fault, 20 rounds of each
//	go -C bench run ./crash -contestants all -rounds 30         and the others, where they are installed
//	go -C bench run ./crash -faults kill -rounds 1 -seed 7      one crawl again
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
	"time"

	"github.com/tegenaria/tegenaria/bench/contestant"
)

// entrants are the contestants of the crash race. Those that are not durable keep nothing, and begin anew.
func entrants() []*contestant.Contestant {
	list := []*contestant.Contestant{
		{Name: "ours, durable", Module: ".", Pkg: "./crash/ours", Durable: true, Groups: []string{"ours"}},
		{Name: "ours, in memory", Module: ".", Pkg: "./ours/simplest", Groups: []string{"ours"}},
	}
	for i := range contestant.All {
		c := contestant.All[i]
		switch c.Name {
		case contestant.Scrapy:
			c.Durable = true // with a JOBDIR
		case contestant.CollyQueue:
		default:
			continue
		}
		list = append(list, &c)
	}
	return list
}

func main() {
	who := flag.String("contestants", "ours", "`names` of contestants or groups: all, ours, peers")
	what := flag.String("faults", "all", "`names` of faults")
	rounds := flag.Int("rounds", 20, "`crawls` of each contestant under each fault")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "`number` that the first crawl draws from; the next ones count on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	broken, err := race(ctx, os.Stdout, split(*who), split(*what), *rounds, *seed)
	if err != nil {
		log.Fatal(err)
	}
	if broken {
		os.Exit(1)
	}
}

func split(list string) []string { return strings.Split(list, ",") }

// race has the contestants crawl under faults, and writes a table of each fault. broken says that our durable crawl was not safe.
func race(ctx context.Context, out io.Writer, who, what []string, rounds int, seed uint64) (broken bool, err error) {
	chosen := slices.DeleteFunc(entrants(), func(c *contestant.Contestant) bool {
		return !slices.ContainsFunc(who, func(name string) bool { return name == "all" || name == c.Name || slices.Contains(c.Groups, name) })
	})
	faulty := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return !slices.Contains(what, "all") && !slices.Contains(what, f.name)
	})
	if len(chosen) == 0 || len(faulty) == 0 {
		return false, fmt.Errorf("no contestant is called %q, or no fault %q", who, what)
	}
	programs, err := os.MkdirTemp("", "crash-programs")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	if err := contestant.Build(programs, chosen); err != nil {
		return false, err
	}
	versions, err := contestant.Versions(programs, chosen)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(out, "%s; %d pages, %d crawls each, seeds from %d\n", strings.Join(versions, ", "), plan.Pages, rounds, seed)
	for _, f := range faulty {
		fmt.Fprintf(out, "\n## %s: %s\n\n%s\n", f.name, f.title, header)
		for _, c := range chosen {
			if c.Version != nil {
				if _, err := c.Version(); err != nil {
					fmt.Fprintf(out, "| %s (%v) |%s\n", c.Name, err, strings.Repeat(" |", strings.Count(header[:strings.IndexByte(header, '\n')], "|")-2))
					continue
				}
			}
			sum, err := repeat(ctx, programs, c, f, rounds, seed)
			if err != nil {
				return broken, fmt.Errorf("%s: %w", c.Name, err)
			}
			fmt.Fprintln(out, sum.row(c.Name))
			broken = broken || c.Durable && c.Ours() && sum.safe < rounds
		}
	}
	return broken, nil
}

// repeat has a contestant crawl so often under a fault.
func repeat(ctx context.Context, programs string, c *contestant.Contestant, f fault, rounds int, seed uint64) (s sum, err error) {
	for i := range uint64(rounds) {
		r, err := crash(ctx, programs, c, f, seed+i)
		if err != nil {
			return s, err
		}
		if !r.safe() {
			log.Printf("%s, %s, seed %d: %v, %d starts, success %t %s", c.Name, f.name, seed+i, r.Verdict, r.Starts, r.Success, r.Said)
		}
		s.add(r)
	}
	return s, nil
}

// sum is what came of all crawls of a contestant under a fault.
type sum struct {
	crawls, safe, starts                    int
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
	s.starts += r.Starts
	s.safe += one(r.safe())
	s.lost, s.again, s.missing, s.twice, s.unreadable = s.lost+r.Lost, s.again+r.Repeats, s.missing+r.Missing, s.twice+r.Twice, s.unreadable+r.Wrong
	s.mostAgain = max(s.mostAgain, r.Repeats)
	s.stuck, s.hung, s.falseSuccess = s.stuck+one(r.Stuck), s.hung+one(r.Hung), s.falseSuccess+one(r.falseSuccess())
}

const header = `| contestant | crawls | safe | starts | pages never fetched | fetched again | of one crawl, at most | items lost | items twice | unreadable lines | stuck | hung | false success |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|`

func (s *sum) row(name string) string {
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d | %d |", name, s.crawls, s.safe, s.starts, s.lost, s.again,
		s.mostAgain, s.missing, s.twice, s.unreadable, s.stuck, s.hung, s.falseSuccess)
}
