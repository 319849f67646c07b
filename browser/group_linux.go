package browser

import (
	"os/exec"
	"syscall"
)

// ownGroup has a process start in a group of its own, which is killed as a whole. The process ends with ours, even if that is killed.
func ownGroup(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	c.Cancel = func() error { return killGroup(c.Process.Pid) }
}

// killGroup kills the processes of a group.
func killGroup(pid int) error { return syscall.Kill(-pid, syscall.SIGKILL) }
