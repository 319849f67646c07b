//go:build unix

package main

import (
	"os"
	"syscall"
)

// run makes this process the program, which ends the lock too. It returns only if that fails.
func run(program string, args []string, unlock func()) (code int, err error) {
	defer unlock()
	return 0, syscall.Exec(program, args, os.Environ())
}
