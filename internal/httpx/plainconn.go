package httpx

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
)

// ErrHeaderTooLarge is the failure of a response whose header is larger than [Transport] reads.
var ErrHeaderTooLarge = errors.New("httpx: the header of the response is too large")

var errSpokeUnasked = badFraming("the server spoke before it was asked")

// plainConn is a connection of a [Transport].
type plainConn struct {
	net.Conn
	transport *Transport
	host      string       // that it leads to, as in the URLs
	listen    func() heard // nil: it cannot be asked
	interrupt func()       // ends what reads and writes

	// Of the request that it serves.
	framing  framing
	header   int64 // bytes of the header that may still come; negative: it is there
	over     error // what all further Reads return
	answered bool  // something has come
	reused   bool  // there was a request before

	// While it waits; guarded by the transport's mu.
	since        time.Time
	below        *plainConn // that came to wait before, for the same host
	depth        int        // with those below
	older, newer *plainConn // of any host
}

// plainReaders lends the buffers of connections in use.
var plainReaders = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

func newPlainConn(t *Transport, conn net.Conn, host string) *plainConn {
	return &plainConn{Conn: conn, transport: t, host: host, listen: newListener(conn),
		interrupt: func() { conn.SetDeadline(time.Unix(1, 0)) }}
}

// NetConn returns the connection below.
func (c *plainConn) NetConn() net.Conn { return c.Conn }

// do sends a request and reads the header of its response. With an error the connection is of no use any more.
func (c *plainConn) do(ctx context.Context, req *http.Request, tracer Tracer) (*http.Response, error) {
	stop := context.AfterFunc(ctx, c.interrupt)
	tracer.GotConn(c, c.reused)
	c.framing.await(req.Method)
	c.header, c.answered = c.transport.MaxHeaderBytes, false
	if err := writeRequest(c.Conn, req); err != nil {
		stop()
		return nil, err
	}
	in, _ := plainReaders.Get().(*bufio.Reader)
	in.Reset(c)
	b := &plainBody{conn: c, in: in, stop: stop}
	resp, err := c.receive(in, req, tracer)
	if err != nil {
		b.end(false)
		return nil, err
	}
	b.last = resp.Close || httpguts.HeaderValuesContainsToken(req.Header["Connection"], "close")
	if resp.Body == http.NoBody {
		b.end(true)
		return resp, nil
	}
	b.body, resp.Body = resp.Body, b
	return resp, nil
}

// receive reads the header of a response, and those of interim ones before it (RFC 9110 §15.2).
func (c *plainConn) receive(in *bufio.Reader, req *http.Request, tracer Tracer) (*http.Response, error) {
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	c.answered = true
	tracer.GotFirstByte()
	for {
		resp, err := http.ReadResponse(in, req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			c.header = -1
			return resp, nil
		}
	}
}

// Read reads what belongs to the response.
func (c *plainConn) Read(p []byte) (n int, err error) {
	if c.over != nil {
		return 0, c.over
	}
	if c.header >= 0 {
		if c.header == 0 {
			c.over = ErrHeaderTooLarge
			return 0, c.over
		}
		p = p[:min(int64(len(p)), c.header)]
	}
	n, c.over = c.Conn.Read(p)
	if c.header >= 0 {
		c.header -= int64(n)
	}
	taken, bad := c.framing.take(p[:n])
	switch {
	case bad != nil:
		c.over = bad
	case taken < n:
		c.over = io.EOF // what comes behind a response was not asked for
	}
	if taken > 0 && bad == nil {
		return taken, nil
	}
	return taken, c.over
}

// plainBody is the body of a response.
type plainBody struct {
	body io.ReadCloser // nil when it has ended
	conn *plainConn
	in   *bufio.Reader
	stop func() bool // no interruption any more; false: there was one
	last bool        // the connection serves no other request
	err  error       // when it has ended
}

// Read reads the body.
func (b *plainBody) Read(p []byte) (int, error) {
	if b.body == nil {
		return 0, b.err
	}
	n, err := b.body.Read(p)
	if err != nil {
		b.err = err
		b.end(errors.Is(err, io.EOF))
	}
	return n, err
}

// errBodyClosed is what a body reads as that was closed before its end.
var errBodyClosed = errors.New("httpx: read from a closed body")

// Close ends the body. If it was not read to its end the connection ends with it.
func (b *plainBody) Close() error {
	if b.body != nil {
		b.err = errBodyClosed
		b.end(false)
	}
	return nil
}

// end gives the connection back, or closes it.
func (b *plainBody) end(whole bool) {
	c, buffered := b.conn, b.in.Buffered()
	b.body = nil
	b.in.Reset(nil)
	plainReaders.Put(b.in)
	b.in = nil
	if !b.stop() || !whole || b.last || buffered > 0 || c.over != nil || c.framing.at != atRest || c.listen == nil {
		c.Close()
		return
	}
	c.reused = true
	c.transport.keep(c)
}

// isLost tells whether an error is a connection's, and not what was said over it or should have been.
func isLost(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.As(err, &op)
}
