package fetch

import (
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
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
func (e *RequestError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *RequestError) WithoutURL(shown string) string {
	text := e.Field + ": " + errtext.Beside(urlx.Cause(e.Err), shown)
	if url := urlx.Redact(e.URL); url != shown {
		text = fmt.Sprintf("request %q: %s", url, text)
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
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
func (e *TimeoutError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *TimeoutError) WithoutURL(shown string) string {
	site := func(before string) string {
		switch url := errtext.At(before, e.URL, shown); {
		case e.Proxy == "":
			return url
		case e.Phase == PhaseConnect:
			return url + " through the proxy " + e.Proxy
		}
		return before + "the proxy " + e.Proxy
	}
	switch e.Phase {
	case PhaseConnect:
		return fmt.Sprintf("connecting%s took longer than %s; %s allows more", site(" to "), e.Limit, remedy.Connect)
	case PhaseHandshake:
		return fmt.Sprintf("the TLS handshake%s took longer than %s; %s allows more", site(" with "), e.Limit, remedy.Handshake)
	case PhaseFirstByte:
		return fmt.Sprintf("no answer%s within %s of the request; %s allows more", site(" from "), e.Limit, remedy.FirstByte)
	case PhaseIdle:
		return fmt.Sprintf("nothing more came%s for %s; %s allows more", site(" from "), e.Limit, remedy.Idle)
	}
	return fmt.Sprintf("the download%s took longer than %s; %s allows more", site(" of "), e.Limit, remedy.Timeout)
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
func (e *TooSlowError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *TooSlowError) WithoutURL(shown string) string {
	return fmt.Sprintf("the body%s comes too slowly: %d bytes in %s, %s is %d a second", errtext.At(" of ", e.URL, shown), e.Got,
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
func (e *BodyTooLargeError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *BodyTooLargeError) WithoutURL(shown string) string {
	limit, instead := remedy.Body, "RequestWithSpool or RequestWithResponseWriter"
	if e.Spooled {
		limit, instead = remedy.Spool, "RequestWithResponseWriter"
	}
	return fmt.Sprintf("the body%s is larger than %s = %d bytes; raise the limit, or use %s",
		errtext.At(" of ", e.URL, shown), limit.Name(), e.Limit, instead)
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
func (e *TruncatedBodyError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *TruncatedBodyError) WithoutURL(shown string) string {
	size := fmt.Sprintf("%d bytes", e.Got)
	if e.Want >= 0 {
		size = fmt.Sprintf("%d of %d bytes", e.Got, e.Want)
	}
	return fmt.Sprintf("the body%s broke off after %s: %s", errtext.At(" of ", e.URL, shown), size, errtext.Beside(e.Err, shown))
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
func (e *TruncatedHeaderError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *TruncatedHeaderError) WithoutURL(shown string) string {
	return fmt.Sprintf("the header of the response%s broke off: %s", errtext.At(" of ", e.URL, shown), errtext.Beside(e.Err, shown))
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
func (e *UnexpectedStatusError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *UnexpectedStatusError) WithoutURL(shown string) string {
	if e.Status < 0 {
		return fmt.Sprintf("the Response%s has the status %d, which is none; set the one that the server sent, or 200", errtext.At(" of ", e.URL, shown), e.Status)
	}
	return fmt.Sprintf("unexpected status %d%s: nobody asked for another protocol", e.Status, errtext.At(" from ", e.URL, shown))
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
func (e *HeaderTooLargeError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *HeaderTooLargeError) WithoutURL(shown string) string {
	response := "the response" + errtext.At(" of ", e.URL, shown)
	if e.Fields > 0 {
		return fmt.Sprintf("%s has more than %s = %d header fields", response, remedy.HeaderFields.Name(), e.Fields)
	}
	return fmt.Sprintf("the header of %s is larger than %s = %d bytes", response, remedy.Header.Name(), e.Limit)
}

// FramingError is the failure of a response that does not say, or says in two ways, where it ends: the bytes behind
// it could be taken for the answer to another request (RFC 9112 §11.2). Its connection is closed. In a body it is the
// cause of a [*TruncatedBodyError]. It does not occur in HTTP/2, whose frames say where a response ends.
type FramingError struct {
	URL    string
	Reason string // with the paragraph of RFC 9112 that it goes against
}

// Error names URL and reason.
func (e *FramingError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *FramingError) WithoutURL(shown string) string {
	return fmt.Sprintf("the response%s is framed wrongly: %s", errtext.At(" of ", e.URL, shown), e.Reason)
}

// UnansweredError is the failure of a request whose server closes each connection, or says that it is going away, before
// it answers.
type UnansweredError struct {
	URL         string
	Connections int // that were made for the request
}

// Error names URL and connections.
func (e *UnansweredError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *UnansweredError) WithoutURL(shown string) string {
	url := errtext.At(" for ", e.URL, shown)
	if e.Connections == 1 {
		return fmt.Sprintf("a connection was made%s, and did not take the request", url)
	}
	return fmt.Sprintf("%d connections were made%s, and none of them took the request", e.Connections, url)
}

// RatioError is the failure of a response whose body grew in decoding by more than Limits.Ratio: it may be a bomb.
type RatioError struct {
	URL     string
	Limit   int64 // Limits.Ratio
	Wire    int64 // bytes of the body that had come
	Decoded int64 // bytes that were made of them
}

// Error names URL, limit and sizes.
func (e *RatioError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *RatioError) WithoutURL(shown string) string {
	return fmt.Sprintf("the body%s grows from %d to %d bytes in decoding, more than %s = %d times", errtext.At(" of ", e.URL, shown), e.Wire,
		e.Decoded, remedy.Ratio.Name(), e.Limit)
}

// CorruptBodyError is why a body broke off: its content coding is damaged, or is none. It is the cause of a
// [*TruncatedBodyError]. A body with more than five codings is not decoded at all: then it stands alone.
type CorruptBodyError struct {
	URL string
	Err error
}

// Error names URL and cause.
func (e *CorruptBodyError) Error() string { return e.WithoutURL("") }

// WithoutURL is Error without this URL, beside which the text is shown.
func (e *CorruptBodyError) WithoutURL(shown string) string {
	return fmt.Sprintf("the body%s cannot be decoded: %s", errtext.At(" of ", e.URL, shown), errtext.Beside(e.Err, shown))
}

// Unwrap returns the cause.
func (e *CorruptBodyError) Unwrap() error { return e.Err }
