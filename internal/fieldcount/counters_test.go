package fieldcount_test

import (
	"maps"
	"testing"

	"github.com/tegenaria/tegenaria/internal/fieldcount"
)

// Counts of fields survive as counters, beside others; a count that a later version adds is left out.
func TestCounters(t *testing.T) {
	counts := map[string]fieldcount.Counts{"Book.title": {Items: 1, Filled: 2, LookedFor: 3}, "Book.a/b": {Defaulted: 4, Missing: 5, Failed: 6}}
	counters := map[string]int64{"settled": 7}
	fieldcount.Put(counters, counts)
	want := map[string]int64{"settled": 7, "field/items/Book.title": 1, "field/filled/Book.title": 2, "field/looked/Book.title": 3,
		"field/defaulted/Book.a/b": 4, "field/missing/Book.a/b": 5, "field/failed/Book.a/b": 6}
	if !maps.Equal(counters, want) {
		t.Errorf("%v, want %v", counters, want)
	}
	counters["field/later/Book.title"] = 8
	if got := fieldcount.In(counters); !maps.Equal(got, counts) {
		t.Errorf("%v, want %v", got, counts)
	}
	if fieldcount.IsCounter("settled") || !fieldcount.IsCounter("field/items/Book.title") {
		t.Error("which counters are those of fields")
	}
}
