package spidertest

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

// HostileServer is a web server on loopback that misbehaves in one way on each of the paths of
// [HostileServer.Cases], over plain TCP or TLS. All other paths answer with [HostilePage], so that a test can
// ask whether the next request on the same host works:
//
//	server := spidertest.NewHostileServer(t)
//	for _, c := range server.Cases() {
//		t.Run(c.Name, func(t *testing.T) {
//			resp, err := download(c.Method, server.URL(c)) // with a body limit of spidertest.HostileLimit
//			… // c.May says which outcomes are right, c.Time and c.Bytes what they may cost
//			resp, err = download("GET", server.Plain()+"/next")
//			… // the body is spidertest.HostilePage("/next")
//		})
//	}
//
// It may be used concurrently.
type HostileServer struct {
	cases  map[string]HostileCase // by name
	order  []HostileCase
	roots  *x509.CertPool
	listen []hostileListener // by hostileTLS

	running sync.WaitGroup
	mu      sync.Mutex // guards the fields below
	closed  bool
	conns   map[net.Conn]struct{}
	sent    map[string]int64 // bytes, by case
	asked   map[string]int   // requests, by case
}

// hostileListener is one address of the server.
type hostileListener struct {
	net.Listener
	config *tls.Config // nil: plain
}

// NewHostileServer starts a server, which ends with the test.
func NewHostileServer(t testing.TB) *HostileServer {
	t.Helper()
	s := &HostileServer{cases: make(map[string]HostileCase), conns: make(map[net.Conn]struct{}),
		sent: make(map[string]int64), asked: make(map[string]int)}
	configs, roots, err := hostileConfigs()
	if err != nil {
		t.Fatalf("spidertest: making certificates: %v", err)
	}
	s.roots = roots
	for _, config := range configs {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.Close()
			t.Fatalf("spidertest: %v", err)
		}
		s.listen = append(s.listen, hostileListener{l, config})
	}
	for _, c := range hostileCases() {
		s.cases[c.Name] = c
		s.order = append(s.order, c)
	}
	for kind, l := range s.listen {
		s.running.Go(func() { s.accept(hostileTLS(kind), l) })
	}
	t.Cleanup(s.Close)
	return s
}

// Cases returns the ways in which the server misbehaves, in a fixed order.
func (s *HostileServer) Cases() []HostileCase { return append([]HostileCase(nil), s.order...) }

// URL returns where a case happens. A query may be added to it; the pages and [HostileServer.Asked] tell it.
func (s *HostileServer) URL(c HostileCase) string {
	if c.at == plainTCP {
		return s.Plain() + c.Path
	}
	return "https://" + s.listen[c.at].Addr().String() + c.Path
}

// Plain returns the address for plain HTTP, as http://host:port.
func (s *HostileServer) Plain() string { return "http://" + s.listen[plainTCP].Addr().String() }

// Secure returns the address of an HTTPS server whose certificate is valid for clients that trust [HostileServer.Roots],
// as https://host:port.
func (s *HostileServer) Secure() string { return "https://" + s.listen[goodTLS].Addr().String() }

// Roots returns the authority that has signed the certificates. Only a client that trusts it can distinguish the TLS cases.
func (s *HostileServer) Roots() *x509.CertPool { return s.roots }

// Sent returns how many bytes of a case's answers were handed to the operating system.
func (s *HostileServer) Sent(c HostileCase) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[c.Name]
}

// Asked returns how many requests for a case have come.
func (s *HostileServer) Asked(c HostileCase) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[c.Name]
}

// Open returns how many connections are open.
func (s *HostileServer) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Close cuts all connections and waits until nothing runs any more. The test does it as well.
func (s *HostileServer) Close() {
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

func (s *HostileServer) accept(kind hostileTLS, l hostileListener) {
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
func (s *HostileServer) track(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.conns[conn] = struct{}{}
	return true
}

func (s *HostileServer) serve(kind hostileTLS, config *tls.Config, conn net.Conn) {
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
		tcp.SetWriteBuffer(hostileBuffer)
	}
	c := &hostileConn{Conn: conn, tcp: conn, server: s}
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

// hostileBuffer is the operating system's for sending: what is in it counts as sent.
const hostileBuffer = 64 << 10

// hostileConn is a connection with one request to answer.
type hostileConn struct {
	net.Conn
	tcp    net.Conn // below TLS
	in     *bufio.Reader
	server *HostileServer
	name   string // of the case
	target string // what was asked
	page   string // what a good server would answer
}

// next answers a request. It returns false if the connection is to be closed.
func (c *hostileConn) next() bool {
	r, err := http.ReadRequest(c.in)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return false
	}
	c.target, c.page = r.RequestURI, HostilePage(r.RequestURI)
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
func (c *hostileConn) good(method string) {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\n\r\n", len(c.page))
	if method == http.MethodHead {
		c.send(head)
		return
	}
	c.send(head, c.page)
}

// Write counts what is sent for the case.
func (c *hostileConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.server.mu.Lock()
	c.server.sent[c.name] += int64(n)
	c.server.mu.Unlock()
	return n, err
}

// send writes the parts as one. It returns false if the client is gone.
func (c *hostileConn) send(parts ...string) bool {
	_, err := io.WriteString(c, strings.Join(parts, ""))
	return err == nil
}

// ok writes the head of a 200 with these header lines, and what follows it.
func (c *hostileConn) ok(header string, body ...string) bool {
	if header != "" {
		header += "\r\n"
	}
	return c.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n", header, "\r\n", strings.Join(body, ""))
}

// length is the header line that tells the page's length, and so much more.
func (c *hostileConn) length(more int) string {
	return fmt.Sprintf("Content-Length: %d", len(c.page)+more)
}

// repeat writes a part until total bytes are written, or for ever if total is negative. It returns false if the client
// is gone.
func (c *hostileConn) repeat(part string, total int64) bool {
	block := []byte(strings.Repeat(part, max(1, hostileBuffer/2/max(1, len(part)))))
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
func (c *hostileConn) drip(pause time.Duration, parts ...string) bool {
	for i := 0; c.wait(pause) && c.send(parts[i%len(parts)]); i++ {
	}
	return false
}

// wait lets time pass. It returns false if the client is gone.
func (c *hostileConn) wait(d time.Duration) bool {
	c.SetReadDeadline(time.Now().Add(d))
	defer c.SetReadDeadline(time.Time{})
	_, err := c.in.Peek(1)
	var late net.Error
	return err == nil || errors.As(err, &late) && late.Timeout()
}

// hold waits until the client is gone.
func (c *hostileConn) hold() bool {
	io.Copy(io.Discard, c.in)
	return false
}

// reset ends the connection with an RST.
func (c *hostileConn) reset() bool {
	if tcp, ok := c.tcp.(*net.TCPConn); ok {
		tcp.SetLinger(0)
		tcp.Close()
	}
	return false
}
