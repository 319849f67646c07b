package tegenaria

import (
	"errors"
	"time"

	"github.com/tegenaria/tegenaria/internal/multiread"
)

// sink is where a body goes.
type sink uint8

const (
	toMemory    sink = iota
	toWriter         // the request's ResponseWriter
	toSpool          // a temporary file
	toNowhere        // that of a redirect that is followed
	toBeginning      // memory, and what is too long is left: a request of the engine's own
)

// Of the body of a redirect that is followed so much is read, for so long: then its connection can serve again, and
// middlewares see what an honest server says in it. Its target is what counts, whatever becomes of the body.
const (
	skimmed  = 64 << 10 // bytes
	skimTime = time.Second
)

// errSkimmed is why the rest of a redirect's body was left.
var errSkimmed = errors.New("the rest of the body was left, since its redirect is followed")

// aim decides where the body goes.
func (x *exchange) aim(resp *Response) {
	switch {
	case isRedirect(x.r, resp):
		x.to, x.most = toNowhere, skimmed
	case x.ctx.internal() != nil:
		x.to, x.most = toBeginning, internalBody
	case x.down.streams(x.r, resp):
		x.to, x.most = toWriter, 0
	case x.r.spool:
		x.to, x.most = toSpool, x.down.limits.Spool
	default:
		x.to, x.most = toMemory, x.down.limits.Body
	}
}

// hurry leaves the body after a while.
func (x *exchange) hurry() *time.Timer {
	return time.AfterFunc(skimTime, func() { x.cancel(errSkimmed) })
}

// take takes the body to where it goes. want is its length, or less than 1 if that is unknown.
func (x *exchange) take(resp *Response, want int64) error {
	switch x.to {
	case toWriter:
		return x.stream(resp)
	case toSpool:
		return x.spool(resp, want)
	case toBeginning:
		want = 0
	}
	body, err := x.readBody(want)
	resp.SetBody(body)
	return err
}

// tooLarge is the error of a body with more bytes than may go where it goes.
func (x *exchange) tooLarge() error {
	if x.to == toNowhere {
		return errSkimmed
	}
	return &BodyTooLargeError{URL: x.url, Limit: x.most, Spooled: x.to == toSpool}
}

// spooled is the size up to which a spooled body stays in memory.
const spooled = 64 << 10

// spool copies the body to a temporary file.
func (x *exchange) spool(resp *Response, want int64) error {
	if want > x.most {
		return x.tooLarge()
	}
	file, err := multiread.NewSpool(x, spooled, x.most, "")
	if err != nil {
		resp.SetBody(nil)
		var large *multiread.LimitError
		switch {
		case errors.As(err, &large):
			return x.tooLarge()
		case x.failed != nil: // in our own words
			return x.failed
		}
		return err
	}
	resp.file, resp.ContentLength, resp.readable = file, int(file.Len()), x.down.limits.Body
	return nil
}
