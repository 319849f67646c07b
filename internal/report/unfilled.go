package report

import (
	"maps"
	"slices"

	"github.com/tegenaria/tegenaria/internal/fieldcount"
)

// Unfilled returns the fields that were filled on no item, in the order of their names, with what became of them. A
// field that was found, but always as zero or empty, is none of them. A crawl with items may have had one page that
// lacks a field.
func Unfilled(fields map[string]fieldcount.Counts, items int64) (list []Tally) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		found := f.LookedFor - f.Defaulted - f.Missing - f.Failed
		if found > 0 || f.Filled > 0 || name == fieldcount.Other || items > 0 && max(f.LookedFor, f.Items) == 1 {
			continue
		}
		list = append(list, Tally{Name: name, Parts: []Tally{
			{Name: "items", Count: f.Items}, {Name: "missing", Count: f.Missing}, {Name: "defaulted", Count: f.Defaulted}, {Name: "failed", Count: f.Failed},
		}})
	}
	return list
}
