package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// FuzzHeader checks that whatever a request's header and cookies hold, it is refused with an error that names no
// value, or sent so that a server reads back just that: nothing in it becomes another header, another request or a
// body.
func FuzzHeader(f *testing.F) {
	for _, s := range [][4]string{
		{"X-One", "value", "name", "value"}, {"x one", "v", "n", "v"}, {"X", "a\r\nY: b", "n", "v"}, {"Host", "other.example", "n", "v w"},
		{"Content-Length", "5", "n", "\""}, {"Transfer-Encoding", "chunked", "n;", "a;b"}, {"Cookie", "a=b", "c", "d,e"}, {"Connection", "close", "", ""},
		{"", "", "n", "\x00"}, {"User-Agent", " ", "ü", "ü"}, {"Trailer", "X", "n", "v"}, {"X", "\tv\x7f", "n", "v\xff"},
	} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	f.Fuzz(func(t *testing.T, name, value, cookie, content string) {
		r := Request{URL: "http://u:hidden@example.com/path?q=1", Method: http.MethodGet, Header: map[string]string{name: value}, Cookies: map[string]string{cookie: content}}
		x := &exchange{client: New(Config{Agent: "test"}), r: r}
		x.life = context.Background()
		req, err := x.request()
		if err != nil {
			if wrong, ok := errors.AsType[*RequestError](err); !ok || wrong.Field == "" || strings.Contains(err.Error(), "hidden") {
				t.Fatalf("%v", err)
			}
			return
		}
		var sent bytes.Buffer
		if err := req.Write(&sent); err != nil {
			return // net/http refuses what we let pass
		}
		wire := bufio.NewReader(&sent)
		got, err := http.ReadRequest(wire)
		if err != nil {
			t.Fatalf("a server cannot read it: %v\n%q", err, sent.String())
		}
		if got.Method != http.MethodGet || got.RequestURI != "/path?q=1" || got.ContentLength > 0 {
			t.Fatalf("a server reads %s %s with %d bytes", got.Method, got.RequestURI, got.ContentLength)
		}
		if wire.Buffered() > 0 {
			t.Fatalf("bytes are left behind the request: %q", sent.String())
		}
		allowed := map[string]bool{"User-Agent": true, "Accept-Encoding": true, "Authorization": true, "Cookie": true, "Connection": true,
			http.CanonicalHeaderKey(name): true}
		for k, values := range got.Header {
			if !allowed[k] || len(values) != 1 {
				t.Fatalf("header %q of %q: %q became %q", k, name, value, values)
			}
		}
	})
}
