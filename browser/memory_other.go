//go:build !linux

package browser

// memoryOf returns none: here the number of pages alone decides when another Chromium is started.
func memoryOf(int, int64) []memory { return nil }

// killMember does nothing.
func killMember(int, int) {}
