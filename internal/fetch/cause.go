package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
)

// Cause names the failure of an exchange in a few words, which are the same for all failures of one kind; "" if it is of another
// kind than those of this package and of connections.
func Cause(err error) string {
	for _, known := range []struct {
		is   func(error) bool
		name string
	}{
		{is[*PrivateAddressError], "private address"}, {is[*BodyTooLargeError], "body too large"}, {is[*HeaderTooLargeError], "header too large"},
		{is[*RatioError], "decompression bomb"}, {is[*FramingError], "bad framing"}, {is[*CorruptBodyError], "corrupt body"},
		{is[*TooSlowError], "too slow"}, {isProxy, "proxy"}, {isCertificate, "certificate"},
	} {
		if known.is(err) {
			return known.name
		}
	}
	var timeout *TimeoutError
	var dns *net.DNSError
	var dial *net.OpError
	var late interface{ Timeout() bool }
	switch {
	case errors.As(err, &timeout) && timeout.Phase != PhaseAll:
		return "timeout: " + string(timeout.Phase)
	case errors.As(err, &dns) && dns.IsNotFound:
		return "no such host"
	case errors.As(err, &dns):
		return "no answer from DNS"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &late) && late.Timeout():
		return "timeout"
	case errors.As(err, &dial) && dial.Op == "dial":
		return "host cannot be reached"
	case is[*TruncatedBodyError](err), is[*TruncatedHeaderError](err), is[*UnansweredError](err), isBroken(err):
		return "connection broken"
	}
	return ""
}

func is[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

// isProxy reports whether it is the proxy that failed, and not the site.
func isProxy(err error) bool {
	var timeout *TimeoutError
	var op *net.OpError
	return is[*ProxyError](err) || errors.As(err, &timeout) && timeout.Proxy != "" || errors.As(err, &op) && isProxyOp(op)
}

func isProxyOp(op *net.OpError) bool { return op.Op == opProxy || strings.HasPrefix(op.Op, "socks") }

func isCertificate(err error) bool {
	return is[*tls.CertificateVerificationError](err) || is[x509.UnknownAuthorityError](err) || is[x509.HostnameError](err) || is[x509.CertificateInvalidError](err)
}

func isBroken(err error) bool {
	for _, broken := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, broken) {
			return true
		}
	}
	return false
}
