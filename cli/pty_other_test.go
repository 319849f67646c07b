//go:build !linux

package cli_test

// onTerminal is for Linux alone; the scripts stop before it elsewhere.
func onTerminal() { panic("no terminal here") }
