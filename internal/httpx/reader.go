package httpx

import (
	"errors"
	"io"
	"math"
	"os"
)

// DefaultRatio is the ratio of decoded to coded bytes that stands for 0 in [Limits]. Pages stay below 20,
// the emptiest of tables below 200. Deflate ends at 1,032, which a bomb of zeros reaches; br, zstd and
// codings within codings go on to the hundred thousands.
const DefaultRatio = 1000

// ratioFloor is how many bytes may be decoded whatever the ratio: a small repetitive body does no harm.
const ratioFloor = 1 << 20

// Limits bound what is made of a body. They hold for each coding of a chain by itself.
type Limits struct {
	// Decoded is the largest body, in bytes (0: no limit). The coded body, and what lies between two
	// codings, may be larger by a 64th and 4 KiB: incompressible content grows in coding. Without that
	// bound a body of empty members would be read for ever.
	Decoded int64
	// Ratio is how many times as many bytes as came over the wire a coding may give, once it has given
	// 1 MiB (0: DefaultRatio; negative: no limit).
	Ratio int64
	// Window is asked before a decoder keeps that many more bytes of what it has decoded, as br and zstd do: up to
	// 16 MiB and 8 MiB, each coding of a chain by itself (nil: there is no limit). Its error ends the body.
	Window func(bytes int64) error
}

// coded is the bound of what is still to be decoded.
func (l Limits) coded() int64 {
	if l.Decoded > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return l.Decoded + l.Decoded/64 + 4<<10
}

// Reader reads a body without its content codings (RFC 9110 §8.4). Make one with [NewReader]. It is for
// one goroutine at a time, Close included.
type Reader struct {
	body   *input
	stages []*stage
	closed bool
}

func (d *Decoders) newReader(codings []string, body io.Reader, limits Limits) *Reader {
	if limits.Decoded <= 0 {
		limits.Decoded = math.MaxInt64 - 1
	}
	switch {
	case limits.Ratio == 0:
		limits.Ratio = DefaultRatio
	case limits.Ratio < 0:
		limits.Ratio = math.MaxInt64
	}
	if len(codings) == 0 {
		codings = []string{codingIdentity}
	}
	in := newInput(body, &TooLargeError{Limit: limits.Decoded}, limits.coded())
	r := &Reader{body: in, stages: make([]*stage, 0, len(codings))}
	for i := len(codings) - 1; i >= 0; i-- {
		s := &stage{coding: codings[i], in: in, dec: d.newDecoder(codings[i]), limits: limits, most: limits.coded(), wire: &r.body.source.n}
		if i == 0 {
			s.most = limits.Decoded
		} else {
			in = newInput(s, nil, math.MaxInt64)
		}
		r.stages = append(r.stages, s)
	}
	return r
}

// Read reads decoded bytes. [io.EOF] says that the body was complete and its checksums right. Bytes
// behind a complete coded stream end the body too, as they do in browsers (see [Reader.Close] on what is
// read of them). Members of a gzip body are joined (RFC 1952 §2.2), and so are frames of a zstd body
// (RFC 8878 §3). An empty body is empty in every coding.
//
// Other errors are a [*TooLargeError], [*RatioError], [*TruncatedError] or [*CorruptError], or that of the
// body as it is. All stay.
func (r *Reader) Read(p []byte) (int, error) {
	if r.closed {
		return 0, os.ErrClosed
	}
	return r.stages[len(r.stages)-1].Read(p)
}

// Wire returns how many bytes were read from the body so far. Buffers read ahead.
func (r *Reader) Wire() int64 { return r.body.source.n }

// Decoded returns how many bytes were decoded so far.
func (r *Reader) Decoded() int64 { return r.stages[len(r.stages)-1].out }

// Close gives the decoders back. It does not close the body, and reads nothing of it: up to 64 KiB behind
// the coded stream were read before Read returned io.EOF, so that a connection can be used again.
func (r *Reader) Close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	for _, s := range r.stages {
		// A decoder that failed, or was left in the middle, is not used again.
		s.dec.end(errors.Is(s.err, io.EOF), s.out)
		s.in.end()
	}
	return nil
}

// A decoder removes one coding.
type decoder interface {
	// begin starts on the input, which has a byte at least. The decoder asks window before it keeps that many bytes
	// more of its output; the error is returned by Read.
	begin(in *input, window func(bytes int64) error)
	// Read returns io.EOF when a coded stream is complete and none follows; the input then stands behind
	// it, or a buffer's length further.
	io.Reader
	// end gives back what is held, for reuse if the decoder did its work to the end; out is how many bytes
	// that gave. It may come without begin.
	end(clean bool, out int64)
}

// stage is one coding on its way off.
type stage struct {
	coding string
	in     *input
	dec    decoder
	begun  bool
	out    int64 // bytes given so far
	most   int64 // largest out
	limits Limits
	wire   *int64 // bytes read from the body
	denied error  // of limits.Window
	err    error  // for good
}

// piece is the largest number of bytes decoded between two looks at the limits.
const piece = 64 << 10

// emptyReads is how often a Read may come back without bytes and error, as in bufio.
const emptyReads = 100

// Read decodes up to the limits.
func (s *stage) Read(p []byte) (n int, err error) {
	if s.err != nil || len(p) == 0 {
		return 0, s.err
	}
	if !s.begun {
		if _, err := s.in.Peek(1); err != nil {
			s.err = s.in.failure()
			return 0, s.err
		}
		s.begun = true
		s.dec.begin(s.in, s.window)
	}
	if room := min(piece-1, s.most-s.out); int64(len(p))-1 > room {
		p = p[:room+1] // a byte above the limit shows that it is exceeded
	}
	err = io.ErrNoProgress
	for range emptyReads {
		if n, err = s.dec.Read(p); n > 0 || err != nil {
			break
		}
		err = io.ErrNoProgress
	}
	s.out += int64(n)
	switch {
	case s.out > s.most:
		n, s.out = n-int(s.out-s.most), s.most
		s.err = &TooLargeError{Coding: s.coding, Limit: s.limits.Decoded}
	case s.out > ratioFloor && s.out / *s.wire > s.limits.Ratio:
		s.err = &RatioError{Ratio: s.out / *s.wire, Limit: s.limits.Ratio, Wire: *s.wire, Decoded: s.out}
	case err != nil:
		s.err = s.judge(err)
	}
	if n > 0 {
		return n, nil
	}
	return 0, s.err
}

// window asks whether the decoder may keep more.
func (s *stage) window(bytes int64) error {
	if s.limits.Window != nil && bytes > 0 {
		s.denied = s.limits.Window(bytes)
	}
	return s.denied
}

// judge says what an error of the decoder means.
func (s *stage) judge(err error) error {
	failed := s.in.failure()
	switch {
	case s.denied != nil:
		return s.denied
	case errors.Is(err, io.EOF):
		return s.in.finish()
	case failed != nil && !errors.Is(failed, io.EOF):
		return failed // some decoders hide it
	case failed != nil && errors.Is(err, io.ErrUnexpectedEOF):
		return &TruncatedError{Coding: s.coding, Decoded: s.out}
	}
	return &CorruptError{Coding: s.coding, Err: err}
}
