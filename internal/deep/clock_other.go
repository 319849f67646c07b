//go:build !linux

package deep

import "time"

// Took returns how long work takes.
func Took(work func()) time.Duration {
	from := time.Now()
	work()
	return time.Since(from)
}
