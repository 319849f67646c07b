//go:build unix

package report

import (
	"runtime"
	"syscall"
)

// PeakMemory returns the most memory that the process has had in use so far, in bytes; 0 if the system does not say.
func PeakMemory() int64 {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) * 1024
}
