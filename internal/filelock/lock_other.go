//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package filelock

import (
	"errors"
	"os"
)

// Lock returns [errors.ErrUnsupported]: here nobody knows whether the process that had the file before has ended.
func Lock(*os.File) error { return errors.ErrUnsupported }
