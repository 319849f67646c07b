package fetch

import (
	"io"
	"net/http"
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
