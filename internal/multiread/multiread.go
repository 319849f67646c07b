// Package multiread keeps a body once and lets it be read many times.
//
// A [Body] is made from bytes, or from a stream that is read to its end: a small one stays in
// memory, a large one goes to a temporary file. Each Reader starts at the first byte and knows
// nothing of the others:
//
//	body, err := multiread.NewSpool(resp.Body, 1<<20, 1<<30, "")
//	if err != nil {
//		return err // cut short, or a *LimitError
//	}
//	defer body.Close()
//	for _, parse := range parsers {
//		parse(body.Reader())
//	}
package multiread

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
)

// LimitError reports that a source had more bytes than were allowed.
type LimitError struct {
	Limit int64 // bytes
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("multiread: body is larger than the limit of %d bytes", e.Limit)
}

// Body is the content that is read many times. It does not change, and all methods are safe for
// concurrent use. The zero value is an empty body.
type Body struct {
	data []byte   // if file is nil
	file *os.File // else everything is here
	size int64
	path string // of a file that is still to be removed, "" if it has no name any more

	closing  sync.Once
	closeErr error
}

// New returns a body of the given bytes, which it does not copy. nil is an empty body.
func New(b []byte) *Body { return &Body{data: b, size: int64(len(b))} }

// NewSpool reads r to its end and returns what it held; nil is an empty body. Up to memory bytes
// are kept in memory; a larger body lies as a whole in a temporary file in the folder dir ("" is
// the system's folder for such files), and no longer in memory. A memory of 0 or less puts every
// body that is not empty into a file.
//
// More than limit bytes are a [*LimitError], found after reading at most one byte above it; a limit
// of 0 or less means none. An error of r, such as a body cut short, is returned, as is one of the
// file; no part of the body and no file is left then. r is not closed.
//
// The file has no name while it is in use where the system allows that (not on Windows), so that
// nothing is left behind even by a killed process.
func NewSpool(r io.Reader, memory, limit int64, dir string) (*Body, error) {
	if r == nil {
		return New(nil), nil
	}
	if limit <= 0 {
		limit = math.MaxInt64 - 1
	}
	held := min(max(memory, 0), limit, math.MaxInt64-1)
	data, err := io.ReadAll(io.LimitReader(r, held+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("multiread: reading body: %w", err)
	case int64(len(data)) <= held:
		return New(data), nil
	case held == limit:
		return nil, &LimitError{Limit: limit}
	}
	return spill(data, r, limit, dir)
}

// spill writes data and the rest of r to a file.
func spill(data []byte, r io.Reader, limit int64, dir string) (_ *Body, err error) {
	file, err := os.CreateTemp(dir, "body-*")
	if err != nil {
		return nil, fmt.Errorf("multiread: making a file for the body: %w", err)
	}
	b := &Body{file: file, path: file.Name()}
	if os.Remove(b.path) == nil {
		b.path = ""
	}
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	if _, err = file.Write(data); err != nil {
		return nil, fmt.Errorf("multiread: writing body: %w", err)
	}
	rest, err := io.Copy(file, io.LimitReader(r, limit-int64(len(data))+1))
	if err != nil {
		return nil, fmt.Errorf("multiread: copying body: %w", err)
	}
	b.size = int64(len(data)) + rest
	if b.size > limit {
		return nil, &LimitError{Limit: limit}
	}
	return b, nil
}

// Reader returns a reader that starts at the first byte. It is independent of all others; one
// reader is for one goroutine at a time. It holds no resource, so its Close does nothing.
func (b *Body) Reader() io.ReadCloser {
	if b.file == nil {
		return io.NopCloser(bytes.NewReader(b.data))
	}
	return io.NopCloser(io.NewSectionReader(b.file, 0, b.size))
}

// Bytes returns the content, which the caller must not change, and true if it is in memory; nil
// and false if it is in a file.
func (b *Body) Bytes() ([]byte, bool) { return b.data, b.file == nil }

// Len returns the size in bytes.
func (b *Body) Len() int64 { return b.size }

// Close gives the file back; its readers then fail with [os.ErrClosed]. A body in memory has nothing
// to give back and stays readable. Further calls return what the first one did.
func (b *Body) Close() error {
	b.closing.Do(func() {
		if b.file == nil {
			return
		}
		err := b.file.Close()
		if b.path != "" {
			err = errors.Join(err, os.Remove(b.path))
		}
		if err != nil {
			b.closeErr = fmt.Errorf("multiread: closing body: %w", err)
		}
	})
	return b.closeErr
}
