package fetch

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// RequestError is the failure of a request that cannot be sent as it is. Nothing of it was sent.
type RequestError struct {
	URL    string
	Field  string // the part at fault: "Url", "Method", "Header[\"Host\"]", "Cookies[\"id\"]" or "Proxy"
	Remedy string // what to do; may be empty
	Err    error
}

// Error names URL, part, cause and remedy, and no value of a header or a cookie.
func (e *RequestError) Error() string {
	s := fmt.Sprintf("request %q: %s: %v", urlx.Redact(e.URL), e.Field, urlx.Cause(e.Err))
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// Unwrap returns the cause.
func (e *RequestError) Unwrap() error { return e.Err }

// TimeoutError is the failure of a request that took longer than its timeout, from connecting to the last
// byte of the body, or one part of which took longer than its limit.
type TimeoutError struct {
	URL   string
	Limit time.Duration
	Phase Phase // what took so long; PhaseAll is the whole exchange
	// Proxy is the proxy that PhaseConnect or PhaseHandshake is about, its password hidden; "" if it is the site.
	Proxy string
}

// Phase is a part of an exchange.
type Phase string

// The phases of an exchange, in their order; what an error names.
const (
	PhaseAll       Phase = ""           // RequestWithTimeout
	PhaseConnect   Phase = "connect"    // Limits.Connect
	PhaseHandshake Phase = "handshake"  // Limits.Handshake
	PhaseFirstByte Phase = "first byte" // Limits.FirstByte
	PhaseIdle      Phase = "idle"       // Limits.Idle
)

// Error names URL, limit and remedy.
func (e *TimeoutError) Error() string {
	url := urlx.Redact(e.URL)
	if e.Proxy != "" && e.Phase == PhaseConnect {
		url += " through the proxy " + e.Proxy
	} else if e.Proxy != "" {
		url = "the proxy " + e.Proxy
	}
	switch e.Phase {
	case PhaseConnect:
		return fmt.Sprintf("connecting to %s took longer than %s; %s allows more", url, e.Limit, remedy.Connect)
	case PhaseHandshake:
		return fmt.Sprintf("the TLS handshake with %s took longer than %s; %s allows more", url, e.Limit, remedy.Handshake)
	case PhaseFirstByte:
		return fmt.Sprintf("no answer from %s within %s of the request; %s allows more", url, e.Limit, remedy.FirstByte)
	case PhaseIdle:
		return fmt.Sprintf("nothing more came from %s for %s; %s allows more", url, e.Limit, remedy.Idle)
	}
	return fmt.Sprintf("%s took longer than %s; %s allows more", url, e.Limit, remedy.Timeout)
}

// Timeout is true: a net.Error says so too.
func (e *TimeoutError) Timeout() bool { return true }

// ProxyError is the failure of a request whose proxy cannot be reached, or does not do its work. Nothing was sent to the site.
type ProxyError struct {
	Proxy      string // its URL, the password hidden
	Status     int    // with which it answers CONNECT, if not with 2xx; otherwise 0
	RetryAfter string // the header of that answer; "" without one
	Reply      int    // with which a SOCKS5 proxy refuses to connect (RFC 1928 §6); otherwise 0
	Err        error  // how it failed
}

// Refused reports whether the proxy has answered that it does not connect to the site.
func (e *ProxyError) Refused() bool { return e.Status != 0 || e.Reply != 0 }

// Temporary reports whether the proxy has refused for a reason that may go away: the status is 408, 429, 500, 502, 503, 504, 522 or
// 524, or the network or the site could not be reached. It is false if the proxy was not reached, or broke off.
func (e *ProxyError) Temporary() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout, 522, 524:
		return true
	}
	switch e.Reply {
	case socksFailure, socksNoNetwork, socksNoHost, socksConnRefused, socksTTL:
		return true
	}
	return false
}

// Error names the proxy and the cause.
func (e *ProxyError) Error() string { return fmt.Sprintf("the proxy %s failed: %v", e.Proxy, e.Err) }

// Unwrap returns the cause.
func (e *ProxyError) Unwrap() error { return e.Err }

// TooSlowError is the failure of a response whose body came slower than Limits.MinRate.
type TooSlowError struct {
	URL   string
	Got   int64         // bytes, as they came
	In    time.Duration // since the body began
	Limit int64         // bytes per second
}

// Error names URL, rate and remedy.
func (e *TooSlowError) Error() string {
	return fmt.Sprintf("the body of %s comes too slowly: %d bytes in %s, %s is %d a second", urlx.Redact(e.URL), e.Got,
		e.In.Round(time.Millisecond), remedy.MinRate.Name(), e.Limit)
}

// Timeout is true: a net.Error says so too.
func (e *TooSlowError) Timeout() bool { return true }

// PrivateAddressError is the failure of a request whose host has a special-purpose address: private,
// loopback, link-local, a cloud's metadata service and the like. Nothing was sent to it.
type PrivateAddressError struct {
	Host string     // as it was asked for
	Addr netip.Addr // what it stands for

	denied bool // by Politeness.DenyLoopback
}

// Error names host, address and remedy.
func (e *PrivateAddressError) Error() string {
	who := e.Addr.String()
	if e.Host != who {
		who = e.Host + " is at " + who + ", which"
	}
	if e.denied {
		return fmt.Sprintf("%s stands for %s, an address of this machine, which %s forbids", e.Host, e.Addr, remedy.DenyLoopback)
	}
	return fmt.Sprintf("%s is not a public address; to allow it, add %s/%d to %s", who, e.Addr, e.Addr.BitLen(), remedy.AllowPrivate)
}

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
		return fmt.Sprintf("the body of %s is larger than %s = %d bytes; raise the limit, or use RequestWithResponseWriter",
			urlx.Redact(e.URL), remedy.Spool.Name(), e.Limit)
	}
	return fmt.Sprintf("the body of %s is larger than %s = %d bytes; raise the limit, or use RequestWithSpool or RequestWithResponseWriter",
		urlx.Redact(e.URL), remedy.Body.Name(), e.Limit)
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

// TruncatedHeaderError is the failure of a response whose connection ended within its status line or its header. Over HTTP/2 such
// a request fails with the error of the connection itself.
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

// UnexpectedStatusError is the failure of an answer that is not a response to the request: 101 Switching
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
// Limits.HeaderFields. In HTTP/2 it is the decoded header that counts, and one that has a field above Limits.Header, or goes on in
// another frame beyond it, ends the connection: its requests then fail with an error of net/http that names the limit.
type HeaderTooLargeError struct {
	URL    string
	Limit  int64 // of Limits.Header, in bytes; 0 if it was the other
	Fields int   // of Limits.HeaderFields; 0 if it was the other
}

// Error names URL, limit and remedy.
func (e *HeaderTooLargeError) Error() string {
	if e.Fields > 0 {
		return fmt.Sprintf("the response of %s has more than %s = %d header fields", urlx.Redact(e.URL), remedy.HeaderFields.Name(), e.Fields)
	}
	return fmt.Sprintf("the header of the response of %s is larger than %s = %d bytes", urlx.Redact(e.URL), remedy.Header.Name(), e.Limit)
}

// FramingError is the failure of a response that does not say, or says in two ways, where it ends: the bytes behind
// it could be taken for the answer to another request (RFC 9112 §11.2). Its connection is closed. In a body it is the
// cause of a [*TruncatedBodyError]. It does not occur in HTTP/2, whose frames say where a response ends.
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
	if e.Connections == 1 {
		return fmt.Sprintf("a connection was made for %s, and did not take the request", urlx.Redact(e.URL))
	}
	return fmt.Sprintf("%d connections were made for %s, and none of them took the request", e.Connections, urlx.Redact(e.URL))
}

// RatioError is the failure of a response whose body grew in decoding by more than Limits.Ratio: it may be a bomb.
type RatioError struct {
	URL     string
	Limit   int64 // Limits.Ratio
	Wire    int64 // bytes of the body that had come
	Decoded int64 // bytes that were made of them
}

// Error names URL, limit and sizes.
func (e *RatioError) Error() string {
	return fmt.Sprintf("the body of %s grows from %d to %d bytes in decoding, more than %s = %d times", urlx.Redact(e.URL), e.Wire,
		e.Decoded, remedy.Ratio.Name(), e.Limit)
}

// CorruptBodyError is why a body broke off: its content coding is damaged, or is none. It is the cause of a
// [*TruncatedBodyError]. A body with more than five codings is not decoded at all: then it stands alone.
type CorruptBodyError struct {
	URL string
	Err error
}

// Error names URL and cause.
func (e *CorruptBodyError) Error() string {
	return fmt.Sprintf("the body of %s cannot be decoded: %v", urlx.Redact(e.URL), e.Err)
}

// Unwrap returns the cause.
func (e *CorruptBodyError) Unwrap() error { return e.Err }
