package typecheck_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/typecheck"
)

type book struct{}

// A part that was given items, and none of its type, is warned of with the type of the first; one that was given a single right
// one, or none at all, is not. It fails if an item of the right type that comes first is forgotten.
func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		items []any
		want  string
	}{
		{nil, ""},
		{[]any{book{}}, ""},
		{[]any{book{}, &book{}, 1}, ""},
		{[]any{1, book{}}, ""},
		{[]any{&book{}, 1}, "Part[typecheck_test.book] saw 2 items, none of them of the type typecheck_test.book (the first was a *typecheck_test.book)"},
	} {
		check := typecheck.New[book]("Part")
		for _, item := range tt.items {
			_, ok := item.(book)
			check.Saw(item, ok)
		}
		if got := check.Warning(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%v: %q, want %q", tt.items, got, tt.want)
		}
	}
}

// Many goroutines may see items at a time. It fails under the race detector if the first type is not kept atomically.
func TestCheckConcurrently(t *testing.T) {
	check := typecheck.New[book]("Part")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				check.Saw(1, false)
			}
		})
	}
	all.Wait()
	if !strings.Contains(check.Warning(), "saw 800 items") {
		t.Error(check.Warning())
	}
}

// One item is told in the singular.
func TestWarningOfOne(t *testing.T) {
	check := typecheck.New[book]("Part")
	check.Saw(&book{}, false)
	if got := check.Warning(); !strings.HasPrefix(got, "Part[typecheck_test.book] saw 1 item, which was a *typecheck_test.book and not a typecheck_test.book: does") {
		t.Errorf("%q", got)
	}
}
