package report

import (
	"fmt"
	"strings"
)

// The counters of a durable job have names: "pages", or "status/404" in a group that begins with "status/".

// AddGroup adds counts to counters, under the names of a group.
func AddGroup[K comparable](counters map[string]int64, group string, counts map[K]int64) {
	for key, n := range counts {
		counters[group+fmt.Sprint(key)] += n
	}
}

// Group returns the counts of a group of counters. parse reads what is behind the group in a name; what it cannot read is left out.
func Group[K comparable](counters map[string]int64, group string, parse func(name string) (K, error)) map[K]int64 {
	counts := make(map[K]int64)
	for name, n := range counters {
		if rest, ok := strings.CutPrefix(name, group); ok {
			if key, err := parse(rest); err == nil {
				counts[key] = n
			}
		}
	}
	return counts
}

// mostKeptReasons bounds the counters of a durable job by reason, which it stores with each batch.
const mostKeptReasons = 100

// Fewer returns the reasons of a run, "filtered: offsite", as a job keeps them: if there would be too many counters,
// those that the earlier runs do not have in this group are counted together for each outcome, "filtered: other".
func Fewer(reasons, earlier map[string]int64, group string) map[string]int64 {
	if len(reasons)+len(earlier) <= mostKeptReasons {
		return reasons
	}
	kept := make(map[string]int64)
	for reason, n := range reasons {
		if earlier[group+reason] == 0 {
			outcome, _, _ := strings.Cut(reason, ": ")
			reason = outcome + ": other"
		}
		kept[reason] += n
	}
	return kept
}
