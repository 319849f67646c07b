package fetch

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// newTLSProxy makes a test proxy that is spoken to over TLS, with that server's certificate.
func newTLSProxy(t *testing.T, server *httptest.Server) *testProxy {
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: server.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	return serveTestProxy(t, listener, server)
}

// A proxy of each kind leads to TLS and plain HTTP, in HTTP/2 where the server speaks it, with credentials for the
// proxy alone. The framing of what comes is looked at inside.
func TestTunnel(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/both" {
			echo(w, r)
			return
		}
		conn := hijack(w)
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n")
	}
	plain, secure, h2 := httptest.NewServer(http.HandlerFunc(handler)), httptest.NewTLSServer(http.HandlerFunc(handler)), httptest.NewUnstartedServer(http.HandlerFunc(echo))
	h2.EnableHTTP2 = true
	h2.StartTLS()
	defer plain.Close()
	defer secure.Close()
	defer h2.Close()
	for _, tt := range []struct {
		name   string
		server *httptest.Server
		proxy  func(t *testing.T, server *httptest.Server) *testProxy
		scheme string
		target string
		proto  string
		asked  string
	}{
		{"TLS through HTTP", secure, newTestProxy, "http", "https://example.com", "HTTP/1.1", "u:p CONNECT example.com:443"},
		{"HTTP/2 through HTTP", h2, newTestProxy, "http", "https://example.com:444", "HTTP/2.0", "u:p CONNECT example.com:444"},
		{"TLS through HTTPS", secure, newTLSProxy, "https", "https://example.com", "HTTP/1.1", "u:p CONNECT example.com:443"},
		{"HTTP/2 through HTTPS", h2, newTLSProxy, "https", "https://example.com", "HTTP/2.0", "u:p CONNECT example.com:443"},
		{"TLS through SOCKS", secure, newTestProxy, "socks5", "https://example.com", "HTTP/1.1", "u:p example.com:443"},
		{"HTTP/2 through SOCKS", h2, newTestProxy, "socks5", "https://example.com", "HTTP/2.0", "u:p example.com:443"},
		{"plain through SOCKS", plain, newTestProxy, "socks5", "http://example.com", "HTTP/1.1", "u:p example.com:80"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxy := tt.proxy(t, secureOr(tt.server, secure))
			proxy.to = tt.server.Listener.Addr().String()
			d := newTestClient(t, func(s *Config) { s.TLS = trust(secure) })
			through := through(proxy.url(tt.scheme, "u:p"))
			for _, reused := range []bool{false, true} {
				resp := mustDownload(t, d, request(tt.target+"/x", http.MethodGet, through))
				got, asked := resp.Transfer, proxy.takeAsked()
				if resp.Header.Get("X-Target") != "/x" || got.Proto != tt.proto || len(resp.Header["Got-Proxy-Authorization"]) > 0 {
					t.Errorf("%s, %v", got.Proto, resp.Header)
				}
				if got.Reused != reused || (asked == "") != reused || asked != "" && asked != tt.asked {
					t.Errorf("reused %v, the proxy was asked for %q", got.Reused, asked)
				}
				if (got.TLS == nil) != (tt.server == plain) || (got.Connect > 0) == reused || (got.Handshake > 0) != (!reused && tt.server != plain) {
					t.Errorf("%+v", got)
				}
			}
			if tt.server == h2 {
				return
			}
			if err := wantError[*FramingError](t, download(d, request(tt.target+"/both", http.MethodGet, through))); !strings.Contains(err.Reason, "§6.3") {
				t.Errorf("%v", err)
			}
		})
	}
}

// What is plain is sent to an HTTPS proxy over TLS, and its answer's framing is looked at there.
func TestPlainThroughHTTPSProxy(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	proxy := newTLSProxy(t, server)
	d := newTestClient(t, func(s *Config) { s.TLS = trust(server) })
	for range 2 {
		resp := mustDownload(t, d, request("http://site.example/x", http.MethodGet, through(proxy.url("https", "u:p"))))
		if asked := proxy.takeAsked(); string(resp.Body) != "proxied" || asked != "u:p GET http://site.example/x" || resp.Transfer.TLS == nil {
			t.Errorf("body %q, the proxy was asked for %q", resp.Body, asked)
		}
	}
}

func secureOr(server, secure *httptest.Server) *httptest.Server {
	if server.TLS == nil {
		return secure
	}
	return server
}

// A proxy that gives no tunnel costs the request, in its own time, and is told from a site that does not answer.
func TestTunnelFailures(t *testing.T) {
	for _, tt := range []struct {
		name, answer, want string
	}{
		{"refused", "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n", "status 407"},
		{"redirected", "HTTP/1.1 302 Found\r\nLocation: http://other.test/\r\n\r\n", "status 302"},
		{"interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 502 Bad Gateway\r\n\r\n", "status 502"},
		{"interim alone", strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 7), "status 103"},
		{"closed", "", "EOF"},
		{"no HTTP", "what?\r\n\r\n", "malformed"},
		{"speaks", "HTTP/1.1 200 OK\r\n\r\nhello", "sends more"},
		{"endless header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20), "EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			proxy, asked := refusingProxy(t, tt.answer, 0)
			d := newTestClient(t, func(s *Config) { s.Limits = bounds(Limits{Header: 64 << 10}) })
			result := download(d, request("https://example.com/", http.MethodGet, through("http://u:s3cret@"+proxy)))
			failed := wantError[*net.OpError](t, result)
			if failed.Op != "proxyconnect" || !strings.Contains(failed.Error(), tt.want) || strings.Contains(result.Error.Error(), "s3cret") {
				t.Errorf("%v, want %q", result.Error, tt.want)
			}
			if asked.Load() != 1 {
				t.Errorf("%d connections", asked.Load())
			}
		})
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	d := newTestClient(t, func(s *Config) { s.Limits = bounds(Limits{Connect: 50 * time.Millisecond, Handshake: time.Hour}) })
	for _, scheme := range []string{"http", "https", "socks5"} {
		proxy := scheme + "://u:s3cret@" + silent.Addr().String()
		err := wantError[*TimeoutError](t, download(d, request("https://example.com/", http.MethodGet, through(proxy))))
		if err.Phase != PhaseConnect || err.Limit != 50*time.Millisecond || err.Proxy != strings.Replace(proxy, "s3cret", "xxxxx", 1) {
			t.Errorf("%s: %+v", scheme, err)
		}
	}
	d = newTestClient(t, func(s *Config) { s.Limits = bounds(Limits{Handshake: 50 * time.Millisecond}) })
	for _, target := range []string{"http://example.com/", "https://example.com/"} {
		r := request(target, http.MethodGet, through("https://"+silent.Addr().String()))
		if err := wantError[*TimeoutError](t, download(d, r)); err.Phase != PhaseHandshake || err.Proxy != "https://"+silent.Addr().String() {
			t.Errorf("%s: %+v", target, err)
		}
	}
	d = newTestClient(t, nil)
	for _, scheme := range []string{"http", "https", "socks5"} { // given up long before Limits.Connect
		r := request("https://example.com/", http.MethodGet, through(scheme+"://"+silent.Addr().String()), withTimeout(20*time.Millisecond))
		if err := wantError[*TimeoutError](t, download(d, r)); err.Phase != PhaseAll {
			t.Errorf("%s: %+v", scheme, err)
		}
	}
	r := request("https://example.com/", http.MethodGet, through("https://127.0.0.1:1"))
	var failed *net.OpError
	if result := download(d, r); result.Error == nil || !errors.As(result.Error, &failed) || failed.Op != "proxyconnect" {
		t.Errorf("nobody listens: %v", result.Error)
	}
}
