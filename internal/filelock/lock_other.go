//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package filelock

import (
	"errors"
	"os"
)

// Lock returns [errors.ErrUnsupported]: here nobody knows whether the process that had the file before has ended.
func Lock(*os.File) error { return errors.ErrUnsupported }

// LockForProcess returns [errors.ErrUnsupported], as Lock does.
func LockForProcess(*os.File) error { return errors.ErrUnsupported }

// Share opens a file. It cannot know whether somebody else has it open, so that it never calls alone.
func Share(path string, _ func() error) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
}
