package fetch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// A content coding without its end, or with a wrong checksum, is told and is no failure if HTTP says that all of the message has
// come. If HTTP says that it is cut, or cannot say, the body has broken off.
func TestDamagedEnds(t *testing.T) {
	page := []byte(strings.Repeat("some text ", 1000))
	whole := map[string][]byte{}
	for _, coding := range []string{"gzip", "deflate", "br", "zstd"} {
		whole[coding] = pack(t, coding, page)
	}
	withoutEnd := func(coding string, n int) []byte { return whole[coding][:len(whole[coding])-n] }
	wrong := func(coding string, at int) []byte {
		b := bytes.Clone(whole[coding])
		b[len(b)-at] ^= 1
		return b
	}
	const (
		length  = "length"      // a Content-Length that is met
		chunked = "chunked"     // to the last chunk
		closed  = "closed"      // the end of the connection ends the body
		short   = "short"       // fewer bytes than the Content-Length says
		cut     = "cut chunked" // without the last chunk
	)
	for _, tt := range []struct {
		name    string
		coding  string
		body    []byte
		framing string
		failure bool
		all     bool // what is decoded is all of the page
	}{
		{"gzip without its trailer", "gzip", withoutEnd("gzip", 8), length, false, true},
		{"half a trailer", "gzip", withoutEnd("gzip", 4), chunked, false, true},
		{"half a gzip", "gzip", withoutEnd("gzip", len(whole["gzip"])/2), length, false, false},
		{"gzip with a wrong checksum", "gzip", wrong("gzip", 8), length, false, true},
		{"gzip with a wrong length", "gzip", wrong("gzip", 1), chunked, false, true},
		{"second member without its end", "gzip", append(bytes.Clone(whole["gzip"]), withoutEnd("gzip", 8)...), length, false, true},
		{"deflate without its end", "deflate", withoutEnd("deflate", 4), length, false, true},
		{"deflate with a wrong checksum", "deflate", wrong("deflate", 1), chunked, false, true},
		{"brotli without its end", "br", withoutEnd("br", 1), length, false, false},
		{"the only block of zstd without its end", "zstd", withoutEnd("zstd", 1), length, true, false},
		{"nothing but the beginning of a header", "gzip", whole["gzip"][:5], length, true, false},
		{"no framing", "gzip", withoutEnd("gzip", 8), closed, true, true},
		{"a message cut by its length", "gzip", withoutEnd("gzip", 8), short, true, true},
		{"a message cut in its chunks", "gzip", withoutEnd("gzip", 8), cut, true, true},
		{"what is no gzip", "gzip", []byte("this is no coding at all"), length, true, false},
	} {
		for to, opt := range map[string]option{"memory": unfollowed, "file": withSpool, "writer": nil} {
			t.Run(tt.name+", "+to, func(t *testing.T) {
				server := newServer(func(w http.ResponseWriter, r *http.Request) {
					conn := hijack(w)
					defer conn.Close()
					head := "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Encoding: " + tt.coding + "\r\n"
					switch tt.framing {
					case length:
						fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", head, len(tt.body), tt.body)
					case short:
						fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", head, len(tt.body)+8, tt.body)
					case chunked:
						fmt.Fprintf(conn, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(tt.body), tt.body)
					case cut:
						fmt.Fprintf(conn, "%sTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", head, len(tt.body), tt.body)
					default:
						fmt.Fprintf(conn, "%s\r\n%s", head, tt.body)
					}
				})
				d := newTestClient(t, nil, server)
				var written bytes.Buffer
				if to == "writer" {
					opt = withWriter(&written)
				}
				result := download(d, request(server.URL, http.MethodGet, opt))
				if tt.failure {
					wantError[*TruncatedBodyError](t, result)
					return
				}
				if result.Error != nil {
					t.Fatal(result.Error)
				}
				var told *TruncatedBodyError
				var corrupt *CorruptBodyError
				if err := result.Response.Transfer.Err; !errors.As(err, &told) || !errors.As(err, &corrupt) {
					t.Errorf("it is told as %v", err)
				}
				got := result.Response.Body
				switch to {
				case "file":
					reader := result.Response.File.Reader()
					got, _ = io.ReadAll(reader)
					reader.Close()
					result.Response.File.Close()
				case "writer":
					got = written.Bytes()
				}
				if whole := len(got) >= len(page); whole != tt.all || !bytes.HasPrefix(append(got, page...), page[:min(len(got), len(page))]) || told.Got != int64(len(got)) {
					t.Errorf("%d bytes of %d, %d are told", len(got), len(page), told.Got)
				}
			})
		}
	}
}

// Half a robots.txt is no robots.txt.
func TestDamagedBeginning(t *testing.T) {
	server := newServer(func(w http.ResponseWriter, r *http.Request) {
		body := pack(t, "gzip", []byte("User-agent: *\nDisallow: /a\nDisallow: /b\n"))
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(body[:len(body)-8])
	})
	d := newTestClient(t, nil, server)
	wantError[*TruncatedBodyError](t, download(d, request(server.URL, http.MethodGet, func(r *Request) { r.Beginning = 1000 })))
}
