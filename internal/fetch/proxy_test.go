package fetch

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// testProxy is an HTTP and a SOCKS5 proxy in one, which leads every name to one server.
type testProxy struct {
	listener net.Listener
	to       string // host:port of the server
	silent   atomic.Bool

	wg    sync.WaitGroup
	mu    sync.Mutex // guards the fields below
	conns []net.Conn
	asked []string // targets, with the credentials in front
	agent string   // who asked for them, the last time
}

func newTestProxy(t *testing.T, server *httptest.Server) *testProxy {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveTestProxy(t, listener, server)
}

func serveTestProxy(t *testing.T, listener net.Listener, server *httptest.Server) *testProxy {
	p := &testProxy{listener: listener, to: server.Listener.Addr().String()}
	p.wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.track(conn)
			p.wg.Go(func() { p.serve(conn) })
		}
	})
	t.Cleanup(p.close)
	return p
}

func (p *testProxy) track(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conns = append(p.conns, conn)
}

func (p *testProxy) close() {
	p.listener.Close()
	p.mu.Lock()
	for _, conn := range p.conns {
		conn.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *testProxy) url(scheme, user string) string {
	if user != "" {
		user += "@"
	}
	return scheme + "://" + user + p.listener.Addr().String()
}

func (p *testProxy) note(credentials, target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, strings.TrimSpace(credentials+" "+target))
}

func (p *testProxy) takeAsked() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := strings.Join(p.asked, ", ")
	p.asked = nil
	return all
}

func (p *testProxy) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	if p.silent.Load() {
		io.Copy(io.Discard, in)
		return
	}
	if first, err := in.Peek(1); err == nil && first[0] == 5 {
		p.socks(conn, in)
		return
	}
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		credentials, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.Header.Get("Proxy-Authorization"), "Basic "))
		p.note(string(credentials), r.Method+" "+r.RequestURI)
		p.mu.Lock()
		p.agent = r.UserAgent()
		p.mu.Unlock()
		if r.Method == http.MethodConnect {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
			p.relay(conn, in)
			return
		}
		io.Copy(io.Discard, r.Body)
		body := "proxied"
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
}

// socks speaks RFC 1928, with RFC 1929 if the client offers it.
func (p *testProxy) socks(conn net.Conn, in *bufio.Reader) {
	read := func(n int) []byte {
		b := make([]byte, n)
		io.ReadFull(in, b)
		return b
	}
	field := func() string { return string(read(int(read(1)[0]))) }
	credentials := ""
	methods := read(int(read(2)[1]))
	if bytes.IndexByte(methods, 2) >= 0 {
		conn.Write([]byte{5, 2})
		read(1)
		user := field()
		credentials = user + ":" + field()
		conn.Write([]byte{1, 0})
	} else {
		conn.Write([]byte{5, 0})
	}
	host := ""
	switch read(4)[3] {
	case 1:
		host = netip.AddrFrom4([4]byte(read(4))).String()
	case 3:
		host = field()
	case 4:
		host = netip.AddrFrom16([16]byte(read(16))).String()
	}
	port := read(2)
	p.note(credentials, net.JoinHostPort(host, fmt.Sprint(int(port[0])<<8|int(port[1]))))
	conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	p.relay(conn, in)
}

func (p *testProxy) relay(conn net.Conn, in io.Reader) {
	to, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	p.track(to)
	var wg sync.WaitGroup
	wg.Go(func() { io.Copy(to, in); to.Close() })
	io.Copy(conn, to)
	conn.Close()
	wg.Wait()
}

func TestDownloadThroughProxy(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host+r.RequestURI) })
	proxy := newTestProxy(t, server)
	d := newTestClient(t, nil, server)
	tests := []struct {
		name, url string
		proxy     string
		asked     string
		body      string
	}{
		{"http", "http://site.example/a?b#c", proxy.url("http", ""), "GET http://site.example/a?b", "proxied"},
		{"http, odd path", "http://site.example/a|b", proxy.url("http", ""), "GET http://site.example/a|b", "proxied"},
		{"http, credentials", "http://u:p@site.example/", proxy.url("http", "us%40er:pass"), "us@er:pass GET http://site.example/", "proxied"},
		{"socks5", "http://site.example:81/a|b", proxy.url("socks5", ""), "site.example:81", "site.example:81/a|b"},
		{"socks5, credentials", "http://site.example/", proxy.url("socks5", "user:pass"), "user:pass site.example:80", "site.example/"},
		{"socks5, public address", "http://1.1.1.1/", proxy.url("socks5", ""), "1.1.1.1:80", "1.1.1.1/"},
		{"allowed loopback", server.URL, proxy.url("http", ""), "GET " + server.URL + "/", "proxied"},
	}
	for _, test := range tests {
		for _, timeout := range []time.Duration{0, time.Minute} {
			t.Run(fmt.Sprintf("%s, timeout %s", test.name, timeout), func(t *testing.T) {
				resp := mustDownload(t, d, request(test.url, http.MethodGet, through(test.proxy), withTimeout(timeout)))
				asked := proxy.takeAsked()
				reused := asked == "" && strings.HasPrefix(test.name, "socks5")
				if string(resp.Body) != test.body || asked != test.asked && !reused {
					t.Errorf("body %q, the proxy was asked for %q", resp.Body, asked)
				}
			})
		}
	}
	for _, host := range []string{"127.0.0.1:9", "10.0.0.1", "[::1]", "localhost:9", "169.254.169.254", "0x7f.1", "[64:ff9b::7f00:1]"} {
		for _, scheme := range []string{"http", "socks5"} {
			wantError[*PrivateAddressError](t, download(d, request("http://"+host+"/", http.MethodGet, through(proxy.url(scheme, "")))))
		}
	}
	if asked := proxy.takeAsked(); asked != "" {
		t.Errorf("the proxy was asked for %q", asked)
	}
}

func TestDownloadProxyFailures(t *testing.T) {
	server := newServer(echo)
	proxy := newTestProxy(t, server)
	d := newTestClient(t, nil, server)
	proxy.silent.Store(true)
	for _, scheme := range []string{"http", "socks5"} {
		result := download(d, request("http://site.example/", http.MethodGet, through(proxy.url(scheme, "u:s3cret")), withTimeout(50*time.Millisecond)))
		wantError[*TimeoutError](t, result)
	}
	proxy.close()
	for _, scheme := range []string{"http", "https", "socks5"} {
		result := download(d, request("http://site.example/", http.MethodGet, through(proxy.url(scheme, "u:s3cret"))))
		wantError[*net.OpError](t, result)
		if strings.Contains(result.Error.Error(), "s3cret") {
			t.Errorf("the message tells a secret: %v", result.Error)
		}
	}
	other := newTestClient(t, func(s *Config) {
		s.HTTP = &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			t.Error("the request went out without its proxy")
			return nil, errors.New("no proxy")
		})}
	})
	wantError[*RequestError](t, download(other, request("http://site.example/", http.MethodGet, through(proxy.url("http", "")))))
}

// What a proxy's connections cost is bounded: those of the proxy used longest ago are closed, but not while
// a download needs them.
func TestProxiesAreBounded(t *testing.T) {
	rs := newRoutes(Config{Concurrency: 1})
	closed := make(map[string]int)
	enter := func(i int) *route {
		r := request("http://site.example/", http.MethodGet, through(fmt.Sprintf("http://proxy%d.example", i)))
		way, err := rs.enter(&r)
		if err != nil {
			t.Fatal(err)
		}
		own := way.closeIdle
		way.closeIdle = func() { closed[way.key]++; own() }
		return way
	}
	busy := enter(0)
	for i := 1; i < maxProxies; i++ {
		rs.leave(enter(i))
	}
	rs.leave(enter(1))
	for i := range 2 {
		rs.leave(enter(maxProxies + i))
	}
	if len(rs.proxied) != maxProxies || rs.proxied["http://proxy1.example"] == nil || rs.proxied["http://proxy0.example"] != nil {
		t.Errorf("%d proxies are kept", len(rs.proxied))
	}
	if len(closed) != 1 || closed["http://proxy2.example"] != 1 {
		t.Errorf("closed: %v", closed)
	}
	rs.leave(busy)
	if closed["http://proxy0.example"] != 1 {
		t.Errorf("closed: %v", closed)
	}
	rs.close()
	if len(closed) != maxProxies+2 {
		t.Errorf("%d are closed", len(closed))
	}
}

// A client that dials in memory works in virtual time, with a proxy too.
func TestGivenClientThroughProxyInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) })
		d := p.client(nil)
		defer d.Close()
		resp := mustDownload(t, d, request("http://site.example/x", http.MethodGet, through("http://proxy.example:3128")))
		if string(resp.Body) != "http://site.example/x" {
			t.Errorf("the proxy was asked for %q", resp.Body)
		}
	})
}

// What is meant for a proxy never goes to a site: the credentials in a header only where the request itself goes to the
// proxy. A proxy learns who asks for a tunnel.
func TestProxyAuthorization(t *testing.T) {
	for name, change := range map[string]func(s *Config, secure *httptest.Server){
		"own":   func(s *Config, secure *httptest.Server) { s.TLS = trust(secure) },
		"given": func(s *Config, secure *httptest.Server) { s.HTTP = secure.Client() },
	} {
		site, secure := newServer(echo), httptest.NewTLSServer(http.HandlerFunc(echo))
		proxy := newTestProxy(t, secure)
		d := newTestClient(t, func(s *Config) { change(s, secure) }, site, secure)
		for _, tt := range []struct {
			url   string
			proxy string // its scheme, "" for none
			asked string // of the proxy; "": the request is refused
		}{
			{site.URL, "", ""},
			{secure.URL, "", ""},
			{"http://site.example/", "http", "u:p GET http://site.example/"},
			{"https://example.com/", "http", ""},
			{"http://site.example/", "socks5", ""},
			{"https://example.com/", "socks5", ""},
		} {
			opts := []option{withHeader(map[string]string{"proxy-authorization": basicAuth(url.UserPassword("u", "p"))})}
			if tt.proxy != "" {
				opts = append(opts, through(proxy.url(tt.proxy, "")))
			}
			result := download(d, request(tt.url, http.MethodGet, opts...))
			asked := proxy.takeAsked()
			if asked != tt.asked {
				t.Errorf("%s, %+v: the proxy was asked for %q", name, tt, asked)
			}
			if tt.asked != "" {
				if result.Error != nil {
					t.Errorf("%s, %+v: %v", name, tt, result.Error)
				}
				continue
			}
			if err := wantError[*RequestError](t, result); !strings.Contains(err.Error(), "user:password@host") || strings.Contains(err.Error(), "Basic") {
				t.Errorf("%s, %+v: %v", name, tt, err)
			}
		}
		for _, scheme := range []string{"http", "socks5"} {
			resp := mustDownload(t, d, request("https://example.com/x", http.MethodGet, through(proxy.url(scheme, "u:p"))))
			asked := proxy.takeAsked()
			if resp.Header.Get("X-Target") != "/x" || !strings.HasPrefix(asked, "u:p ") || !strings.HasSuffix(asked, "example.com:443") {
				t.Errorf("%s, %s: %v, the proxy was asked for %q", name, scheme, resp.Header, asked)
			}
			if len(resp.Header["Got-Proxy-Authorization"]) > 0 {
				t.Errorf("%s, %s: the server was told the proxy's credentials", name, scheme)
			}
		}
		proxy.mu.Lock()
		if proxy.agent != "tegenaria/test" {
			t.Errorf("%s: %q asked for a tunnel", name, proxy.agent)
		}
		proxy.mu.Unlock()
		d.Close()
		proxy.close()
	}
}
