package httpx

import (
	"io"
	"net"
	"sync"
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
	listened chan struct{} // closed when reading, spoilt or closed becomes true; nil unless somebody waits
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
	for !c.reading && !c.spoilt && !c.closed {
		if c.listened == nil {
			c.listened = make(chan struct{})
		}
		listened := c.listened
		c.mu.Unlock()
		<-listened // net/http reads, or closes the connection
		c.mu.Lock()
	}
	// What has come and was not read yet is unasked as well. Before the first request it may be of TLS.
	if c.spoilt = c.spoilt || c.framing.at != atRest || c.asked && hasCome(c.Conn); c.spoilt {
		return net.ErrClosed
	}
	c.framing.await(c.next)
	c.next, c.asked = "", true
	return nil
}

// Read reads from the connection. What it returns belongs to a response that was asked for. [io.EOF] is the
// connection's end, or that of all that is of use on it.
func (c *Conn) Read(p []byte) (n int, err error) {
	if c.over != nil {
		return 0, c.over
	}
	c.now(&c.reading)
	n, err = c.Conn.Read(p)
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
