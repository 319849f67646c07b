package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/errtext"
)

func TestErrorTexts(t *testing.T) {
	const asked = "http://u:s3cret@x.example/p"
	for _, test := range []struct {
		err  error
		want string
	}{
		{&BodyTooLargeError{URL: asked, Limit: 5}, "the body of http://u:xxxxx@x.example/p is larger than Limits.Body = 5 bytes; raise the limit, or use RequestWithSpool or RequestWithResponseWriter"},
		{&TimeoutError{URL: asked, Limit: time.Second}, "the download of http://u:xxxxx@x.example/p took longer than 1s; RequestWithTimeout allows more"},
		{&TruncatedBodyError{asked, 4, 9, io.ErrUnexpectedEOF}, "the body of http://u:xxxxx@x.example/p broke off after 4 of 9 bytes: unexpected EOF"},
		{&TruncatedBodyError{asked, 4, -1, io.ErrUnexpectedEOF}, "the body of http://u:xxxxx@x.example/p broke off after 4 bytes: unexpected EOF"},
		{&TimeoutError{URL: asked, Limit: time.Second, Phase: PhaseConnect}, "connecting to http://u:xxxxx@x.example/p took longer than 1s; Limits.Connect allows more"},
		{&TimeoutError{URL: asked, Limit: time.Second, Phase: PhaseConnect, Proxy: "http://u:xxxxx@p"}, "connecting to http://u:xxxxx@x.example/p through the proxy http://u:xxxxx@p took longer than 1s; Limits.Connect allows more"},
		{&TimeoutError{URL: asked, Limit: time.Second, Phase: PhaseHandshake, Proxy: "https://p"}, "the TLS handshake with the proxy https://p took longer than 1s; Limits.Handshake allows more"},
		{&BodyTooLargeError{URL: asked, Limit: 5, Spooled: true}, "the body of http://u:xxxxx@x.example/p is larger than Limits.Spool = 5 bytes; raise the limit, or use RequestWithResponseWriter"},
		{&BodyTooLargeError{URL: "http://token@x.example/", Limit: 5, Spooled: true}, "the body of http://xxxxx@x.example/ is larger than Limits.Spool = 5 bytes; raise the limit, or use RequestWithResponseWriter"},
		{&UnansweredError{asked, 5}, "5 connections were made for http://u:xxxxx@x.example/p, and none of them took the request"},
		{&TooSlowError{asked, 10, 12 * time.Second, 5}, "the body of http://u:xxxxx@x.example/p comes too slowly: 10 bytes in 12s, Limits.MinRate is 5 a second"},
		{&RatioError{asked, 100, 5, 1000}, "the body of http://u:xxxxx@x.example/p grows from 5 to 1000 bytes in decoding, more than Limits.Ratio = 100 times"},
		{&CorruptBodyError{asked, io.ErrUnexpectedEOF}, "the body of http://u:xxxxx@x.example/p cannot be decoded: unexpected EOF"},
		{&HeaderTooLargeError{URL: asked, Limit: 5}, "the header of the response of http://u:xxxxx@x.example/p is larger than Limits.Header = 5 bytes"},
		{&HeaderTooLargeError{URL: asked, Fields: 5}, "the response of http://u:xxxxx@x.example/p has more than Limits.HeaderFields = 5 header fields"},
		{&FramingError{asked, "its end is nowhere"}, "the response of http://u:xxxxx@x.example/p is framed wrongly: its end is nowhere"},
		{&UnexpectedStatusError{101, asked}, "unexpected status 101 from http://u:xxxxx@x.example/p: nobody asked for another protocol"},
		{&PrivateAddressError{Host: "x.example", Addr: netip.MustParseAddr("10.0.0.1")}, "x.example is at 10.0.0.1, which is not a public address; to allow it, add 10.0.0.1/32 to Politeness.AllowPrivate"},
		{&PrivateAddressError{Host: "::1", Addr: netip.MustParseAddr("::1")}, "::1 is not a public address; to allow it, add ::1/128 to Politeness.AllowPrivate"},
		{&PrivateAddressError{Host: "localhost", Addr: netip.MustParseAddr("::1"), denied: true}, "localhost stands for ::1, an address of this machine, which Politeness.DenyLoopback forbids"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
		beside := errtext.Beside(test.err, "http://u:xxxxx@x.example/p")
		if strings.Contains(beside, "x.example/p") || strings.Contains(beside, "  ") {
			t.Errorf("beside the URL: %s", beside)
		}
		if other := errtext.Beside(test.err, "http://other.example/"); other != test.want {
			t.Errorf("beside another URL: %s", other)
		}
	}
}

// What wraps an error can be asked for it, and none tells a password.
func TestErrorsUnwrap(t *testing.T) {
	const asked = "http://u:s3cret@x.example/p"
	cause := errors.New("the cause")
	for _, err := range []error{
		&RequestError{URL: asked, Field: "Url", Err: cause, Remedy: "another one"}, &TruncatedBodyError{URL: asked, Err: cause},
		&TruncatedHeaderError{URL: asked, Err: cause}, &CorruptBodyError{URL: asked, Err: cause},
	} {
		if text := err.Error(); !errors.Is(err, cause) || strings.Contains(text, "s3cret") || !strings.Contains(text, "the cause") || !strings.Contains(text, "x.example") {
			t.Errorf("%T: %s", err, text)
		}
	}
	for _, err := range []interface {
		error
		Timeout() bool
	}{&TimeoutError{}, &TooSlowError{}} {
		if !err.Timeout() {
			t.Errorf("%T is no timeout", err)
		}
	}
	if text := (&UnexpectedStatusError{Status: -1, URL: asked}).Error(); !strings.Contains(text, "-1, which is none") || strings.Contains(text, "s3cret") {
		t.Error(text)
	}
}

// A long error is cut, but what it wraps is found.
func TestShortened(t *testing.T) {
	long := strings.Repeat("x", 5000)
	names := make([]string, 300)
	for i := range names {
		names[i] = fmt.Sprintf("site%d.example", i)
	}
	certificate := &tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{DNSNames: names}, Host: "other.example"}}
	for _, tt := range []struct {
		name string
		err  error
		is   func(err error) bool
	}{
		{"short", io.ErrUnexpectedEOF, func(err error) bool { return err == io.ErrUnexpectedEOF }},
		{"certificate", fmt.Errorf("tls: %w", certificate), func(err error) bool {
			var host x509.HostnameError
			return errors.As(err, new(*tls.CertificateVerificationError)) && errors.As(err, &host)
		}},
		{"connection", fmt.Errorf("%w", &net.OpError{Op: "read", Err: fmt.Errorf("%s: %w", long, os.ErrDeadlineExceeded)}), func(err error) bool {
			var op *net.OpError
			return errors.As(err, &op) && op.Op == "read" && errors.Is(err, os.ErrDeadlineExceeded) && len(op.Error()) < 1200
		}},
		{"end", fmt.Errorf("%s: %w", long, io.ErrUnexpectedEOF), func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"text alone", errors.New(long), func(err error) bool { return errors.Unwrap(err) == nil }},
	} {
		got := shortened(tt.err)
		if len(got.Error()) > 1100 || !strings.HasPrefix(tt.err.Error(), strings.TrimSuffix(got.Error(), "…")) || !tt.is(got) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}
