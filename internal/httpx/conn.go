package httpx

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Conn is a client's HTTP/1 connection that gives net/http only the responses to its requests, each up to its end. It stands
// above TLS, and sees each response's framing on its way (RFC 9112 §6):
//
//   - A response without a clear end, or that declares its end in two ways, fails with a [*FramingError]. net/http drops
//     a Content-Length beside a Transfer-Encoding, for example, without a word.
//   - Bytes that come after a response, before another request has been sent, are not given to net/http: the connection
//     is at its end (RFC 9112 §11.2). net/http would look for them only after it has offered the connection to the next
//     request.
//   - Bytes that come before the first request are a FramingError too.
//
// At most one Read and one Write are under way at a time, as in net/http. Call [Conn.Expect] before each request is
// written. The connection below must end a Read when its read deadline is set to a past instant, as those of package net
// and crypto/tls do. One that returns an error from SetReadDeadline serves one request.
type Conn struct {
	net.Conn

	// Of the goroutine that reads.
	over error // what all further Reads return

	mu      sync.Mutex // guards the fields below
	framing framing
	cut     error  // see framing.cutBy; nil unless the connection has ended within a response
	next    string // method of the request that is to be written, "" if none is
	asked   bool   // a request was written
	spoilt  bool   // no further request gets its answer here
	closed  bool
	goOn    chan struct{} // closed when the goroutine that reads may read again; nil unless it is to be interrupted
	hushed  chan struct{} // closed when it was, or when spoilt or closed becomes true; nil unless hush waits
}

// NewConn returns a Conn over a connection on which nothing has been sent or received yet.
func NewConn(conn net.Conn) *Conn { return &Conn{Conn: conn} }

// NetConn returns the connection below.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Expect announces that the next Write begins a request with this method. The previous response must have been read to
// its end.
func (c *Conn) Expect(method string) {
	if method == "" {
		method = "GET"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = method
}

// Write writes to the connection. The first Write of a request looks first whether the server has sent anything unasked.
// If it has, or if the previous response is not at its end, the Write fails with [net.ErrClosed], and nothing is written.
func (c *Conn) Write(p []byte) (int, error) {
	if err := c.begin(); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// begin begins a request if there is one to begin.
func (c *Conn) begin() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == "" {
		return nil
	}
	if c.asked && !c.spoilt && !c.closed && c.framing.at == atRest {
		defer c.hush()()
	}
	// Bytes that have come and were not read yet are unasked too. Before the first request they may belong to TLS.
	if c.spoilt = c.spoilt || c.framing.at != atRest || c.asked && hasCome(c.Conn); c.spoilt {
		return net.ErrClosed
	}
	c.framing.await(c.next)
	c.next, c.asked = "", true
	return nil
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// hush interrupts the reading goroutine, so that it holds no bytes that framing has not seen. The goroutine reads on when
// goOn is called. Both are called with mu held; hush releases it while it waits.
func (c *Conn) hush() (goOn func()) {
	if c.SetReadDeadline(longAgo) != nil {
		c.spoilt = true
		return func() {}
	}
	c.goOn, c.hushed = make(chan struct{}), make(chan struct{})
	hushed := c.hushed
	c.mu.Unlock()
	<-hushed
	c.mu.Lock()
	return func() {
		c.SetReadDeadline(time.Time{})
		close(c.goOn)
		c.goOn = nil
	}
}

// interrupted reports whether a Read has failed because of hush. In that case it returns only after goOn was called.
func (c *Conn) interrupted(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.mu.Lock()
	goOn := c.goOn
	c.wake()
	c.mu.Unlock()
	if goOn != nil {
		<-goOn
	}
	return goOn != nil
}

// Read reads bytes of the response to the last request. [io.EOF] means that the connection has ended, or that it is of no
// further use.
func (c *Conn) Read(p []byte) (n int, err error) {
	if c.over != nil {
		return 0, c.over
	}
	for {
		if n, err = c.Conn.Read(p); n > 0 || !c.interrupted(err) {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	taken, bad := c.framing.take(p[:n])
	switch {
	case bad != nil:
		c.over = bad
	case taken < n && c.asked:
		c.over = io.EOF
	case taken < n:
		c.over = badFraming("the server spoke before it was asked")
	default:
		if err != nil {
			c.over = err // the system reports a reset once; net/http may read again
			c.cut = c.framing.cutBy(err)
			c.spoilt = true
			c.wake()
		}
		return n, err
	}
	c.spoilt = true
	c.wake()
	return taken, c.over
}

// Cut returns why the last response is not whole if that is because the connection has ended: within the header a
// [*HeaderCutError], within the body [io.ErrUnexpectedEOF] or the error of the connection. Otherwise it is nil.
func (c *Conn) Cut() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.closed = true
	c.wake()
	c.mu.Unlock()
	return c.Conn.Close()
}

// wake wakes hush. Called with mu held.
func (c *Conn) wake() {
	if c.hushed != nil {
		close(c.hushed)
		c.hushed = nil
	}
}
