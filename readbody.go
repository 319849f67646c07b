package tegenaria

import (
	"errors"
	"io"
	"slices"
	"sync"
)

const (
	scratchSize = 32 << 10
	// trusted is how much memory is taken on the word of a Content-Length before a byte has come.
	trusted = 1 << 20
	minPart = 512
)

// scratches lends the buffers into which bodies of unknown length are read. They never reach the user.
var scratches = sync.Pool{New: func() any { return new([scratchSize]byte) }}

// readBody reads the body into memory of exactly its size. want is its length, or less than 1 if that is
// unknown. With an error comes what was read before it.
func (x *exchange) readBody(want int64) (body []byte, err error) {
	limit := x.most
	if want > limit {
		return nil, x.tooLarge()
	}
	scratch, _ := scratches.Get().(*[scratchSize]byte)
	defer scratches.Put(scratch)
	defer func() { x.keepReserved(len(body)) }()

	var room [8][]byte
	parts, total := room[:0], int64(0)
	var first []byte
	if want > 0 {
		var n int
		first, n, err = x.readPart(min(want, trusted))
		if err != nil {
			return slices.Concat(first[:n]), endOfBody(err)
		}
		parts, total = append(parts, first), int64(n)
	}
	// A common body ends here: it has been read whole, or it is small.
	n, err := readFull(x, scratch[:min(scratchSize, limit-total+1)])
	total += int64(n)
	if n == 0 && err != nil && total == int64(len(first)) {
		return first, endOfBody(err)
	}
	parts = append(parts, scratch[:n])
	if total <= limit {
		if refused := x.reserve(int64(n)); refused != nil {
			return nil, refused
		}
	}
	for err == nil && total <= limit {
		size := max(total, minPart)
		if want > total {
			size = min(size, want-total)
		}
		var part []byte
		part, n, err = x.readPart(min(size, limit-total+1))
		parts, total = append(parts, part[:n]), total+int64(n)
	}
	switch {
	case total > limit && x.to == toBeginning:
		return slices.Concat(parts...)[:limit:limit], nil
	case total > limit:
		return nil, x.tooLarge()
	}
	if total > trusted { // which is there twice while it is put together
		if refused := x.reserve(total); refused != nil {
			return nil, refused
		}
	}
	return slices.Concat(parts...), endOfBody(err)
}

// readPart reads up to size bytes into memory of their own. The error is nil only if it is full.
func (x *exchange) readPart(size int64) (part []byte, n int, err error) {
	if err := x.reserve(size); err != nil {
		return nil, 0, err
	}
	part = make([]byte, size)
	n, err = readFull(x, part)
	return part, n, err
}

func endOfBody(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readFull reads until p is full or the reader ends. Other than io.ReadFull it leaves the reader's error
// as it is, since an end in the middle of p is no mistake.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	if n == len(p) && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// closeSpool gives back the file of a spooled body; its readers fail from then on. The engine calls it
// when the request has settled.
func (r *Response) closeSpool() {
	r.mu.Lock()
	file := r.file
	r.mu.Unlock()
	if file != nil {
		file.Close()
	}
}
