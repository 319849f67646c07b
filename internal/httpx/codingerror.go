package httpx

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// IsDamagedEnd reports whether an error of a [Reader] says that all was decoded that came, and only the end is wrong: the
// coded stream has none, or its checksum or length is not that of what was decoded.
func IsDamagedEnd(err error) bool {
	var cut *TruncatedError
	return errors.As(err, &cut) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, zlib.ErrChecksum) || errors.Is(err, zstd.ErrCRCMismatch)
}

// UnknownCodingError reports that a Content-Encoding header (RFC 9110 §8.4) names a coding that cannot be
// removed. Nothing of the body was read: it can be used as it came.
type UnknownCodingError struct {
	Coding string // as the header spells it
}

// Error names the coding, cut when long: it comes from a stranger.
func (e *UnknownCodingError) Error() string {
	return fmt.Sprintf("httpx: unknown content coding %.64q", e.Coding)
}

// TooManyCodingsError reports that a Content-Encoding header (RFC 9110 §8.4) names more codings than an
// honest server puts on.
type TooManyCodingsError struct {
	Count int
	Limit int
}

// Error names both numbers.
func (e *TooManyCodingsError) Error() string {
	return fmt.Sprintf("httpx: the body has %d content codings, at most %d are removed", e.Count, e.Limit)
}

// TooLargeError reports that a body grew over [Limits].Decoded. What was read before it is exactly Limit
// bytes if the last stage found it, less if an earlier one did.
type TooLargeError struct {
	Coding string // whose output was too large; "" if it was the body as it came
	Limit  int64  // Limits.Decoded
}

// Error names coding and limit.
func (e *TooLargeError) Error() string {
	if e.Coding == "" {
		return fmt.Sprintf("httpx: the body is too large for a limit of %d decoded bytes", e.Limit)
	}
	return fmt.Sprintf("httpx: decoding %s gives more than %d bytes", e.Coding, e.Limit)
}

// RatioError reports that a body grew in decoding by more than [Limits].Ratio.
type RatioError struct {
	Ratio   int64 // Decoded through Wire
	Limit   int64 // Limits.Ratio
	Wire    int64 // bytes read from the body
	Decoded int64 // bytes that one of its codings made of them
}

// Error names ratio, limit and sizes.
func (e *RatioError) Error() string {
	return fmt.Sprintf("httpx: %d bytes were decoded from %d: %d times as many, the limit is %d", e.Decoded, e.Wire, e.Ratio, e.Limit)
}

// TruncatedError reports that a body ended in the middle of a coded stream. What could be decoded was
// delivered. It wraps [io.ErrUnexpectedEOF].
//
// A body that itself broke off, for which net/http has an error of its own, ends with that error instead.
type TruncatedError struct {
	Coding  string
	Decoded int64 // bytes that this coding gave before
}

// Error names the coding and how far it came.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("httpx: the %s body ends too early, after %d decoded bytes", e.Coding, e.Decoded)
}

// Unwrap returns io.ErrUnexpectedEOF.
func (e *TruncatedError) Unwrap() error { return io.ErrUnexpectedEOF }

// CorruptError reports that a body is not what its coding demands, that its checksum is wrong, or that it
// needs what we refuse: a dictionary, or a zstd window above 8 MiB (RFC 9659 §3). What could be decoded
// was delivered.
type CorruptError struct {
	Coding string
	Err    error // what the decoder said
}

// Error names coding and cause.
func (e *CorruptError) Error() string { return fmt.Sprintf("httpx: decoding %s: %v", e.Coding, e.Err) }

// Unwrap returns the cause.
func (e *CorruptError) Unwrap() error { return e.Err }
