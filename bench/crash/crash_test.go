//go:build unix

package main

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
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

func faultOf(t *testing.T, name string) fault {
	t.Helper()
	i := slices.IndexFunc(faults(), func(f fault) bool { return f.name == name })
	if i < 0 {
		t.Fatalf("there is no fault %q on this system", name)
	}
	return faults()[i]
}

// A crawl whose feed knows nothing of the job, and one whose items are nowhere when their requests are settled, are caught within 50
// kills.
func TestMistakeIsCaught(t *testing.T) {
	programs := ""
	for _, mistake := range []string{"", "early"} {
		broken := &entrant{Contestant: &contestant.Contestant{Name: "broken", Module: ".", Pkg: "./crash/broken", Durable: true,
			With: []string{"env", "MISTAKE=" + mistake}}, items: "items.jsonl"}
		if programs == "" {
			programs = built(t, broken.Contestant)
		}
		kills, caught := 0, false
		for i := uint64(0); kills < 50 && !caught; i++ {
			r, err := crash(t.Context(), programs, nil, broken, faultOf(t, "kill"), *seed+i)
			if err != nil {
				t.Fatal(err)
			}
			kills += r.Kills
			caught = !r.safe() && r.falseSuccess() && (mistake == "" && r.Twice > 0 || mistake == "early" && r.Missing > 0)
			if caught {
				t.Logf("%q was caught after %d kills: %v", mistake, kills, r.Verdict)
			}
		}
		if !caught {
			t.Errorf("%q was not caught in %d kills", mistake, kills)
		}
	}
}

// Faults befall our durable crawls, and nothing is lost. After an orderly end nothing is fetched again.
func TestOurs(t *testing.T) {
	var durable []*entrant
	var list []*contestant.Contestant
	for _, e := range entrants() {
		if e.Ours() && e.Durable && !e.database {
			durable, list = append(durable, e), append(list, e.Contestant)
		}
	}
	programs := built(t, list...)
	try := func(e *entrant, name string) {
		t.Run(e.Name+" "+name, func(t *testing.T) {
			if err := e.missing(nil); err != nil {
				t.Skip(err)
			}
			r, err := crash(t.Context(), programs, nil, e, faultOf(t, name), *seed)
			var trouble troubleError
			if errors.As(err, &trouble) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if asked := name == "term" || name == "int"; !r.safe() || asked && r.Repeats > 0 {
				t.Errorf("seed %d: %v, %d starts, stuck %t, hung %t: %s", *seed, r.Verdict, r.Starts, r.Stuck, r.Hung, r.Said)
			}
			if name == "kill" && (r.Starts != struck+1 || r.Kills != struck) {
				t.Errorf("%d starts, %d kills", r.Starts, r.Kills)
			}
		})
	}
	for _, f := range faults() {
		if f.name != "down" { // which takes a minute
			try(durable[0], f.name)
		}
	}
	for _, e := range durable[1:] {
		try(e, "kill")
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
	s.add(result{Verdict: site.Verdict{Repeats: 3, Missing: 2}, Starts: 4, Kills: 3, Success: true})
	s.add(result{Verdict: site.Verdict{Repeats: 5}, Starts: 2, Hung: true})
	if got, want := s.row("x"), "| x | 2 | 0 | 6 | 3 | 0 | 8 | 5 | 2 | 0 | 0 | 0 | 1 | 1 |"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if strings.Count(header, "|") != 2*strings.Count(s.row("x"), "|") {
		t.Error("the row has other columns than the header")
	}
}

// A program that fails whenever it is started is stuck.
func TestStuck(t *testing.T) {
	none := fault{befalls: func(int, *rand.Rand) []killtest.Fault { return nil }}
	failing := &entrant{Contestant: &contestant.Contestant{Name: "failing", Module: ".", Script: "nothing", With: []string{"false"}}, items: "items.jsonl"}
	r, err := crash(t.Context(), "", nil, failing, none, *seed)
	if err != nil || !r.Stuck || r.Success || r.Lost != pages || r.Starts != patience+1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What an output has is read as it is; what cannot be read is told.
func TestReadItems(t *testing.T) {
	folder := t.TempDir()
	for _, tt := range []struct{ name, text, want string }{
		{"none.jsonl", "", ""},
		{"some.jsonl", `{"sku":"a"}`, `{"sku":"a"}`},
		{"some.csv", "sku,tags\na,\"[\"\"x\"\"]\"\n", `{"sku":"a","tags":["x"]}` + "\n"},
		{"torn.csv", "sku,tags\na,\"[]\"\nb,\"[", `{"sku":"a","tags":[]}` + "\n\n" + unreadable},
		{"some.json", `[ {"sku": "a"}, {"sku": "b"} ]`, `{"sku":"a"}` + "\n" + `{"sku":"b"}` + "\n"},
		{"torn.json", `[ {"sku": "a"}, `, "\n" + unreadable},
		{"short.csv", "sku,tags\na\n", "\n" + unreadable},
		{"no.db", "no database", "\n" + unreadable},
	} {
		path := filepath.Join(folder, tt.name)
		if tt.text != "" {
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(readItems(path, nil)); got != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}
