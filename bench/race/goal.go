//go:build unix

package main

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/bench/contestant"
)

// goal is what our contestants are to reach in a scenario.
type goal struct {
	scenario string
	text     string
	bound    float64
	unit     string
	least    bool // the value has to be at least the bound, else at most
	measure  func(tables) (value float64, known bool)
}

// tables are those of a race, by the name of their scenario.
type tables map[string]*table

// row is one of a scenario, nil if there is none with runs.
func (t tables) row(scenario, label string) *row {
	if t[scenario] == nil {
		return nil
	}
	return t[scenario].find(label)
}

// value measures one row.
func value(scenario, label string, f func(*table, *row) float64) func(tables) (float64, bool) {
	return func(t tables) (float64, bool) {
		r := t.row(scenario, label)
		if r == nil || r.stopped() {
			return 0, false
		}
		return f(t[scenario], r), true
	}
}

// compare measures two rows, of one scenario or of two.
func compare(f func(ours, theirs *row) float64, names [2]string, labels [2]string) func(tables) (float64, bool) {
	return func(t tables) (float64, bool) {
		ours, theirs := t.row(names[0], labels[0]), t.row(names[1], labels[1])
		if ours == nil || theirs == nil || ours.stopped() {
			return 0, false
		}
		return f(ours, theirs), true
	}
}

func timesCPU(ours, theirs *row) float64 { return ours.cpu() / theirs.cpu() }

func moreCPU(ours, theirs *row) float64 { return ours.cpu() - theirs.cpu() }

func moreMallocs(ours, theirs *row) float64 { return ours.mallocs() - theirs.mallocs() }

func peak(_ *table, r *row) float64 { return r.peak() }

var (
	standardToColly = [2]string{contestant.OursStandard, contestant.CollyAsync}
	standardToRaw   = [2]string{contestant.OursStandard, contestant.RawTokenizer}

	toColly = [2]string{contestant.OursSimplest, contestant.CollyAsync}
	toRaw   = [2]string{contestant.OursSimplest, contestant.RawTokenizer}
	toSame  = [2]string{contestant.OursTyped, contestant.RawSame} // both write items without syncing them
)

// goals are those that the project has set itself.
var goals = []goal{
	{"a", "CPU of ours-standard to colly's", 0.115, "×", false, compare(timesCPU, [2]string{"a", "a"}, standardToColly)},
	{"a", "CPU of ours-standard to raw-tokenizer's", 0.66, "×", false, compare(timesCPU, [2]string{"a", "a"}, standardToRaw)},
	{"a", "CPU to colly's", 0.105, "×", false, compare(timesCPU, [2]string{"a", "a"}, toColly)},
	{"a", "CPU to raw-tokenizer's", 0.60, "×", false, compare(timesCPU, [2]string{"a", "a"}, toRaw)},
	{"a", "peak RSS", 32, "MiB", false, value("a", contestant.OursSimplest, peak)},
	{"a", "the engine's own CPU per page: ours-typed less raw-same", 15, "µs", false, compare(moreCPU, [2]string{"a", "a"}, toSame)},
	{"a", "the engine's own allocations per page: ours-typed less raw-same", 40, "", false,
		compare(moreMallocs, [2]string{"a", "a"}, toSame)},
	{"b", "CPU to colly's", 0.16, "×", false, compare(timesCPU, [2]string{"b", "b"}, toColly)},
	{"b", "CPU to raw-tokenizer's", 1.10, "×", false, compare(timesCPU, [2]string{"b", "b"}, toRaw)},
	{"b", "the engine's own CPU per page: ours-typed less raw-same", 8, "µs", false, compare(moreCPU, [2]string{"b", "b"}, toSame)},
	{"b", "the engine's own allocations per page: ours-typed less raw-same", 40, "", false,
		compare(moreMallocs, [2]string{"b", "b"}, toSame)},
	{"l", "CPU to colly's", 0.10, "×", false, compare(timesCPU, [2]string{"l", "l"}, toColly)},
	{"a", "CPU of ours-links to ours-simplest", 1.15, "×", false,
		compare(timesCPU, [2]string{"a", "a"}, [2]string{contestant.OursLinks, contestant.OursSimplest})},
	{"l", "CPU of ours-links to ours-simplest", 1.15, "×", false,
		compare(timesCPU, [2]string{"l", "l"}, [2]string{contestant.OursLinks, contestant.OursSimplest})},
	{"t", "CPU to raw-same's", 1.12, "×", false, compare(timesCPU, [2]string{"t", "t"}, [2]string{contestant.OursSimplest, contestant.RawSame})},
	{"a", "CPU of ours-channels to ours-simplest", 1.15, "×", false,
		compare(timesCPU, [2]string{"a", "a"}, [2]string{contestant.OursChannels, contestant.OursSimplest})},
	{"l", "CPU of ours-channels to ours-simplest", 1.25, "×", false,
		compare(timesCPU, [2]string{"l", "l"}, [2]string{contestant.OursChannels, contestant.OursSimplest})},
	{"c", "wall to the ideal", 1.12, "×", false, value("c", contestant.OursSimplest, func(t *table, r *row) float64 {
		return r.wall() / (float64(t.plan.Pages) * t.plan.Latency.Seconds() / float64(t.concurrency))
	})},
	{"d", "live bytes per queued URL", 110, "B", false,
		value("d", contestant.OursSimplest, func(t *table, r *row) float64 { _, live := t.slope(r); return live })},
	{"d", "RSS bytes per queued URL", 200, "B", false,
		value("d", contestant.OursSimplest, func(t *table, r *row) float64 { rss, _ := t.slope(r); return rss })},
	{"d", "RSS bytes per queued URL, disk cache", 25, "B", false,
		value("d", contestant.OursDurable, func(t *table, r *row) float64 { rss, _ := t.slope(r); return rss })},
	{"e", "wall", 20, "ms", false, value("e", contestant.OursSimplest, func(_ *table, r *row) float64 { return r.wall() * 1000 })},
	{"m", "pages/s with GOMAXPROCS 2 to 1", 1.7, "×", true, compare(func(two, one *row) float64 { return one.clocked() / two.clocked() },
		[2]string{"m", "m"}, [2]string{memoryLabel(2), memoryLabel(1)})},
	{"h", "CPU of ours-long to ours in scenario a", 1.5, "×", false,
		compare(timesCPU, [2]string{"h", "a"}, [2]string{contestant.OursLong, contestant.OursSimplest})},
}

// goalTable is what became of the goals whose scenarios ran, in Markdown; "" if none did.
func goalTable(t tables) string {
	var b strings.Builder
	for _, g := range goals {
		v, known := g.measure(t)
		if !known {
			continue
		}
		verdict, relation := "**missed**", "≤"
		if g.least {
			relation = "≥"
		}
		if v <= g.bound != g.least || v == g.bound {
			verdict = "met"
		}
		fmt.Fprintf(&b, "| %s | %s | %s %g %s | %.3g | %s |\n", g.scenario, g.text, relation, g.bound, g.unit, v, verdict)
	}
	if b.Len() == 0 {
		return ""
	}
	return "## Goals\n\n| scenario | what | goal | measured | |\n|---|---|--:|--:|---|\n" + b.String()
}
