package httpx

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

// input is what a stage reads: the body, or the stage before. The buffer keeps decoders from reading more
// than is theirs. It counts, and remembers how the source ended: decoders tell it in their own words, or
// not at all.
type input struct {
	*bufio.Reader
	source source
}

type source struct {
	io.Reader
	n    int64 // bytes read so far
	most int64 // largest n
	over error // the failure above that
	err  error // for good
}

// buffers lends the buffers of inputs.
var buffers = sync.Pool{New: func() any { return bufio.NewReader(nil) }}

func newInput(r io.Reader, over error, most int64) *input {
	in := &input{source: source{Reader: r, most: most, over: over}}
	in.Reader, _ = buffers.Get().(*bufio.Reader)
	in.Reader.Reset(&in.source)
	return in
}

// Read never comes back without bytes and error.
func (s *source) Read(p []byte) (n int, err error) {
	if s.err != nil || len(p) == 0 {
		return 0, s.err
	}
	if room := s.most - s.n; int64(len(p))-1 > room {
		p = p[:room+1]
	}
	for range emptyReads {
		if n, s.err = s.Reader.Read(p); n > 0 || s.err != nil {
			break
		}
	}
	switch s.n += int64(n); {
	case s.n > s.most:
		n, s.n, s.err = n-1, s.most, s.over
	case n == 0 && s.err == nil:
		s.err = io.ErrNoProgress
	}
	if n > 0 {
		return n, nil
	}
	return 0, s.err
}

// failure is how the source ended: nil if it did not, io.EOF if it is complete.
func (in *input) failure() error { return in.source.err }

// trailing is how much is read behind a complete stream in search of the end.
const trailing = 64 << 10

// finish reads on behind a complete stream. It returns io.EOF, or how the source failed. To read the body
// to its end lets its connection be used again, and shows whether an outer coding is complete as well.
func (in *input) finish() error {
	_, err := in.Discard(trailing)
	if err == nil || in.source.over != nil && errors.Is(err, in.source.over) {
		return io.EOF
	}
	return err
}

// end gives the buffer back.
func (in *input) end() {
	in.Reader.Reset(nil)
	buffers.Put(in.Reader)
	in.Reader = nil
}
