//go:build unix

package main

import (
	"fmt"

	"github.com/tegenaria/tegenaria/bench/contestant"
)

// column is one of a table.
type column struct {
	title string
	cell  func(*row) string
}

// number is a column of whole numbers.
func number[T int | int64 | float64](title string, value func(*row) T) column {
	return column{title, func(r *row) string { return fmt.Sprintf("%.0f", float64(value(r))) }}
}

// told is a column of whole numbers that are not known of all: 0 is none.
func told(title string, value func(*row) float64) column {
	return column{title, func(r *row) string {
		if v := value(r); v != 0 {
			return fmt.Sprintf("%.0f", v)
		}
		return ""
	}}
}

// columns are those of the scenario's kind.
func (t *table) columns() []column {
	cpu, peak := number("CPU µs/page", (*row).cpu), number("peak RSS MiB", (*row).peak)
	wall := column{"wall s", func(r *row) string { return fmt.Sprintf("%.3g", r.wall()) }}
	switch t.kind {
	case growing:
		return []column{
			told("RSS bytes/queued URL", func(r *row) float64 { rss, _ := t.slope(r); return rss }),
			told("live bytes/queued URL", func(r *row) float64 { _, live := t.slope(r); return live }),
			told("RSS MiB at the end", func(r *row) float64 {
				return r.median(func(one run) float64 { return float64(one.growth[1].rss) / (1 << 20) })
			}),
			told("goroutines", func(r *row) float64 { return float64(r.runs[0].growth[1].goroutines) }),
			cpu, repeats,
		}
	case scaling:
		return append(items(), number("pages/s", func(r *row) float64 { return float64(t.plan.Pages) / r.clocked() }), peak)
	}
	return append(pages(), append(items(),
		wall,
		number("pages/s", func(r *row) float64 { return float64(r.verdict().Pages) / r.wall() }),
		cpu,
		column{"× colly", func(r *row) string { return t.ratio(r, contestant.CollyAsync) }},
		column{"× raw-tokenizer", func(r *row) string { return t.ratio(r, contestant.RawTokenizer) }},
		told("allocations/page", (*row).mallocs),
		told("KB allocated/page", (*row).allocated),
		peak,
		number("connections", func(r *row) int64 { return r.runs[0].connections }),
	)...)
}

var repeats = number("repeats", func(r *row) int { return r.verdict().Repeats })

// pages are the columns of what the server's log says.
func pages() []column {
	return []column{
		number("pages", func(r *row) int { return r.verdict().Pages }),
		repeats,
		number("lost", func(r *row) int { return r.verdict().Lost }),
	}
}

// items are the columns of what the file of items says.
func items() []column {
	return []column{
		number("items right", func(r *row) int { return r.verdict().Right }),
		{"wrong, missing, twice", func(r *row) string {
			v := r.verdict()
			return fmt.Sprintf("%d, %d, %d", v.Wrong, v.Missing, v.Twice)
		}},
	}
}
