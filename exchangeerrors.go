package tegenaria

import "github.com/tegenaria/tegenaria/internal/fetch"

// Transfer tells how a response came over the network. Durations of a connection that was there before are zero.
//
//	Proto      string               // "HTTP/1.1" or "HTTP/2.0"
//	RemoteAddr net.Addr             // of the server, or of the proxy; nil if unknown
//	Reused     bool                 // the connection had served another request before
//	TLS        *tls.ConnectionState // with the certificates of the server, or of an https proxy that plain HTTP goes to; nil without TLS
//
//	Lookup    time.Duration // of the host's addresses
//	Connect   time.Duration // to the first address that answered
//	Handshake time.Duration // of TLS
//	FirstByte time.Duration // from the request's way to the connection to the first byte of the answer
//	Body      time.Duration // from the header to the last byte
//
//	WireBytes int64 // of the body as it came
//	BodyBytes int64 // of the body as it is, its content coding removed
//
//	Err error // why the body broke off, nil if it is whole
type Transfer = fetch.Transfer

// Phase is a part of an exchange, a string.
type Phase = fetch.Phase

// The phases of an exchange, in their order; what an error names.
const (
	PhaseAll       = fetch.PhaseAll       // RequestWithTimeout
	PhaseConnect   = fetch.PhaseConnect   // Limits.Connect
	PhaseHandshake = fetch.PhaseHandshake // Limits.Handshake
	PhaseFirstByte = fetch.PhaseFirstByte // Limits.FirstByte
	PhaseIdle      = fetch.PhaseIdle      // Limits.Idle
)

// TimeoutError is the failure of a request that took longer than its timeout, from connecting to the last byte of the body,
// or of which a part took longer than its limit. It is a net.Error whose Timeout is true.
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

// PrivateAddressError is the failure of a request whose host has a special-purpose address: private, loopback, link-local, a
// cloud's metadata service and the like. Nothing was sent to it.
//
//	Host string     // as it was asked for
//	Addr netip.Addr // what it stands for
type PrivateAddressError = fetch.PrivateAddressError

// BodyTooLargeError is the failure of a response whose body, its content coding removed, is larger than Limits.Body, or with
// RequestWithSpool than Limits.Spool; and of what needs a spooled body in memory that is larger than Limits.Body.
//
//	URL     string
//	Limit   int64 // bytes
//	Spooled bool  // it was Limits.Spool
type BodyTooLargeError = fetch.BodyTooLargeError

// TruncatedBodyError is the failure of a response whose body broke off. The RequestResult has a Response too, with what came
// before that; of a spooled body nothing is kept. Unwrap returns Err.
//
//	URL  string
//	Got  int64 // bytes, their content coding removed
//	Want int64 // bytes that were announced, -1 if unknown
//	Err  error // what the connection said
type TruncatedBodyError = fetch.TruncatedBodyError

// TruncatedHeaderError is the failure of a response whose connection ended within its status line or its header. Unwrap
// returns Err.
//
//	URL string
//	Err error // io.ErrUnexpectedEOF, or what the connection said
type TruncatedHeaderError = fetch.TruncatedHeaderError

// UnexpectedStatusError is the failure of an answer that is no response to the request: 101 Switching Protocols (RFC 9110
// §15.2.2), which no request of ours asks for, or a status below 200; of a Downloader's or middleware's Response, a negative
// status.
//
//	Status int
//	URL    string
type UnexpectedStatusError = fetch.UnexpectedStatusError

// HeaderTooLargeError is the failure of a response whose header is larger than Limits.Header or has more fields than
// Limits.HeaderFields. In HTTP/2 it is the decoded header that counts.
//
//	URL    string
//	Limit  int64 // of Limits.Header, in bytes; 0 if it was the other
//	Fields int   // of Limits.HeaderFields; 0 if it was the other
type HeaderTooLargeError = fetch.HeaderTooLargeError

// FramingError is the failure of a response that does not say, or says in two ways, where it ends: what comes behind it could
// be taken for the answer to another request (RFC 9112 §11.2). Its connection is closed. In a body it is the cause of a
// [*TruncatedBodyError].
//
//	URL    string
//	Reason string // with the paragraph of RFC 9112 that it goes against
type FramingError = fetch.FramingError

// UnansweredError is the failure of a request whose server closes each connection, or says that it is going away, before it
// answers.
//
//	URL         string
//	Connections int // that were made for the request
type UnansweredError = fetch.UnansweredError

// RatioError is the failure of a response whose body grew in decoding by more than Limits.Ratio: it may be a bomb.
//
//	URL     string
//	Limit   int64 // Limits.Ratio
//	Wire    int64 // bytes of the body that had come
//	Decoded int64 // bytes that were made of them
type RatioError = fetch.RatioError

// CorruptBodyError is why a body broke off: its content coding is damaged, or is none. It is the cause of a
// [*TruncatedBodyError]. A body with more than five codings is not decoded at all: then it stands alone. Unwrap returns Err.
//
//	URL string
//	Err error
type CorruptBodyError = fetch.CorruptBodyError
