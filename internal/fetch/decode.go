package fetch

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// wireBody reads the body as it comes. It counts and times the bytes it reads, and remembers how reading failed.
type wireBody struct{ b *body }

// Read reads the coded body.
func (w wireBody) Read(p []byte) (int, error) {
	w.b.of.clock.reads()
	n, err := w.b.from.Read(p)
	w.b.wire += int64(n)
	w.b.of.clock.came(n)
	if copy := w.b.of.r.Wire; copy != nil && n > 0 {
		if _, failed := copy.Write(p[:n]); failed != nil {
			return n, fmt.Errorf("copying the body as it came: %w", failed)
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.b.broken = w.b.of.explain(err)
	}
	return n, err
}

// open makes the reader of the answer's body, which removes the content codings (RFC 9110 §8.4). A body with an unknown coding
// is read as it is, and so is a part of a body. decoded reports whether codings are removed; then the header names neither
// them nor the length that the body had with them.
func (b *body) open(answer *http.Response) (decoded bool, err error) {
	b.content = wireBody{b}
	b.framed = answer.ContentLength >= 0 || len(answer.TransferEncoding) > 0 || answer.ProtoMajor > 1
	codings := answer.Header["Content-Encoding"]
	part := answer.StatusCode == http.StatusPartialContent // of the coded body (RFC 9110 §14.1)
	if part || len(codings) == 0 || answer.Body == http.NoBody {
		return false, nil
	}
	limits := httpx.Limits{Decoded: b.most, Ratio: b.of.client.config.Limits.Ratio, Window: b.takeWindow}
	if b.to == toBeginning {
		limits.Decoded++ // one more than is kept: to be longer than the beginning is no failure
	}
	b.decoder, err = b.of.client.decoders.NewReader(codings, b.content, limits)
	var unknown *httpx.UnknownCodingError
	switch {
	case errors.As(err, &unknown):
		return false, nil
	case err != nil:
		return false, &CorruptBodyError{URL: b.of.url, Err: err}
	}
	b.content = b.decoder
	removed := make(http.Header, 2)
	for _, name := range []string{"Content-Encoding", "Content-Length"} {
		if values := answer.Header[name]; values != nil {
			removed[name] = values
			delete(answer.Header, name)
		}
	}
	b.of.answer.Transfer.facts.removed = removed
	return true, nil
}

// Read reads the body, its codings removed. It counts the bytes and remembers how reading failed, since the sink that the
// body is copied to may fail as well. A coding without a proper end, in a message that HTTP says is complete, ends the body as
// an end would: browsers show such pages. It is a failure if
// nothing was decoded, and of the beginning of a body, a robots.txt say.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	b.got += int64(n)
	if err == nil && b.got > smallBody && b.share.counted < b.share.windows {
		err = b.countWindows()
		b.failed = err
		return n, err
	}
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	if b.broken != nil {
		b.failed = b.broken
		return n, err
	}
	var large *httpx.TooLargeError
	var ratio *httpx.RatioError
	switch {
	case errors.As(err, &large):
		err = b.tooLarge()
	case errors.As(err, &ratio):
		err = &RatioError{URL: b.of.url, Limit: ratio.Limit, Wire: ratio.Wire, Decoded: ratio.Decoded}
	case b.framed && b.got > 0 && b.to != toBeginning && b.to != toNowhere && httpx.IsDamagedEnd(err):
		b.damage = &CorruptBodyError{URL: b.of.url, Err: err} // the same bytes would come again
		return n, io.EOF
	default:
		err = &CorruptBodyError{URL: b.of.url, Err: err}
		b.broken = err
	}
	b.failed = err
	return n, err
}
