//go:build !linux

package deep

import "time"

// took returns how long work takes.
func took(work func()) time.Duration {
	from := time.Now()
	work()
	return time.Since(from)
}
