package e2e_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/middleware"
)

// What a cutServer answers, and what of that is the header.
const (
	cutHead   = "HTTP/1.1 100 Continue\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nX-Name: value\r\nTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n"
	cutAnswer = cutHead + "5\r\nwhole\r\n5;name=value\r\n page\r\n0\r\nX-End: trailer\r\n\r\n"
)

// cutServer is an HTTP/1.1 server that ends the connection within the first answer to each path. It is asked for
// /POSITION/HOW: after so many bytes of the answer, by "fin", "rst" or, with a farewell of TLS, "bye".
type cutServer struct {
	listener net.Listener
	secure   *tls.Config // nil: without TLS
	answer   string
	serving  sync.WaitGroup

	mu    sync.Mutex // guards asked
	asked map[string]int
}

func newCutServer(t *testing.T, secure *tls.Config, answer string) *cutServer {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &cutServer{listener: listener, secure: secure, answer: answer, asked: make(map[string]int)}
	s.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if secure != nil && slices.Contains(secure.NextProtos, "h2") {
				s.serving.Go(func() { s.serveCutH2(conn) })
				continue
			}
			s.serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		s.serving.Wait()
	})
	return s
}

func (s *cutServer) serve(below net.Conn) {
	defer below.Close()
	conn := below
	if s.secure != nil {
		conn = tls.Server(below, s.secure)
	}
	for in := bufio.NewReader(conn); ; {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body)
		path := req.URL.Path
		if req.Method == http.MethodConnect {
			path = "/" + strings.NewReplacer("-", "/", ":443", "").Replace(req.Host)
		}
		n, how, first := s.cut(path)
		if !first {
			if req.Method == http.MethodConnect {
				io.WriteString(conn, "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
				return
			}
			io.WriteString(conn, cutAnswer)
			continue
		}
		io.WriteString(conn, s.answer[:n])
		switch how {
		case "rst":
			below.(*net.TCPConn).SetLinger(0)
		case "bye":
			conn.Close()
		}
		return
	}
}

// cut notes that a path is asked for, and returns after how many bytes and how its first answer ends.
func (s *cutServer) cut(path string) (n int, how string, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[path]++
	at, how, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	n, _ = strconv.Atoi(at)
	return n, how, s.asked[path] == 1
}

// certified returns what a server with a certificate needs, and a client that trusts it.
func certified() (*tls.Config, tegenaria.EngineOption) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	return &tls.Config{Certificates: server.TLS.Certificates}, tegenaria.EngineWithTLSConfig(&tls.Config{RootCAs: roots})
}

// timesAsked returns how often a path was asked for.
func (s *cutServer) timesAsked(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[path]
}

// failures notes the first failure of each request, before Retry sees it.
type failures struct {
	*middleware.Retry
	mu    sync.Mutex // guards first
	first map[string]error
}

func newFailures() *failures {
	retry := middleware.NewRetry(middleware.RetryOptions{Backoff: time.Millisecond, MaxBackoff: time.Millisecond})
	return &failures{Retry: retry, first: make(map[string]error)}
}

func (f *failures) ProcessError(ctx *tegenaria.Context, err error, req chan<- *tegenaria.Context) error {
	f.mu.Lock()
	if f.first[ctx.Request.Url] == nil {
		f.first[ctx.Request.Url] = err
	}
	f.mu.Unlock()
	return f.Retry.ProcessError(ctx, err, req)
}

// cutClass names what a request failed with.
func cutClass(err error) string {
	cause := "other"
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		cause = "reset"
	case errors.Is(err, io.ErrUnexpectedEOF):
		cause = "unexpected EOF"
	case errors.Is(err, io.EOF):
		cause = "EOF"
	}
	switch {
	case enginetest.IsA[*tegenaria.TruncatedHeaderError](err):
		return "header, " + cause
	case enginetest.IsA[*tegenaria.TruncatedBodyError](err):
		return "body, " + cause
	}
	return cause
}

// wantedClass is what a request must fail with whose answer was cut at a byte.
func wantedClass(at int, how string) string {
	class := "body, "
	switch {
	case at == 0 && how != "rst":
		return "EOF"
	case at == 0:
		return "reset"
	case at < len(cutHead):
		class = "header, "
	}
	if how == "rst" {
		return class + "reset"
	}
	return class + "unexpected EOF"
}

// However a request reaches its server, an answer that ends too soon is the same failure and is asked for again: at
// each byte of status line, header, chunk header and trailer, by FIN and by RST. It fails when explain does not ask the
// connection whether it has ended (tracer.cut), or when transportConn.receive does not.
func TestCutHeaderIsRetried(t *testing.T) {
	ours, theirs := certified()
	plain := newCutServer(t, nil, cutAnswer)
	secure := newCutServer(t, ours, cutAnswer)
	put := []tegenaria.RequestOption{tegenaria.RequestWithBody([]byte("a body"))}
	through := func(s *cutServer) []tegenaria.RequestOption {
		return []tegenaria.RequestOption{tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://" + s.listener.Addr().String()})}
	}
	for _, way := range []struct {
		name, site, method string
		server             *cutServer
		hows               []string
		opts               []tegenaria.RequestOption
	}{
		{"HTTP", "http://" + plain.listener.Addr().String() + "/", "GET", plain, []string{"fin", "rst"}, nil},
		{"HTTPS", "https://" + secure.listener.Addr().String() + "/", "GET", secure, []string{"fin", "rst", "bye"}, nil},
		{"HTTP with a body", "http://" + plain.listener.Addr().String() + "/", "PUT", plain, []string{"fin", "rst"}, put},
		{"HTTPS with a body", "https://" + secure.listener.Addr().String() + "/", "PUT", secure, []string{"fin", "rst", "bye"}, put},
		{"HTTP through a proxy", "http://192.0.43.8/", "GET", plain, []string{"fin", "rst"}, through(plain)},
	} {
		t.Run(way.name, func(t *testing.T) {
			clear(way.server.asked)
			var requests []*tegenaria.Request
			var wants []string
			for at := range cutAnswer {
				for _, how := range way.hows {
					r := tegenaria.NewRequest(fmt.Sprintf("%s%d/%s", way.site, at, how), way.method, nil, way.opts...)
					requests, wants = append(requests, r), append(wants, wantedClass(at, how))
				}
			}
			seen := newFailures()
			ends := newWitness(requests...).crawl(t, tegenaria.EngineWithConcurrency(4), tegenaria.EngineWithMiddlewares(seen),
				theirs,
				tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
			for i, r := range requests {
				first := seen.first[r.Url]
				if class := cutClass(first); class != wants[i] {
					t.Errorf("%s: %s, want %s: %v", r.Url, class, wants[i], first)
				}
				u, _ := url.Parse(r.Url)
				if n := way.server.timesAsked(u.Path); n != 2 || ends[r.Url].outcome != tegenaria.Fetched || ends[r.Url].resp.String() != "whole page" {
					t.Errorf("%s: asked for %d times, %v", r.Url, n, ends[r.Url])
				}
			}
		})
	}
}

// A proxy whose answer to CONNECT is cut has broken off, too. It fails when tunnel.ask believes net/http, which parses
// the half line.
func TestCutTunnelIsRetried(t *testing.T) {
	const answer = "HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n"
	proxy := newCutServer(t, nil, answer)
	through := tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: "http://" + proxy.listener.Addr().String()})
	var requests []*tegenaria.Request
	for at := range answer {
		for _, how := range []string{"fin", "rst"} {
			requests = append(requests, tegenaria.NewRequest(fmt.Sprintf("https://%d-%s/", at, how), "GET", nil, through))
		}
	}
	seen := newFailures()
	newWitness(requests...).crawl(t, tegenaria.EngineWithMiddlewares(seen), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
	for _, r := range requests {
		host := strings.TrimSuffix(strings.TrimPrefix(r.Url, "https://"), "/")
		at, how, _ := strings.Cut(host, "-")
		want := "unexpected EOF"
		if how == "rst" {
			want = "reset"
		}
		if class := cutClass(seen.first[r.Url]); class != want || proxy.timesAsked("/"+at+"/"+how) != 2 {
			t.Errorf("%s: %s, asked for %d times: %v", r.Url, class, proxy.timesAsked("/"+at+"/"+how), seen.first[r.Url])
		}
	}
}

// A line that is complete and no HTTP is a final failure, with TLS and without. It fails when framing.cutBy takes what
// is no status line for the beginning of one, or when explain leaves net/http's wrapper on, which says that the
// connection has broken.
func TestMalformedHeaderIsFinal(t *testing.T) {
	ours, theirs := certified()
	for _, answer := range []string{"SSH-2.0-OpenSSH_9.6\r\n", "HTTP/1.1 abc OK\r\nX: y\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "<html>no line end"} {
		plain := newCutServer(t, nil, answer)
		secure := newCutServer(t, ours, answer)
		for _, how := range []string{"fin", "rst"} {
			path := fmt.Sprintf("/%d/%s", len(answer), how)
			var texts []string
			for _, site := range []string{"http://" + plain.listener.Addr().String(), "https://" + secure.listener.Addr().String()} {
				for _, r := range []*tegenaria.Request{
					tegenaria.NewRequest(site+path, "GET", nil),
					tegenaria.NewRequest(site+path, "PUT", nil, tegenaria.RequestWithBody([]byte("x"))),
				} {
					clear(plain.asked)
					clear(secure.asked)
					seen := newFailures()
					ends := newWitness(r).crawl(t, tegenaria.EngineWithMiddlewares(seen), theirs)
					if n := plain.timesAsked(path) + secure.timesAsked(path); n != 1 || ends[r.Url].outcome != tegenaria.Failed || ends[r.Url].err == nil {
						t.Fatalf("%q by %s, %s %s: asked for %d times, %v", answer, how, r.Method, site, n, ends[r.Url])
					}
					texts = append(texts, ends[r.Url].err.Err.Error())
				}
			}
			for _, text := range texts {
				if text != texts[0] || !strings.Contains(text, "malformed") {
					t.Errorf("%q by %s: %q", answer, how, texts)
				}
			}
		}
	}
}
