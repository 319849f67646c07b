package fetch

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A body counts in its hold as soon as it is in memory; an unbounded one does not wait for room. It fails when Unbounded is
// not looked at.
func TestUnboundedDoesNotWait(t *testing.T) {
	for _, unbounded := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			budget := NewBudget(1000, nil)
			var full, hold Hold
			budget.Add(&full, 1001)
			if !budget.TryGrow(&full, 1) { // it is the one that may go over the bound
				t.Fatal("nobody may go over the bound")
			}
			time.AfterFunc(time.Hour, func() { budget.Release(&full) })
			d := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 500)) }).client(func(c *Config) { c.Bodies = budget })
			began := time.Now()
			mustDownload(t, d, request("http://x.example/", http.MethodGet, func(r *Request) { r.Hold, r.Unbounded = &hold, unbounded }))
			if took := time.Since(began); (took == 0) != unbounded || budget.Held(&hold) != 500 {
				t.Errorf("unbounded %v: %s, %d bytes are held", unbounded, took, budget.Held(&hold))
			}
			synctest.Wait()
		})
	}
}

// Of a body whose beginning is wanted no more is read, and that there is more is no failure, with a coding neither. It fails
// when the decoder is given the bound itself.
func TestBeginning(t *testing.T) {
	page := strings.Repeat("0123456789", 1000)
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(pack(t, "gzip", []byte(page)))
			return
		}
		io.WriteString(w, page)
	})
	d := newTestClient(t, nil, server)
	for _, path := range []string{"/plain", "/gzip"} {
		for _, most := range []int64{1, 9_999, 10_000, 10_001} {
			a := mustDownload(t, d, request(server.URL+path, http.MethodGet, func(r *Request) { r.Beginning = most }))
			if want := page[:min(most, 10_000)]; a.text() != want || a.Length != int64(len(want)) {
				t.Errorf("%s: %d bytes, want %d", path, a.Length, len(want))
			}
		}
	}
}

// closing is a body that notes that it was closed.
type closing struct {
	io.Reader
	closed *bool
}

func (c closing) Close() error { *c.closed = true; return nil }

// Whatever becomes of a response, its body is closed, and a proxy's connections are left.
func TestExchangeGivesBack(t *testing.T) {
	closed := false
	status := 200
	d := newTestClient(t, func(c *Config) {
		c.Limits.Body = 3
		c.HTTP = &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			closed = false
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: closing{strings.NewReader("body"), &closed}, ContentLength: -1}, nil
		})}
	})
	if err := wantError[*BodyTooLargeError](t, download(d, request("http://x.example/", http.MethodGet))); err.Limit != 3 || !closed {
		t.Errorf("%v, closed %v", err, closed)
	}
	status = http.StatusSwitchingProtocols
	if err := wantError[*UnexpectedStatusError](t, download(d, request("http://x.example/", http.MethodGet))); err.Status != 101 || !closed {
		t.Errorf("%v, closed %v", err, closed)
	}

	server := newServer(echo)
	proxy := newTestProxy(t, server)
	own := newTestClient(t, nil, server)
	mustDownload(t, own, request("http://site.example/", http.MethodGet, through(proxy.url("http", ""))))
	for _, way := range own.routes.proxied {
		if way.users != 0 {
			t.Errorf("a way has %d users", way.users)
		}
	}
}

// Partial forgives a body that breaks off, and not an exchange that was given up.
func TestPartialThatIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newPipeServer(t, trickle).client(nil)
		result := download(d, request("http://x.example/", http.MethodGet, withPartial, withTimeout(1500*time.Millisecond)))
		if err := wantError[*TimeoutError](t, result); err.Phase != PhaseAll || result.Response != nil {
			t.Errorf("%v, answer %v", err, result.Response)
		}
	})
}

// A Writer that takes less than it was given has failed.
func TestShortWrite(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "body") })
	d := newTestClient(t, nil, server)
	lazy := writerFunc(func(p []byte) (int, error) { return len(p) - 1, nil })
	if result := download(d, request(server.URL, http.MethodGet, withWriter(lazy))); !errors.Is(result.Error, io.ErrShortWrite) || result.Response != nil {
		t.Errorf("%v, answer %v", result.Error, result.Response)
	}
}

func TestIsRedirect(t *testing.T) {
	for _, tt := range []struct {
		status int
		header map[string][]string
		want   bool
	}{
		{301, map[string][]string{"Location": {"/x"}}, true},
		{302, map[string][]string{"Location": {"/x", ""}}, true},
		{303, map[string][]string{"location": {"/x"}}, true},
		{307, map[string][]string{"LOCATION": {"/x"}}, true},
		{308, map[string][]string{"Location": {}, "location": {"/x"}}, true},
		{308, map[string][]string{"Location": {""}}, false},
		{302, nil, false},
		{300, map[string][]string{"Location": {"/x"}}, false},
		{304, map[string][]string{"Location": {"/x"}}, false},
		{201, map[string][]string{"Location": {"/x"}}, false},
	} {
		if got := IsRedirect(tt.status, tt.header); got != tt.want {
			t.Errorf("%d %v: %v", tt.status, tt.header, got)
		}
	}
}

// The first address is the first one that may be dialled.
func TestFirstAddr(t *testing.T) {
	d := newTestClient(t, nil)
	found := map[string][]netip.Addr{
		"both.example":    {netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("::ffff:1.1.1.1"), netip.MustParseAddr("8.8.8.8")},
		"private.example": {netip.MustParseAddr("10.0.0.1")},
	}
	d.routes.guard.resolver.Lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		if addrs := found[host]; addrs != nil {
			return addrs, nil
		}
		return nil, &net.DNSError{Err: "no such host", Name: host}
	}
	for url, want := range map[string]string{"http://both.example/": "1.1.1.1", "https://private.example/": "", "http://unknown.example/": "", "http://127.0.0.1/": ""} {
		addr, ok := d.FirstAddr(t.Context(), url)
		if ok != (want != "") || ok && addr.String() != want {
			t.Errorf("%s: %s, %v", url, addr, ok)
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

// A body that a func makes is sent again where the request is.
func TestReadBodyFunc(t *testing.T) {
	server := newServer(echo)
	d := newTestClient(t, nil, server)
	content := bytes.Repeat([]byte("x"), 100_000)
	calls := 0
	a := mustDownload(t, d, request(server.URL, http.MethodPost, func(r *Request) {
		r.Body, r.ReadBody = []byte("unused"), func() ([]byte, error) { calls++; return content, nil }
	}))
	if !bytes.Equal(a.Body, content) || calls != 1 {
		t.Errorf("%d bytes, %d calls", len(a.Body), calls)
	}
}
