//go:build unix

package httpx

import (
	"errors"
	"net"
	"syscall"
)

// canListen tells whether the system can be asked what has come over a connection.
const canListen = true

// newListener returns a func that tells, without waiting, what has come over a connection, and takes a byte of it; nil
// if that cannot be told of this one.
func newListener(conn net.Conn) func() heard {
	below, ok := conn.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := below.SyscallConn()
	if err != nil {
		return nil
	}
	var (
		one [1]byte
		n   int
		got error
	)
	read := func(fd uintptr) bool {
		for {
			if n, got = syscall.Read(int(fd), one[:]); got != syscall.EINTR {
				return true // whatever it was: it does not wait
			}
		}
	}
	return func() heard {
		switch err := raw.Read(read); {
		case err == nil && got == nil && n > 0:
			return heardSomething
		case err == nil && got == syscall.EAGAIN: // its file descriptor never blocks
			return heardNothing
		}
		return heardEnd
	}
}

// isBroken tells whether a write has failed because the other end takes nothing any more. What that has sent before can
// still be read.
func isBroken(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
