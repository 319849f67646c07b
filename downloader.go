package tegenaria

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/module"
)

// Downloader downloads requests. The engine has one of its own; others are set by
// [EngineWithDownloader] or registered by name.
//
// Contract. Download fetches ctx.Request and sends exactly one result: ctx itself, with its DownloadResult
// set to a Response, to an Error, or to both if the body was cut off. A response with any status code is a
// Response; redirects too, since the engine follows them. Download may block, or send the result from its own goroutine
// after it has returned; without a result within the request's timeout the request fails. It must return when ctx, which
// is a context.Context, is done. It is called concurrently. A panic is a failure of the
// request. The engine fills in the missing fields of a Response made by [NewResponse].
//
// The channel has room for the result, so sending it never blocks. A second result is discarded. More results break the
// contract: a Download that sends them blocks until the request's timeout, is then abandoned, and its results are
// discarded; a goroutine that sends them after Download has returned blocks for ever.
//
// CheckStatus reports whether a response goes to its parser rather than to the ErrorHandlers.
// allowStatus has the codes that the engine and the request allow. It is called concurrently and must
// not block.
type Downloader interface {
	Download(ctx *Context, result chan<- *Context)
	CheckStatus(statusCode uint64, allowStatus []uint64) bool
}

// downloaderModule is a downloader that is counted.
type downloaderModule struct {
	*module.Base
	Downloader
}

// downloaderSet finds the downloader of a request: several may be registered under one name, then the one
// that is least loaded and healthiest gets the next request.
type downloaderSet struct{ *module.Set[*downloaderModule] }

// newDownloaderSet counts the default downloader as the one named "".
func newDownloaderSet(fallback Downloader, named []namedDownloader) (s downloaderSet, err error) {
	s = downloaderSet{module.NewSet[*downloaderModule]()}
	for i, d := range append([]namedDownloader{{"", fallback}}, named...) {
		mid, err := module.GenMID(module.TypeDownloader, uint64(i+1), netip.AddrPort{})
		if err != nil {
			return s, err
		}
		base, err := module.NewBase(mid, nil)
		if err != nil {
			return s, err
		}
		if err := s.Add(d.name, &downloaderModule{base, d.downloader}); err != nil {
			return s, err
		}
	}
	return s, nil
}

// pick returns the downloader that a request by this name goes to.
func (s downloaderSet) pick(name string) (*downloaderModule, error) {
	d, known, err := s.Pick(module.TypeDownloader, name)
	if !known {
		return nil, fmt.Errorf("no downloader is registered as %q; use RegisterDownloader", name)
	}
	return d, err
}

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

// TimeoutError is the failure of a request that exceeded its timeout, which covers everything from connecting to the last byte of
// the body, or the limit of one phase. It is a net.Error whose Timeout is true.
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

// ProxyError is the failure of a request whose proxy cannot be reached or does not forward the request. Nothing was sent to the site.
// Proxy is the proxy's URL with the password hidden, Err is the cause. Status and RetryAfter are those of its response to CONNECT,
// Reply is that of a SOCKS5 proxy. Refused reports whether the proxy refused, Temporary whether a later attempt may succeed.
type ProxyError = fetch.ProxyError

// BodyTooLargeError is the failure of a response whose decoded body is larger than Limits.Body, or than Limits.Spool if the request
// has RequestWithSpool. Methods that need a spooled body in memory return it too, if the body is larger than Limits.Body.
//
//	URL     string
//	Limit   int64 // bytes
//	Spooled bool  // it was Limits.Spool
type BodyTooLargeError = fetch.BodyTooLargeError

// TruncatedBodyError is the failure of a response whose body broke off. The RequestResult also has a Response with the part that
// was received; the received part of a spooled body is not kept. Unwrap returns Err.
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

// UnexpectedStatusError is the failure of an answer with a status that no request can expect: 101 Switching Protocols (RFC 9110
// §15.2.2), which the engine never asks for, or another status below 200. For a Response made by a Downloader or a middleware it is
// a negative status.
//
//	Status int
//	URL    string
type UnexpectedStatusError = fetch.UnexpectedStatusError

// HeaderTooLargeError is the failure of a response whose header is larger than Limits.Header or has more fields than
// Limits.HeaderFields. In HTTP/2 the decoded header counts, and one that has a field above Limits.Header, or goes on in another
// frame beyond it, ends the connection: its requests then fail with an error of net/http that names the limit.
//
//	URL    string
//	Limit  int64 // Limits.Header, in bytes, if that was exceeded; else 0
//	Fields int   // Limits.HeaderFields, if that was exceeded; else 0
type HeaderTooLargeError = fetch.HeaderTooLargeError

// FramingError is the failure of a response whose end is missing or ambiguous: the bytes after it could be mistaken for the
// response to another request (RFC 9112 §11.2). The connection is closed. If the body is at fault, it is the cause of a
// [*TruncatedBodyError]. It does not occur in HTTP/2, whose frames say where a response ends.
//
//	URL    string
//	Reason string // with the section of RFC 9112 that the response violates
type FramingError = fetch.FramingError

// UnansweredError is the failure of a request whose server closes each new connection, or sends GOAWAY on it, without an answer.
//
//	URL         string
//	Connections int // that were made for the request
type UnansweredError = fetch.UnansweredError

// RatioError is the failure of a response whose body grew by more than Limits.Ratio in decompression: it may be a decompression
// bomb.
//
//	URL     string
//	Limit   int64 // Limits.Ratio
//	Wire    int64 // bytes of the body that were received
//	Decoded int64 // bytes after decompression
type RatioError = fetch.RatioError

// CorruptBodyError says that a body cannot be decoded, because its content coding is damaged or unknown. It is the cause of a
// [*TruncatedBodyError]. For a body with more than five codings, which is not decoded at all, it is the failure itself. Unwrap
// returns Err.
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
func (e *TooManyRedirectsError) Error() string {
	return fmt.Sprintf("maximum number of redirects (%d) reached at %s", e.Limit, urlx.Redact(e.URL))
}

// RedirectLoopError is the failure of a redirect to a URL that its chain has requested twice with the same method, body and
// spelling, if no response of the chain has set a cookie.
type RedirectLoopError struct{ URL string }

// Error names the URL.
func (e *RedirectLoopError) Error() string { return "redirect loop at " + urlx.Redact(e.URL) }

// asking is the Context given to a downloader that is not the engine's own, or that writes to a ResponseWriter. The downloader
// may write to it when the engine does not wait for the result any more.
type asking struct {
	Context
	guard.Sender[*Context]
	url string
}

// TooLate is the error of a download that takes longer than its request may.
func (a *asking) TooLate(limit time.Duration) error { return &TimeoutError{URL: a.url, Limit: limit} }

type namedDownloader struct {
	name       string
	downloader Downloader
}
