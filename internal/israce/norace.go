//go:build !race

// Package israce tells tests whether the race detector is on: it allocates, takes memory of its own, and is slow.
//
//	if israce.Enabled {
//		t.Skip("the race detector allocates")
//	}
package israce

// Enabled reports whether the race detector is on.
const Enabled = false
