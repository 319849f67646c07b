package fetch

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// Transfer says how a response came over the network. Durations of a connection that was there before are zero.
type Transfer struct {
	Proto      string               // "HTTP/1.1" or "HTTP/2.0"
	RemoteAddr net.Addr             // of the server, or of the proxy; nil if unknown
	Reused     bool                 // the connection had served another request before
	TLS        *tls.ConnectionState // with the certificates of the server, or of an https proxy that plain HTTP goes to; nil without TLS

	Lookup    time.Duration // of the host's addresses
	Connect   time.Duration // to the first address that answered
	Handshake time.Duration // of TLS
	FirstByte time.Duration // from the request's way to the connection to the first byte of the answer
	Body      time.Duration // from the header to the last byte

	WireBytes int64 // of the body as it came
	BodyBytes int64 // of the body as it is, its content coding removed

	Err error // why the body broke off, or what is wrong with the end of its content coding; nil if it is whole

	facts *facts // nil: none is known
}

// facts are those of a Transfer that are no values to be compared.
type facts struct {
	sent, removed http.Header
	host          string
}

// Sent returns the header of the request as it was sent, without Host, and the host that the request named. The header must
// not be changed. It is nil if nothing was sent: the response was made of an answer that was kept, or by a user's Downloader.
func (t *Transfer) Sent() (header http.Header, host string) {
	if t.facts == nil {
		return nil, ""
	}
	return t.facts.sent, t.facts.host
}

// Removed returns the fields that the header of the response lacks because its content coding was removed: Content-Encoding
// and Content-Length. It is nil if there was none, and must not be changed.
func (t *Transfer) Removed() http.Header {
	if t.facts == nil {
		return nil
	}
	return t.facts.removed
}

// tracer follows the connections of an exchange. net/http calls its methods in goroutines of its own.
type tracer struct {
	method   string
	uploads  bool // the request has a body
	clock    *clock
	progress Progress // nil: nobody wants to know
	dials    atomic.Int32
	http2    atomic.Pointer[tls.Conn] // made for the exchange, and not taken by net/http yet; see connector.secureHTTP1

	mu        sync.Mutex // guards the fields below
	conn      net.Conn
	reused    bool
	got       time.Time // when the connection was there
	firstByte time.Time
}

// enter tells the exchange that ctx belongs to, if there is one, how far it is.
func enter(ctx context.Context, step Step) {
	if t, ok := ctx.Value(tracerKey{}).(*tracer); ok {
		t.enter(step)
	}
}

func (t *tracer) enter(step Step) {
	if t.progress != nil {
		t.progress.Enter(step)
	}
}

// mostConnections is how many connections are made for an exchange. net/http makes another one each time that a server
// says it has not looked at the request.
const mostConnections = 5

type tracerKey struct{}

// tracedContext is the context of an exchange, in which the connections that are made for it are counted.
type tracedContext struct {
	context.Context
	tracer *tracer
}

// Value finds the tracer.
func (c *tracedContext) Value(key any) any {
	if key == (tracerKey{}) {
		return c.tracer
	}
	return c.Context.Value(key)
}

// countDial counts a connection for the exchange that ctx belongs to, if there is one. The error is an [*UnansweredError] when
// the exchange has had as many as it may have.
func countDial(ctx context.Context) error {
	t, ok := ctx.Value(tracerKey{}).(*tracer)
	if !ok || t.dials.Add(1) <= mostConnections {
		return nil
	}
	return &UnansweredError{URL: t.clock.url, Connections: mostConnections}
}

// traced makes a func of a route out of one that sends requests as net/http does: it gives the request the context of its
// exchange, and lets the tracer listen.
func traced(send func(*http.Request) (*http.Response, error)) func(*tracedContext, *http.Request) (*http.Response, error) {
	return func(ctx *tracedContext, req *http.Request) (*http.Response, error) {
		return send(req.WithContext(httptrace.WithClientTrace(ctx, ctx.tracer.hooks())))
	}
}

// hooks lets net/http call the tracer.
func (t *tracer) hooks() *httptrace.ClientTrace {
	hooks := &httptrace.ClientTrace{
		GotConn:              func(info httptrace.GotConnInfo) { t.GotConn(info.Conn, info.Reused) },
		GotFirstResponseByte: t.GotFirstByte,
	}
	if t.uploads {
		hooks.WroteRequest = func(httptrace.WroteRequestInfo) { t.clock.sent() }
	}
	return hooks
}

// GotConn notes the connection.
func (t *tracer) GotConn(conn net.Conn, reused bool) {
	if watched, ok := conn.(*httpx.Conn); ok {
		watched.Expect(t.method)
	}
	t.enter(StepFirstByte)
	if !t.uploads {
		t.clock.sent()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conn, t.reused, t.got = conn, reused, time.Now()
}

// GotFirstByte notes when the answer has begun.
func (t *tracer) GotFirstByte() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.firstByte = time.Now()
}

// cut returns how the connection of net/http's HTTP/1 has ended within the response; nil if it has not. See
// [httpx.Conn.Cut].
func (t *tracer) cut() error {
	t.mu.Lock()
	conn := t.conn
	t.mu.Unlock()
	if watched, ok := conn.(*httpx.Conn); ok {
		return watched.Cut()
	}
	return nil
}

// transfer returns the facts that are known when the header has come.
func (t *tracer) transfer(answer *http.Response) *Transfer {
	t.mu.Lock()
	defer t.mu.Unlock()
	both := new(struct {
		Transfer
		facts facts
	})
	r := &both.Transfer
	r.Proto, r.Reused, r.TLS, r.facts = answer.Proto, t.reused, answer.TLS, &both.facts
	if !t.got.IsZero() && !t.firstByte.IsZero() {
		r.FirstByte = max(t.firstByte.Sub(t.got), 0)
	}
	if t.conn == nil {
		return r
	}
	r.RemoteAddr = t.conn.RemoteAddr()
	made := dialledOf(t.conn)
	if made == nil {
		return r
	}
	r.TLS = made.tls
	if !t.reused {
		r.Lookup, r.Connect, r.Handshake = made.lookup, made.connect, made.handshake
	}
	return r
}
