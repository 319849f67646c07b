package fetch

import (
	"fmt"
	"io"
	"time"
)

// Writer takes the body of a response as it comes, in pieces.
type Writer interface {
	// Takes reports whether the body of a response with this status goes to the writer. Any other goes where it went
	// without one.
	Takes(status int) bool
	// WriteWithin writes a piece, as [io.Writer] does. left is what is left of the exchange's time, and late the
	// exchange's failure when it is over; 0 is no limit. The exchange waits for it, whatever it takes.
	WriteWithin(p []byte, left time.Duration, late error) (int, error)
}

// stream copies the body to the request's Writer, and returns how much that took.
func (b *body) stream() (written int64, err error) {
	scratch, _ := scratches.Get().(*[scratchSize]byte)
	defer scratches.Put(scratch)
	for err == nil {
		var n int
		n, err = b.Read(scratch[:])
		if n == 0 {
			continue
		}
		left, late := b.of.clock.left()
		m, failed := b.of.r.Writer.WriteWithin(scratch[:n], left, late)
		if written += int64(max(m, 0)); failed == nil && m != n {
			failed = io.ErrShortWrite
		}
		if failed != nil {
			b.broken, err = nil, fmt.Errorf("writing the body to the ResponseWriter: %w", failed)
		}
	}
	return written, endOfBody(err)
}
