package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// dialled is a network that refuses one address.
type dialled struct {
	tegenaria.Network // nil: a proxy only dials
	refused           string
}

func (d dialled) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if address == d.refused {
		return nil, &tegenaria.PrivateAddressError{Host: address, Addr: netip.MustParseAddr("10.0.0.1")}
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// startProxy starts a proxy whose network refuses an address, and admits a visit.
func startProxy(t *testing.T, refused string) (*proxy, *visit) {
	t.Helper()
	p, err := newProxy(dialled{refused: refused}, new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	v := p.admit()
	t.Cleanup(v.leave)
	return p, v
}

// client returns one that uses a proxy, with a password unless that is empty.
func client(t *testing.T, address, password string) *http.Client {
	t.Helper()
	u := &url.URL{Scheme: "http", Host: address}
	if password != "" {
		u.User = url.UserPassword(proxyUser, password)
	}
	transport := &http.Transport{Proxy: func(*http.Request) (*url.URL, error) { return u, nil }}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// It fails if the proxy serves anybody but a visit that is on, changes what passes, or lets a site speak for it.
func TestProxy(t *testing.T) {
	var seen atomic.Pointer[http.Request]
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r)
		if r.URL.Path == "/407" {
			w.Header().Set("Proxy-Authenticate", "Basic realm=x")
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		fmt.Fprint(w, "hello")
	}))
	t.Cleanup(site.Close)
	private := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(private.Close)
	p, v := startProxy(t, private.Listener.Addr().String())

	get := func(c *http.Client, url string) (status int, err error) {
		resp, err := c.Get(url)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, err
	}
	for _, password := range []string{"", "wrong"} {
		if status, err := get(client(t, p.address, password), site.URL); status != http.StatusProxyAuthRequired || seen.Load() != nil {
			t.Errorf("with the password %q: %d, %v", password, status, err)
		}
	}
	if status, err := get(client(t, p.nowhere, v.password), site.URL); status != http.StatusForbidden || seen.Load() != nil || p.ownCalls.Load() != 1 {
		t.Errorf("the proxy of Chromium itself: %d, %v, %d calls", status, err, p.ownCalls.Load())
	}
	ours := client(t, p.address, v.password)
	if status, err := get(ours, site.URL+"/a?b=%2F"); status != http.StatusOK {
		t.Errorf("a site: %d, %v", status, err)
	}
	if r := seen.Load(); r.RequestURI != "/a?b=%2F" || r.Host != site.Listener.Addr().String() || r.Header.Get("Proxy-Authorization")+r.Header.Get("X-Forwarded-For") != "" {
		t.Errorf("the site was asked %s %s %v", r.Host, r.RequestURI, r.Header)
	}
	if status, err := get(ours, site.URL+"/407"); err == nil {
		t.Errorf("a site that answers as a proxy: %d", status)
	}
	if status, err := get(ours, private.URL); err == nil {
		t.Errorf("a private address: %d", status)
	}
	if _, refused := errors.AsType[*tegenaria.PrivateAddressError](v.whyNot(private.URL + "/x")); !refused || v.whyNot(site.URL) != nil {
		t.Errorf("why not: %v, %v", v.whyNot(private.URL), v.whyNot(site.URL))
	}
	v.leave()
	if status, _ := get(client(t, p.address, v.password), site.URL); status != http.StatusProxyAuthRequired {
		t.Errorf("a visit that is over: %d", status)
	}
}

// It fails if a tunnel leads to an address that the network refuses, or outlives its visit.
func TestTunnel(t *testing.T) {
	site, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	p, v := startProxy(t, "private.example:443")
	connect := func(address string) (net.Conn, *http.Response) {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: make(http.Header)}
		r.SetBasicAuth(proxyUser, v.password)
		r.Header["Proxy-Authorization"] = r.Header["Authorization"]
		if err := r.Write(conn); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), r)
		if err != nil {
			t.Fatal(err)
		}
		return conn, resp
	}
	if _, resp := connect("private.example:443"); resp.StatusCode != http.StatusForbidden || v.whyNot("https://Private.example/") == nil {
		t.Errorf("a private address: %d, %v", resp.StatusCode, v.whyNot("https://Private.example/"))
	}
	tab, resp := connect(site.Addr().String())
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("a site: %d", resp.StatusCode)
	}
	server, err := site.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for from, to := range map[net.Conn]net.Conn{tab: server, server: tab} {
		got := make([]byte, 4)
		if _, err := io.WriteString(from, "ping"); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadFull(to, got); err != nil || string(got) != "ping" {
			t.Errorf("%q, %v", got, err)
		}
	}
	v.leave()
	for _, conn := range []net.Conn{tab, server} {
		if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Error("the tunnel outlives its visit")
		}
	}
}

// It fails if a page can have any number of connections, as by a flood of WebSockets.
func TestTunnelsAreBounded(t *testing.T) {
	site, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { site.Close() })
	p, v := startProxy(t, "")
	for n := range maxTunnels + 1 {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Host: site.Addr().String()}, Host: site.Addr().String(), Header: make(http.Header)}
		basic := &http.Request{Header: make(http.Header)}
		basic.SetBasicAuth(proxyUser, v.password)
		request.Header.Set("Proxy-Authorization", basic.Header.Get("Authorization"))
		if err := request.Write(conn); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(conn), request)
		if err != nil {
			t.Fatal(err)
		}
		want := http.StatusOK
		if n == maxTunnels {
			want = http.StatusForbidden
		}
		if resp.StatusCode != want {
			t.Errorf("tunnel %d: %s", n, resp.Status)
		}
	}
}
