package fetch

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tegenaria/tegenaria/internal/multiread"
)

// sink is where a body goes.
type sink uint8

const (
	toMemory    sink = iota
	toWriter         // the request's Writer
	toSpool          // a temporary file
	toNowhere        // that of a redirect that is followed
	toBeginning      // memory, as far as there is room: the rest is not read
)

// How much of the body of a followed redirect is read, and for how long: then its connection can be used again, and the answer
// has the text that an honest server sends with it. Only its target counts, whatever becomes of the body.
const (
	skimmed  = 64 << 10 // bytes
	skimTime = time.Second
)

// errSkimmed is why the rest of a redirect's body was left.
var errSkimmed = errors.New("the rest of the body was left, since its redirect is followed")

// aim decides where the body goes.
func (b *body) aim(a *Answer) {
	r, limits := &b.of.r, &b.of.client.config.Limits
	switch {
	case r.Follows && IsRedirect(a.Status, a.Header):
		b.to, b.most = toNowhere, skimmed
	case r.Beginning > 0:
		b.to, b.most = toBeginning, r.Beginning
	case r.Writer != nil && r.Writer.Takes(a.Status):
		b.to, b.most = toWriter, 0
	case r.Spool:
		b.to, b.most = toSpool, limits.Spool
	default:
		b.to, b.most = toMemory, limits.Body
	}
}

// hurry leaves the body after a while.
func (b *body) hurry() *time.Timer {
	return time.AfterFunc(skimTime, func() { b.of.cancel(errSkimmed) })
}

// sink takes the body to where it goes. want is its length, or less than 1 if that is unknown.
func (b *body) sink(a *Answer, want int64) (err error) {
	switch b.to {
	case toWriter:
		a.Length, err = b.stream()
		return err
	case toSpool:
		return b.spool(a, want)
	case toBeginning:
		want = 0
	}
	a.Body, err = b.readBody(want)
	a.Length = int64(len(a.Body))
	return err
}

// tooLarge is the error of a body with more bytes than may go where it goes.
func (b *body) tooLarge() error {
	if b.to == toNowhere {
		return errSkimmed
	}
	return &BodyTooLargeError{URL: b.of.url, Limit: b.most, Spooled: b.to == toSpool}
}

// spooled is the size up to which a spooled body stays in memory.
const spooled = 64 << 10

// spool copies the body to a temporary file.
func (b *body) spool(a *Answer, want int64) error {
	if want > b.most {
		return b.tooLarge()
	}
	file, err := multiread.NewSpool(b, spooled, b.most, "")
	if err != nil {
		var large *multiread.LimitError
		switch {
		case errors.As(err, &large):
			return b.tooLarge()
		case b.failed != nil: // in our own words
			return b.failed
		}
		return err
	}
	a.File, a.Length = file, file.Len()
	return nil
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
