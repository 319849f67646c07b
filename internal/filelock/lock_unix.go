//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filelock

import (
	"errors"
	"os"
	"syscall"
)

// Lock claims an open file until it is closed. It does not wait: the error is [ErrHeld] if somebody else has the file,
// or had it and has removed it meanwhile, and [errors.ErrUnsupported] where the system has no locks. Any other error is
// that of a file system that knows none.
func Lock(file *os.File) error {
	return claimed(file, syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}

// LockForProcess is Lock for a file that this process may open and claim again while it has it, as a lock of POSIX allows. The lock ends
// when the process closes any of them.
func LockForProcess(file *os.File) error {
	return claimed(file, syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}))
}

// claimed returns what became of an attempt to lock a file.
func claimed(file *os.File, err error) error {
	if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) || isGone(file) {
		return ErrHeld
	}
	return err
}

// isGone reports whether a file no longer has its name: the process that had it has removed it since it was opened here, and another one
// may have made a new file.
func isGone(file *os.File) bool {
	own, err := file.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(file.Name())
	return errors.Is(err, os.ErrNotExist) || err == nil && !os.SameFile(own, named)
}

// Share opens a file that says that something is in use, by any number of processes, until it is closed. If nobody else has it open,
// alone is called first, while others wait.
func Share(path string, alone func() error) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		err = alone()
	}
	if err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
