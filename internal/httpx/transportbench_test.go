//go:build unix

package httpx_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// benchPage is the answer that [BenchmarkTransport] reads: a usual header and a body of 4 KiB.
var benchPage = "HTTP/1.1 200 OK\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\n" +
	"Cache-Control: max-age=600\r\nServer: nginx\r\nContent-Length: 4096\r\n\r\n" + strings.Repeat("x", 4096)

// benchServer answers each request over TCP, which is one packet, with the same page, and allocates nothing for it.
func benchServer(tb testing.TB) (dial func(context.Context, string, string) (net.Conn, error)) {
	server := httpx.NewServer(tb, func(p *httpx.Peer) {
		request, page := make([]byte, 4096), []byte(benchPage)
		for {
			if _, err := p.Read(request); err != nil {
				return
			}
			if _, err := p.Write(page); err != nil {
				return
			}
		}
	})
	server.Pair = httpx.TCPPair
	return server.Dial
}

// fetchPage reads a page into a buffer at hand, as the downloader does: under a context that can be cancelled and that
// has a trace.
func fetchPage(tb testing.TB, rt http.RoundTripper, ctx context.Context, buffer []byte) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", "http://example.com/page", nil)
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	n, err := io.ReadFull(resp.Body, buffer)
	if n != 4096 || err != io.ErrUnexpectedEOF {
		tb.Fatal(n, err)
	}
	resp.Body.Close()
}

// traced is a context with the hooks that tell a [httpx.Conn] what comes.
func traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if c, ok := info.Conn.(*httpx.Conn); ok {
			c.Expect("GET")
		}
	}})
}

// transports are the two ways to send a request.
var transports = []struct {
	name string
	make func(tb testing.TB) http.RoundTripper
}{
	{"ours", func(tb testing.TB) http.RoundTripper {
		rt := httpx.RoundTripper{Transport: &httpx.Transport{Dial: benchServer(tb), MaxHeaderBytes: 1 << 20, MaxIdle: 100, MaxIdlePerHost: 100, IdleTimeout: time.Minute}}
		tb.Cleanup(rt.Close)
		return rt
	}},
	{"net-http", func(tb testing.TB) http.RoundTripper {
		dial := benchServer(tb)
		rt := &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100,
			DialContext: func(ctx context.Context, network, hostport string) (net.Conn, error) {
				conn, err := dial(ctx, network, hostport)
				if err != nil {
					return nil, err
				}
				return httpx.NewConn(conn), nil
			}}
		tb.Cleanup(rt.CloseIdleConnections)
		return rt
	}},
}

// cpuTime is what the process has used of all processors.
func cpuTime(tb testing.TB) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkTransport fetches pages of 4 KiB over loopback, one after the other and many at once, here and with net/http
// above a [httpx.Conn]. cpu-ns/op is processor time, that of the server included, which is the same for both.
func BenchmarkTransport(b *testing.B) {
	for _, tr := range transports {
		b.Run("one/"+tr.name, func(b *testing.B) {
			rt, ctx, buffer := tr.make(b), traced(b.Context()), make([]byte, 8<<10)
			fetchPage(b, rt, ctx, buffer)
			b.ReportAllocs()
			before := cpuTime(b)
			for b.Loop() {
				fetchPage(b, rt, ctx, buffer)
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
		b.Run("many/"+tr.name, func(b *testing.B) {
			rt, ctx := tr.make(b), traced(b.Context())
			b.ReportAllocs()
			b.SetParallelism(16)
			before := cpuTime(b)
			b.RunParallel(func(pb *testing.PB) {
				buffer := make([]byte, 8<<10)
				for pb.Next() {
					fetchPage(b, rt, ctx, buffer)
				}
			})
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}
