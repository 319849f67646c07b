package httpx

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"time"
)

// heard is what has come over a connection that waits.
type heard uint8

const (
	heardNothing   heard = iota // and it is open
	heardSomething              // that no request has asked for
	heardEnd
	heardNobody // it cannot be asked
)

// listenFirst is listen before the first request. Over TLS bytes that have come then may belong to TLS (RFC 8446 §4.6): only
// those that TLS has taken are looked at.
func listenFirst(conn net.Conn) heard {
	if secured, ok := conn.(*tls.Conn); ok {
		return listenWithin(secured)
	}
	return listen(conn)
}

// listenWithin reports whether TLS has taken bytes from its connection that were not read yet.
func listenWithin(conn *tls.Conn) heard {
	if conn.SetReadDeadline(longAgo) != nil {
		return heardEnd
	}
	var one [1]byte
	switch n, err := conn.Read(one[:]); { // reads nothing from the connection below, and TLS goes on after that error
	case n > 0:
		return heardSomething
	case !errors.Is(err, os.ErrDeadlineExceeded), conn.SetReadDeadline(time.Time{}) != nil:
		return heardEnd
	}
	return heardNothing
}
