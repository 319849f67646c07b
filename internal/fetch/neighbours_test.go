package fetch

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Server accepts HTTP/2 connections, and serves each by a func of its own.
type h2Server struct {
	url      string
	tls      *tls.Config // that trusts it
	accepted atomic.Int32
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func newH2Server(t *testing.T, serve func(conn net.Conn)) *h2Server {
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	certified.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &h2Server{url: "https://" + listener.Addr().String(), tls: trust(certified), listener: listener}
	s.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.accepted.Add(1)
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			s.running.Go(func() { defer conn.Close(); serve(conn) })
		}
	})
	t.Cleanup(s.close)
	return s
}

func (s *h2Server) close() {
	s.listener.Close()
	s.mu.Lock()
	for _, conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func (s *h2Server) client(t *testing.T) *Client {
	return newTestClient(t, func(set *Config) { set.Loopback.Allow(s.url); set.TLS = s.tls })
}

// A server that takes connections and answers on none of them is not dialled without end.
func TestUnansweredConnections(t *testing.T) {
	for name, serve := range map[string]func(conn net.Conn){
		"goaway": func(conn net.Conn) {
			framer := http2.NewFramer(conn, conn)
			framer.WriteSettings()
			framer.WriteGoAway(0, http2.ErrCodeNo, nil)
			io.Copy(io.Discard, conn)
		},
		"goaway at the request": func(conn net.Conn) {
			serveH2(conn, func(h *h2, _ string) { h.WriteGoAway(0, http2.ErrCodeNo, nil) })
		},
		"refused stream": func(conn net.Conn) {
			serveH2(conn, func(h *h2, _ string) {
				h.WriteRSTStream(h.stream, http2.ErrCodeRefusedStream)
				h.WriteGoAway(0, http2.ErrCodeNo, nil)
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newH2Server(t, serve)
			d := server.client(t)
			r := request(server.url, http.MethodGet, withTimeout(time.Minute))
			err := wantError[*UnansweredError](t, download(d, r))
			if n := server.accepted.Load(); n > mostConnections || err.Connections != mostConnections || err.URL != server.url {
				t.Errorf("%d connections, %+v", n, err)
			}
			if !strings.Contains(err.Error(), fmt.Sprint(mostConnections)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// When a downloader is closed, so is every connection that it has made, whatever net/http thinks of it.
func TestCloseClosesConnections(t *testing.T) {
	ended := make(chan struct{}, 100)
	server := newH2Server(t, func(conn net.Conn) {
		serveH2(conn, func(h *h2, path string) {
			if path == "/goaway" {
				h.WriteGoAway(0, http2.ErrCodeNo, nil) // and the connection stays open
				return
			}
			h2GoodAnswer(h)
		})
		ended <- struct{}{}
	})
	d := server.client(t)
	mustDownload(t, d, request(server.url+"/good", http.MethodGet))
	r := request(server.url+"/goaway", http.MethodGet)
	wantError[*UnansweredError](t, download(d, r))
	d.Close()
	for i := range server.accepted.Load() {
		select {
		case <-ended:
		case <-time.NewTimer(time.Minute).C:
			t.Fatalf("%d of %d connections were closed", i, server.accepted.Load())
		}
	}
	r = request(server.url+"/good", http.MethodGet)
	if result := download(d, r); result.Error == nil || !errors.Is(result.Error, net.ErrClosed) {
		t.Errorf("a closed downloader: %v", result.Error)
	}
}

// A header that is too large costs its own request alone: those beside it on the connection are asked again where that
// does no harm.
func TestLargeHeaderLeavesNeighbours(t *testing.T) { leavesNeighbours(t, largeHeader) }

// So does a header of some kilobytes that stands for megabytes: fields by their index in the table, 4 KB for each byte,
// and one long field in the shortest code. It fails when frames.explodes does not follow what net/http decodes.
func TestH13HeaderBombLeavesNeighbours(t *testing.T) {
	index := func(encoder *hpack.Encoder) {
		for range 16_000 {
			encoder.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("x", 4000)})
		}
	}
	field := func(encoder *hpack.Encoder) {
		encoder.WriteField(hpack.HeaderField{Name: "x", Value: strings.Repeat("0", 1<<20+1<<18), Sensitive: true}) // 5 bits each
	}
	for name, fill := range map[string]func(*hpack.Encoder){"index": index, "field": field} {
		t.Run(name, func(t *testing.T) {
			leavesNeighbours(t, func(h *h2, stream uint32) { writeHeader(h, stream, fill) })
		})
	}
}

// leavesNeighbours has a server answer one of many requests on a connection with a header that is too large.
func leavesNeighbours(t *testing.T, tooLarge func(h *h2, stream uint32)) {
	const neighbours = 8
	var connections, waiting atomic.Int32
	arrived := make(chan struct{})
	server := newH2Server(t, func(conn net.Conn) {
		first := connections.Add(1) == 1
		var large uint32
		serveH2(conn, func(h *h2, path string) {
			if !first {
				h2GoodAnswer(h)
				return
			}
			if path == "/large" {
				large = h.stream
				close(arrived)
			}
			if waiting.Add(1) == neighbours+1 {
				tooLarge(h, large)
			}
		})
	})
	d := server.client(t)
	var asked sync.WaitGroup
	results := make([]result, neighbours+1)
	paths := make([]string, neighbours+1)
	ask := func(i int, method, path string) {
		paths[i] = method + " " + path
		asked.Go(func() {
			opts := []option{withTimeout(time.Minute)}
			if method == http.MethodPost {
				opts = append(opts, withBody([]byte("order")))
			}
			results[i] = download(d, request(server.url+path, method, opts...))
		})
	}
	ask(0, http.MethodGet, "/large")
	<-arrived // it has made the connection
	for i := 1; i < neighbours; i++ {
		ask(i, http.MethodGet, fmt.Sprint("/", i))
	}
	ask(neighbours, http.MethodPost, "/order")
	asked.Wait()
	var large *HeaderTooLargeError
	if err := results[0].Error; err == nil || !errors.As(err, &large) || large.URL != server.url+"/large" {
		t.Errorf("/large: %v", err)
	}
	for i := 1; i < neighbours; i++ {
		if err := results[i].Error; err != nil {
			t.Errorf("%s: %v", paths[i], err)
		}
	}
	if err := results[neighbours].Error; err == nil || errors.As(err, &large) || !strings.Contains(err.Error(), "another response") {
		t.Errorf("the http.MethodPost, which may have been taken: %v", err)
	}
}

// largeHeader answers a stream with a header above Limits.Header, in several frames.
func largeHeader(h *h2, stream uint32) {
	writeHeader(h, stream, func(encoder *hpack.Encoder) {
		for i := range 200 {
			encoder.WriteField(hpack.HeaderField{Name: fmt.Sprint("x", i), Value: strings.Repeat("~", 10<<10), Sensitive: true})
		}
	})
}

// writeHeader answers a stream with a header in several frames.
func writeHeader(h *h2, stream uint32, fill func(*hpack.Encoder)) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	encoder.WriteField(hpack.HeaderField{Name: ":status", Value: "200"})
	fill(encoder)
	h.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Next(1 << 14)})
	for block.Len() > 0 {
		if h.WriteContinuation(stream, block.Len() <= 1<<14, block.Next(1<<14)) != nil {
			return
		}
	}
}
