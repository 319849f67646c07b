//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/bench/site"
)

// row is an entrant of a scenario with its runs.
type row struct {
	entrant
	runs    []run
	failure error // why there are no runs, or no more
}

// table is a scenario with its rows.
type table struct {
	scenario
	rows   []*row
	others float64 // share of the machine that other programs took meanwhile; below 0: unknown
}

// median is the middle of a value of the runs, or 0 without runs.
func (r *row) median(value func(run) float64) float64 {
	var values []float64
	for _, one := range r.runs {
		values = append(values, value(one))
	}
	return median(values)
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 0 {
		return (values[middle-1] + values[middle]) / 2
	}
	return values[middle]
}

// verdict is the worst of all runs.
func (r *row) verdict() site.Verdict {
	worst := r.runs[0].Verdict
	for _, one := range r.runs[1:] {
		worst = worst.Worse(one.Verdict)
	}
	return worst
}

func (r *row) stopped() bool {
	return slices.ContainsFunc(r.runs, func(one run) bool { return one.stopped })
}

func (r *row) wall() float64 { return r.median(func(one run) float64 { return one.wall }) }

func (r *row) clocked() float64 { return r.median(func(one run) float64 { return one.clocked }) }

// cpu is microseconds per page.
func (r *row) cpu() float64 {
	return r.median(func(one run) float64 { return one.cpu * 1e6 / float64(max(1, one.Pages)) })
}

// mallocs is per page.
func (r *row) mallocs() float64 {
	return r.median(func(one run) float64 { return float64(one.mallocs) / float64(max(1, one.Pages)) })
}

// allocated is KB per page.
func (r *row) allocated() float64 {
	return r.median(func(one run) float64 { return float64(one.allocated) / 1000 / float64(max(1, one.Pages)) })
}

func (r *row) peak() float64 {
	return r.median(func(one run) float64 { return float64(one.peakRSS) / (1 << 20) })
}

// queued is how many URLs wait when so many pages of an endless site are done.
func (t *table) queued(pages int) float64 { return float64(t.plan.FanOut-1)*float64(pages) + 1 }

// slope is how many bytes of memory a queued URL takes, and of live heap and stacks; 0 if a run did not get so far.
func (t *table) slope(r *row) (rss, live float64) {
	of := func(value func(point) float64) float64 {
		return r.median(func(one run) float64 {
			from, to := one.growth[0], one.growth[1]
			if to.pages == 0 {
				return 0
			}
			return (value(to) - value(from)) / (t.queued(to.pages) - t.queued(from.pages))
		})
	}
	return of(func(p point) float64 { return float64(p.rss) }), of(func(p point) float64 { return float64(p.live) })
}

// find is the row of a name that has runs, nil if there is none.
func (t *table) find(label string) *row {
	for _, r := range t.rows {
		if r.label == label && len(r.runs) > 0 {
			return r
		}
	}
	return nil
}

// ratio is the CPU of a row to that of another, "" if that did not run.
func (t *table) ratio(r *row, to string) string {
	other := t.find(to)
	if other == nil || other.cpu() == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", r.cpu()/other.cpu())
}

// what says what the contestants had to do.
func (s scenario) what() string {
	if s.plan.FanOut > 0 {
		return s.title
	}
	return fmt.Sprintf("%d %s", s.plan.Pages, s.title)
}

// String is the table in Markdown.
func (t *table) String() string {
	var b strings.Builder
	columns := t.columns()
	fmt.Fprintf(&b, "## %s. %s, concurrency %d\n\n| contestant | runs |", t.name, t.what(), t.concurrency)
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	fmt.Fprintf(&b, "\n|---|--:|%s\n", strings.Repeat("--:|", len(columns)))
	for _, r := range t.rows {
		t.line(&b, r, columns)
	}
	switch {
	case t.others < 0:
		b.WriteString("\nWhat other programs took meanwhile is not known here.\n")
	default:
		fmt.Fprintf(&b, "\nOther programs took %.0f %% of the machine meanwhile%s.\n", t.others*100, warning(t.others))
	}
	return b.String()
}

// busy is the share of the machine from which figures are doubtful.
const busy = 0.05

func warning(others float64) string {
	if others > busy {
		return ": **the machine was busy, trust no figure but counts and ratios, and these little**"
	}
	return ""
}

func (t *table) line(b *strings.Builder, r *row, columns []column) {
	fmt.Fprintf(b, "| %s%s | %d |", r.label, r.note(), len(r.runs))
	for _, c := range columns {
		cell := ""
		if len(r.runs) > 0 {
			cell = " " + c.cell(r)
		}
		fmt.Fprintf(b, "%s |", cell)
	}
	b.WriteByte('\n')
}

// note is what has to be said of a row beside its figures.
func (r *row) note() string {
	switch {
	case r.failure != nil:
		first, _, _ := strings.Cut(r.failure.Error(), "\n")
		return " (" + strings.ReplaceAll(first, "|", "/") + ")"
	case r.stopped():
		return " (stopped by the limit of time)"
	}
	return ""
}
