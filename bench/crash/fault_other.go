//go:build unix && !linux

package main

// systemFaults are those that take Linux, and root.
func systemFaults() []fault { return nil }
