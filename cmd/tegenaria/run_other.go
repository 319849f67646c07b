//go:build !unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
)

// run runs the program as a child, and returns its exit code. A console sends Ctrl-C to both: this process leaves it to the child.
func run(program string, args []string, unlock func()) (code int, err error) {
	cmd := &exec.Cmd{Path: program, Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	err = cmd.Start()
	unlock()
	if err != nil {
		return 0, err
	}
	err = cmd.Wait()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return failed.ExitCode(), nil
	}
	return 0, err
}
