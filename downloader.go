package tegenaria

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
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

// httpDownloader is the engine's own Downloader. It follows no redirects, and keeps one set of connections for itself and
// one for each proxy.
type httpDownloader struct {
	client      *fetch.Client
	limits      Limits
	allowStatus []uint64
}

var _ Downloader = (*httpDownloader)(nil)

// newHTTPDownloader makes a downloader within these limits, which have their defaults. allowStatus are codes of 400 and over
// that reach the parsers of all requests; c says how connections are made, its Limits aside.
func newHTTPDownloader(limits Limits, allowStatus []uint64, c fetch.Config) *httpDownloader {
	c.Limits = limits.ofExchange()
	return &httpDownloader{client: fetch.New(c), limits: limits, allowStatus: allowStatus}
}

// ofExchange returns those that bound a single exchange.
func (l Limits) ofExchange() fetch.Limits {
	return fetch.Limits{
		Body: l.Body, Spool: l.Spool, Ratio: l.Ratio, Header: l.Header, HeaderFields: l.HeaderFields,
		Connect: l.Connect, Handshake: l.Handshake, FirstByte: l.FirstByte, Idle: l.Idle, MinRate: l.MinRate,
	}
}

// Download fetches one request in the caller's goroutine. A request that is too slow fails with a
// [*TimeoutError], and a body above its limit with a [*BodyTooLargeError], both without a Response;
// a body that breaks off with a [*TruncatedBodyError] and the Response as far as it came.
//
// gzip, deflate, br and zstd are asked for and removed. A request with an Accept-Encoding of its own, or with a Range,
// asks for no others.
//
// A body for the request's ResponseWriter goes there as it comes, and the Response is empty; Limits.Body
// does not apply to it, the timeout does. The writer gets no bodies of redirects that are followed, nor
// of status codes that are not allowed: they are in the Response as usual.
func (d *httpDownloader) Download(ctx *Context, result chan<- *Context) {
	resp, err := d.fetch(ctx)
	ctx.DownloadResult = &RequestResult{Response: resp}
	if err != nil {
		ctx.DownloadResult.Error = &HandleError{CtxId: ctx.CtxId, Err: err, Request: ctx.Request, Response: resp, Stage: StageDownload}
	}
	result <- ctx
}

// CheckStatus allows codes below 400 and those of the list.
func (d *httpDownloader) CheckStatus(statusCode uint64, allowStatus []uint64) bool {
	return statusCode < http.StatusBadRequest || slices.Contains(allowStatus, statusCode)
}

// close closes all connections, and those that are still being made. A Download that is running fails.
func (d *httpDownloader) close() { d.client.Close() }

// fetch makes the exchange of a Context's request, and a Response of the answer.
func (d *httpDownloader) fetch(ctx *Context) (*Response, error) {
	r := ctx.Request
	if r == nil {
		return nil, errNoRequest
	}
	answer, err := d.client.Do(ctx.parent(), d.request(ctx, r))
	return d.response(ctx, answer, err)
}

// ownError returns the error of an exchange in the words of this package.
func ownError(err error) error {
	var unfit *fetch.RequestError
	if errors.As(err, &unfit) {
		return (*RequestError)(unfit)
	}
	return err
}

// request translates a request for package fetch.
func (d *httpDownloader) request(ctx *Context, r *Request) fetch.Request {
	j := jobOf(ctx)
	asked := fetch.Request{
		URL: r.Url, Method: r.method(), Params: r.Params, Header: r.Header, Cookies: r.Cookies, Body: r.Body,
		Follows: r.follows(), Spool: r.spool, Partial: r.partial,
		Wire: ctx.wire, Hold: ctx.hold(), Unbounded: j == nil || j.caller != nil, // the engine's own request, or an inline one
	}
	if r.Proxy != nil {
		asked.Proxy = &r.Proxy.ProxyUrl
	}
	if r.extras().timeout >= 0 {
		asked.Timeout = r.timeoutOrDefault()
	}
	if r.ResponseWriter != nil {
		asked.Writer = &bodyWriter{down: d, ctx: ctx}
	}
	if r.BodyReader != nil {
		asked.ReadBody = func() ([]byte, error) {
			err := r.readBody(d.limits.Body)
			return r.Body, err
		}
	}
	if ctx.internal() != nil {
		asked.Beginning = internalBody
	}
	return asked
}

// bodyWriter is the ResponseWriter of a request that the engine's own downloader asks for.
type bodyWriter struct {
	down *httpDownloader
	ctx  *Context
}

// Takes reports whether the body of a response with this status goes to the ResponseWriter.
func (w *bodyWriter) Takes(status int) bool {
	code := uint64(max(status, 0))
	return w.down.CheckStatus(code, w.down.allowStatus) || slices.Contains(w.ctx.Request.extras().allowStatus, code)
}

// WriteWithin writes to the ResponseWriter. It is user code: when it takes longer than is left of the request's time, or than
// Limits.Callback, the request is given up.
func (w *bodyWriter) WriteWithin(p []byte, left time.Duration, late error) (int, error) {
	j := jobOf(w.ctx)
	if j == nil || j.loan == nil {
		return w.ctx.Request.ResponseWriter.Write(p)
	}
	if callback := w.down.limits.Callback; callback > 0 && (left == 0 || callback < left) {
		left, late = callback, &CallbackTimeoutError{Stage: StageDownload, Limit: callback}
	}
	if left > 0 {
		watch := j.crawl.watch
		watch.Limited(&j.call, left, late)
		defer watch.Limited(&j.call, 0, nil)
	}
	return j.loan.Write(p)
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

// IsPublicAddr reports whether the default downloader dials an address without permission by
// Politeness.AllowPrivate: the address is a unicast address of the public internet, outside the special-purpose ranges of
// the IANA registries (RFC 6890); and if it is an IPv6 address that a translator or tunnel forwards to an
// IPv4 address, that address is public too. An invalid address is not public. It is for programs with their own http.Client
// (EngineWithHTTPClient), whose dialer has to check the addresses that it dials.
func IsPublicAddr(addr netip.Addr) bool {
	return fetch.IsPublic(addr)
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

// PrivateAddressError is the failure of a request whose host has a special-purpose address: private, loopback, link-local, that of
// a cloud's metadata service and so on. No connection was made to it.
//
//	Host string     // as it is in the URL
//	Addr netip.Addr // the address of the host
type PrivateAddressError = fetch.PrivateAddressError

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
