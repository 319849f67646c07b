package tegenaria

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/internal/fetch"
	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// exchange is one request sent and one response read.
type exchange struct {
	down *httpDownloader
	ctx  *Context
	r    *Request
	hold *fetch.Hold
	url  string // what is asked, without its fragment

	start  time.Time
	life   context.Context // ends with the request's context, or at its timeout
	cancel context.CancelCauseFunc
	traced tracedContext // life, and the way to trace
	clock  clock
	trace  tracer

	route    *route
	secure   bool          // the site is spoken to over TLS
	body     io.ReadCloser // as it comes
	wire     int64         // bytes of it
	decoder  *httpx.Reader // nil if there is nothing to decode
	to       sink          // where it goes
	most     int64         // bytes of it that may go there; 0: any number
	content  io.Reader     // the body as it is
	got      int64         // bytes of it
	broken   error         // of body
	failed   error         // what reading content failed with
	reserved int64         // bytes of the hold that belong to body
	windows  int64         // bytes that decoders keep
	counted  int64         // of them, in the hold
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
		x.down.bodies.Shrink(x.hold, x.counted)
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
	answer, err := x.ask() //nolint:bodyclose // end closes it
	if err != nil {
		return nil, err
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
	x.aim(resp)
	if x.to == toNowhere {
		defer x.hurry().Stop()
	}
	decoded, err := x.open(answer)
	if decoded {
		want = -1 // what was announced is another length
	}
	if err == nil {
		err = x.take(resp, want)
	}
	resp.transfer.Body = time.Since(began)
	resp.transfer.WireBytes, resp.transfer.BodyBytes = x.wire, x.got
	resp.Delay = time.Since(x.start).Seconds()
	switch {
	case err == nil:
		return resp, nil
	case x.to == toNowhere:
		resp.transfer.Err = err
		return resp, nil
	case x.broken == nil:
		return nil, err
	}
	broken := &TruncatedBodyError{URL: x.url, Got: x.got, Want: want, Err: x.broken}
	if resp.transfer.Err = broken; x.r.partial && x.to != toSpool && x.life.Err() == nil {
		return resp, nil
	}
	return resp, broken
}

// ask sends the request and returns its answer, whose body is still to come. A request that does no harm when it comes
// twice is sent again if its connection had to be given up because of another one's answer.
func (x *exchange) ask() (*http.Response, error) {
	req, err := x.request()
	if err != nil {
		return nil, err
	}
	if x.route, err = x.down.routes.enter(x.r); err != nil {
		return nil, err
	}
	x.secure = req.URL.Scheme == "https"
	toProxy := x.route.absolute && !x.secure
	if req.Header["Proxy-Authorization"] != nil && !toProxy {
		return nil, &RequestError{URL: x.url, Field: `Header["Proxy-Authorization"]`, Err: errNotToProxy,
			Remedy: "write user and password into the proxy's URL, as http://user:password@host:port"}
	}
	if x.route.absolute {
		req.URL = urlx.ForProxy(req.URL)
	}
	for tries := 1; ; tries++ {
		answer, err := x.route.send(&x.traced, req)
		if err == nil {
			return answer, nil
		}
		if !errors.Is(err, httpx.ErrNeighbour) || !isSafe(req.Method) || tries == mostConnections || x.life.Err() != nil {
			return nil, x.explain(bareURLError(err))
		}
		if req.GetBody != nil {
			if req.Body, err = req.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

var errNotToProxy = errors.New("the site itself would be told, and no proxy")

// isSafe reports whether a request with this method changes nothing (RFC 9110 §9.2.1).
func isSafe(method string) bool {
	switch method {
	case GET, HEAD, OPTIONS, http.MethodTrace:
		return true
	}
	return false
}

// countFields counts the fields of a header.
func countFields(header http.Header) (n int) {
	for _, values := range header {
		n += len(values)
	}
	return n
}

// freeWindows is how many bytes the decoders of a small body may keep before they count as part of it: usual ones, for
// which decoders take less than they say. Those of a large body count from their first byte.
const freeWindows = 4 << 20

// smallBody is how many decoded bytes make a body a large one when there are more.
const smallBody = 1 << 20

// takeWindow waits until the decoders of the body may keep n more bytes.
func (x *exchange) takeWindow(n int64) error {
	x.windows += n
	return x.countWindows()
}

// countWindows waits until all that the decoders keep may be in memory.
func (x *exchange) countWindows() error {
	n := x.windows - x.counted
	if x.got <= smallBody {
		n -= freeWindows
	}
	if n <= 0 {
		return nil
	}
	if err := x.claim(n); err != nil {
		return err
	}
	x.counted += n
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
	if j := x.ctx.job; j == nil || j.caller != nil { // the engine's own request, or an inline one
		bodies.Add(x.hold, n)
		return nil
	}
	if bodies.TryGrow(x.hold, n) {
		return nil
	}
	x.clock.pause()
	defer x.clock.goOn()
	return bodies.Grow(x.life, x.hold, n)
}

// keepReserved gives back what was reserved above n bytes.
func (x *exchange) keepReserved(n int) {
	x.down.bodies.Shrink(x.hold, x.reserved-int64(n))
	x.reserved = int64(n)
}
