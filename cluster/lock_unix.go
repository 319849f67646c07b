//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cluster

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens a file that nobody else can lock until it is closed. The error is errLocked if somebody has. The system ends the
// lock of a process that dies.
func lockFile(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		return file, nil
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	return nil, errors.Join(err, file.Close())
}
