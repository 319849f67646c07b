package httpx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Transport sends requests without a body in HTTP/1.1 over connections that it keeps for the next ones, all of them
// without TLS or all with it. It may be used concurrently.
//
// It is for crawls, whose requests are mostly of this kind, see [Transport.Takes]. net/http has two goroutines for each
// connection, which read and write; here the goroutine of the caller does so. That saves four changes between
// goroutines for each request, and a connection that waits costs neither stacks nor buffers. Requests are written as
// net/http writes them, and responses are read by it. Their framing is watched as [Conn] does.
//
// No goroutine reads from an idle connection. Right before a request is written to it, it is checked for bytes that have
// come: then it is closed, because that is its end, or a response to no request (RFC 9112 §9.3.1, §11.2). If it ends before the first byte
// of a response has come, the request is sent again over another one, because it does no harm when it comes twice
// (RFC 9110 §9.2.1).
type Transport struct {
	// Dial makes a connection, and gives up when its context ends. It is called concurrently. A connection that does
	// not let the system be asked what has come (see [syscall.Conn]) serves one request.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
	// Secure says that requests are by https, and that Dial makes each connection a [*tls.Conn] whose handshake is done and on
	// which HTTP/1.1 is spoken. Without it requests are by http.
	Secure bool
	// MaxHeaderBytes bounds what is read for the header of a response, those of interim responses included. It is
	// more than 0.
	MaxHeaderBytes int64
	MaxIdle        int           // connections that wait, in all; the one that has waited longest makes room; 0: none
	MaxIdlePerHost int           // and for one host and port; 0: none
	IdleTimeout    time.Duration // for which a connection waits, more than 0

	mu     sync.Mutex // guards the fields below, and the idle part of connections
	closed bool
	idle   map[string]hostConns // those that wait, by host and port
	count  int                  // of them
	oldest *transportConn
	newest *transportConn
	reaper *time.Timer // nil until the first one waits
}

// Tracer follows a request. Its methods are called in the goroutine of [Transport.Do].
type Tracer interface {
	// GotConn says that there is a connection, and whether it has served a request before. It is called once more
	// for each time that the request is sent again.
	GotConn(conn net.Conn, reused bool)
	// GotFirstByte says that the first byte of the response has come.
	GotFirstByte()
}

// hostConns are the connections that wait for requests to one host and port.
type hostConns struct {
	top   *transportConn // the last that came to wait
	count int            // with those below
}

// mostAtOnce is about how many bytes a request may have: a connection takes that many even if its other end does not
// read. Sending more would need a reader at the same time, because a server may answer before it has read it all.
const mostAtOnce = 8 << 10

// Takes reports whether a request is one that Do can send: by the scheme of the connections, safe, without a body, and of
// no more than some kilobytes.
func (t *Transport) Takes(req *http.Request) bool {
	if scheme, _ := t.scheme(); !canListen || req.URL.Scheme != scheme || req.Body != nil || req.ContentLength != 0 || req.Close {
		return false
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return lengthOf(req) <= mostAtOnce
	}
	return false
}

// scheme returns the scheme of the requests, and the port that it stands for.
func (t *Transport) scheme() (scheme, port string) {
	if t.Secure {
		return "https", "443"
	}
	return "http", "80"
}

// lengthOf is about the length of a request, in bytes.
func lengthOf(req *http.Request) int {
	u := req.URL
	n := len(req.Host) + len(u.Opaque) + max(len(u.RawPath), len(u.Path)) + len(u.RawQuery)
	for name, values := range req.Header {
		for _, value := range values {
			n += len(name) + len(value)
		}
	}
	return n
}

var errNoHost = errors.New("httpx: the URL of the request has no host")

// Do sends a request that [Transport.Takes], and reads the header of its response. ctx, and not the request's own
// context, ends both and the body: then the error is its cause. A header that is larger than MaxHeaderBytes fails with
// [ErrHeaderTooLarge], framing that leaves the response's end open with a [*FramingError].
//
// The body is read by one goroutine at a time, and may be closed at any time, by any. Its connection is used again when
// it was read to its end.
func (t *Transport) Do(ctx context.Context, req *http.Request, tracer Tracer) (*http.Response, error) {
	if err := checkHeader(req.Header); err != nil {
		return nil, err
	}
	for ctx.Err() == nil {
		c := t.take(req.URL.Host)
		if c == nil {
			var err error
			if c, err = t.connect(ctx, req.URL); err != nil {
				return nil, causeOr(ctx, err)
			}
		}
		resp, err := c.do(ctx, req, tracer)
		if err == nil {
			return resp, nil
		}
		c.Close()
		if !c.reused || c.answered || !isLost(err) {
			return nil, causeOr(ctx, err)
		}
	}
	return nil, context.Cause(ctx)
}

// causeOr returns why a context has ended, and err if it has not: what ends with it fails in many ways.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// CloseIdle closes the connections that wait.
func (t *Transport) CloseIdle() {
	t.mu.Lock()
	over := t.cut(func(*transportConn) bool { return true })
	t.mu.Unlock()
	closeAll(over)
}

// Close closes the connections that wait, and those in use when their response ends.
func (t *Transport) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.CloseIdle()
}

// connect makes a connection to the host and port of a URL.
func (t *Transport) connect(ctx context.Context, u *url.URL) (*transportConn, error) {
	host := u.Hostname()
	var err error
	if strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		host, err = idna.Lookup.ToASCII(host)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("httpx: the host %q: %w", u.Hostname(), err)
	case host == "":
		return nil, errNoHost
	}
	_, port := t.scheme()
	conn, err := t.Dial(ctx, "tcp", net.JoinHostPort(host, cmp.Or(u.Port(), port)))
	if err != nil {
		return nil, err
	}
	said := listenFirst(conn)
	if said == heardSomething {
		conn.Close()
		return nil, errSpokeUnasked
	}
	return &transportConn{Conn: conn, transport: t, host: u.Host, once: said == heardNobody}, nil
}

// take returns a connection that waits for the next request to a host, nil if there is none.
func (t *Transport) take(host string) *transportConn {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.idle[host].top
	if c != nil {
		t.remove(c)
	}
	return c
}

// keep lets a connection wait for the next request.
func (t *Transport) keep(c *transportConn) {
	var over *transportConn
	t.mu.Lock()
	switch {
	case t.closed, t.idle[c.host].count >= t.MaxIdlePerHost, t.MaxIdle < 1:
		over = c
	default:
		if t.count >= t.MaxIdle {
			over = t.oldest
			t.remove(over)
		}
		t.add(c)
	}
	t.mu.Unlock()
	if over != nil {
		over.Close()
	}
}

// add adds a connection to those that wait. The caller holds mu.
func (t *Transport) add(c *transportConn) {
	if t.idle == nil {
		t.idle = make(map[string]hostConns)
	}
	host := t.idle[c.host]
	c.since, c.below, c.older = time.Now(), host.top, t.newest
	if c.below != nil {
		c.below.above = c
	}
	if c.older != nil {
		c.older.newer = c
	} else {
		t.oldest = c
	}
	t.idle[c.host] = hostConns{top: c, count: host.count + 1}
	t.newest = c
	t.count++
	switch {
	case t.reaper == nil:
		t.reaper = time.AfterFunc(t.IdleTimeout, t.reap)
	case t.count == 1:
		t.reaper.Reset(t.IdleTimeout)
	}
}

// remove takes a connection out of those that wait. The caller holds mu.
func (t *Transport) remove(c *transportConn) {
	host := t.idle[c.host]
	if host.count--; c.above == nil {
		host.top = c.below
	} else {
		c.above.below = c.below
	}
	if c.below != nil {
		c.below.above = c.above
	}
	if host.count > 0 {
		t.idle[c.host] = host
	} else {
		delete(t.idle, c.host)
	}
	if c.older == nil {
		t.oldest = c.newer
	} else {
		c.older.newer = c.newer
	}
	if c.newer == nil {
		t.newest = c.older
	} else {
		c.newer.older = c.older
	}
	c.above, c.below, c.older, c.newer = nil, nil, nil, nil
	if t.count--; t.count == 0 {
		t.reaper.Stop()
	}
}

// cut takes those out that have waited longest, as long as over says so. The caller holds mu.
func (t *Transport) cut(over func(*transportConn) bool) (cut []*transportConn) {
	for t.oldest != nil && over(t.oldest) {
		cut = append(cut, t.oldest)
		t.remove(t.oldest)
	}
	return cut
}

// reap closes the connections that have waited too long.
func (t *Transport) reap() {
	now := time.Now()
	t.mu.Lock()
	over := t.cut(func(c *transportConn) bool { return now.Sub(c.since) >= t.IdleTimeout })
	if t.oldest != nil {
		t.reaper.Reset(t.oldest.since.Add(t.IdleTimeout).Sub(now))
	}
	t.mu.Unlock()
	closeAll(over)
}

func closeAll(conns []*transportConn) {
	for _, c := range conns {
		c.Close()
	}
}
