package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/multiread"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// BodyTooLargeError is the failure of a response whose body, its content coding removed, is larger than
// Limits.Body.
type BodyTooLargeError struct {
	URL   string
	Limit int64 // bytes
}

// Error names URL, limit and remedies.
func (e *BodyTooLargeError) Error() string {
	return fmt.Sprintf("the body of %s is larger than Limits.Body = %d bytes; raise the limit, or use RequestWithSpool or RequestWithResponseWriter",
		redact(e.URL), e.Limit)
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
		return fmt.Sprintf("the body of %s broke off after %d bytes: %v", redact(e.URL), e.Got, e.Err)
	}
	return fmt.Sprintf("the body of %s broke off after %d of %d bytes: %v", redact(e.URL), e.Got, e.Want, e.Err)
}

// Unwrap returns the cause.
func (e *TruncatedBodyError) Unwrap() error { return e.Err }

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
		return fmt.Sprintf("the Response of %s has the status %d, which is none; set the one that the server sent, or 200", redact(e.URL), e.Status)
	}
	return fmt.Sprintf("unexpected status %d from %s: nobody asked for another protocol", e.Status, redact(e.URL))
}

// HeaderTooLargeError is the failure of a response whose header is larger than Limits.Header or has more fields than
// Limits.HeaderFields. A header of HTTP/2 that is too large only once it is decoded, or has one field that is far too
// large, may fail as what breaks the protocol does: net/http does not tell the two apart, and closes the connection.
type HeaderTooLargeError struct {
	URL    string
	Limit  int64 // of Limits.Header, in bytes; 0 if it was the other
	Fields int   // of Limits.HeaderFields; 0 if it was the other
}

// Error names URL, limit and remedy.
func (e *HeaderTooLargeError) Error() string {
	if e.Fields > 0 {
		return fmt.Sprintf("the response of %s has more than Limits.HeaderFields = %d header fields", redact(e.URL), e.Fields)
	}
	return fmt.Sprintf("the header of the response of %s is larger than Limits.Header = %d bytes", redact(e.URL), e.Limit)
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
	return fmt.Sprintf("the response of %s is framed wrongly: %s", redact(e.URL), e.Reason)
}

// exchange is one request sent and one response read.
type exchange struct {
	down *httpDownloader
	ctx  *Context
	r    *Request
	hold *bodyHold
	url  string // what is asked, without its fragment

	start  time.Time
	life   context.Context // ends with the request's context, or at its timeout
	cancel context.CancelCauseFunc
	clock  clock
	trace  tracer

	route    *route
	asSent   bool          // the request asked for a content coding of its own
	body     io.ReadCloser // as it comes
	wire     int64         // bytes of it
	decoder  *httpx.Reader // nil if there is nothing to decode
	content  io.Reader     // the body as it is
	got      int64         // bytes of it
	broken   error         // of body
	reserved int64         // bytes of the hold that belong to body
	windows  int64         // bytes that decoders keep
}

// begin starts the clock.
func (x *exchange) begin() {
	x.start = time.Now()
	x.url = x.r.Url
	x.life, x.cancel = context.WithCancelCause(x.ctx.parent())
	x.clock.start(x.r.Url, x.down.timeLimits(x.r), x.start, x.cancel)
	x.trace.method, x.trace.clock = x.r.method(), &x.clock
}

// end gives back whatever the exchange holds, except its share of the body budget.
func (x *exchange) end() {
	x.clock.stop()
	if x.decoder != nil {
		x.decoder.Close()
		x.down.bodies.shrink(x.hold, max(x.windows-freeWindows, 0))
	}
	if x.body != nil {
		x.body.Close()
	}
	x.cancel(nil)
	if x.route != nil {
		x.down.routes.leave(x.route)
	}
}

// run makes the exchange. The response is not nil if it has come, even with an error.
func (x *exchange) run() (*Response, error) {
	req, err := x.request()
	if err != nil {
		return nil, err
	}
	if x.route, err = x.down.routes.enter(x.r); err != nil {
		return nil, err
	}
	if x.route.absolute {
		req.URL = urlx.ForProxy(req.URL)
	}
	answer, err := x.route.send(req) //nolint:bodyclose // end closes it
	if err != nil {
		return nil, x.explain(bareURLError(err))
	}
	x.clock.answered()
	x.body = answer.Body
	if answer.StatusCode < http.StatusOK {
		// A switch of protocols that nobody asked for: the body is the bare connection, deaf to timeouts.
		return nil, &UnexpectedStatusError{Status: answer.StatusCode, URL: x.url}
	}
	if limit := x.down.limits.HeaderFields; countFields(answer.Header) > limit {
		return nil, &HeaderTooLargeError{URL: x.url, Fields: limit}
	}
	began := time.Now()
	resp := &Response{Status: answer.StatusCode, Header: answer.Header, URL: x.url, ctx: x.ctx, req: x.r, transfer: x.trace.transfer(answer)}
	if resp.Header == nil {
		resp.Header = make(map[string][]string)
	}
	want := answer.ContentLength
	if answer.Body == http.NoBody {
		want = 0 // the answer to a HEAD tells the length of a body that does not come
	}
	streams, spools := x.down.streams(x.r, resp), x.r.spool && !isRedirect(x.r, resp)
	decoded, err := x.open(answer, !streams && !spools)
	if err != nil {
		return nil, err
	}
	if decoded {
		want = -1 // what was announced is another length
	}
	switch {
	case streams:
		err = x.stream(resp)
	case spools:
		err = x.spool(resp)
	default:
		var body []byte
		body, err = x.readBody(want)
		resp.SetBody(body)
	}
	resp.transfer.Body = time.Since(began)
	resp.transfer.WireBytes, resp.transfer.BodyBytes = x.wire, x.got
	resp.Delay = time.Since(x.start).Seconds()
	switch {
	case err == nil:
		return resp, nil
	case x.broken == nil:
		return nil, err
	}
	broken := &TruncatedBodyError{URL: x.url, Got: x.got, Want: want, Err: x.broken}
	if resp.transfer.Err = broken; x.r.partial && !x.r.spool && x.life.Err() == nil {
		return resp, nil
	}
	return resp, broken
}

// countFields counts the fields of a header.
func countFields(header http.Header) (n int) {
	for _, values := range header {
		n += len(values)
	}
	return n
}

// explain says in our words what net/http says in its own, or does not say at all.
func (x *exchange) explain(err error) error {
	if x.down.client != nil {
		return err // what it bounds, and how, is its owner's
	}
	var private *PrivateAddressError
	var framing *httpx.FramingError
	var header *httpx.HeaderTooLargeError
	var dial *net.OpError
	limits := &x.down.limits
	switch {
	case errors.As(err, &private):
		return private
	case errors.As(err, &framing):
		return &FramingError{URL: x.url, Reason: framing.Reason}
	case errors.As(err, &header):
		return &HeaderTooLargeError{URL: x.url, Limit: limits.Header}
	case errors.Is(err, errSlowHandshake):
		return &TimeoutError{URL: x.url, Limit: limits.Handshake, Phase: PhaseHandshake}
	case errors.As(err, &dial) && dial.Op == "dial" && dial.Timeout() && !isLookup(dial):
		return &TimeoutError{URL: x.url, Limit: limits.Connect, Phase: PhaseConnect}
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

// shortened drops an error with a long text: errors are kept, and net/http quotes what a server has sent.
func shortened(err error) error {
	const most = 1024
	text := err.Error()
	if len(text) <= most {
		return err
	}
	return errors.New(strings.ToValidUTF8(text[:most], "") + "…")
}

// isLookup tells whether it was not the connection that failed, but the look-up of its host.
func isLookup(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

func (x *exchange) stream(resp *Response) error {
	scratch, _ := scratches.Get().(*[scratchSize]byte)
	defer scratches.Put(scratch)
	// The wrapper hides a ReadFrom: it would read with a buffer of its own.
	n, err := io.CopyBuffer(struct{ io.Writer }{x.r.ResponseWriter}, x, scratch[:])
	resp.SetBody(nil)
	resp.ContentLength = int(n)
	if err != nil && x.broken == nil {
		return fmt.Errorf("writing the body to the ResponseWriter: %w", err)
	}
	return err
}

// spooled is the size up to which a spooled body stays in memory.
const spooled = 64 << 10

func (x *exchange) spool(resp *Response) error {
	file, err := multiread.NewSpool(x, spooled, 0, "")
	if err != nil {
		resp.SetBody(nil)
		return err
	}
	resp.file, resp.ContentLength = file, int(file.Len())
	return nil
}

// freeWindows is how many bytes the decoders of a body may keep before they count as part of it.
const freeWindows = 4 << 20

// takeWindow waits until the decoders of the body may keep n more bytes.
func (x *exchange) takeWindow(n int64) error {
	before := max(x.windows, freeWindows)
	if counted := x.windows + n - before; counted > 0 {
		if err := x.claim(counted); err != nil {
			return err
		}
	}
	x.windows += n
	return nil
}

// reserve waits until n more bytes of body may be in memory.
func (x *exchange) reserve(n int64) error {
	if err := x.claim(n); err != nil {
		return err
	}
	x.reserved += n
	return nil
}

// claim adds n bytes to the hold, and waits until it may. The clock stands still meanwhile: the server is not to blame.
func (x *exchange) claim(n int64) error {
	bodies := x.down.bodies
	if x.ctx.job != nil && x.ctx.job.caller != nil {
		bodies.add(x.hold, n)
		return nil
	}
	if bodies.tryGrow(x.hold, n) {
		return nil
	}
	x.clock.pause()
	defer x.clock.goOn()
	return bodies.grow(x.life, x.hold, n)
}

// keepReserved gives back what was reserved above n bytes.
func (x *exchange) keepReserved(n int) {
	x.down.bodies.shrink(x.hold, x.reserved-int64(n))
	x.reserved = int64(n)
}
