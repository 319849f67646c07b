package tegenaria

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// BodyTooLargeError is the failure of a response whose body, its content coding removed, is larger than
// Limits.Body, or with RequestWithSpool than Limits.Spool; and of what needs a spooled body in memory that is larger
// than Limits.Body.
type BodyTooLargeError struct {
	URL     string
	Limit   int64 // bytes
	Spooled bool  // it was Limits.Spool
}

// Error names URL, limit and remedies.
func (e *BodyTooLargeError) Error() string {
	if e.Spooled {
		return fmt.Sprintf("the body of %s is larger than Limits.Spool = %d bytes; raise the limit, or use RequestWithResponseWriter", urlx.Redact(e.URL), e.Limit)
	}
	return fmt.Sprintf("the body of %s is larger than Limits.Body = %d bytes; raise the limit, or use RequestWithSpool or RequestWithResponseWriter",
		urlx.Redact(e.URL), e.Limit)
}

// TruncatedBodyError is the failure of a response whose body broke off. The RequestResult has a Response
// too, with what came before that; of a spooled body nothing is kept.
type TruncatedBodyError struct {
	URL  string
	Got  int64 // bytes, their content coding removed
	Want int64 // bytes that were announced, -1 if unknown
	Err  error // what the connection said
}

// Error names URL, sizes and cause.
func (e *TruncatedBodyError) Error() string {
	if e.Want < 0 {
		return fmt.Sprintf("the body of %s broke off after %d bytes: %v", urlx.Redact(e.URL), e.Got, e.Err)
	}
	return fmt.Sprintf("the body of %s broke off after %d of %d bytes: %v", urlx.Redact(e.URL), e.Got, e.Want, e.Err)
}

// Unwrap returns the cause.
func (e *TruncatedBodyError) Unwrap() error { return e.Err }

// TruncatedHeaderError is the failure of a response whose connection ended within its status line or its header.
type TruncatedHeaderError struct {
	URL string
	Err error // io.ErrUnexpectedEOF, or what the connection said
}

// Error names URL and cause.
func (e *TruncatedHeaderError) Error() string {
	return fmt.Sprintf("the header of the response of %s broke off: %v", urlx.Redact(e.URL), e.Err)
}

// Unwrap returns the cause.
func (e *TruncatedHeaderError) Unwrap() error { return e.Err }

// UnexpectedStatusError is the failure of an answer that is no response to the request: 101 Switching
// Protocols (RFC 9110 §15.2.2), which no request of ours asks for, or a status below 200; of a Downloader's or
// middleware's Response, a negative status.
type UnexpectedStatusError struct {
	Status int
	URL    string
}

// Error names status and URL.
func (e *UnexpectedStatusError) Error() string {
	if e.Status < 0 {
		return fmt.Sprintf("the Response of %s has the status %d, which is none; set the one that the server sent, or 200", urlx.Redact(e.URL), e.Status)
	}
	return fmt.Sprintf("unexpected status %d from %s: nobody asked for another protocol", e.Status, urlx.Redact(e.URL))
}

// HeaderTooLargeError is the failure of a response whose header is larger than Limits.Header or has more fields than
// Limits.HeaderFields. In HTTP/2 it is the decoded header that counts.
type HeaderTooLargeError struct {
	URL    string
	Limit  int64 // of Limits.Header, in bytes; 0 if it was the other
	Fields int   // of Limits.HeaderFields; 0 if it was the other
}

// Error names URL, limit and remedy.
func (e *HeaderTooLargeError) Error() string {
	if e.Fields > 0 {
		return fmt.Sprintf("the response of %s has more than Limits.HeaderFields = %d header fields", urlx.Redact(e.URL), e.Fields)
	}
	return fmt.Sprintf("the header of the response of %s is larger than Limits.Header = %d bytes", urlx.Redact(e.URL), e.Limit)
}

// FramingError is the failure of a response that does not say, or says in two ways, where it ends: what comes behind
// it could be taken for the answer to another request (RFC 9112 §11.2). Its connection is closed. In a body it is the
// cause of a [*TruncatedBodyError].
type FramingError struct {
	URL    string
	Reason string // with the paragraph of RFC 9112 that it goes against
}

// Error names URL and reason.
func (e *FramingError) Error() string {
	return fmt.Sprintf("the response of %s is framed wrongly: %s", urlx.Redact(e.URL), e.Reason)
}

// UnansweredError is the failure of a request whose server closes each connection, or says that it is going away, before
// it answers.
type UnansweredError struct {
	URL         string
	Connections int // that were made for the request
}

// Error names URL and connections.
func (e *UnansweredError) Error() string {
	return fmt.Sprintf("%d connections were made for %s, and none of them took the request", e.Connections, urlx.Redact(e.URL))
}

// explain says in our words what net/http says in its own, or does not say at all.
func (x *exchange) explain(err error) error {
	if x.down.client != nil {
		return err // what it bounds, and how, is its owner's
	}
	var private *PrivateAddressError
	var unanswered *UnansweredError
	var framing *httpx.FramingError
	var cut *httpx.HeaderCutError
	var dial *net.OpError
	limits := &x.down.limits
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
	case httpx.IsHeaderTooLarge(err), errors.Is(err, httpx.ErrHeaderTooLarge):
		return &HeaderTooLargeError{URL: x.url, Limit: limits.Header}
	case errors.Is(err, errSlowHandshake):
		return &TimeoutError{URL: x.url, Limit: limits.Handshake, Phase: PhaseHandshake, Proxy: x.proxyOf(err)}
	case errors.As(err, &dial) && isConnecting(dial) && dial.Timeout():
		return &TimeoutError{URL: x.url, Limit: limits.Connect, Phase: PhaseConnect, Proxy: x.proxyOf(err)}
	}
	// net/http has no types for these.
	switch text := err.Error(); {
	case strings.Contains(text, "server response headers exceeded"), strings.Contains(text, "response header list larger than"):
		return &HeaderTooLargeError{URL: x.url, Limit: limits.Header}
	case strings.HasSuffix(text, "connection error: COMPRESSION_ERROR"), strings.HasSuffix(text, "connection error: PROTOCOL_ERROR"):
		return fmt.Errorf("%w: what came breaks HTTP/2, or it is a header far above Limits.Header = %d bytes", err, limits.Header)
	}
	return shortened(err)
}

// withoutWrapper returns what net/http wraps when it gives up an HTTP/1 connection for whatever reason. Its text says
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
	return urlx.Redact(x.r.Proxy.ProxyUrl)
}

// shortError is an error with a long text. Errors are kept, and net/http quotes what a server has sent: of that nothing
// is kept but what the text still has.
type shortError struct {
	text string
	err  error // what of the chain can be kept; nil: nothing
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
