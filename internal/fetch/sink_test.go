package fetch

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// A redirect is followed whatever its body is: the target counts. No more is read of it than its connection is worth.
func TestRedirectBodies(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(make([]byte, 8<<20))
	z.Close()
	bodies := map[string]struct {
		name, value string // of a header field
		write       string
		then        func(w http.ResponseWriter, r *http.Request)
		body        string // that is kept
		why         error  // in Transfer.Err
		waits       bool
	}{
		"/page":      {write: "moved", body: "moved"},
		"/cut":       {name: "Content-Length", value: "10", write: "mov", body: "mov", why: io.ErrUnexpectedEOF},
		"/not-gzip":  {name: "Content-Encoding", value: "gzip", write: "moved", why: io.ErrUnexpectedEOF},
		"/codings":   {name: "Content-Encoding", value: "gzip,gzip,gzip,gzip,gzip,gzip", write: "moved", why: &httpx.TooManyCodingsError{Count: 6, Limit: 5}},
		"/bomb":      {name: "Content-Encoding", value: "gzip", write: packed.String(), body: string(make([]byte, skimmed)), why: errSkimmed},
		"/announced": {name: "Content-Length", value: "1000000000", why: errSkimmed},
		"/endless": {then: func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		}, why: errSkimmed},
		"/slow": {write: "x", body: "x", waits: true, why: errSkimmed, then: func(w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}},
	}
	for path, tt := range bodies {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Location", "/target")
					if tt.name != "" {
						w.Header().Set(tt.name, tt.value)
					}
					w.WriteHeader(http.StatusFound)
					io.WriteString(w, tt.write)
					if tt.then != nil {
						tt.then(w, r)
					}
				})
				d := p.client(nil)
				defer d.Close()
				began := time.Now()
				resp := mustDownload(t, d, request("http://x.example"+path, http.MethodGet))
				why := resp.Transfer.Err
				if (why == nil) != (tt.why == nil) || why != nil && !errors.Is(why, tt.why) && !strings.Contains(why.Error(), tt.why.Error()) || string(resp.Body) != tt.body || resp.Header.Get("Location") != "/target" {
					t.Errorf("body %.20q, %v: %v", resp.Body, resp.Header, why)
				}
				if took := time.Since(began); took > skimTime || tt.waits != (took == skimTime) {
					t.Errorf("took %s", took)
				}
			})
		})
	}
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "/target")
		w.Header().Set("Content-Length", "10")
		w.WriteHeader(http.StatusFound)
		io.WriteString(w, "mov")
	})
	d := newTestClient(t, nil, server)
	r := request(server.URL, http.MethodGet, unfollowed) // then the body is what was asked for
	wantError[*TruncatedBodyError](t, download(d, r))
}

// A spooled body has a bound of its own, announced or found.
func TestSpoolIsBounded(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/announced" {
			w.Header().Set("Content-Length", "200000")
		}
		if r.URL.Path == "/gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			z.Write(make([]byte, 200_000))
			z.Close()
			return
		}
		w.Write(make([]byte, 100_000))
		w.(http.Flusher).Flush()
		w.Write(make([]byte, 100_000))
	})
	for limit, fails := range map[int64]bool{199_999: true, 200_000: false, unlimited: false, 10: true} {
		d := newTestClient(t, func(s *Config) { s.Limits = bounds(Limits{Spool: limit}) })
		d.config.Loopback.Allow(server.URL)
		for _, path := range []string{"/announced", "/found", "/gzip"} {
			r := request(server.URL+path, http.MethodGet, withSpool)
			result := download(d, r)
			if !fails {
				if result.Error != nil || result.Response.Length != 200_000 {
					t.Errorf("%s, %d: %v", path, limit, result.Error)
				}
				result.Response.File.Close()
				continue
			}
			if err := wantError[*BodyTooLargeError](t, result); err.Limit != limit || !err.Spooled || result.Response != nil {
				t.Errorf("%s, %d: %+v", path, limit, err)
			}
		}
	}
	server.Close()
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

// With a client of the user's a redirect that is not wanted is delivered, whatever its Location is.
func TestGivenClientBadLocation(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Location"] = []string{"http://u:s3cret@%zz/"}
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusFound)
		io.WriteString(w, "moved")
	})
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	d := newTestClient(t, func(s *Config) { s.HTTP = &http.Client{Transport: transport} }, server)
	defer transport.CloseIdleConnections()
	for _, follow := range []bool{false, true} {
		resp := mustDownload(t, d, request(server.URL, http.MethodGet, func(r *Request) { r.Follows = follow }))
		if resp.Status != 302 || string(resp.Body) != "moved" || len(resp.Header["location"]) > 0 || resp.Header.Get("Location") != "http://u:s3cret@%zz/" {
			t.Errorf("%d %v %q", resp.Status, resp.Header, resp.Body)
		}
	}
}

// Limits.FirstByte is the server's time: that of an upload is not.
func TestFirstByteAfterUpload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/upload" {
				sleepFor(5 * time.Second) // nobody reads meanwhile: the pipe has no buffer
				io.Copy(io.Discard, r.Body)
				return
			}
			io.Copy(io.Discard, r.Body)
			sleepFor(5 * time.Second)
		})
		defer sleepFor(time.Minute)
		d := p.client(func(s *Config) { s.Limits.FirstByte = time.Second })
		defer d.Close()
		large := withBody(make([]byte, 1<<20))
		mustDownload(t, d, request("http://x.example/upload", http.MethodPost, large))
		r := request("http://x.example/", http.MethodPost, large)
		if err := wantError[*TimeoutError](t, download(d, r)); err.Phase != PhaseFirstByte {
			t.Errorf("%v", err)
		}
	})
}
