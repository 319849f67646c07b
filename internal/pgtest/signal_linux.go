package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Signal sends a signal to all processes of the server.
func (s *Server) Signal(signal syscall.Signal) error {
	content, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(content), "\n")
	main, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	err = syscall.Kill(main, signal) // first, so that it starts no more
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, name := range statuses {
		if content, _ := os.ReadFile(name); bytes.Contains(content, fmt.Appendf(nil, "\nPPid:\t%d\n", main)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			_ = syscall.Kill(pid, signal)
		}
	}
	return err
}
