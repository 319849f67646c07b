package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"
)

// onTerminal FILE COMMAND… runs a command whose standard input and controlling terminal are a terminal of its own, and writes what the
// terminal was sent into the file. It reads on until nobody has the terminal open any more; testscript's ttyin closes its end when the
// command has ended, and loses what was not yet read by then.
func onTerminal() {
	if err := runOnTerminal(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func runOnTerminal(file string, command []string) error {
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer ours.Close()
	var number, unlocked int32
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), syscall.TIOCGPTN, uintptr(unsafe.Pointer(&number))); errno != 0 {
		return errno
	}
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, ours.Fd(), syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&unlocked))); errno != 0 {
		return errno
	}
	theirs, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // of the standard input
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return err
	}
	var sent bytes.Buffer
	_, _ = sent.ReadFrom(ours) // it ends with EIO
	if err := cmd.Wait(); err != nil {
		return err
	}
	return os.WriteFile(file, sent.Bytes(), 0o600)
}
