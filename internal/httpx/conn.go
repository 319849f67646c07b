package httpx

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Conn is a client's HTTP/1 connection that gives net/http nothing but responses which it has asked for, each up to
// its end. It stands above TLS, and sees each response's framing on its way (RFC 9112 §6):
//
//   - A response whose end nobody can tell, or that tells it in two ways, fails with a [*FramingError]. net/http drops
//     a Content-Length beside a Transfer-Encoding, for example, without a word.
//   - What comes behind a response, before another request has been sent, is not read: the connection is at its end
//     (RFC 9112 §11.2). net/http would look for that only after it has offered the connection to the next request.
//   - What comes before the first request is a FramingError too.
//
// net/http makes one Read after the other, and one Write after the other. Tell [Conn.Expect] each request before it is
// written.
type Conn struct {
	net.Conn

	// Of the goroutine that reads.
	over error // what all further Reads return

	mu       sync.Mutex // guards what follows
	framing  framing
	cut      error  // see framing.cutBy; nil unless the connection has ended within a response
	next     string // method of the request that is to be written, "" if none is
	asked    bool   // a request was written
	reading  bool
	spoilt   bool // no further request gets its answer here
	closed   bool
	quiet    bool          // the goroutine that reads was interrupted, see hush
	goOn     chan struct{} // closed when it may read again; nil unless it is to be interrupted
	listened chan struct{} // closed when reading, quiet, spoilt or closed becomes true; nil unless somebody waits
}

// NewConn returns a connection on which nothing was said yet.
func NewConn(conn net.Conn) *Conn { return &Conn{Conn: conn} }

// NetConn returns the connection below.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Expect tells that what is written next is a request with this method. The response before must have been read.
func (c *Conn) Expect(method string) {
	if method == "" {
		method = "GET"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = method
}

// Write writes to the connection. A request's first Write waits until somebody reads: what the server had sent
// unasked has been found then. It fails, with nothing written, if there was something, or if the response before has
// not come to its end.
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
	c.waitUntil(func() bool { return c.reading || c.spoilt || c.closed }) // net/http reads, or closes the connection
	if c.asked && !c.spoilt && !c.closed && c.framing.at == atRest {
		defer c.hush()()
	}
	// What has come and was not read yet is unasked as well. Before the first request it may be of TLS.
	if c.spoilt = c.spoilt || c.framing.at != atRest || c.asked && hasCome(c.Conn); c.spoilt {
		return net.ErrClosed
	}
	c.framing.await(c.next)
	c.next, c.asked = "", true
	return nil
}

// longAgo is a deadline that has passed.
var longAgo = time.Unix(1, 0)

// hush interrupts the goroutine that reads, so that it has nothing in its hands of which nobody knows yet. It goes on
// when the func is called that hush returns. It is called with mu held, and so is that func.
func (c *Conn) hush() (goOn func()) {
	if c.SetReadDeadline(longAgo) != nil {
		return func() {}
	}
	c.quiet, c.goOn = false, make(chan struct{})
	c.waitUntil(func() bool { return c.quiet || c.spoilt || c.closed })
	return func() {
		c.SetReadDeadline(time.Time{})
		close(c.goOn)
		c.goOn = nil
	}
}

// waitUntil waits until something is true that wake tells of. It is called with mu held, and returns with it.
func (c *Conn) waitUntil(is func() bool) {
	for !is() {
		if c.listened == nil {
			c.listened = make(chan struct{})
		}
		listened := c.listened
		c.mu.Unlock()
		<-listened
		c.mu.Lock()
	}
}

// interrupted reports whether a Read has failed because of hush. Then it has waited until the request has begun.
func (c *Conn) interrupted(err error) bool {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return false
	}
	c.mu.Lock()
	goOn := c.goOn
	c.quiet = true
	c.wake()
	c.mu.Unlock()
	if goOn != nil {
		<-goOn
	}
	return goOn != nil
}

// Read reads from the connection. What it returns belongs to a response that was asked for. [io.EOF] is the
// connection's end, or that of all that is of use on it.
func (c *Conn) Read(p []byte) (n int, err error) {
	if c.over != nil {
		return 0, c.over
	}
	c.now(&c.reading)
	for {
		if n, err = c.Conn.Read(p); n > 0 || !c.interrupted(err) {
			break
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reading = false
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
			c.over = err // the system tells of a reset once; net/http may read again
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
	c.now(&c.closed)
	return c.Conn.Close()
}

// now makes something true.
func (c *Conn) now(what *bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*what = true
	c.wake()
}

// wake lets go on who waits. The caller holds mu.
func (c *Conn) wake() {
	if c.listened != nil {
		close(c.listened)
		c.listened = nil
	}
}
