package browser

import (
	"os"
	"os/exec"
	"syscall"
)

// ownGroup has a process start in a group of its own, which is killed as a whole. The process ends with ours, even if that is killed.
// chromedp starts it from a thread that lives as long as the process, which this needs.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return killGroup(c.Process.Pid) }
}

// killGroup kills the processes of a group.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }

// awaitEnd waits until no process of a group that was killed is left.
func awaitEnd(group int) { until(func() bool { return len(membersOf(group)) == 0 }) }

// lock locks an open folder until it is closed. Unless it is to wait, a folder that is locked already is an error.
func lock(folder *os.File, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	return syscall.Flock(int(folder.Fd()), how)
}
