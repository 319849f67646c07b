//go:build !linux

package browser

import "os/exec"

// ownGroup does nothing: here the process alone is killed, and its children end when they miss it.
func ownGroup(*exec.Cmd) {}

// killGroup does nothing.
func killGroup(int) error { return nil }
