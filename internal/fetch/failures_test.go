package fetch_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria/internal/fetch"
)

// A host that is silent or hangs up may have too much to do; one that has no name or a bad certificate has not. It fails if
// the failure of a lookup that timed out is taken for that of the host.
func TestFailuresOfHosts(t *testing.T) {
	op := func(what string, err error) error { return fmt.Errorf("x: %w", &net.OpError{Op: what, Err: err}) }
	for _, tt := range []struct {
		err      error
		overload bool
		why      string
	}{
		{nil, false, ""},
		{errors.New("certificate"), false, ""},
		{&net.DNSError{IsNotFound: true}, false, "no such host"},
		{op("dial", &net.DNSError{IsTimeout: true}), false, "no answer from DNS"},
		{&fetch.TimeoutError{}, true, "host does not answer"},
		{op("dial", syscall.ECONNREFUSED), true, "connection refused"},
		{op("dial", syscall.EHOSTUNREACH), true, "host cannot be reached"},
		{op("read", syscall.ECONNRESET), true, ""},
		{&fetch.TruncatedBodyError{Err: io.ErrUnexpectedEOF}, true, ""},
		{&fetch.BodyTooLargeError{}, false, ""},
	} {
		if got := fetch.IsOverload(tt.err); got != tt.overload {
			t.Errorf("IsOverload(%v) = %t", tt.err, got)
		}
		if got := fetch.Unreachable(tt.err); got != tt.why {
			t.Errorf("Unreachable(%v) = %q, want %q", tt.err, got, tt.why)
		}
	}
}
