package fetch

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// explain turns an error of net/http into one of this package, if there is one for it.
func (x *exchange) explain(err error) error {
	return x.explained(x.blameProxy(err))
}

// blameProxy names the proxy in an error that is about it.
func (x *exchange) blameProxy(err error) error {
	var op *net.OpError
	var timeout *TimeoutError
	var refused *ProxyError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &op) && socksReply(op) > 0:
		return refusedBySOCKS(x.r.Proxy, op)
	case x.r.Proxy == nil || errors.As(err, &timeout) && timeout.Proxy != "":
		return err
	case !errors.As(err, &op) || op.Op != "dial" && !isProxyOp(op):
		return err
	}
	return &ProxyError{Proxy: urlx.Redact(*x.r.Proxy), Err: err}
}

func (x *exchange) explained(err error) error {
	if x.client.config.HTTP != nil {
		return err // the owner of the client knows its bounds
	}
	var private *PrivateAddressError
	var unanswered *UnansweredError
	var framing *httpx.FramingError
	var cut *httpx.HeaderCutError
	var dial *net.OpError
	limits := &x.client.config.Limits
	err = cmp.Or(x.trace.cut(), withoutWrapper(err))
	switch {
	case errors.As(err, &private):
		return private
	case errors.As(err, &unanswered):
		return unanswered
	case errors.As(err, &framing):
		return &FramingError{URL: x.url, Reason: framing.Reason}
	case errors.As(err, &cut):
		return &TruncatedHeaderError{URL: x.url, Err: cut.Err}
	case errors.Is(err, httpx.ErrHeaderTooLarge):
		return &HeaderTooLargeError{URL: x.url, Limit: limits.Header}
	case errors.Is(err, errSlowHandshake):
		return &TimeoutError{URL: x.url, Limit: limits.Handshake, Phase: PhaseHandshake, Proxy: x.proxyOf(err)}
	case errors.As(err, &dial) && isConnecting(dial) && dial.Timeout():
		return &TimeoutError{URL: x.url, Limit: limits.Connect, Phase: PhaseConnect, Proxy: x.proxyOf(err)}
	case isCertificate(err) && !is[*ProxyError](err):
		return fmt.Errorf("%w; if you trust this server, give its certificate or authority to EngineWithTLSConfig (RootCAs)", shortened(err))
	}
	// net/http has no types for these.
	switch text := err.Error(); {
	case strings.Contains(text, "server response headers exceeded"), strings.Contains(text, "response header list larger than"):
		return &HeaderTooLargeError{URL: x.url, Limit: limits.Header}
	case strings.HasSuffix(text, "connection error: COMPRESSION_ERROR"), strings.HasSuffix(text, "connection error: PROTOCOL_ERROR"):
		return fmt.Errorf("%w: on this connection the server broke HTTP/2, or sent a header far above %s = %d bytes", err,
			remedy.Header.Name(), limits.Header)
	}
	return shortened(err)
}

// withoutWrapper returns the error that net/http wraps when it gives up an HTTP/1 connection for whatever reason. Its text says
// that the connection has broken, which is not so: a malformed response is in the same wrapper.
func withoutWrapper(err error) error {
	const wrapper = "net/http: HTTP/1.x transport connection broken: "
	if inner := errors.Unwrap(err); inner != nil && strings.HasPrefix(err.Error(), wrapper) {
		return inner
	}
	return err
}

// isConnecting reports whether it was a connection that failed, to a site or a proxy, and not the look-up of its host.
func isConnecting(err *net.OpError) bool {
	var dns *net.DNSError
	switch err.Op {
	case "dial", opProxy, "socks connect":
		return !errors.As(err, &dns)
	}
	return false
}

// proxyOf returns the proxy that a failure to connect is about, without its password; "" if it is the site.
func (x *exchange) proxyOf(err error) string {
	var dial *net.OpError
	switch {
	case x.r.Proxy == nil:
		return ""
	case errors.Is(err, errSlowHandshake) && x.secure && !(errors.As(err, &dial) && dial.Op == opProxy):
		return "" // in the tunnel
	}
	return urlx.Redact(*x.r.Proxy)
}

// shortError is an error with a long text. Errors are kept, and net/http quotes what a server has sent: only the part
// of the quote that is in the text is kept.
type shortError struct {
	text string
	err  error // the part of the chain that can be kept; nil: none
}

// Error returns the beginning of the text.
func (e *shortError) Error() string { return e.text }

// Unwrap returns the part of the chain that is kept.
func (e *shortError) Unwrap() error { return e.err }

// shortened shortens an error with a long text. Errors in its chain that have types of their own are still found.
func shortened(err error) error {
	const most = 1024
	text := err.Error()
	if len(text) <= most {
		return err
	}
	short := &shortError{text: strings.ToValidUTF8(text[:most], "") + "…"}
	var certificate *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.As(err, &certificate):
		short.err = certificate // TLS has bounded it
	case errors.As(err, &op):
		own := *op
		own.Err = shortened(op.Err)
		short.err = &own
	default:
		for inner := errors.Unwrap(err); inner != nil && short.err == nil; inner = errors.Unwrap(inner) {
			if len(inner.Error()) <= most {
				short.err = inner
			}
		}
	}
	return short
}
