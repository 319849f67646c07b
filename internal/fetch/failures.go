package fetch

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// IsOverload reports whether the failure of an exchange looks like that of a host that has too much to do: it is silent, or
// hangs up. A name that cannot be looked up, a bad certificate, a body that is too large and the like say nothing about that.
func IsOverload(err error) bool {
	var (
		lookup  *net.DNSError
		timeout interface{ Timeout() bool }
		op      *net.OpError
	)
	switch {
	case err == nil, errors.As(err, &lookup):
		return false
	case errors.As(err, &timeout) && timeout.Timeout():
		return true
	case errors.As(err, &op) && (op.Op == "dial" || op.Op == "read" || op.Op == "write"):
		return true
	}
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}

// Unreachable says in a few words why a host cannot be reached, for statistics; "" if the failure is of another kind.
func Unreachable(err error) string {
	var dns *net.DNSError
	var dial *net.OpError
	var timeout interface{ Timeout() bool }
	switch {
	case isProxy(err):
		return "proxy"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.As(err, &dns):
		return "no answer from DNS"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "host does not answer"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &dial) && dial.Op == "dial":
		return "host cannot be reached"
	}
	return ""
}
