//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package feed

import (
	"errors"
	"syscall"
)

// Lock claims the file for this process until it is closed. Its error is an [*InUseError] if another process has it. A file system that
// knows no locks is trusted.
func (f systemFile) Lock() error {
	// A lock of POSIX belongs to the process, so a feed can be opened again where an earlier one was left behind.
	err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
		return &InUseError{f.Name()}
	}
	return nil
}
