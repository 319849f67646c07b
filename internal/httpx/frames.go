package httpx

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"golang.org/x/net/http2/hpack"
)

// HTTP2Conn is a client's HTTP/2 connection that gives net/http only frames of the types of RFC 9113 §6. The others mean
// nothing and are dropped, as §5.5 demands: net/http would write a line to the process's log for each of them, and a
// server can send them without end.
//
// A header block that is too large as it comes, or of which net/http would decode so much that it gives the connection
// up, ends the connection before net/http sees it: what comes behind it cannot be decoded without it (§4.3). The stream
// that it belongs to is reset first, see [IsHeaderTooLarge]; the others fail with [ErrNeighbour].
type HTTP2Conn struct {
	*tls.Conn
	frames frames
}

// OnHTTP1Required sets what is called, in the goroutine that reads, when the server ends the connection because it wants HTTP/1.1
// (RFC 9113 §7). It must be set before the first Read.
func (c *HTTP2Conn) OnHTTP1Required(f func()) { c.frames.onHTTP1 = f }

// frames reads the frames of known types.
type frames struct {
	in        *bufio.Reader
	maxHeader int64
	decoder   *hpack.Decoder // follows what net/http decodes; nil before the first header block
	garbled   bool           // it has failed, as net/http will

	ready   []byte // what is read before anything else
	held    []byte // frames of a header block that has begun: net/http gets them all, or none
	left    int64  // bytes of the frame that is being read, its head included
	block   int64  // bytes of the header block that is on its way (RFC 9113 §4.3)
	inBlock bool   // more of it comes
	dropped int64  // bytes of dropped frames
	err     error  // for good
	onHTTP1 func() // nil: nobody asks
}

// NewHTTP2Conn returns a connection on which HTTP/2 was negotiated. maxHeader is the largest header block, in bytes as
// they come.
func NewHTTP2Conn(conn *tls.Conn, maxHeader int64) *HTTP2Conn {
	return &HTTP2Conn{Conn: conn, frames: frames{in: bufio.NewReader(conn), maxHeader: maxHeader}}
}

// ErrNeighbour is why a connection ended whose server sent a header that was too large, for all other requests on it:
// they may be asked again.
var ErrNeighbour = errors.New("httpx: the connection has ended at another response's header, which was too large")

// errHeaderTooLarge ends a connection whose header nobody can be told of.
var errHeaderTooLarge = errors.New("httpx: a header block is too large")

// resetStream is the error of net/http for a stream that was reset: it sets whatever has the same fields.
type resetStream struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error says which stream it is.
func (e resetStream) Error() string {
	return fmt.Sprintf("httpx: stream %d was reset with code %#x", e.StreamID, e.Code)
}

// codeHeaderTooLarge is how an [HTTP2Conn] resets a stream whose header is too large. It is none of the codes of
// RFC 9113 §7, and means nothing to net/http.
const codeHeaderTooLarge = 0x7e6e4ea1

// IsHeaderTooLarge reports whether an error of net/http says that the response to this very request had a header block
// above the limit of its [HTTP2Conn].
func IsHeaderTooLarge(err error) bool {
	var reset resetStream
	return errors.As(err, &reset) && reset.Code == codeHeaderTooLarge
}

// codeHTTP1Required is HTTP_1_1_REQUIRED (RFC 9113 §7).
const codeHTTP1Required = 0xd

// IsHTTP1Required reports whether an error of net/http says that the server has reset the stream because it wants HTTP/1.1. Such a
// server has not acted on the request.
func IsHTTP1Required(err error) bool {
	var reset resetStream
	return errors.As(err, &reset) && reset.Code == codeHTTP1Required
}

// errUnknownFrames says that a server sends nothing but what nobody understands.
var errUnknownFrames = errors.New("httpx: too many frames of unknown types (RFC 9113 §5.5)")

const (
	frameHeadLength = 9        // RFC 9113 §4.1
	mostDropped     = 1 << 20  // of one connection; extensions in use send a few hundred bytes
	mostHeld        = 16 << 20 // of a header block; where the limit is higher, none is held back

	frameHeaders      = 0x1 // RFC 9113 §6.2
	frameResetStream  = 0x3 // §6.4
	frameGoAway       = 0x7 // §6.8
	frameContinuation = 0x9 // §6.10, the last of the types
	endHeaders        = 0x4
	padded            = 0x8
	hasPriority       = 0x20
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
// connection, [ErrNeighbour], or one that tells of too many unknown frames; all stay.
func (c *HTTP2Conn) Read(p []byte) (int, error) { return c.frames.Read(p) }

func (f *frames) Read(p []byte) (int, error) {
	for len(f.ready) == 0 && f.left == 0 && f.err == nil && len(p) > 0 {
		if f.err = f.next(); f.err != nil {
			f.ready, f.held = append(f.ready, f.held...), nil
		}
	}
	if len(f.ready) > 0 && len(p) > 0 {
		n := copy(p, f.ready)
		if f.ready = f.ready[n:]; len(f.ready) == 0 {
			f.ready = nil
		}
		return n, nil
	}
	if f.err != nil || len(p) == 0 {
		return 0, f.err
	}
	n, err := f.in.Read(p[:min(int64(len(p)), f.left)])
	if f.left -= int64(n); err != nil {
		f.err = err
	}
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
	size := frameHeadLength + length
	switch {
	case kind == frameHeaders && !f.inBlock:
		f.block, f.inBlock = length, flags&endHeaders == 0
	case kind == frameContinuation && f.inBlock:
		f.block, f.inBlock = f.block+length, flags&endHeaders == 0
	case kind > frameContinuation && !f.inBlock: // within a block it is an error, which net/http sees
		if f.dropped += size; f.dropped > mostDropped {
			return errUnknownFrames
		}
		_, err := f.in.Discard(int(size))
		return err
	default:
		if kind == frameGoAway && length >= 8 && f.onHTTP1 != nil {
			frame, err := f.in.Peek(frameHeadLength + 8)
			if err == nil && binary.BigEndian.Uint32(frame[frameHeadLength+4:]) == codeHTTP1Required {
				f.onHTTP1()
			}
		}
		f.ready, f.held, f.inBlock = f.held, nil, false
		f.left = size
		return nil
	}
	if f.block > f.maxHeader || int64(len(f.held)) > 2*f.maxHeader { // frames of no length are held as well
		return f.refuse([4]byte(head[5:9]))
	}
	if f.maxHeader > mostHeld {
		f.left = size
		return nil
	}
	stream := [4]byte(head[5:9])
	if err := f.hold(size); err != nil || f.inBlock {
		return err
	}
	if f.explodes() {
		return f.refuse(stream)
	}
	f.ready, f.held = f.held, nil
	return nil
}

// explodes decodes the header block that is held, as net/http will, and reports whether net/http would end the
// connection because it is too large: a few bytes can stand for fields without end (RFC 7541 §7.3). Of any other fault
// net/http learns by itself.
func (f *frames) explodes() bool {
	if f.garbled {
		return false
	}
	if f.decoder == nil {
		const tableSize = 4096 // net/http's
		f.decoder = hpack.NewDecoder(tableSize, nil)
		f.decoder.SetMaxStringLength(int(f.maxHeader))
	}
	room := f.maxHeader
	f.decoder.SetEmitEnabled(true)
	f.decoder.SetEmitFunc(func(field hpack.HeaderField) {
		if room -= int64(field.Size()); room < 0 {
			room = 0
			f.decoder.SetEmitEnabled(false)
		}
	})
	for rest := f.held; len(rest) > 0; {
		size := frameHeadLength + int(rest[0])<<16 + int(rest[1])<<8 + int(rest[2])
		fragment, ok := blockFragment(rest[:size])
		if !ok {
			f.garbled = true
			return false
		}
		if int64(len(fragment)) > 2*room {
			return true
		}
		if _, err := f.decoder.Write(fragment); err != nil {
			f.garbled = true
			return errors.Is(err, hpack.ErrStringLength)
		}
		rest = rest[size:]
	}
	f.garbled = f.decoder.Close() != nil
	return false
}

// blockFragment returns what a HEADERS or CONTINUATION frame has of a header block (RFC 9113 §6.2, §6.10).
func blockFragment(frame []byte) (fragment []byte, ok bool) {
	kind, flags, fragment := frame[3], frame[4], frame[frameHeadLength:]
	if kind != frameHeaders {
		return fragment, true
	}
	padding, skip := 0, 0
	if flags&padded != 0 {
		if len(fragment) == 0 {
			return nil, false
		}
		padding, skip = int(fragment[0]), 1
	}
	if flags&hasPriority != 0 {
		skip += 5
	}
	if len(fragment) < skip+padding {
		return nil, false
	}
	return fragment[skip : len(fragment)-padding], true
}

// hold takes a frame of a header block.
func (f *frames) hold(size int64) error {
	if f.held == nil {
		f.held = make([]byte, 0, size)
	}
	f.held = slices.Grow(f.held, int(size))
	begin := len(f.held)
	n, err := io.ReadFull(f.in, f.held[begin:begin+int(size)])
	f.held = f.held[:begin+n]
	return err
}

// refuse ends the connection at a header block that is too large, with a reset of its stream.
func (f *frames) refuse(stream [4]byte) error {
	f.held = nil
	if stream[0] &= 0x7f; stream == [4]byte{} || f.maxHeader > mostHeld {
		return errHeaderTooLarge
	}
	reset := append([]byte{0, 0, 4, frameResetStream, 0}, stream[:]...)
	f.ready = binary.BigEndian.AppendUint32(reset, codeHeaderTooLarge)
	return ErrNeighbour
}
