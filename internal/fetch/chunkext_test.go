package fetch

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// White space before a chunk extension is in the grammar (RFC 9112 §7.1.1), in plain HTTP and in TLS, and what is in the chunks stays as
// it is. The server sends in pieces, so that lines come in parts.
func TestChunkExtensions(t *testing.T) {
	for _, tt := range []struct{ name, chunks string }{
		{"a space", "5 ;x\r\na ; b\r\n0 ;y\r\n\r\n"},
		{"tabs and values", "5\t \t; x = \"a b\"; y\r\na ; b\r\n0\r\n\r\n"},
		{"behind the size alone", "5  \r\na ; b\r\n0 \r\n\r\n"},
		{"two chunks", "3 ;x\r\na ;\r\n2 ; y\r\n b\r\n0 ; z\r\n\r\n"},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					conn := hijack(w)
					defer conn.Close()
					if plain, ok := conn.(*net.TCPConn); ok {
						plain.SetNoDelay(true)
					}
					io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
					for piece := range strings.SplitSeq(tt.chunks, "") {
						io.WriteString(conn, piece)
					}
				})
				server := httptest.NewUnstartedServer(handler)
				var config *tls.Config
				if secure {
					server.StartTLS()
					config = trust(server)
				} else {
					server.Start()
				}
				d := newTestClient(t, func(c *Config) { c.TLS = config }, server)
				if got := mustDownload(t, d, request(server.URL, http.MethodGet)).text(); got != "a ; b" {
					t.Errorf("got %q", got)
				}
			})
		}
	}
}
