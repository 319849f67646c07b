package tegenaria

import (
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/report"
)

// Phase is a part of an exchange, a string.
type Phase = fetch.Phase

// The phases of an exchange that an error can name, in their order.
const (
	PhaseAll       = fetch.PhaseAll       // RequestWithTimeout
	PhaseConnect   = fetch.PhaseConnect   // Limits.Connect
	PhaseHandshake = fetch.PhaseHandshake // Limits.Handshake
	PhaseFirstByte = fetch.PhaseFirstByte // Limits.FirstByte
	PhaseIdle      = fetch.PhaseIdle      // Limits.Idle
)

// TimeoutError is the failure of a request that exceeded its timeout, which covers everything from connecting to the
// last byte of the body, or the limit of one phase. It is a net.Error whose Timeout is true.
//
//	URL   string
//	Limit time.Duration
//	Phase Phase  // what took so long; PhaseAll is the whole exchange
//	Proxy string // the proxy that PhaseConnect or PhaseHandshake is about, its password hidden; "" if it is the site
type TimeoutError = fetch.TimeoutError

// TooSlowError is the failure of a response whose body came slower than Limits.MinRate. Its Timeout is true.
//
//	URL   string
//	Got   int64         // bytes, as they came
//	In    time.Duration // since the body began
//	Limit int64         // bytes per second
type TooSlowError = fetch.TooSlowError

// ProxyError is the failure of a request whose proxy cannot be reached or does not forward the request. Nothing was
// sent to the site. Proxy is the proxy's URL with the password hidden, Err is the cause. Status and RetryAfter are
// those of its response to CONNECT, Reply is that of a SOCKS5 proxy. Refused reports whether the proxy refused,
// Temporary whether a later attempt may succeed.
type ProxyError = fetch.ProxyError

// BodyTooLargeError is the failure of a response whose decoded body is larger than Limits.Body, or than Limits.Spool if
// the request has RequestWithSpool. Methods that need a spooled body in memory return it too, if the body is larger
// than Limits.Body.
//
//	URL     string
//	Limit   int64 // bytes
//	Spooled bool  // it was Limits.Spool
type BodyTooLargeError = fetch.BodyTooLargeError

// TruncatedBodyError is the failure of a response whose body broke off. The RequestResult also has a Response with the
// part that was received; the received part of a spooled body is not kept. Unwrap returns Err.
//
//	URL  string
//	Got  int64 // bytes, their content coding removed
//	Want int64 // bytes that were announced, -1 if unknown
//	Err  error // the error of the connection
type TruncatedBodyError = fetch.TruncatedBodyError

// TruncatedHeaderError is the failure of a response whose connection ended within its status line or its header. Unwrap
// returns Err. Over HTTP/2 such a request fails with the error of the connection itself.
//
//	URL string
//	Err error // io.ErrUnexpectedEOF, or the error of the connection
type TruncatedHeaderError = fetch.TruncatedHeaderError

// UnexpectedStatusError is the failure of an answer with a status that no request can expect: 101 Switching Protocols
// (RFC 9110 §15.2.2), which the engine never asks for, or another status below 200. For a Response made by a Downloader
// or a middleware it is a negative status.
//
//	Status int
//	URL    string
type UnexpectedStatusError = fetch.UnexpectedStatusError

// HeaderTooLargeError is the failure of a response whose header is larger than Limits.Header or has more fields than
// Limits.HeaderFields. In HTTP/2 the decoded header counts, and one that has a field above Limits.Header, or goes on in
// another frame beyond it, ends the connection: its requests then fail with an error of net/http that names the limit.
//
//	URL    string
//	Limit  int64 // Limits.Header, in bytes, if that was exceeded; else 0
//	Fields int   // Limits.HeaderFields, if that was exceeded; else 0
type HeaderTooLargeError = fetch.HeaderTooLargeError

// FramingError is the failure of a response whose end is missing or ambiguous: the bytes after it could be mistaken for
// the response to another request (RFC 9112 §11.2). The connection is closed. If the body is at fault, it is the cause
// of a [*TruncatedBodyError]. It does not occur in HTTP/2, whose frames say where a response ends.
//
//	URL    string
//	Reason string // with the section of RFC 9112 that the response violates
type FramingError = fetch.FramingError

// UnansweredError is the failure of a request whose server closes each new connection, or sends GOAWAY on it, without
// an answer.
//
//	URL         string
//	Connections int // that were made for the request
type UnansweredError = fetch.UnansweredError

// RatioError is the failure of a response whose body grew by more than Limits.Ratio in decompression: it may be a
// decompression bomb.
//
//	URL     string
//	Limit   int64 // Limits.Ratio
//	Wire    int64 // bytes of the body that were received
//	Decoded int64 // bytes after decompression
type RatioError = fetch.RatioError

// CorruptBodyError says that a body cannot be decoded, because its content coding is damaged or unknown. It is the
// cause of a [*TruncatedBodyError]. For a body with more than five codings, which is not decoded at all, it is the
// failure itself. Unwrap returns Err.
//
//	URL string
//	Err error
type CorruptBodyError = fetch.CorruptBodyError

// TooManyRedirectsError is the failure of a chain of redirects longer than MaxRedirects.
type TooManyRedirectsError struct {
	URL   string
	Limit int
}

// Error names the limit.
func (e *TooManyRedirectsError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *TooManyRedirectsError) WithoutURL(shown string) string {
	return fmt.Sprintf("maximum number of redirects (%d) reached%s", e.Limit, errtext.At(" at ", e.URL, shown))
}

// RedirectLoopError is the failure of a redirect to a URL that its chain has requested twice with the same method, body
// and spelling, if no response of the chain has set a cookie.
type RedirectLoopError struct{ URL string }

// Error names the URL.
func (e *RedirectLoopError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *RedirectLoopError) WithoutURL(shown string) string {
	return "redirect loop" + errtext.At(" at ", e.URL, shown)
}

// PrivateAddressError is the failure of a request whose host has a special-purpose address: private, loopback,
// link-local, that of a cloud's metadata service and so on. No connection was made to it.
//
//	Host string     // as it is in the URL
//	Addr netip.Addr // the address of the host
type PrivateAddressError = fetch.PrivateAddressError

// NoResultError is the failure of a downloader that sent no result in time.
type NoResultError struct{ Waited time.Duration }

// Error says how long the engine waited.
func (e *NoResultError) Error() string {
	return fmt.Sprintf("the downloader sent no result within %s; Download must send one", report.Duration(e.Waited))
}

// WriterBusyError is the failure of a request whose ResponseWriter has not yet returned from a Write of an earlier,
// abandoned request: two requests must not write to it at once.
type WriterBusyError struct{ URL string }

// Error names URL and remedy.
func (e *WriterBusyError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *WriterBusyError) WithoutURL(shown string) string {
	return fmt.Sprintf("the ResponseWriter%s has not returned from a Write of a request that was given up; use another one",
		errtext.At(" of ", e.URL, shown))
}

// StatusError is the failure of a response whose status code is 400 or more and not allowed.
type StatusError struct {
	Status int
	URL    string
}

// Error names code, URL and remedy.
func (e *StatusError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *StatusError) WithoutURL(shown string) string {
	return fmt.Sprintf("status %d%s (to parse such a page, use RequestWithAllowedStatusCode)", e.Status,
		errtext.At(" of ", e.URL, shown))
}
