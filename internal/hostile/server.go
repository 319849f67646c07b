// Package hostile is a web server on loopback that misbehaves in more than a hundred ways which a downloader has to survive. It
// is for tests: [NewServer] starts it, [Server.Cases] says what it does on which path and what a good downloader makes of it.
package hostile

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server is a web server on loopback that misbehaves in one way on each of the paths of
// [Server.Cases], over plain TCP or TLS. All other paths answer with [Page], so that a test can
// ask whether the next request on the same host works:
//
//	server := hostile.NewServer(t)
//	for _, c := range server.Cases() {
//		t.Run(c.Name, func(t *testing.T) {
//			resp, err := download(c.Method, server.URL(c)) // with a body limit of hostile.Limit
//			… // c.May says which outcomes are right, c.Time and c.Bytes what they may cost
//			resp, err = download("GET", server.Plain()+"/next")
//			… // the body is hostile.Page("/next")
//		})
//	}
//
// It may be used concurrently.
type Server struct {
	cases  map[string]Case // by name
	order  []Case
	roots  *x509.CertPool
	listen []listener // by tlsKind

	running sync.WaitGroup
	mu      sync.Mutex // guards the fields below
	closed  bool
	conns   map[net.Conn]struct{}
	sent    map[string]int64 // bytes, by case
	asked   map[string]int   // requests, by case
}

// listener is one address of the server.
type listener struct {
	net.Listener
	config *tls.Config // nil: plain
}

// NewServer starts a server, which ends with the test.
func NewServer(t testing.TB) *Server {
	t.Helper()
	s := &Server{cases: make(map[string]Case), conns: make(map[net.Conn]struct{}),
		sent: make(map[string]int64), asked: make(map[string]int)}
	configs, roots, err := tlsConfigs()
	if err != nil {
		t.Fatalf("hostile: making certificates: %v", err)
	}
	s.roots = roots
	for _, config := range configs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Close()
			t.Fatalf("hostile: %v", err)
		}
		s.listen = append(s.listen, listener{l, config})
	}
	for _, c := range allCases() {
		s.cases[c.Name] = c
		s.order = append(s.order, c)
	}
	for kind, l := range s.listen {
		s.running.Go(func() { s.accept(tlsKind(kind), l) })
	}
	t.Cleanup(s.Close)
	return s
}

// Cases returns the ways in which the server misbehaves, in a fixed order.
func (s *Server) Cases() []Case { return append([]Case(nil), s.order...) }

// URL returns where a case happens. A query may be added to it; the pages and [Server.Asked] show it.
func (s *Server) URL(c Case) string {
	if c.at == plainTCP {
		return s.Plain() + c.Path
	}
	return "https://" + s.listen[c.at].Addr().String() + c.Path
}

// Plain returns the address for plain HTTP, as http://host:port.
func (s *Server) Plain() string { return "http://" + s.listen[plainTCP].Addr().String() }

// Secure returns the address of an HTTPS server whose certificate is valid for clients that trust [Server.Roots],
// as https://host:port.
func (s *Server) Secure() string { return "https://" + s.listen[goodTLS].Addr().String() }

// Roots returns the authority that has signed the certificates. Only a client that trusts it can distinguish the TLS cases.
func (s *Server) Roots() *x509.CertPool { return s.roots }

// Sent returns how many bytes of a case's answers were handed to the operating system.
func (s *Server) Sent(c Case) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[c.Name]
}

// Asked returns how many requests for a case have come.
func (s *Server) Asked(c Case) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[c.Name]
}

// Open returns how many connections are open.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Close cuts all connections and waits until nothing runs any more. The test does it as well.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for conn := range s.conns {
		conn.Close()
	}
	s.mu.Unlock()
	for _, l := range s.listen {
		l.Close()
	}
	s.running.Wait()
}

func (s *Server) accept(kind tlsKind, l listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // out of descriptors, say: a client under test can cause it
		}
		s.running.Go(func() { s.serve(kind, l.config, conn) })
	}
}

// track notes an open connection. It returns false if the server is closed.
func (s *Server) track(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[conn] = struct{}{}
	return true
}

func (s *Server) serve(kind tlsKind, config *tls.Config, conn net.Conn) {
	defer conn.Close()
	if !s.track(conn) {
		return
	}
	defer func() {
		s.mu.Lock()
		delete(s.conns, conn)
		s.mu.Unlock()
	}()
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetWriteBuffer(sendBuffer)
	}
	c := &connection{Conn: conn, tcp: conn, server: s}
	if config != nil {
		c.Conn = tls.Server(conn, config)
	}
	c.in = bufio.NewReader(c.Conn)
	switch kind {
	case endlessTLS:
		handshakeForEver(c)
	case notTLS:
		refuseTLS(c)
	default:
		for c.next() {
		}
	}
}

// sendBuffer is the operating system's for sending: what is in it counts as sent.
const sendBuffer = 64 << 10

// connection is a connection with one request to answer.
type connection struct {
	net.Conn
	tcp    net.Conn // below TLS
	in     *bufio.Reader
	server *Server
	name   string // of the case
	target string // what was asked
	page   string // what a good server would answer
}

// next answers a request. It returns false if the connection is to be closed.
func (c *connection) next() bool {
	r, err := http.ReadRequest(c.in)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return false
	}
	c.target, c.page = r.RequestURI, Page(r.RequestURI)
	c.name, _, _ = strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	found, ok := c.server.cases[c.name]
	if !ok || found.script == nil {
		c.good(r.Method)
		return !r.Close
	}
	c.server.mu.Lock()
	c.server.asked[c.name]++
	c.server.mu.Unlock()
	return found.script(c)
}

// good answers as a good server does.
func (c *connection) good(method string) {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n", len(c.page))
	if method == http.MethodHead {
		c.send(head)
		return
	}
	c.send(head, c.page)
}

// Write counts what is sent for the case.
func (c *connection) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.server.mu.Lock()
	c.server.sent[c.name] += int64(n)
	c.server.mu.Unlock()
	return n, err
}

// send writes the parts as one. It returns false if the client is gone.
func (c *connection) send(parts ...string) bool {
	_, err := io.WriteString(c, strings.Join(parts, ""))
	return err == nil
}

// ok writes the head of a 200 with these header lines, and what follows it.
func (c *connection) ok(header string, body ...string) bool {
	if header != "" {
		header += "\r\n"
	}
	return c.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n", header, "\r\n", strings.Join(body, ""))
}

// length is the header line that declares the page's length plus that many bytes.
func (c *connection) length(more int) string {
	return fmt.Sprintf("Content-Length: %d", len(c.page)+more)
}

// repeat writes a part until total bytes are written, or for ever if total is negative. It returns false if the client
// is gone.
func (c *connection) repeat(part string, total int64) bool {
	block := []byte(strings.Repeat(part, max(1, sendBuffer/2/max(1, len(part)))))
	for total != 0 {
		if total > 0 && total < int64(len(block)) {
			block = block[:total]
		}
		if _, err := c.Write(block); err != nil {
			return false
		}
		if total > 0 {
			total -= int64(len(block))
		}
	}
	return true
}

// drip writes the parts in turn for ever, with a pause before each. It returns when the client is gone.
func (c *connection) drip(pause time.Duration, parts ...string) bool {
	for i := 0; c.wait(pause) && c.send(parts[i%len(parts)]); i++ {
	}
	return false
}

// wait lets time pass. It returns false if the client is gone.
func (c *connection) wait(d time.Duration) bool {
	c.SetReadDeadline(time.Now().Add(d))
	defer c.SetReadDeadline(time.Time{})
	_, err := c.in.Peek(1)
	var late net.Error
	return err == nil || errors.As(err, &late) && late.Timeout()
}

// hold waits until the client is gone.
func (c *connection) hold() bool {
	io.Copy(io.Discard, c.in)
	return false
}

// reset ends the connection with an RST.
func (c *connection) reset() bool {
	if tcp, ok := c.tcp.(*net.TCPConn); ok {
		tcp.SetLinger(0)
		tcp.Close()
	}
	return false
}
