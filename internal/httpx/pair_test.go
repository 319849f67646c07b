//go:build unix

package httpx

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// Pair returns the two ends of a connection without a network.
func Pair() (ours, theirs net.Conn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "")
		if ends[i], err = net.FileConn(file); err != nil {
			return nil, nil, err
		}
		file.Close() // the connection has its own
	}
	return ends[0], ends[1], nil
}

// TCPPair returns the two ends of a connection over TCP.
func TCPPair() (ours, theirs net.Conn, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer listener.Close()
	if ours, err = net.Dial("tcp", listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	theirs, err = listener.Accept()
	return ours, theirs, err
}

// Peer is one end of a connection, that of a server which is a func.
type Peer struct {
	net.Conn
	N  int // which connection it is, from 1
	in *bufio.Reader
}

// Hear reads a request; nil: none comes any more.
func (p *Peer) Hear() *http.Request {
	req, err := http.ReadRequest(p.in)
	if err != nil {
		return nil
	}
	return req
}

// Say writes; false: nobody listens.
func (p *Peer) Say(what string) bool {
	_, err := p.Write([]byte(what))
	return err == nil
}

// Tee copies what is heard from now on.
func (p *Peer) Tee(to io.Writer) { p.in = bufio.NewReader(io.TeeReader(p.Conn, to)) }

// Reset ends a connection over TCP at once, with nothing sent that was not sent before.
func (p *Peer) Reset() {
	ResetAtClose(p.Conn).Close()
}

// ResetAtClose makes the end of a connection over TCP a reset. It returns the connection, or the one under its TLS.
func ResetAtClose(conn net.Conn) net.Conn {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if c, ok := conn.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	return conn
}

// Server serves each connection that is dialled by a func. It ends with the test.
type Server struct {
	Pair func() (ours, theirs net.Conn, err error)
	Wrap func(ours net.Conn) net.Conn // nil: as they are

	serve func(*Peer)

	mu      sync.Mutex // guards the fields below
	dialled []string
	serving sync.WaitGroup
}

// NewServer returns a server.
func NewServer(t testing.TB, serve func(*Peer)) *Server {
	s := &Server{Pair: Pair, serve: serve}
	t.Cleanup(s.serving.Wait)
	return s
}

// Wait waits until no connection is served any more.
func (s *Server) Wait() { s.serving.Wait() }

// OverTLS makes the tests of a [Transport] go over TLS. See TestTransportOverTLS.
var OverTLS bool

// serverTLS is the configuration of a Server, with a certificate.
var serverTLS = sync.OnceValue(func() *tls.Config {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	return &tls.Config{Certificates: s.TLS.Certificates}
})

// SecureServer returns the server's end of a connection over TLS.
func SecureServer(theirs net.Conn) net.Conn { return tls.Server(theirs, serverTLS()) }

// SecureClient makes the handshake on the client's end of a connection.
func SecureClient(ctx context.Context, ours net.Conn) (net.Conn, error) {
	secured := tls.Client(ours, &tls.Config{InsecureSkipVerify: true})
	if err := secured.HandshakeContext(ctx); err != nil {
		ours.Close()
		return nil, err
	}
	return secured, nil
}

// DialOver connects to it, with TLS if that is OverTLS.
func (s *Server) DialOver(ctx context.Context, network, hostport string) (net.Conn, error) {
	if !OverTLS {
		return s.Dial(ctx, network, hostport)
	}
	conn, err := s.connect(hostport, SecureServer)
	if err != nil {
		return nil, err
	}
	return SecureClient(ctx, conn)
}

// Dial connects to it.
func (s *Server) Dial(_ context.Context, _, hostport string) (net.Conn, error) {
	return s.connect(hostport, func(theirs net.Conn) net.Conn { return theirs })
}

func (s *Server) connect(hostport string, secure func(net.Conn) net.Conn) (net.Conn, error) {
	ours, theirs, err := s.Pair()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.dialled = append(s.dialled, hostport)
	n := len(s.dialled)
	s.mu.Unlock()
	s.serving.Go(func() {
		defer theirs.Close()
		theirs := secure(theirs)
		s.serve(&Peer{Conn: theirs, N: n, in: bufio.NewReader(theirs)})
	})
	if s.Wrap != nil {
		return s.Wrap(ours), nil
	}
	return ours, nil
}

// Dialled returns what was dialled.
func (s *Server) Dialled() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dialled)
}
