//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Lock claims an open file until it is closed. It does not wait: the error is [ErrHeld] if somebody else has the file, or had it and has removed
// it meanwhile, and [errors.ErrUnsupported] where the system has no locks. Any other error is that of a file system that knows none.
func Lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrHeld
	} else if err != nil {
		return err
	}
	own, err := file.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(file.Name())
	if errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(own, named) {
		return ErrHeld
	}
	return nil
}
