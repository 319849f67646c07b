package report_test

import (
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/report"
)

// Only fields that never were there are unfilled; one page without a field says nothing where there are items.
func TestUnfilled(t *testing.T) {
	fields := map[string]fieldcount.Counts{
		"Book.title":     {Items: 2, Filled: 2},
		"Book.price":     {LookedFor: 3, Missing: 2, Defaulted: 1},
		"Book.count":     {LookedFor: 3, Missing: 2}, // found once, as zero
		"Book.author":    {Items: 3},
		"Book.isbn":      {LookedFor: 1, Failed: 1},
		fieldcount.Other: {LookedFor: 9, Missing: 9},
	}
	for items, want := range map[int64][]string{3: {"Book.author", "Book.price"}, 0: {"Book.author", "Book.isbn", "Book.price"}} {
		var names []string
		for _, tally := range report.Unfilled(fields, items) {
			names = append(names, tally.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("with %d items: %q, want %q", items, names, want)
		}
	}
	if parts := report.Unfilled(fields, 3)[1].Parts; parts[1].Name != "missing" || parts[1].Count != 2 {
		t.Errorf("%+v", parts)
	}
}
