package tegenaria

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// RatioError is the failure of a response whose body grew in decoding by more than Limits.Ratio: it may be a bomb.
type RatioError struct {
	URL     string
	Limit   int64 // Limits.Ratio
	Wire    int64 // bytes of the body that had come
	Decoded int64 // bytes that were made of them
}

// Error names URL, limit and sizes.
func (e *RatioError) Error() string {
	return fmt.Sprintf("the body of %s grows from %d to %d bytes in decoding, more than Limits.Ratio = %d times", urlx.Redact(e.URL), e.Wire, e.Decoded, e.Limit)
}

// CorruptBodyError is why a body broke off: its content coding is damaged, or is none. It is the cause of a
// [*TruncatedBodyError]. A body with more than five codings is not decoded at all: then it stands alone.
type CorruptBodyError struct {
	URL string
	Err error
}

// Error names URL and cause.
func (e *CorruptBodyError) Error() string {
	return fmt.Sprintf("the body of %s cannot be decoded: %v", urlx.Redact(e.URL), e.Err)
}

// Unwrap returns the cause.
func (e *CorruptBodyError) Unwrap() error { return e.Err }

// wireBody is the body as it comes: counted, timed, and remembered how it failed.
type wireBody struct{ x *exchange }

func (w wireBody) Read(p []byte) (int, error) {
	w.x.clock.reads()
	n, err := w.x.body.Read(p)
	w.x.wire += int64(n)
	w.x.clock.came(n)
	if err != nil && !errors.Is(err, io.EOF) {
		w.x.broken = w.x.explain(err)
	}
	return n, err
}

// open makes the reader of the answer's body: without its content codings (RFC 9110 §8.4), unless one is unknown, or
// this is but a part of the body. It reports whether there were any; then the header does not name them any more, nor the
// length that the body had with them.
func (x *exchange) open(answer *http.Response) (decoded bool, err error) {
	x.content = wireBody{x}
	codings := answer.Header["Content-Encoding"]
	part := answer.StatusCode == http.StatusPartialContent // of the coded body (RFC 9110 §14.1)
	if part || len(codings) == 0 || answer.Body == http.NoBody {
		return false, nil
	}
	limits := httpx.Limits{Decoded: x.most, Ratio: x.down.limits.Ratio, Window: x.takeWindow}
	if x.to == toBeginning {
		limits.Decoded++ // the byte that shows that there is more is no mistake
	}
	x.decoder, err = httpx.NewReader(codings, x.content, limits)
	var unknown *httpx.UnknownCodingError
	switch {
	case errors.As(err, &unknown):
		return false, nil
	case err != nil:
		return false, &CorruptBodyError{URL: x.url, Err: err}
	}
	x.content = x.decoder
	answer.Header.Del("Content-Encoding")
	answer.Header.Del("Content-Length")
	return true, nil
}

// Read reads the body, its codings removed, counts it and remembers how it failed: where it is copied to may
// fail as well.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.content.Read(p)
	x.got += int64(n)
	if err == nil && x.got > smallBody && x.counted < x.windows {
		err = x.countWindows()
		x.failed = err
		return n, err
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if x.broken != nil {
		x.failed = x.broken
		return n, err
	}
	var large *httpx.TooLargeError
	var ratio *httpx.RatioError
	switch {
	case errors.As(err, &large):
		err = x.tooLarge()
	case errors.As(err, &ratio):
		err = &RatioError{URL: x.url, Limit: ratio.Limit, Wire: ratio.Wire, Decoded: ratio.Decoded}
	default:
		err = &CorruptBodyError{URL: x.url, Err: err}
		x.broken = err
	}
	x.failed = err
	return n, err
}
