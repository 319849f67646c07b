package fetch

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// body is the body of an exchange's response, on its way to where it goes. Reading it removes the content codings.
type body struct {
	of      *exchange
	from    io.ReadCloser // as it comes; nil before there is a response
	wire    int64         // bytes that came
	to      sink          // where it goes
	most    int64         // bytes of it that may go there; 0: any number
	decoder *httpx.Reader // nil if there is nothing to decode
	content io.Reader     // the body as it is
	got     int64         // bytes of it
	broken  error         // the error of from, or of its decoder
	failed  error         // the error of reading content
	framed  bool          // HTTP itself says where the body ends
	damage  error         // of the end of its coding, in a message that HTTP says is complete
	share   share
}

// close gives back all that the body holds, except its share of the budget.
func (b *body) close() {
	if b.decoder != nil {
		b.decoder.Close()
		b.giveWindows()
	}
	if b.from != nil {
		b.from.Close()
	}
}

// take takes the body to where it goes, and says in the answer where that is. The error is a [*TruncatedBodyError] if broken
// is set, unless the body goes nowhere.
func (b *body) take(resp *http.Response, a *Answer) error {
	want := resp.ContentLength
	if resp.Body == http.NoBody {
		want = 0 // the answer to a HEAD has the length of a body that is not sent
	}
	b.aim(a)
	if b.to == toNowhere {
		defer b.hurry().Stop()
	}
	decoded, err := b.open(resp)
	if decoded {
		want = -1 // what was announced is another length
	}
	if err == nil {
		err = b.sink(a, want)
	}
	if err == nil && b.damage != nil {
		a.Transfer.Err = &TruncatedBodyError{URL: b.of.url, Got: b.got, Want: -1, Err: b.damage}
	}
	if err != nil && b.broken != nil && b.to != toNowhere {
		err = &TruncatedBodyError{URL: b.of.url, Got: b.got, Want: want, Err: b.broken}
	}
	return err
}

const (
	scratchSize = 32 << 10
	// trusted is how much memory is taken on the word of a Content-Length before a byte has come.
	trusted = 1 << 20
	minPart = 512
)

// scratches lends the buffers into which bodies of unknown length are read. They never reach the user.
var scratches = sync.Pool{New: func() any { return new([scratchSize]byte) }}

// readBody reads the body into memory of exactly its size. want is its length, or less than 1 if that is
// unknown. With an error it returns the bytes that were read before.
func (b *body) readBody(want int64) (body []byte, err error) {
	limit := b.most
	if want > limit {
		return nil, b.tooLarge()
	}
	scratch, _ := scratches.Get().(*[scratchSize]byte)
	defer scratches.Put(scratch)
	defer func() { b.keepReserved(len(body)) }()

	var room [8][]byte
	parts, total := room[:0], int64(0)
	var first []byte
	if want > 0 {
		var n int
		first, n, err = b.readPart(min(want, trusted))
		if err != nil {
			return slices.Concat(first[:n]), endOfBody(err)
		}
		parts, total = append(parts, first), int64(n)
	}
	// A common body ends here: it has been read whole, or it is small.
	n, err := readFull(b, scratch[:min(scratchSize, limit-total+1)])
	total += int64(n)
	if n == 0 && err != nil && total == int64(len(first)) {
		return first, endOfBody(err)
	}
	parts = append(parts, scratch[:n])
	if total <= limit {
		if refused := b.reserve(int64(n)); refused != nil {
			return nil, refused
		}
	}
	for err == nil && total <= limit {
		size := max(total, minPart)
		if want > total {
			size = min(size, want-total)
		}
		var part []byte
		part, n, err = b.readPart(min(size, limit-total+1))
		parts, total = append(parts, part[:n]), total+int64(n)
	}
	switch {
	case total > limit && b.to == toBeginning:
		return slices.Concat(parts...)[:limit:limit], nil
	case total > limit:
		return nil, b.tooLarge()
	}
	if total > trusted { // which is there twice while it is put together
		if refused := b.reserve(total); refused != nil {
			return nil, refused
		}
	}
	return slices.Concat(parts...), endOfBody(err)
}

// readPart reads up to size bytes into memory of their own. The error is nil only if it is full.
func (b *body) readPart(size int64) (part []byte, n int, err error) {
	if err := b.reserve(size); err != nil {
		return nil, 0, err
	}
	part = make([]byte, size)
	n, err = readFull(b, part)
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
