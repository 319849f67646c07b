//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package feed

import (
	"errors"
	"os"
	"syscall"
)

// Lock claims the file for this process until it is closed. Its error is an [*InUseError] if another process has it. A file system that
// knows no locks is trusted.
func (f systemFile) Lock() error {
	// A lock of POSIX belongs to the process, so a feed can be opened again where an earlier one was left behind.
	err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) || f.isGone() {
		return &InUseError{f.Name()}
	}
	return nil
}

// isGone reports whether the file no longer has its name: the process that had it has removed it since it was opened here, and another one may
// have made a new file.
func (f systemFile) isGone() bool {
	own, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(f.Name())
	return errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(own, named)
}
