package httpx

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// frame makes a frame (RFC 9113 §4.1).
func frame(kind, flags byte, payload int) []byte {
	head := []byte{byte(payload >> 16), byte(payload >> 8), byte(payload), kind, flags, 0, 0, 0, 1}
	return append(head, bytes.Repeat([]byte{kind}, payload)...)
}

// Frames of known types come through as they are, others not at all; a header block has its limit.
func TestFrames(t *testing.T) {
	const data, unknown, limit = 0, 0x77, 1000
	head := frame(frameHeaders, 0, 600)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	isLarge := func(err error) bool { return errors.Is(err, ErrNeighbour) }
	reset := []byte{0, 0, 4, frameResetStream, 0, 0, 0, 0, 1, 0x7e, 0x6e, 0x4e, 0xa1}
	ofNobody := frame(frameHeaders, endHeaders, limit+1)
	ofNobody[8] = 0
	isOver := func(err error) bool { return err == nil }
	isCut := func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }
	for _, tt := range []struct {
		name     string
		in, want []byte
		err      func(error) bool
	}{
		{"nothing", nil, nil, isOver},
		{"known", join(frame(4, 0, 12), frame(data, 0, 5), frame(data, 0, 0)), join(frame(4, 0, 12), frame(data, 0, 5), frame(data, 0, 0)), isOver},
		{"unknown", join(frame(unknown, 0, 0), frame(data, 0, 5), frame(unknown, 4, 9000), frame(0xa, 0, 1), frame(data, 1, 3)), join(frame(data, 0, 5), frame(data, 1, 3)), isOver},
		{"unknown alone", join(frame(unknown, 0, 5)), nil, isOver},
		{"largest", frame(data, 0, 1<<24-1), frame(data, 0, 1<<24-1), isOver},
		{"header", frame(frameHeaders, endHeaders, limit), frame(frameHeaders, endHeaders, limit), isOver},
		{"two headers", join(frame(frameHeaders, endHeaders, 600), frame(frameHeaders, endHeaders, 600)), join(frame(frameHeaders, endHeaders, 600), frame(frameHeaders, endHeaders, 600)), isOver},
		{"header in parts", join(head, frame(frameContinuation, endHeaders, 400)), join(head, frame(frameContinuation, endHeaders, 400)), isOver},
		{"large header", join(frame(data, 0, 1), frame(frameHeaders, endHeaders, limit+1)), join(frame(data, 0, 1), reset), isLarge},
		{"large header in parts", join(head, frame(frameContinuation, 0, 400), frame(frameContinuation, endHeaders, 1)), reset, isLarge},
		{"large header of nobody", join(frame(data, 0, 1), ofNobody), frame(data, 0, 1), func(err error) bool { return errors.Is(err, errHeaderTooLarge) }},
		{"header that stops", join(head, frame(frameContinuation, 0, 400)), join(head, frame(frameContinuation, 0, 400)), isOver},
		{"header cut", join(head, frame(frameContinuation, 0, 400)[:100]), join(head, frame(frameContinuation, 0, 400)[:100]), isCut},
		{"header in a header", join(head, head), join(head, head), isOver},
		{"unknown within a header", join(head, frame(unknown, 0, 3)), join(head, frame(unknown, 0, 3)), isOver},
		{"cut in a head", join(frame(data, 0, 5), frame(data, 0, 5)[:4]), frame(data, 0, 5), isCut},
		{"unknown without end", bytes.Repeat(frame(unknown, 0, 0), mostDropped/frameHeadLength+1), nil, func(err error) bool { return errors.Is(err, errUnknownFrames) }},
		{"unknown and large", join(frame(unknown, 0, mostDropped)), nil, func(err error) bool { return errors.Is(err, errUnknownFrames) }},
		{"many unknown", join(bytes.Repeat(frame(unknown, 0, 0), mostDropped/frameHeadLength-1), frame(data, 0, 5)), frame(data, 0, 5), isOver},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for name, cut := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "bytes": iotest.OneByteReader, "halves": iotest.HalfReader, "with the error": iotest.DataErrReader} {
				f := &frames{in: bufio.NewReader(cut(bytes.NewReader(tt.in))), maxHeader: limit, garbled: true} // the blocks are no HPACK
				got, err := io.ReadAll(f)
				if !bytes.Equal(got, tt.want) || !tt.err(err) {
					t.Errorf("%s: %d bytes, want %d; %v", name, len(got), len(tt.want), err)
				}
				if n, again := f.Read(make([]byte, 1)); n > 0 || again == nil {
					t.Errorf("%s: then %d bytes, %v", name, n, again)
				}
			}
		})
	}
}

// A header block of empty frames has an end, since they are held too.
//
// It fails if frames.next does not look at the length of frames.held.
func TestH13EmptyContinuationsAreBounded(t *testing.T) {
	const limit = 1000
	head := frame(frameHeaders, 0, 10)
	in := bytes.NewReader(append(head, bytes.Repeat(frame(frameContinuation, 0, 0), 100_000)...))
	f := &frames{in: bufio.NewReaderSize(in, 16), maxHeader: limit}
	_, err := io.ReadAll(f)
	if read := in.Size() - int64(in.Len()); !(errors.Is(err, ErrNeighbour) || errors.Is(err, errHeaderTooLarge)) || read > 3*limit {
		t.Errorf("%v after %d bytes, want %d at most", err, read, 3*limit)
	}
}

// Closing does not wait for a peer that reads nothing.
func TestHTTP2ConnClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := httptest.NewUnstartedServer(nil)
		server.StartTLS()
		certificates, roots := server.TLS.Certificates, server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		server.Close()
		ours, theirs := net.Pipe()
		secured := tls.Client(ours, &tls.Config{RootCAs: roots, ServerName: "example.com", Time: func() time.Time { return certificates[0].Leaf.NotBefore.Add(time.Hour) }})
		peer := tls.Server(theirs, &tls.Config{Certificates: certificates, SessionTicketsDisabled: true})
		go peer.Handshake()
		if err := secured.Handshake(); err != nil {
			t.Fatal(err)
		}
		conn := NewHTTP2Conn(secured, 1000)
		if !conn.ConnectionState().HandshakeComplete || conn.NetConn() != net.Conn(secured) {
			t.Error("the connection below is not to be seen")
		}
		began := time.Now()
		conn.Close()
		if took := time.Since(began); took != 250*time.Millisecond {
			t.Errorf("took %s", took)
		}
		theirs.Close()
	})
}

// FuzzFrames compares with a reading of the frames one by one.
func FuzzFrames(f *testing.F) {
	f.Add(append(frame(0x77, 0, 3), frame(0, 0, 5)...))
	f.Add(append(frame(frameHeaders, 0, 60), frame(frameContinuation, endHeaders, 50)...))
	f.Add(append(frame(frameHeaders, 0, 60), frame(0x77, 0, 5)...))
	f.Add(append(frame(frameHeaders, 0, 30), frame(frameContinuation, endHeaders, 50)...))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 100
		got, err := io.ReadAll(&frames{in: bufio.NewReader(iotest.OneByteReader(bytes.NewReader(in))), maxHeader: limit, garbled: true})
		var want, held []byte
		block, within := 0, false
		for rest := in; len(rest) > 0; {
			if len(rest) < 9 {
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("a cut head: %v", err)
				}
				break
			}
			size, kind, last := int(rest[0])<<16|int(rest[1])<<8|int(rest[2]), rest[3], rest[4]&4 != 0
			ofBlock := kind == 1 && !within || kind == 9 && within
			if kind == 1 && !within {
				block = 0
			}
			if ofBlock {
				if block += size; block > limit {
					stream := []byte{rest[5] & 0x7f, rest[6], rest[7], rest[8]}
					if bytes.Equal(stream, make([]byte, 4)) {
						if !errors.Is(err, errHeaderTooLarge) {
							t.Errorf("a block of %d of nobody: %v", block, err)
						}
					} else {
						want = append(append(append(want, 0, 0, 4, 3, 0), stream...), 0x7e, 0x6e, 0x4e, 0xa1)
						if !errors.Is(err, ErrNeighbour) {
							t.Errorf("a block of %d: %v", block, err)
						}
					}
					held = nil
					break
				}
			}
			whole := rest[:min(len(rest), 9+size)]
			if kind <= 9 || within {
				held = append(held, whole...)
			} else if 9+size > 1<<20 {
				break
			}
			if within = ofBlock && !last; !within {
				want, held = append(want, held...), nil
			}
			rest = rest[len(whole):]
		}
		if want = append(want, held...); !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
	})
}

// FuzzHeaderBlocks compares with the framer that net/http has a copy of: a block that explodes is one at which that
// ends the connection.
func FuzzHeaderBlocks(f *testing.F) {
	entry := append([]byte{0x40, 1, 'x', 100}, bytes.Repeat([]byte{'y'}, 100)...)
	f.Add(append(bytes.Clone(entry), bytes.Repeat([]byte{0xbe}, 40)...), uint8(20))
	f.Add(append(bytes.Clone(entry), bytes.Repeat([]byte{0xbe}, 40)...), uint8(200))
	f.Add([]byte{0x88, 0x82, 0x3f, 0xe1, 0x1f}, uint8(1))
	f.Add([]byte("\x00\x01x\xff\xff\x7f"), uint8(3))
	f.Fuzz(func(t *testing.T, block []byte, cut uint8) {
		const limit = 1000
		var wire bytes.Buffer
		framer := http2.NewFramer(&wire, &wire)
		first := min(len(block), int(cut))
		framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:first], EndHeaders: first == len(block), PadLength: cut, Priority: http2.PriorityParam{StreamDep: uint32(cut & 1)}})
		if first < len(block) {
			framer.WriteContinuation(1, true, block[first:])
		}
		ours := &frames{held: bytes.Clone(wire.Bytes()), maxHeader: limit}
		explodes := ours.explodes()
		framer.ReadMetaHeaders, framer.MaxHeaderListSize = hpack.NewDecoder(4096, nil), limit
		frame, err := framer.ReadFrame()
		var ended http2.ConnectionError
		switch ends := errors.As(err, &ended); {
		case explodes && !ends && sizeOf(block) <= limit:
			// The framer of x/net reads on where net/http ends: it has a second budget, for the names of trailers. What
			// is no larger than the limit neither of them ends.
			t.Errorf("explodes, but net/http reads %v, %v", frame, err)
		case !explodes && ends && ended == http2.ConnectionError(http2.ErrCodeCompression) && !ours.garbled:
			t.Errorf("net/http cannot decode what we can: %v", err)
		}
	})
}

// sizeOf returns the size of the fields of a header block, as far as it can be decoded.
func sizeOf(block []byte) (size uint32) {
	d := hpack.NewDecoder(4096, func(f hpack.HeaderField) { size += f.Size() })
	d.Write(block)
	return size
}
