package fetch

import (
	"bytes"
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
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// h2Server accepts connections of HTTP/2, or of other protocols, and serves each by a func of its own.
type h2Server struct {
	url      string
	tls      *tls.Config // that trusts it
	accepted atomic.Int32
	listener net.Listener
	running  sync.WaitGroup

	mu    sync.Mutex // guards conns
	conns []net.Conn
}

func newH2Server(t *testing.T, serve func(conn net.Conn), protocols ...string) *h2Server {
	if protocols == nil {
		protocols = []string{"h2"}
	}
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	certified.Close()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: protocols})
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
			err := wantError[*UnansweredError](t, download(d, request(server.url, http.MethodGet, withTimeout(time.Minute))))
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
	wantError[*UnansweredError](t, download(d, request(server.url+"/goaway", http.MethodGet)))
	d.Close()
	for i := range server.accepted.Load() {
		select {
		case <-ended:
		case <-time.NewTimer(time.Minute).C:
			t.Fatalf("%d of %d connections were closed", i, server.accepted.Load())
		}
	}
	if result := download(d, request(server.url+"/good", http.MethodGet)); result.Error == nil || !errors.Is(result.Error, net.ErrClosed) {
		t.Errorf("a closed downloader: %v", result.Error)
	}
}

// A server that sends frames without end costs the request no more than its timeout, and closing the downloader ends the
// connection. net/http writes a line for each unknown frame, to the log of the process.
func TestFloodsInFrames(t *testing.T) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	flood := func(h *h2, kind http2.FrameType) {
		var block bytes.Buffer
		frames := http2.NewFramer(&block, nil)
		for range 1000 {
			frames.WriteRawFrame(kind, 0, h.stream, nil)
		}
		for {
			if _, err := h.conn.Write(block.Bytes()); err != nil {
				return
			}
		}
	}
	for name, answer := range map[string]func(h *h2){
		"unknown": func(h *h2) { flood(h, 0xbe) },
		"continuations": func(h *h2) {
			h.WriteHeaders(http2.HeadersFrameParam{StreamID: h.stream, BlockFragment: []byte{0x88}}) // status 200
			flood(h, http2.FrameContinuation)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan struct{})
			server := newH2Server(t, func(conn net.Conn) {
				serveH2(conn, func(h *h2, _ string) { answer(h) })
				close(ended)
			})
			d := server.client(t)
			wantError[*TimeoutError](t, download(d, request(server.url, http.MethodGet, withTimeout(100*time.Millisecond))))
			d.Close()
			<-ended
		})
	}
}
