//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package media

import (
	"errors"
	"os"
	"syscall"
)

// share opens a file that says that the folder is in use until it is closed. If nobody else has it open, alone is called first, while
// others wait.
func share(path string, alone func() error) (*os.File, error) {
	lock, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		err = alone()
	}
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}
