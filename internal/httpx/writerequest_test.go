package httpx

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Requests are written byte for byte as net/http writes them.
func TestWriteRequest(t *testing.T) {
	agent := http.Header{"User-Agent": {"test"}}
	for name, req := range map[string]*http.Request{
		"simple":           {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: agent},
		"no path":          {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example"}, Header: agent},
		"query":            {Method: "HEAD", URL: &url.URL{Scheme: "http", Host: "a.example:8080", Path: "/é/ x", RawQuery: "a=1&b=%20"}, Header: agent},
		"empty query":      {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/x", ForceQuery: true}, Header: agent},
		"raw path":         {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/a/b", RawPath: "/a%2Fb"}, Header: agent},
		"user and anchor":  {Method: "GET", URL: &url.URL{Scheme: "http", User: url.UserPassword("u", "p"), Host: "a.example", Path: "/", Fragment: "f"}, Header: agent},
		"another host":     {Method: "OPTIONS", Host: "b.example", URL: &url.URL{Scheme: "http", Host: "127.0.0.1:80", Path: "/"}, Header: agent},
		"zone":             {Method: "GET", URL: &url.URL{Scheme: "http", Host: "[fe80::1%eth0]:80", Path: "/"}, Header: agent},
		"address":          {Method: "GET", URL: &url.URL{Scheme: "http", Host: "[::1]", Path: "/"}, Header: agent},
		"names":            {Method: "GET", URL: &url.URL{Scheme: "http", Host: "bücher.example:81", Path: "/"}, Header: agent},
		"no agent":         {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: http.Header{"User-Agent": {""}}},
		"several agents":   {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: http.Header{"User-Agent": {"one", "two"}}},
		"fields in order":  {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: http.Header{"User-Agent": {"x"}, "Zoo": {"1"}, "Accept": {"2", "3"}, "Cookie": {"a=b"}}},
		"spaces":           {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: http.Header{"User-Agent": {" x "}, "X": {"\t y ", ""}}},
		"fields of a body": {Method: "TRACE", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: http.Header{"User-Agent": {"x"}, "Content-Length": {"5"}, "Transfer-Encoding": {"chunked"}, "Trailer": {"T"}, "Host": {"c.example"}}},
		"many fields":      {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: manyFields(40)},
		"large":            {Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: http.Header{"User-Agent": {"x"}, "Cookie": {strings.Repeat("c", 2*mostRequest)}}},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the second one in used memory
				var got, want bytes.Buffer
				if err := checkHeader(req.Header); err != nil {
					t.Fatal(err)
				}
				if err := writeRequest(&got, req); err != nil {
					t.Fatal(err)
				}
				if err := req.Write(&want); err != nil {
					t.Fatal(err)
				}
				if got.String() != want.String() {
					t.Fatalf("%q, want %q", got.String(), want.String())
				}
			}
		})
	}
}

func manyFields(n int) http.Header {
	header := http.Header{"User-Agent": {"x"}}
	for i := range n {
		header.Set("X-"+string(rune('a'+i%26))+string(rune('a'+i/26)), "v")
	}
	return header
}

// Nothing is sent that could be taken for something else, and no error quotes what may be a secret.
func TestRequestsThatCannotBeSent(t *testing.T) {
	valid := func() *http.Request {
		return &http.Request{Method: "GET", URL: &url.URL{Scheme: "http", Host: "a.example", Path: "/"}, Header: http.Header{"User-Agent": {"x"}}}
	}
	for name, spoil := range map[string]func(*http.Request){
		"line end in a value":    func(r *http.Request) { r.Header["X"] = []string{"secret\r\nY: z"} },
		"NUL in a value":         func(r *http.Request) { r.Header["X"] = []string{"secret\x00"} },
		"colon in a name":        func(r *http.Request) { r.Header["X: y"] = []string{"secret"} },
		"line end in the agent":  func(r *http.Request) { r.Header["User-Agent"] = []string{"secret\nX: y"} },
		"space in the host":      func(r *http.Request) { r.Host = "a.example b" },
		"no host":                func(r *http.Request) { r.URL.Host = "" },
		"line end in the query":  func(r *http.Request) { r.URL.RawQuery = "a\r\nX: y" },
		"space in the query":     func(r *http.Request) { r.URL.RawQuery = "a HTTP/1.1" },
		"line end in the target": func(r *http.Request) { r.URL.Opaque = "//a.example/\r\nX: y" },
	} {
		t.Run(name, func(t *testing.T) {
			r := valid()
			spoil(r)
			var sent bytes.Buffer
			err := checkHeader(r.Header)
			if err == nil {
				err = writeRequest(&sent, r)
			}
			if err == nil || sent.Len() > 0 || strings.Contains(err.Error(), "secret") || isLost(err) {
				t.Errorf("%v, sent %q", err, sent.String())
			}
		})
	}
}
