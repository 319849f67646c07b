//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package cluster

import (
	"errors"
	"os"
)

// lockFile locks nothing here: without locks nobody knows whether the process before has ended.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("this system has no locks of files: leave Options.Dir empty")
}
