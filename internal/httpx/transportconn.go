package httpx

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
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

// transportConn is a connection of a [Transport].
type transportConn struct {
	net.Conn
	transport *Transport
	host      string // that it leads to, as in the URLs
	once      bool   // it cannot be asked what has come, and so serves one request

	// Of the request that it serves.
	framing  framing
	header   int64 // bytes of the header that may still come; negative: it is there
	over     error // what all further Reads return
	cut      error // see framing.cutBy; nil unless the connection has ended within the response
	answered bool  // something has come
	reused   bool  // there was a request before

	// While it waits; guarded by the transport's mu.
	since        time.Time
	above, below *transportConn // that came to wait after and before it, for the same host
	older, newer *transportConn // of any host
}

// plainReaders lends the buffers of connections in use.
var plainReaders = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

// abort closes the connection, which ends its Read and its Write. The server is not told by TLS: what it answered would be
// taken for the end of a body that its connection ends.
func (c *transportConn) abort() {
	if secured, ok := c.Conn.(*tls.Conn); ok {
		secured.NetConn().Close()
		return
	}
	c.Close()
}

// NetConn returns the connection below.
func (c *transportConn) NetConn() net.Conn { return c.Conn }

// do sends a request and reads the header of its response. With an error the connection is of no use any more.
func (c *transportConn) do(ctx context.Context, req *http.Request, tracer Tracer) (*http.Response, error) {
	b := &responseBody{conn: c, ctx: ctx, stop: context.AfterFunc(ctx, c.abort)}
	tracer.GotConn(c, c.reused)
	c.framing.await(req.Method)
	c.header, c.answered = c.transport.MaxHeaderBytes, false
	unsent := writeRequest(c, req)
	if unsent != nil && !isBroken(unsent) {
		b.stop()
		return nil, unsent
	}
	b.in, _ = plainReaders.Get().(*bufio.Reader)
	b.in.Reset(c)
	resp, err := c.receive(b.in, req, tracer) // a server that has closed the connection may have said why
	if err != nil {
		b.end(false)
		if unsent != nil && !c.answered {
			err = unsent
		}
		return nil, err
	}
	b.last = unsent != nil || resp.Close || httpguts.HeaderValuesContainsToken(req.Header["Connection"], "close")
	if resp.Body == http.NoBody {
		b.end(true)
		return resp, nil
	}
	b.body, resp.Body = resp.Body, b
	return resp, nil
}

// Write writes a request in one piece. If the connection has served a request before, Write looks first whether its end,
// or bytes that would be taken for the response, have come. If so, nothing is written, and the error is [io.EOF].
func (c *transportConn) Write(p []byte) (int, error) {
	if c.reused && listen(c.Conn) != heardNothing {
		return 0, io.EOF
	}
	return c.Conn.Write(p)
}

// receive reads the header of a response, and those of interim ones before it (RFC 9110 §15.2).
func (c *transportConn) receive(in *bufio.Reader, req *http.Request, tracer Tracer) (*http.Response, error) {
	if _, err := in.Peek(1); err != nil {
		return nil, err
	}
	c.answered = true
	tracer.GotFirstByte()
	for {
		resp, err := http.ReadResponse(in, req)
		if err != nil {
			switch { // net/http may see half a line and say so
			case c.header == 0:
				err = ErrHeaderTooLarge
			case c.cut != nil:
				err = c.cut
			}
			return nil, err
		}
		if resp.StatusCode/100 != 1 || resp.StatusCode == http.StatusSwitchingProtocols {
			c.header = -1
			return resp, nil
		}
	}
}

// Read reads what belongs to the response.
func (c *transportConn) Read(p []byte) (n int, err error) {
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
	taken, bad := c.framing.take(p[:n])
	if c.header >= 0 {
		c.header -= int64(taken)
	}
	switch {
	case bad != nil:
		c.over = bad
	case taken < n:
		c.over = io.EOF // what comes behind a response was not asked for
	case c.over != nil:
		c.cut = c.framing.cutBy(c.over)
	}
	if taken > 0 && bad == nil {
		return taken, nil
	}
	return taken, c.over
}

// responseBody is the body of a response.
type responseBody struct {
	conn *transportConn
	ctx  context.Context // of the request
	stop func() bool     // its end does not abort the connection any more; false: it does already
	body io.Reader       // as net/http reads it
	in   *bufio.Reader   // below it
	last bool            // the connection serves no other request

	mu      sync.Mutex // guards the fields below
	reading bool
	closed  bool
	over    error // what all further Reads return
}

var (
	errBodyClosed = errors.New("httpx: read from a closed body")
	errBodyBusy   = errors.New("httpx: two goroutines read a body")
)

// Read reads the body.
func (b *responseBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if err := b.unreadable(); err != nil {
		b.mu.Unlock()
		return 0, err
	}
	b.reading = true
	b.mu.Unlock()
	n, err := b.body.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = false
	whole := errors.Is(err, io.EOF)
	switch {
	case b.closed: // meanwhile, and the connection with it
		b.end(false)
		if !whole {
			err = errBodyClosed
		}
	case err != nil:
		b.end(whole)
		if !whole {
			err = causeOr(b.ctx, cmp.Or(b.conn.cut, err)) // net/http calls half a trailer a long one
		}
	}
	b.over = err
	return n, err
}

// unreadable returns the reason why nothing can be read, nil if there is none. Called with mu held.
func (b *responseBody) unreadable() error {
	switch {
	case b.closed:
		return errBodyClosed
	case b.reading:
		return errBodyBusy
	}
	return b.over
}

// Close ends the body, and a Read that waits. If it was not read to its end the connection ends with it.
func (b *responseBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	b.closed = true
	switch {
	case b.reading:
		b.conn.abort() // that Read does the rest
	case b.over == nil:
		b.end(false)
	}
	return nil
}

// end gives the connection back, or closes it.
func (b *responseBody) end(whole bool) {
	c, buffered := b.conn, b.in.Buffered()
	b.in.Reset(nil)
	plainReaders.Put(b.in)
	b.in, b.body = nil, nil
	if !b.stop() || !whole || b.last || buffered > 0 || c.over != nil || c.framing.at != atRest || c.once {
		c.Close()
		return
	}
	c.reused = true
	c.transport.keep(c)
}

// isLost reports whether an error is one of the connection, and not one of the bytes that came over it.
func isLost(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op) // the second is an end within a record of TLS
}
