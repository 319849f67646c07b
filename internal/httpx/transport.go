package httpx

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// Transport sends requests without a body in HTTP/1.1 over connections without TLS, which it keeps for the next
// ones. It may be used concurrently.
//
// It is for crawls, whose requests are mostly of this kind, see [Transport.Takes]. net/http has two goroutines for each
// connection, which read and write; here the goroutine of the caller does so. That saves four changes between
// goroutines for each request, and a connection that waits costs neither stacks nor buffers. Requests are written as
// net/http writes them, and responses are read by it. Their framing is watched as [Conn] does.
//
// Nobody listens to a connection that waits. Before it is used again it is asked whether anything has come: then it is
// closed, because that is its end, or what nobody asked for (RFC 9112 §9.3.1, §11.2). If it ends before the first byte
// of a response has come, the request is sent again over another one, because it does no harm when it comes twice
// (RFC 9110 §9.2.1).
type Transport struct {
	// Dial makes a connection. It is called concurrently. One that does not let the system be asked what has come
	// (see [syscall.Conn]) serves one request.
	Dial func(ctx context.Context, network, hostport string) (net.Conn, error)
	// MaxHeaderBytes bounds what is read for the header of a response, those of interim responses included.
	MaxHeaderBytes int64
	MaxIdle        int           // connections that wait, in all; the one that has waited longest makes room
	MaxIdlePerHost int           // and for one host and port
	IdleTimeout    time.Duration // for which a connection waits

	mu     sync.Mutex // guards what follows, and the idle part of connections
	closed bool
	idle   map[string]*plainConn // the last that came to wait, by host and port
	count  int                   // of those that wait
	oldest *plainConn
	newest *plainConn
	reaper *time.Timer // nil until the first one waits
}

// Tracer is told of a request's way. Its methods are called in the goroutine of [Transport.Do].
type Tracer interface {
	// GotConn tells that there is a connection, and whether it has served a request before. It is called once more
	// for each time that the request is sent again.
	GotConn(conn net.Conn, reused bool)
	// GotFirstByte tells that the first byte of the response has come.
	GotFirstByte()
}

// Takes tells whether a request is one that Do can send.
func (t *Transport) Takes(req *http.Request) bool {
	if !canListen || req.URL.Scheme != "http" || req.Body != nil {
		return false
	}
	switch req.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// Do sends a request that [Transport.Takes], and reads the header of its response. ctx, and not the request's own
// context, ends both and the body: then the error is ctx's. A header that is larger than MaxHeaderBytes fails with
// [ErrHeaderTooLarge], framing that leaves the response's end open with a [*FramingError].
//
// The body is for one goroutine at a time. Its connection is used again when it was read to its end.
func (t *Transport) Do(ctx context.Context, req *http.Request, tracer Tracer) (*http.Response, error) {
	if err := checkRequest(req); err != nil {
		return nil, err
	}
	for {
		c := t.take(req.URL.Host)
		if c == nil {
			var err error
			if c, err = t.connect(ctx, req); err != nil {
				return nil, err
			}
		}
		resp, err := c.do(ctx, req, tracer)
		if err == nil {
			return resp, nil
		}
		c.Close()
		switch cause := ctx.Err(); {
		case cause != nil:
			return nil, cause
		case !c.reused || c.answered || !isLost(err):
			return nil, err
		}
	}
}

// CloseIdle closes the connections that wait.
func (t *Transport) CloseIdle() {
	t.mu.Lock()
	over := t.cut(func(*plainConn) bool { return true })
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

// connect makes a connection for a request.
func (t *Transport) connect(ctx context.Context, req *http.Request) (*plainConn, error) {
	hostport := req.URL.Host
	if req.URL.Port() == "" {
		hostport = net.JoinHostPort(req.URL.Hostname(), "80")
	}
	conn, err := t.Dial(ctx, "tcp", hostport)
	if err != nil {
		return nil, err
	}
	c := newPlainConn(t, conn, req.URL.Host)
	if c.listen != nil && c.listen() == heardSomething {
		c.Close()
		return nil, errSpokeUnasked
	}
	return c, nil
}

// take returns a connection that waits for the next request to a host, nil if there is none.
func (t *Transport) take(host string) *plainConn {
	for {
		t.mu.Lock()
		c := t.idle[host]
		if c == nil {
			t.mu.Unlock()
			return nil
		}
		t.remove(c)
		t.mu.Unlock()
		if c.listen() == heardNothing {
			return c
		}
		c.Close()
	}
}

// keep lets a connection wait for the next request.
func (t *Transport) keep(c *plainConn) {
	var over []*plainConn
	t.mu.Lock()
	below := t.idle[c.host]
	switch {
	case t.closed, below != nil && below.depth >= t.MaxIdlePerHost, t.MaxIdlePerHost < 1, t.MaxIdle < 1:
		over = append(over, c)
	default:
		if t.count == t.MaxIdle {
			oldest := t.oldest
			t.remove(oldest)
			over = append(over, oldest)
			below = t.idle[c.host]
		}
		t.add(c, below)
	}
	t.mu.Unlock()
	closeAll(over)
}

// add adds a connection to those that wait. The caller holds mu.
func (t *Transport) add(c, below *plainConn) {
	c.since, c.below, c.depth = time.Now(), below, 1
	if below != nil {
		c.depth = below.depth + 1
	}
	if t.idle == nil {
		t.idle = make(map[string]*plainConn)
	}
	t.idle[c.host] = c
	t.count++
	c.older, c.newer = t.newest, nil
	if t.newest == nil {
		t.oldest = c
	} else {
		t.newest.newer = c
	}
	t.newest = c
	switch {
	case t.reaper == nil:
		t.reaper = time.AfterFunc(t.IdleTimeout, t.reap)
	case t.count == 1:
		t.reaper.Reset(t.IdleTimeout)
	}
}

// remove takes a connection out of those that wait. The caller holds mu.
func (t *Transport) remove(c *plainConn) {
	var above *plainConn
	for at := t.idle[c.host]; at != c; at = at.below {
		at.depth--
		above = at
	}
	switch {
	case above != nil:
		above.below = c.below
	case c.below != nil:
		t.idle[c.host] = c.below
	default:
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
	c.below, c.older, c.newer = nil, nil, nil
	if t.count--; t.count == 0 {
		t.reaper.Stop()
	}
}

// cut takes those out that have waited longest, as long as over says so. The caller holds mu.
func (t *Transport) cut(over func(*plainConn) bool) (cut []*plainConn) {
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
	over := t.cut(func(c *plainConn) bool { return now.Sub(c.since) >= t.IdleTimeout })
	if t.oldest != nil {
		t.reaper.Reset(t.oldest.since.Add(t.IdleTimeout).Sub(now))
	}
	t.mu.Unlock()
	closeAll(over)
}

func closeAll(conns []*plainConn) {
	for _, c := range conns {
		c.Close()
	}
}
