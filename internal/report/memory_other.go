//go:build !unix

package report

// PeakMemory returns 0: this system does not say how much memory the process has had in use.
func PeakMemory() int64 { return 0 }
