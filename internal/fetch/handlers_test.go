package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// What Scrapy's tests of download handlers expect (tests/utils/bases/download_handlers_http.py), on fixtures of our
// own. Status codes, echoes, redirects, delays, proxies and cut-off bodies have tests of their own: TestT02…,
// TestDownloadRequests, TestT21…, TestT06…, TestDownloadThroughProxy… and TestDownloadTruncatedBody.

// handlerPages are answers as they stand on the wire; the connection ends after them.
var handlerPages = map[string]string{
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

func rawHandler(w http.ResponseWriter, r *http.Request) {
	page, ok := handlerPages[r.URL.Path]
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
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		io.WriteString(conn, page)
	}
}

func TestDownloadHandlers(t *testing.T) {
	server := newServer(rawHandler)
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
		// Scrapy skips the line and goes on; net/http takes a line that is no header for an attack.
		{name: "bad header", path: "/bad-header", fails: func(err error) bool { return strings.Contains(err.Error(), "malformed MIME header") }, noResponse: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			d.config.Limits.Body = bounds(Limits{}).Body
			if test.limit > 0 {
				d.config.Limits.Body = test.limit
			}
			timeout := 10 * time.Second
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

// Host names that are no proper ones, but exist, are asked for.
func TestDownloadOddHosts(t *testing.T) {
	server := newServer(rawHandler)
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

// h2 is a server's side of an HTTP/2 connection, for one answer frame by frame.
type h2 struct {
	*http2.Framer
	conn   net.Conn
	stream uint32
}

// head sends the header of a 200; it is all of the response if last.
func (h *h2) head(last bool) {
	var block bytes.Buffer
	hpack.NewEncoder(&block).WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.stream, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: last})
}

// serveH2 answers each request on a connection until it ends.
func serveH2(conn net.Conn, answer func(h *h2, path string)) {
	defer conn.Close()
	preface := make([]byte, len(http2.ClientPreface))
	if _, err := io.ReadFull(conn, preface); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				framer.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			answer(&h2{framer, conn, frame.StreamID}, frame.PseudoValue("path"))
		}
	}
}

// h2Flooded tells that a client has closed the connection of /unknown-flood.
var h2Flooded = make(chan struct{}, 1)

var h2Answers = map[string]func(h *h2){
	"/good":  h2GoodAnswer,
	"/reset": func(h *h2) { h.WriteRSTStream(h.stream, http2.ErrCodeInternal) },
	"/data-reset": func(h *h2) {
		h.head(false)
		h.WriteData(h.stream, false, []byte("half"))
		h.WriteRSTStream(h.stream, http2.ErrCodeInternal)
	},
	"/goaway": func(h *h2) { h.WriteGoAway(h.stream, http2.ErrCodeEnhanceYourCalm, nil); h.conn.Close() },
	"/data-goaway": func(h *h2) {
		h.head(false)
		h.WriteData(h.stream, false, []byte("half"))
		h.WriteGoAway(h.stream, http2.ErrCodeInternal, nil)
		h.conn.Close()
	},
	"/large-frame": func(h *h2) {
		h.head(false)
		h.AllowIllegalWrites = true
		h.WriteData(h.stream, true, make([]byte, 16<<20-1))
	},
	"/unknown-frame": func(h *h2) {
		h.WriteRawFrame(0xbe, 0xff, h.stream, []byte("what is this?"))
		h2GoodAnswer(h)
	},
	"/unknown-flood": func(h *h2) {
		h2GoodAnswer(h)
		var block bytes.Buffer
		flood := http2.NewFramer(&block, nil)
		for range 1000 {
			flood.WriteRawFrame(0xbe, 0, 0, nil)
		}
		for { // until the client has had enough
			if _, err := h.conn.Write(block.Bytes()); err != nil {
				h2Flooded <- struct{}{}
				return
			}
		}
	},
	"/unknown-flood-first": func(h *h2) {
		for range 200 {
			h.WriteRawFrame(0xbe, 0, h.stream, make([]byte, 16<<10))
		}
		h2GoodAnswer(h)
	},
	"/header-field": func(h *h2) {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		encoder.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 2<<20)})
		h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.stream, BlockFragment: block.Next(1 << 14)})
		for block.Len() > 0 {
			if h.WriteContinuation(h.stream, block.Len() <= 1<<14, block.Next(1<<14)) != nil {
				return
			}
		}
	},
	"/header-index": func(h *h2) { // a byte for each of 4 KB fields
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		for range 16_000 {
			encoder.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 4000)})
		}
		h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.stream, BlockFragment: block.Next(1 << 14)})
		for block.Len() > 0 {
			if h.WriteContinuation(h.stream, block.Len() <= 1<<14, block.Next(1<<14)) != nil {
				return
			}
		}
		h.WriteData(h.stream, true, []byte("whole"))
	},
	"/push": func(h *h2) {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "x.example"}, {":path", "/pushed"}} {
			encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		h.WritePushPromise(http2.PushPromiseParam{StreamID: h.stream, PromiseID: 2, BlockFragment: block.Bytes(), EndHeaders: true})
		h2GoodAnswer(h)
	},
	"/length": func(h *h2) {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
		encoder.WriteField(hpack.HeaderField{Name: "content-length", Value: "10"})
		h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.stream, BlockFragment: block.Bytes(), EndHeaders: true})
		h.WriteData(h.stream, true, []byte("half"))
	},
}

func h2GoodAnswer(h *h2) {
	h.head(false)
	h.WriteData(h.stream, true, []byte("whole"))
}

// What a server may do wrong in HTTP/2 costs the request, and not the next one.
func TestDownloadHandlersHTTP2(t *testing.T) {
	var said strings.Builder // log.Logger writes under its lock
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	ignore := goleak.IgnoreCurrent()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	certified.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				serveH2(conn, func(h *h2, path string) { h2Answers[path](h) })
			})
		}
	})
	address := "https://" + listener.Addr().String()
	d := newTestClient(t, func(s *Config) { s.Loopback.Allow(address); s.TLS = trust(certified) })
	for _, test := range []struct {
		path, body string // "": no response
		fails      bool
	}{
		{"/good", "whole", false},
		{"/reset", "", true},
		{"/data-reset", "half", true},
		{"/goaway", "", true},
		{"/data-goaway", "half", true},
		{"/large-frame", "", true},
		{"/unknown-frame", "whole", false},
		{"/unknown-flood", "whole", false},
		{"/unknown-flood-first", "", true},
		{"/header-field", "", true},
		{"/header-index", "", true},
		{"/push", "", true},
		{"/length", "half", true},
	} {
		t.Run(test.path, func(t *testing.T) {
			result := download(d, request(address+test.path, http.MethodGet, withTimeout(time.Minute)))
			var late *TimeoutError
			if err := result.Error; (err != nil) != test.fails || err != nil && errors.As(err, &late) {
				t.Errorf("error %v", result.Error)
			}
			if strings.HasPrefix(test.path, "/header") && !strings.Contains(fmt.Sprint(result.Error), "Limits.Header") {
				t.Errorf("error %v", result.Error)
			}
			if test.path == "/unknown-flood" {
				<-h2Flooded
			}
			got := ""
			if result.Response != nil {
				got = string(result.Response.Body)
			}
			if got != test.body {
				t.Errorf("body %q, want %q", got, test.body)
			}
			if resp := mustDownload(t, d, request(address+"/good", http.MethodGet)); string(resp.Body) != "whole" {
				t.Errorf("the next request got %q", resp.Body)
			}
		})
	}
	d.Close()
	listener.Close()
	running.Wait()
	goleak.VerifyNone(t, ignore)
	if said.Len() > 0 {
		t.Errorf("to the process's log: %s", said.String())
	}
}
