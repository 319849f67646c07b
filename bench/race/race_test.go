//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/bench/contestant"
	"github.com/tegenaria/tegenaria/bench/site"
)

// plan is that of the site that is judged, with enough of each kind of page.
var plan = site.Plan{Pages: 60, Bytes: 500, Links: 5}

// served crawls a site by its numbers, but for what the func leaves out or adds, and returns its log.
func served(t *testing.T, change func(pages []int) []int) site.Log {
	t.Helper()
	s := site.FromPlan(plan)
	var pages []int
	for page := range plan.Pages {
		pages = append(pages, page)
	}
	for _, page := range change(pages) {
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, plan.Reference(page), nil))
	}
	return s.Log()
}

// written is the file of all items, after a change.
func written(t *testing.T, change func(items []site.Item) []site.Item) string {
	t.Helper()
	var items []site.Item
	for page := range plan.Pages {
		if site.HasItem(page) {
			items = append(items, site.ItemOf(page))
		}
	}
	var text bytes.Buffer
	for _, it := range change(items) {
		if err := json.NewEncoder(&text).Encode(it); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "items.jsonl")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The judge finds each error that is planted, and no other.
func TestJudge(t *testing.T) {
	items := len(plan.Items())
	right := site.Verdict{Pages: plan.Pages, Right: items}
	same := func(pages []int) []int { return pages }
	all := func(items []site.Item) []site.Item { return items }
	for name, c := range map[string]struct {
		pages func([]int) []int
		items func([]site.Item) []site.Item
		want  func(*site.Verdict)
	}{
		"nothing":             {same, all, func(*site.Verdict) {}},
		"another order":       {reversed[int], reversed[site.Item], func(*site.Verdict) {}},
		"a lost page":         {func(p []int) []int { return p[:len(p)-1] }, all, func(v *site.Verdict) { v.Pages--; v.Lost = 1 }},
		"a repeated page":     {func(p []int) []int { return append(p, 7) }, all, func(v *site.Verdict) { v.Repeats = 1 }},
		"a page three times":  {func(p []int) []int { return append(p, 7, 7) }, all, func(v *site.Verdict) { v.Repeats = 2 }},
		"one lost, one twice": {func(p []int) []int { p[3] = 4; return p }, all, func(v *site.Verdict) { v.Pages--; v.Lost, v.Repeats = 1, 1 }},
		"no such page":        {func(p []int) []int { return append(p, plan.Pages) }, all, func(v *site.Verdict) { v.Others = 1 }},
		"a missing item":      {same, func(i []site.Item) []site.Item { return i[1:] }, func(v *site.Verdict) { v.Right--; v.Missing = 1 }},
		"an item twice":       {same, func(i []site.Item) []site.Item { return append(i, i[0]) }, func(v *site.Verdict) { v.Twice = 1 }},
		"a wrong price": {same, func(i []site.Item) []site.Item { i[0].Price += "0"; return i }, func(v *site.Verdict) {
			v.Right--
			v.Wrong, v.Missing = 1, 1
		}},
		"tags in another order": {same, func(i []site.Item) []site.Item { slices.Reverse(i[0].Tags); return i }, func(v *site.Verdict) {
			v.Right--
			v.Wrong, v.Missing = 1, 1
		}},
		"an item of nowhere": {same, func(i []site.Item) []site.Item { return append(i, site.Item{SKU: "SKU-9999999"}) }, func(v *site.Verdict) { v.Wrong = 1 }},
		"the item of a page without": {same, func(i []site.Item) []site.Item {
			page := 0
			for site.HasItem(page) {
				page++
			}
			return append(i, site.ItemOf(page))
		}, func(v *site.Verdict) { v.Wrong = 1 }},
		"no items": {same, func([]site.Item) []site.Item { return nil }, func(v *site.Verdict) { v.Right, v.Missing = 0, items }},
	} {
		t.Run(name, func(t *testing.T) {
			want := right
			c.want(&want)
			got, err := site.Judge(plan, served(t, c.pages), written(t, c.items))
			if err != nil || got != want {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
			if got.Clean() != (want == right) {
				t.Errorf("clean() = %t", got.Clean())
			}
		})
	}
}

func reversed[T any](list []T) []T { slices.Reverse(list); return list }

// What is no line of JSON is a wrong item, and a file that is not there has none.
func TestJudgeFile(t *testing.T) {
	log := served(t, func(pages []int) []int { return pages })
	items := len(plan.Items())
	path := written(t, func(items []site.Item) []site.Item { return items })
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text []byte
		want site.Verdict
	}{
		"a torn last line":      {text[:len(text)-10], site.Verdict{Pages: plan.Pages, Right: items - 1, Wrong: 1, Missing: 1}},
		"no end of the line":    {text[:len(text)-1], site.Verdict{Pages: plan.Pages, Right: items}},
		"rubbish between lines": {append([]byte("{\"sku\":\n"), text...), site.Verdict{Pages: plan.Pages, Right: items, Wrong: 1}},
		"empty lines":           {append([]byte("\n\n"), text...), site.Verdict{Pages: plan.Pages, Right: items}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := site.Judge(plan, log, path); err != nil || got != c.want {
				t.Errorf("%+v, %v; want %+v", got, err, c.want)
			}
		})
	}
	if got, err := site.Judge(plan, log, filepath.Join(t.TempDir(), "none")); err != nil || got.Missing != items {
		t.Errorf("without a file: %+v, %v", got, err)
	}
}

// A contestant of ours that is not clean fails the race.
func TestFaults(t *testing.T) {
	clean := site.Verdict{Pages: 10, Right: 7}
	repeats, lost := clean, clean
	repeats.Repeats, lost.Lost = 3, 1
	for name, c := range map[string]struct {
		run  run
		want bool
	}{
		"clean":   {run{Verdict: clean}, false},
		"repeats": {run{Verdict: repeats}, true},
		"lost":    {run{Verdict: lost}, true},
		"stopped": {run{Verdict: clean, stopped: true}, true},
	} {
		t.Run(name, func(t *testing.T) {
			ours := &row{entrant: entrant{Contestant: &contestant.All[0]}, runs: []run{c.run}}
			table := &table{rows: []*row{ours}}
			if got := len(table.faults()) > 0; got != c.want {
				t.Errorf("faults: %v", table.faults())
			}
		})
	}
	peer := &row{entrant: entrant{Contestant: &contestant.All[len(contestant.All)-1]}, runs: []run{{Verdict: lost}}}
	if list := (&table{rows: []*row{peer}}).faults(); len(list) != 0 {
		t.Errorf("a peer's fault is not ours: %v", list)
	}
}

func TestMedian(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   float64
	}{
		"none": {nil, 0}, "one": {[]float64{3}, 3}, "odd": {[]float64{9, 1, 5}, 5}, "even": {[]float64{4, 1, 2, 9}, 3},
	} {
		if got := median(c.values); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Scenario m has a row for one CPU, for two, and for two crawls at once.
func TestScalingRows(t *testing.T) {
	m := scenarios[slices.IndexFunc(scenarios, func(s scenario) bool { return s.kind == scaling })]
	var all []*contestant.Contestant
	for i := range contestant.All {
		all = append(all, &contestant.All[i])
	}
	var got []string
	for _, r := range entrants(m, all) {
		got = append(got, fmt.Sprint(r.label, " ", r.procs, " ", r.cpus, " ", r.twice))
	}
	want := []string{"ours-memory, GOMAXPROCS 1 1 1 false", "ours-memory, GOMAXPROCS 2 2 0,1 false", "ours-memory, two crawls at once 1 1 true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Each figure of a table is made of the right runs, and each goal is held against the right figure.
func TestTable(t *testing.T) {
	entry := func(name string, runs ...run) *row {
		for i := range contestant.All {
			if contestant.All[i].Name == name {
				return &row{entrant: entrant{Contestant: &contestant.All[i], label: name, procs: 1}, runs: runs}
			}
		}
		t.Fatal(name)
		return nil
	}
	of := func(cpu float64, mallocs uint64, rss int64) run {
		return run{Verdict: site.Verdict{Pages: 1000, Right: 700}, cpu: cpu, wall: 2 * cpu, mallocs: mallocs, allocated: mallocs * 500, peakRSS: rss << 20}
	}
	a := &table{scenario: scenario{name: "a", title: "pages"}, rows: []*row{
		entry(contestant.OursSimplest, of(0.2, 90_000, 40), of(0.1, 90_000, 30), of(0.05, 90_000, 20)),
		entry(contestant.Crawlee), entry(contestant.OursTyped, of(0.1, 90_000, 9)), entry(contestant.RawSame, of(0.095, 40_000, 12)), entry(contestant.RawTokenizer, of(0.2, 0, 11)), entry(contestant.CollyAsync, of(0.5, 0, 99)),
	}}
	a.find(contestant.CollyAsync).runs[0].stopped = true
	a.rows[1].failure = errors.New("exit status 1\nand what it said")
	text := a.String()
	for _, line := range []string{
		"| ours-simplest | 3 | 1000 | 0 | 0 | 700 | 0, 0, 0 | 0.2 | 5000 | 100 | 0.20 | 0.50 | 90 | 45 | 30 | 0 |\n",
		"| crawlee (exit status 1) | 0 |" + strings.Repeat(" |", 14) + "\n", "| colly (stopped by the limit of time) | 1 |",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
	d := &table{scenario: scenario{name: "d", kind: growing, plan: site.Plan{FanOut: 50}}, rows: []*row{entry(contestant.OursSimplest, run{
		growth: [2]point{{pages: 100, rss: 1_000_000, live: 500_000}, {pages: 1100, rss: 1_000_000 + 49_000*201, live: 500_000 + 49_000*100}},
	})}}
	got := goalTable(tables{"a": a, "d": d})
	for _, want := range []string{
		"| a | CPU to colly's | ≤ 0.1 × | 0.2 | **missed** |", "| a | CPU to raw-tokenizer's | ≤ 0.7 × | 0.5 | met |",
		"| a | peak RSS | ≤ 32 MiB | 30 | met |", "ours-typed less raw-same | ≤ 8 µs | 5 | met |", "ours-typed less raw-same | ≤ 40  | 50 | **missed** |",
		"| d | live bytes per queued URL | ≤ 110 B | 100 | met |", "| d | RSS bytes per queued URL | ≤ 200 B | 201 | **missed** |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "disk cache") {
		t.Errorf("a goal without a figure in\n%s", got)
	}
}

// A share is what the machine did less what the race did, of what all CPUs could have done.
func TestShare(t *testing.T) {
	if got := share(10*time.Second, 0, 1); got >= 0 {
		t.Errorf("unknown: %v", got)
	}
	if got := share(10*time.Second, 4*time.Second, 5); got != 0 {
		t.Errorf("rounded: %v", got)
	}
	one, half := share(10*time.Second, 11*time.Second, 1), share(10*time.Second, 6*time.Second, 1)
	if math.Abs(one-2*half) > 1e-9 || half <= 0 {
		t.Errorf("%v, %v", one, half)
	}
}

// Every scenario has a plan that its site takes and contestants that exist, and each is chosen by its name.
func TestScenarios(t *testing.T) {
	for _, s := range scenarios {
		if err := s.plan.Check(); err != nil {
			t.Errorf("%s: %v", s.name, err)
		}
		if list, err := chooseScenarios(s.name); err != nil || len(list) != 1 {
			t.Errorf("%s: %v, %v", s.name, list, err)
		}
		for _, name := range s.who {
			if list, err := contestant.Choose(name); err != nil || len(list) != 1 {
				t.Errorf("%s: %s: %v, %v", s.name, name, list, err)
			}
		}
	}
	for _, g := range goals {
		if !slices.ContainsFunc(scenarios, func(s scenario) bool { return s.name == g.scenario }) {
			t.Errorf("a goal for a scenario %q", g.scenario)
		}
	}
	if _, err := chooseScenarios("a,z"); err == nil {
		t.Error("scenario z exists")
	}
	if _, err := contestant.Choose("nobody"); err == nil {
		t.Error("contestant nobody exists")
	}
}
