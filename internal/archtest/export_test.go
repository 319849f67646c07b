package archtest

import (
	"maps"
	"slices"
)

// Owners returns the files that the table of goroutines names.
func Owners() []string { return slices.Sorted(maps.Keys(goroutines)) }
