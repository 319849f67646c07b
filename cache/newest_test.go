package cache_test

import (
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/cache"
)

// The oldest values give way to newer ones by number and by bytes, and a value that is larger than all the room is kept alone.
// It fails if the bytes of those that gave way go on counting.
func TestNewest(t *testing.T) {
	newest := cache.NewNewest[int](3, 10)
	for _, step := range []struct {
		value, bytes int
		want         []int
	}{
		{1, 1, []int{1}}, {2, 1, []int{1, 2}}, {3, 1, []int{1, 2, 3}},
		{4, 1, []int{2, 3, 4}},
		{5, 8, []int{3, 4, 5}},
		{6, 2, []int{5, 6}},
		{7, 100, []int{7}},
		{8, 1, []int{8}},
		{9, 9, []int{8, 9}},
	} {
		before := newest.All()
		newest.Add(step.value, step.bytes)
		if got := slices.Collect(newest.All()); !slices.Equal(got, step.want) {
			t.Fatalf("after %d: %v, want %v", step.value, got, step.want)
		}
		if slices.Contains(slices.Collect(before), step.value) {
			t.Fatalf("All has grown by %d afterwards", step.value)
		}
	}
}
