package fetch

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What Scrapy's tests of download handlers expect (tests/utils/bases/download_handlers_http.py), on fixtures of our
// own. Status codes, echoes, redirects, delays, proxies and cut-off bodies have tests of their own: TestAnyStatusIsAResponse,
// TestDownloadRequests, TestNoRedirectsAndKeepAlive, TestTimeout…, TestDownloadThroughProxy… and TestDownloadTruncatedBody.

// rawAnswers are answers as they stand on the wire; the connection ends after them.
var rawAnswers = map[string]string{
	"/raw":              "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>no length</html>",
	"/http10":           "HTTP/1.0 200 OK\r\n\r\nold",
	"/empty":            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
	"/works":            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nWorks",
	"/works-raw":        "HTTP/1.1 200 OK\r\n\r\nWorks",
	"/works-chunked":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nWorks\r\n0\r\n\r\n",
	"/drop":             "HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\nthis connection will be dropped\n",
	"/broken":           "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\npartial",
	"/broken-chunked":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nchunked content\n\r\n",
	"/chunked":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\nchunked \r\n8\r\ncontent\n\r\n0\r\n\r\n",
	"/largechunkedfile": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("400\r\n"+strings.Repeat("x", 1024)+"\r\n", 1024) + "0\r\n\r\n",
	"/duplicate-header": "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a=b\r\nX-Other: 1\r\nset-cookie: c=d\r\n\r\n",
	"/bad-header":       "HTTP/1.1 200 OK\r\nX-Good: 1\r\nbad header\r\nX-Next: 2\r\nContent-Length: 0\r\n\r\n",
	"/non-ascii-header": "HTTP/1.1 200 OK\r\nX-Name: caf\xe9\r\nX-Next: 2\r\nContent-Length: 0\r\n\r\n",
}

func rawAnswer(w http.ResponseWriter, r *http.Request) {
	page, ok := rawAnswers[r.URL.Path]
	switch {
	case r.URL.Path == "/host":
		io.WriteString(w, r.Host)
	case r.URL.Path == "/cookies":
		fmt.Fprint(w, len(r.Cookies()))
	case r.URL.Path == "/compress":
		w.Header().Set("Content-Encoding", "gzip")
		zip := gzip.NewWriter(w)
		io.WriteString(zip, strings.Repeat("content ", 100))
		zip.Close()
	case r.URL.Path == "/hang-after-headers":
		w.Header().Set("Content-Length", "100")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case !ok:
		http.NotFound(w, r)
	default:
		conn := hijack(w)
		defer conn.Close()
		io.WriteString(conn, page)
	}
}

func TestRawAnswers(t *testing.T) {
	server := newServer(rawAnswer)
	d := newTestClient(t, nil, server)
	truncated := func(err error) bool { var e *TruncatedBodyError; return errors.As(err, &e) }
	late := func(err error) bool { var e *TimeoutError; return errors.As(err, &e) }
	large := func(err error) bool { var e *BodyTooLargeError; return errors.As(err, &e) }
	for _, test := range []struct {
		name, path string
		limit      int64            // on bodies; 0: the default
		body       string           // "": none, or no response
		fails      func(error) bool // nil: does not fail
		noResponse bool
		header     map[string]string // values joined by "; "
	}{
		{name: "no length", path: "/raw", body: "<html>no length</html>"},
		{name: "HTTP/1.0", path: "/http10", body: "old"},
		{name: "empty", path: "/empty"},
		{name: "dropped", path: "/drop", body: "this connection will be dropped\n", fails: truncated},
		{name: "too short", path: "/broken", body: "partial", fails: truncated},
		{name: "broken chunks", path: "/broken-chunked", body: "chunked content\n", fails: truncated},
		{name: "chunks", path: "/chunked", body: "chunked content\n"},
		{name: "large chunked file", path: "/largechunkedfile", body: strings.Repeat("x", 1<<20)},
		{name: "compressed", path: "/compress", body: strings.Repeat("content ", 100)},
		{name: "hangs after the header", path: "/hang-after-headers", fails: late, noResponse: true},
		{name: "as large as allowed", path: "/works", limit: 5, body: "Works"},
		{name: "larger than allowed", path: "/works", limit: 4, fails: large, noResponse: true},
		{name: "as large as allowed, no length", path: "/works-raw", limit: 5, body: "Works"},
		{name: "larger than allowed, no length", path: "/works-raw", limit: 4, fails: large, noResponse: true},
		{name: "as large as allowed, chunked", path: "/works-chunked", limit: 5, body: "Works"},
		{name: "larger than allowed, chunked", path: "/works-chunked", limit: 4, fails: large, noResponse: true},
		{name: "a header twice", path: "/duplicate-header", header: map[string]string{"Set-Cookie": "a=b; c=d", "X-Other": "1"}},
		{name: "cookies are not kept", path: "/cookies", body: "0"},
		{name: "a header that is not UTF-8", path: "/non-ascii-header", header: map[string]string{"X-Name": "caf\xe9", "X-Next": "2"}},
		// Scrapy skips the line and goes on; net/http takes a line that is not a header for an attack.
		{name: "bad header", path: "/bad-header", fails: func(err error) bool { return strings.Contains(err.Error(), "malformed MIME header") }, noResponse: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			d.config.Limits.Body = bounds(Limits{}).Body
			if test.limit > 0 {
				d.config.Limits.Body = test.limit
			}
			timeout := time.Minute
			if test.path == "/hang-after-headers" {
				timeout = 50 * time.Millisecond
			}
			result := download(d, request(server.URL+test.path, http.MethodGet, withTimeout(timeout)))
			if err := result.Error; (err != nil) != (test.fails != nil) || err != nil && !test.fails(err) {
				t.Errorf("error %v", err)
			}
			if (result.Response == nil) != test.noResponse {
				t.Fatalf("response %v", result.Response)
			}
			if result.Response == nil {
				return
			}
			if got := string(result.Response.Body); got != test.body {
				t.Errorf("body %.100q of %d bytes, want %.100q", got, len(got), test.body)
			}
			for name, want := range test.header {
				if got := strings.Join(result.Response.Header[name], "; "); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// Host names that are not proper ones, but exist, are asked for.
func TestDownloadOddHosts(t *testing.T) {
	server := newServer(rawAnswer)
	address := server.Listener.Addr().String()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, address)
	}}
	d := newTestClient(t, func(s *Config) { s.HTTP = &http.Client{Transport: transport} }, server)
	for host, want := range map[string]string{"under_score.example": "under_score.example", "-dash-.example": "-dash-.example",
		"xn--ls8h.example": "xn--ls8h.example", "bücher.example": "xn--bcher-kva.example", "\U0001F4A9.example": "xn--ls8h.example"} {
		resp := mustDownload(t, d, request("http://"+host+"/host", http.MethodGet))
		if string(resp.Body) != want {
			t.Errorf("%s was asked as %s, want %s", host, resp.Body, want)
		}
	}
	transport.CloseIdleConnections()
}
