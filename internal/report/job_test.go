package report_test

import (
	"fmt"
	"maps"
	"strconv"
	"testing"

	"github.com/tegenaria/tegenaria/internal/report"
)

// A group is read as it was added; other counters, and what cannot be read, are no part of it.
func TestGroup(t *testing.T) {
	counters := map[string]int64{"status/200": 1, "status/odd": 5, "settled": 7}
	report.AddGroup(counters, "status/", map[int]int64{200: 2, 404: 3})
	if want := map[string]int64{"status/200": 3, "status/404": 3, "status/odd": 5, "settled": 7}; !maps.Equal(counters, want) {
		t.Errorf("%v, want %v", counters, want)
	}
	if got, want := report.Group(counters, "status/", strconv.Atoi), map[int]int64{200: 3, 404: 3}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Of many reasons those that the job knows keep their names.
func TestFewer(t *testing.T) {
	few := map[string]int64{"filtered: depth": 1, "failed: parse": 2}
	if got := report.Fewer(few, nil, "reason/"); !maps.Equal(got, few) {
		t.Errorf("few: %v", got)
	}
	many, earlier := maps.Clone(few), map[string]int64{"reason/filtered: depth": 9, "filtered: 7": 1}
	for i := range 100 {
		many[fmt.Sprintf("filtered: %d", i)] = 1
	}
	if got, want := report.Fewer(many, earlier, "reason/"), map[string]int64{"filtered: depth": 1, "filtered: other": 100, "failed: other": 2}; !maps.Equal(got, want) {
		t.Errorf("many: %v, want %v", got, want)
	}
}
