//go:build !linux

package browser

import (
	"errors"
	"os"
	"os/exec"
)

// ownGroup does nothing: here the process alone is killed, and its children end when they miss it.
func ownGroup(*exec.Cmd) {}

// killGroup does nothing.
func killGroup(int) error { return nil }

// awaitEnd does nothing.
func awaitEnd(int) {}

// lock locks nothing: here folders whose owners were killed stay.
func lock(*os.File, bool) error { return errors.ErrUnsupported }
