package fetch

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria/internal/multiread"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Answer is the answer of the server. It is never recycled.
type Answer struct {
	Status   int
	Header   http.Header     // never nil; without the fields of a content coding that was removed
	URL      string          // what was asked, without its fragment
	Body     []byte          // its content coding removed; nil where it went elsewhere
	File     *multiread.Body // of a request with Spool, which its owner has to close; nil otherwise
	Length   int64           // bytes of the body, of the file, or that the Writer took
	Took     time.Duration   // from the start of the exchange to the last byte
	Transfer *Transfer       // never nil
}

// exchange is one request sent and one response read.
type exchange struct {
	client *Client
	r      Request
	url    string // what is asked, without its fragment

	start  time.Time
	life   context.Context // ends with the caller's context, or at the request's timeout
	cancel context.CancelCauseFunc
	traced tracedContext // life, and the way to trace
	clock  clock
	trace  tracer

	route  *route
	secure bool        // the site is spoken to over TLS
	sent   http.Header // of the request; nil before it is
	host   string      // that it names
	body   body
	answer Answer
}

// begin starts the clock.
func (x *exchange) begin(ctx context.Context) {
	x.start = time.Now()
	x.url = x.r.URL
	x.life, x.cancel = context.WithCancelCause(ctx)
	l := &x.client.config.Limits
	x.clock.start(x.r.URL, timeLimits{all: x.r.Timeout, firstByte: l.FirstByte, idle: l.Idle, rate: l.MinRate}, x.start, x.cancel)
	x.trace.method, x.trace.clock, x.trace.progress = x.r.method(), &x.clock, x.r.Progress
	x.body.of = x
}

// end gives back whatever the exchange holds, except its share of the budget.
func (x *exchange) end() {
	x.clock.stop()
	x.body.close()
	x.cancel(nil)
	if unused := x.trace.http2.Swap(nil); unused != nil {
		unused.Close()
	}
	if x.route != nil {
		x.client.routes.leave(x.route)
	}
}

// run makes the exchange. The answer is not nil if it has come, even with an error.
func (x *exchange) run() (*Answer, error) {
	resp, err := x.ask() //nolint:bodyclose // end closes it
	if err != nil {
		return nil, err
	}
	return x.receive(resp)
}

// receive reads an answer whose header has come.
func (x *exchange) receive(resp *http.Response) (*Answer, error) {
	x.clock.answered()
	x.trace.enter(StepBody)
	x.body.from = resp.Body
	if resp.StatusCode < http.StatusOK {
		// A switch of protocols that was not asked for: the body is the bare connection, which knows no timeouts.
		return nil, &UnexpectedStatusError{Status: resp.StatusCode, URL: x.url}
	}
	fields, size := measure(resp.Header)
	if limit := x.client.config.Limits.HeaderFields; fields > limit {
		return nil, &HeaderTooLargeError{URL: x.url, Fields: limit}
	}
	if size > bigHeader {
		if err := x.body.claim(size); err != nil {
			return nil, err
		}
	}
	if resp.Header == nil {
		resp.Header = make(http.Header)
	}
	began := time.Now()
	a, body := &x.answer, &x.body
	*a = Answer{Status: resp.StatusCode, Header: resp.Header, URL: x.url, Transfer: x.trace.transfer(resp)}
	a.Transfer.facts.sent, a.Transfer.facts.host = x.sent, x.host
	err := body.take(resp, a)
	a.Transfer.Body = time.Since(began)
	a.Transfer.WireBytes, a.Transfer.BodyBytes = body.wire, body.got
	a.Took = time.Since(x.start)
	switch {
	case err == nil:
	case body.to == toNowhere:
		a.Transfer.Err, err = err, nil
	case body.broken == nil:
		return nil, err
	default:
		if a.Transfer.Err = err; x.r.Partial && body.to != toSpool && x.life.Err() == nil {
			err = nil
		}
	}
	return a, err
}

// ask sends the request and returns its answer, whose body is still to come.
func (x *exchange) ask() (*http.Response, error) {
	req, err := x.request()
	if err != nil {
		return nil, err
	}
	if x.route, err = x.client.routes.enter(&x.r); err != nil {
		return nil, err
	}
	x.sent, x.host = req.Header, req.Host
	x.secure = req.URL.Scheme == "https"
	toProxy := x.route.absolute && !x.secure
	if req.Header["Proxy-Authorization"] != nil && !toProxy {
		return nil, &RequestError{URL: x.url, Field: `Header["Proxy-Authorization"]`, Err: errNotToProxy,
			Remedy: "write user and password into the proxy's URL, as http://user:password@host:port"}
	}
	if x.route.absolute {
		req.URL = urlx.ForProxy(req.URL)
	}
	answer, err := x.route.send(&x.traced, req)
	if err != nil {
		return nil, x.explain(urlx.Cause(err))
	}
	return answer, nil
}

var errNotToProxy = errors.New("the site itself would receive it, and no proxy")

// bigHeader is how many bytes make a header a large one, which counts in the budget until its response is let go.
const bigHeader = 64 << 10

// measure returns how many fields a header has, and about how many bytes it takes.
func measure(header http.Header) (fields int, bytes int64) {
	const text = 16 // bytes of a string, without its letters
	for name, values := range header {
		fields += len(values)
		bytes += int64(len(name)) + 2*text
		for _, v := range values {
			bytes += text + int64(len(v))
		}
	}
	return fields, bytes
}
