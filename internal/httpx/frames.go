package httpx

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// HTTP2Conn is a client's HTTP/2 connection that gives net/http only frames of the types of RFC 9113 §6. The others mean
// nothing and are dropped, as §5.5 demands: net/http would write a line to the process's log for each of them, and a
// server can send them without end. It also ends headers that are too large before they are decoded.
type HTTP2Conn struct {
	*tls.Conn
	frames frames
}

// frames reads the frames of known types.
type frames struct {
	in        *bufio.Reader
	maxHeader int64

	left    int64 // bytes of the frame that is being read, its head included
	block   int64 // bytes of the header block that is on its way (RFC 9113 §4.3)
	inBlock bool  // more of it comes
	dropped int64 // bytes of dropped frames
	err     error // for good
}

// NewHTTP2Conn returns a connection on which HTTP/2 was negotiated. maxHeader is the largest header block, in bytes as
// they come.
func NewHTTP2Conn(conn *tls.Conn, maxHeader int64) *HTTP2Conn {
	return &HTTP2Conn{Conn: conn, frames: frames{in: bufio.NewReader(conn), maxHeader: maxHeader}}
}

// HeaderTooLargeError tells that a header was larger than the limit before it was decoded.
type HeaderTooLargeError struct{ Limit int64 }

// Error names the limit.
func (e *HeaderTooLargeError) Error() string {
	return fmt.Sprintf("httpx: a header block of more than %d bytes", e.Limit)
}

// errUnknownFrames tells that a server sends nothing but what nobody understands.
var errUnknownFrames = errors.New("httpx: too many frames of unknown types (RFC 9113 §5.5)")

const (
	frameHeadLength = 9       // RFC 9113 §4.1
	mostDropped     = 1 << 20 // of one connection; extensions in use send a few hundred bytes

	frameHeaders      = 0x1 // RFC 9113 §6.2
	frameContinuation = 0x9 // §6.10, the last of the types
	endHeaders        = 0x4
)

// NetConn returns the connection below, TLS itself.
func (c *HTTP2Conn) NetConn() net.Conn { return c.Conn }

// Close closes the connection. A peer that does not take the farewell of TLS is not waited for.
func (c *HTTP2Conn) Close() error {
	const patience = 250 * time.Millisecond // as in net/http
	timer := time.AfterFunc(patience, func() { c.Conn.NetConn().Close() })
	defer timer.Stop()
	return c.Conn.Close()
}

// Read reads what is left of a frame, or the beginning of the next one of a known type. Errors are those of the
// connection, a [*HeaderTooLargeError], or one that tells of too many unknown frames; all stay.
func (c *HTTP2Conn) Read(p []byte) (int, error) { return c.frames.Read(p) }

func (f *frames) Read(p []byte) (int, error) {
	for f.left == 0 && f.err == nil && len(p) > 0 {
		f.err = f.next()
	}
	if f.err != nil || len(p) == 0 {
		return 0, f.err
	}
	n, err := f.in.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	return n, err
}

// next goes to the next frame, over one of an unknown type.
func (f *frames) next() error {
	head, err := f.in.Peek(frameHeadLength)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	length, kind, flags := int64(head[0])<<16|int64(head[1])<<8|int64(head[2]), head[3], head[4]
	switch {
	case kind > frameContinuation && !f.inBlock: // within a block it is an error, which net/http sees
		if f.dropped += frameHeadLength + length; f.dropped > mostDropped {
			return errUnknownFrames
		}
		_, err := f.in.Discard(int(frameHeadLength + length))
		return err
	case kind == frameHeaders:
		f.block, f.inBlock = length, flags&endHeaders == 0
	case kind == frameContinuation:
		f.block, f.inBlock = f.block+length, flags&endHeaders == 0
	}
	if f.block > f.maxHeader {
		return &HeaderTooLargeError{Limit: f.maxHeader}
	}
	f.left = frameHeadLength + length
	return nil
}
