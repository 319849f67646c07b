package deep

import (
	"runtime"
	"syscall"
	"time"
)

// Took returns how long work takes on a processor: other programs make no difference.
func Took(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	from := threadTime()
	work()
	return threadTime() - from
}

func threadTime() time.Duration {
	const thread = 1 // RUSAGE_THREAD of getrusage(2)
	var used syscall.Rusage
	if err := syscall.Getrusage(thread, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
