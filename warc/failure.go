package warc

import (
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/tegenaria/tegenaria"
)

// The kinds of failures that a metadata record names, by which a replay fails in the same way. They are stored: a kind keeps its meaning.
const (
	failedLookup  = "lookup"  // the host has no address
	failedRefused = "refused" // nobody listens there
	failedConnect = "connect" // the host cannot be reached
	failedTimeout = "timeout"
	failedHeader  = "header"    // the connection ended within the header
	failedBroken  = "broken"    // it broke elsewhere
	failedLarge   = "too-large" // the body was larger than Limits.Body
	failedOther   = "other"
)

// kindOf returns the kind of a failure.
func kindOf(err error) string {
	var (
		lookup  *net.DNSError
		op      *net.OpError
		timeout interface{ Timeout() bool }
		header  *tegenaria.TruncatedHeaderError
		large   *tegenaria.BodyTooLargeError
		private *tegenaria.PrivateAddressError
	)
	switch {
	case errors.As(err, &private):
		return failedOther
	case errors.As(err, &large):
		return failedLarge
	case errors.As(err, &lookup):
		return failedLookup
	case errors.Is(err, syscall.ECONNREFUSED):
		return failedRefused
	case errors.As(err, &op) && op.Op == "dial":
		return failedConnect
	case errors.As(err, &timeout) && timeout.Timeout():
		return failedTimeout
	case errors.As(err, &header):
		return failedHeader
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), op != nil:
		return failedBroken
	}
	return failedOther
}

// FailedError is the failure of a request that is replayed, as it failed when it was recorded. Code that tells failures apart, such as a
// middleware that retries, finds the same causes in it: a *net.DNSError, syscall.ECONNREFUSED and so on.
type FailedError struct {
	URL     string
	Kind    string // "lookup", "refused", "connect", "timeout", "header", "broken", "too-large" or "other"
	Message string // the error of that time
}

// Error is the error of that time.
func (e *FailedError) Error() string { return "warc: recorded failure: " + e.Message }

// Timeout reports whether it was one.
func (e *FailedError) Timeout() bool { return e.Kind == failedTimeout }

// Unwrap returns an error of the recorded kind.
func (e *FailedError) Unwrap() error {
	said := errors.New(e.Message)
	switch e.Kind {
	case failedLookup:
		return &net.DNSError{Err: e.Message, Name: e.URL}
	case failedRefused:
		return syscall.ECONNREFUSED
	case failedConnect:
		return &net.OpError{Op: "dial", Net: "tcp", Err: said}
	case failedHeader:
		return &tegenaria.TruncatedHeaderError{URL: e.URL, Err: said}
	case failedBroken:
		return io.ErrUnexpectedEOF
	case failedLarge:
		return &tegenaria.BodyTooLargeError{URL: e.URL}
	}
	return nil
}
