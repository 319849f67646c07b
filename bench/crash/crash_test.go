//go:build unix

package main

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/bench/contestant"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

var seed = flag.Uint64("seed", 1, "number that the crawls draw from")

// built builds contestants. The tests of this folder run in it, and the modules are those of the folder above.
func built(t *testing.T, list ...*contestant.Contestant) string {
	t.Helper()
	t.Chdir("..")
	programs := t.TempDir()
	if err := contestant.Build(programs, list); err != nil {
		t.Fatal(err)
	}
	return programs
}

// A crawl whose feed knows nothing of the job is caught within 50 kills.
func TestMistakeIsCaught(t *testing.T) {
	broken := &contestant.Contestant{Name: "broken", Module: ".", Pkg: "./crash/broken", Durable: true}
	programs := built(t, broken)
	kills := 0
	for i := uint64(0); kills < 50; i++ {
		r, err := crash(t.Context(), programs, broken, faults[0], *seed+i)
		if err != nil {
			t.Fatal(err)
		}
		kills += r.Starts - 1
		if r.Twice > 0 && !r.safe() && r.falseSuccess() {
			t.Logf("caught after %d kills: %v", kills, r.Verdict)
			return
		}
	}
	t.Errorf("not caught in %d kills", kills)
}

// Each fault befalls our durable crawl, and nothing is lost. After an orderly end nothing is fetched again.
func TestOurs(t *testing.T) {
	ours := entrants()[0]
	programs := built(t, ours)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			r, err := crash(t.Context(), programs, ours, f, *seed)
			if err != nil {
				t.Fatal(err)
			}
			if asked := f.name == "term" || f.name == "int"; !r.safe() || asked && r.Repeats > 0 {
				t.Errorf("seed %d: %v, %d starts, stuck %t, hung %t: %s", *seed, r.Verdict, r.Starts, r.Stuck, r.Hung, r.Said)
			}
			if f.name == "kill" && r.Starts != struck+1 {
				t.Errorf("%d starts", r.Starts)
			}
		})
	}
}

// What a program says of itself counts for nothing.
func TestResults(t *testing.T) {
	for _, tt := range []struct {
		name          string
		r             result
		safe, falsely bool
	}{
		{"clean", result{Success: true}, true, false},
		{"pages fetched again", result{Success: true, Verdict: site.Verdict{Repeats: 9}}, true, false},
		{"lost a page", result{Success: true, Verdict: site.Verdict{Lost: 1}}, false, true},
		{"an item twice", result{Success: true, Verdict: site.Verdict{Twice: 1}}, false, true},
		{"lost and says so", result{Verdict: site.Verdict{Lost: 1}}, false, false},
		{"stuck", result{Stuck: true}, false, false},
	} {
		if tt.r.safe() != tt.safe || tt.r.falseSuccess() != tt.falsely {
			t.Errorf("%s: safe %t, false success %t", tt.name, tt.r.safe(), tt.r.falseSuccess())
		}
	}
	var s sum
	s.add(result{Verdict: site.Verdict{Repeats: 3, Missing: 2}, Starts: 4, Success: true})
	s.add(result{Verdict: site.Verdict{Repeats: 5}, Starts: 2, Hung: true})
	if got, want := s.row("x"), "| x | 2 | 0 | 6 | 0 | 8 | 5 | 2 | 0 | 0 | 0 | 1 | 1 |"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if strings.Count(header, "|") != 2*strings.Count(s.row("x"), "|") {
		t.Error("the row has other columns than the header")
	}
}

// A program that fails whenever it is started is stuck.
func TestStuck(t *testing.T) {
	none := fault{"none", "nothing", false, func(int, *rand.Rand) []killtest.Fault { return nil }}
	failing := &contestant.Contestant{Name: "failing", Module: ".", Script: "nothing", With: []string{"false"}}
	r, err := crash(t.Context(), "", failing, none, *seed)
	if err != nil || !r.Stuck || r.Success || r.Lost != plan.Pages || r.Starts != patience+1 {
		t.Errorf("%+v, %v", r, err)
	}
}
