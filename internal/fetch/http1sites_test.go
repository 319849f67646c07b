package fetch

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
)

// A site that negotiates HTTP/2 and then wants HTTP/1.1 gets it, at once and from then on, directly and through proxies. It fails if
// the refused request is not sent again, or if the site is asked in HTTP/2 a second time.
func TestSitesThatWantHTTP1(t *testing.T) {
	for _, tt := range []struct {
		name   string
		method string
		refuse func(h *h2)
		fails  bool
		asked  string // the versions in which it was asked, twice by us
	}{
		{"a reset", http.MethodGet, func(h *h2) { h.WriteRSTStream(h.stream, http2.ErrCodeHTTP11Required) }, false, "211"},
		{"a reset of a POST", http.MethodPost, func(h *h2) { h.WriteRSTStream(h.stream, http2.ErrCodeHTTP11Required) }, false, "211"},
		{"the connection, nothing was seen", http.MethodGet, func(h *h2) { h.WriteGoAway(0, http2.ErrCodeHTTP11Required, nil) }, false, "211"},
		{"the connection, a POST, nothing was seen", http.MethodPost, func(h *h2) { h.WriteGoAway(0, http2.ErrCodeHTTP11Required, nil) }, false, "211"},
		{"the connection, it was seen", http.MethodGet, func(h *h2) { h.WriteGoAway(h.stream, http2.ErrCodeHTTP11Required, nil); h.conn.Close() }, false, "211"},
		{"the connection, a POST that was seen", http.MethodPost, func(h *h2) { h.WriteGoAway(h.stream, http2.ErrCodeHTTP11Required, nil); h.conn.Close() }, true, "21"},
		{"a reset for another reason", http.MethodGet, func(h *h2) { h.WriteRSTStream(h.stream, http2.ErrCodeInternal) }, true, ""},
	} {
		for _, scheme := range []string{"", "http", "socks5"} {
			t.Run(tt.name+" "+scheme, func(t *testing.T) {
				var mu sync.Mutex // guards asked
				var asked []string
				note := func(how string) {
					mu.Lock()
					defer mu.Unlock()
					asked = append(asked, how)
				}
				server := newH2Server(t, func(conn net.Conn) {
					secure := conn.(*tls.Conn)
					if secure.Handshake() != nil {
						return
					}
					if secure.ConnectionState().NegotiatedProtocol == "h2" {
						serveH2(conn, func(h *h2, _ string) { note("2"); tt.refuse(h) })
						return
					}
					for in := bufio.NewReader(conn); ; {
						r, err := http.ReadRequest(in)
						if err != nil {
							return
						}
						body, _ := io.ReadAll(r.Body)
						note("1")
						fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
					}
				}, "h2", "http/1.1")
				d := server.client(t)
				url, opts := server.url, []option{}
				if scheme != "" {
					proxy := newTestProxy(t, &httptest.Server{Listener: server.listener})
					url, opts = "https://example.com/", append(opts, through(proxy.url(scheme, "")))
				}
				if tt.method == http.MethodPost {
					opts = append(opts, withBody([]byte("the body")))
				}
				first := download(d, request(url, tt.method, opts...))
				if (first.Error != nil) != tt.fails {
					t.Errorf("error %v", first.Error)
				}
				if tt.asked == "" {
					return
				}
				again := mustDownload(t, d, request(url, tt.method, opts...))
				if tt.method == http.MethodPost && again.text() != "the body" || first.Response != nil && first.Response.text() != again.text() {
					t.Errorf("it got %v and %q", first.Response, again.text())
				}
				mu.Lock()
				defer mu.Unlock()
				if got := strings.Join(asked, ""); got != tt.asked || again.Transfer.Proto != "HTTP/1.1" {
					t.Errorf("it was asked in HTTP %s", got)
				}
			})
		}
	}
}
