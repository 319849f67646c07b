//go:build unix

package httpx

import (
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
)

// canListen reports whether the system can be asked which bytes have come over a connection.
const canListen = true

// ear asks the system about connections. It is lent, because a crawl may keep very many connections waiting, and the
// collector looks at everything that each of them has.
type ear struct {
	one [1]byte
	n   int
	got error
	ask func(fd uintptr) bool // its method
}

var ears = sync.Pool{New: func() any {
	e := new(ear)
	e.ask = e.read
	return e
}}

func (e *ear) read(fd uintptr) bool {
	for {
		if e.n, e.got = syscall.Read(int(fd), e.one[:]); e.got != syscall.EINTR {
			return true // whatever it was: it does not wait
		}
	}
}

// listen reports, without waiting, whether bytes or the end have come over a connection. It takes one byte if there is any.
// Over TLS the connection below is asked too.
func listen(conn net.Conn) heard {
	if secured, ok := conn.(*tls.Conn); ok {
		if within := listenWithin(secured); within != heardNothing {
			return within
		}
		conn = secured.NetConn()
	}
	below, ok := conn.(syscall.Conn)
	if !ok {
		return heardNobody
	}
	raw, err := below.SyscallConn()
	if err != nil {
		return heardNobody
	}
	e := ears.Get().(*ear)
	defer ears.Put(e)
	switch err := raw.Read(e.ask); {
	case err == nil && e.got == nil && e.n > 0:
		return heardSomething
	case err == nil && e.got == syscall.EAGAIN: // its file descriptor never blocks
		return heardNothing
	}
	return heardEnd
}

// hasCome reports, without waiting and without taking anything, whether bytes or the end have come over a connection, or
// over the one below it. Another goroutine may read from it. It is false for a connection that cannot be asked.
func hasCome(conn net.Conn) bool {
	for {
		above, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = above.NetConn()
	}
	below, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := below.SyscallConn()
	if err != nil {
		return false
	}
	come := false
	raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK) // its file descriptor never blocks
		come = err == nil
	})
	return come
}

// isBroken reports whether a write has failed because the other end accepts nothing any more. Bytes that it sent before can
// still be read.
func isBroken(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
