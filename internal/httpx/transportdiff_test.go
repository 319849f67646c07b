//go:build unix

package httpx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	diffHeaderLimit = 700
	diffSecond      = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"
)

// cutConn gives no more at once than the next of its cuts.
type cutConn struct {
	net.Conn
	cuts *rand.Rand // nil: no cuts
}

func (c *cutConn) Read(p []byte) (int, error) {
	if c.cuts != nil {
		p = p[:min(len(p), 1+c.cuts.IntN(1<<c.cuts.IntN(12)))]
	}
	return c.Conn.Read(p)
}

func (c *cutConn) SyscallConn() (syscall.RawConn, error) { return c.Conn.(syscall.Conn).SyscallConn() }

// exchanges is what two requests to one server came to.
type exchanges struct {
	First, Second outcome
	Conns         int
}

// outcome is what one request came to.
type outcome struct {
	Status          int
	Proto           string
	Header, Trailer http.Header
	Length          int64
	Codings         []string
	Close           bool
	Body            string
	Err             string // its kind
}

// kindOf tells of what kind an error is.
func kindOf(err error) string {
	framing := (*FramingError)(nil)
	switch {
	case err == nil:
		return ""
	case errors.As(err, &framing):
		return framing.Reason
	case errors.Is(err, ErrHeaderTooLarge), strings.Contains(err.Error(), "server response headers exceeded"):
		return "large header"
	case errors.Is(err, io.ErrUnexpectedEOF), strings.Contains(err.Error(), "suspiciously long trailer"),
		strings.Contains(err.Error(), "unexpected EOF reading trailer"):
		return "cut off" // what net/http says of half a trailer, of a long one and of none
	case errors.Is(err, io.EOF), err.Error() == "http: server closed idle connection":
		return "no answer"
	}
	return strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ")
}

// ask makes a request and reads its answer.
func ask(t *testing.T, rt http.RoundTripper, method string, early bool) (o outcome) {
	limited, cancel := context.WithTimeout(t.Context(), time.Minute) // who waits for ever fails
	defer cancel()
	var conn net.Conn
	ctx := httptrace.WithClientTrace(limited, &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		conn = info.Conn
		if c, ok := info.Conn.(*Conn); ok {
			c.Expect(method)
		}
	}})
	req, err := http.NewRequestWithContext(ctx, method, "http://example.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		if c, ok := conn.(*Conn); ok { // accepted difference: net/http parses half a line, and its caller has to ask
			err = cmp.Or(c.Cut(), err)
		}
		return outcome{Err: kindOf(err)}
	}
	defer resp.Body.Close()
	o = outcome{Status: resp.StatusCode, Proto: resp.Proto, Header: resp.Header, Length: resp.ContentLength, Codings: resp.TransferEncoding, Close: resp.Close}
	if early || resp.StatusCode == http.StatusSwitchingProtocols {
		// Accepted difference: net/http gives the connection as the body of a switch of protocols. Nobody asks for one.
		return o
	}
	body, err := io.ReadAll(resp.Body)
	o.Body, o.Trailer, o.Err = string(body), resp.Trailer, kindOf(err)
	return o
}

// play lets a client ask twice a server that answers with data first, and then as it should. The server closes its
// connection behind data if it is to, or if the client would wait for ever otherwise.
func play(t *testing.T, client func(*Server) (rt http.RoundTripper, closeIdle func(), listens bool), data []byte, method string, seed uint64, closes, early bool) (e exchanges) {
	taken, bounded, err := theirs(method, data)
	whole := bounded && err == nil
	said, gone := make(chan struct{}), make(chan struct{})
	server := NewServer(t, func(p *Peer) {
		if p.N == 1 {
			p.Hear()
			p.Say(string(data))
			if closes || !whole {
				p.Close()
			}
			close(said)
			defer close(gone)
		}
		for p.Hear() != nil {
			p.Say(diffSecond)
		}
	})
	server.Wrap = func(conn net.Conn) net.Conn {
		c := &cutConn{Conn: conn}
		if seed > 0 {
			c.cuts = rand.New(rand.NewPCG(seed, 0))
		}
		return c
	}
	rt, closeIdle, listens := client(server)
	defer server.serving.Wait()
	defer closeIdle()
	e.First = ask(t, rt, method, early)
	<-said
	if listens && whole && taken < len(data) {
		select {
		case <-gone: // it has seen what nobody asked for; before that it may take it for the next answer
		case <-time.After(time.Minute):
			t.Error("net/http does not see what comes behind a response")
		}
	}
	e.Second = ask(t, rt, "GET", false)
	e.Conns = len(server.Dialled())
	return e
}

func newTransport(s *Server) (http.RoundTripper, func(), bool) {
	rt := &Transport{Dial: s.DialOver, Secure: OverTLS, MaxHeaderBytes: diffHeaderLimit, MaxIdle: 10, MaxIdlePerHost: 2, IdleTimeout: time.Minute}
	return RoundTripper{rt}, rt.Close, false
}

func newNetHTTP(s *Server) (http.RoundTripper, func(), bool) {
	wrap := s.Wrap
	s.Wrap = func(conn net.Conn) net.Conn { return NewConn(wrap(conn)) }
	rt := &http.Transport{DialContext: s.Dial, MaxResponseHeaderBytes: diffHeaderLimit, DisableCompression: true}
	return rt, rt.CloseIdleConnections, true
}

// compare plays with both clients.
func compare(t *testing.T, data []byte, method string, seed uint64, closes, early bool) {
	ours := play(t, newTransport, data, method, seed, closes, early)
	want := play(t, newNetHTTP, data, method, seed, closes, early)
	if ours.Second.Body != "second" || ours.Second.Err != "" {
		t.Errorf("the second request: %+v", ours.Second)
	}
	if !reflect.DeepEqual(ours, want) {
		t.Errorf("we:       %+v\nnet/http: %+v", ours, want)
	}
}

// answers are more than those of TestFraming.
var answers = []string{
	"",
	"H",
	"HTTP/1.1 200",
	"HTTP/1.1 200 OK\r\nContent-Le",
	"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: y",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\nZ: z\r\n\r\n",
	"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX: " + strings.Repeat("y", 9000) + "\r\n\r\n",
	"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\nhello",
	"HTTP/0.9 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/2.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 099 Odd\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 +99 Odd\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nhello",
	"<html>hello</html>",
	"220 mail.example.com ESMTP\r\n",
	"\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
	"HTTP/1.1 200 OK\r\nBad Field\r\n\r\n",
	"HTTP/1.1 200 OK\r\nPragma: no-cache\r\nContent-Length: 0\r\n\r\n",
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: " + strings.Repeat("y", diffHeaderLimit) + "\r\n\r\nhello",
	strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 40) + diffSecond,
	"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello" + "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad",
	"HTTP/1.1 204 No Content\r\n\r\nx",
	"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + strings.Repeat("x", 10000),
}

// Whatever a server sends, and however it is cut, Transport and net/http above a Conn come to the same: response, kind
// of error, and whether the connection serves another request. Over TLS a response comes in one piece.
func TestTransportAsNetHTTP(t *testing.T) {
	all := answers
	for _, tt := range framings {
		all = append(all, tt.head+tt.body)
	}
	for i, data := range all {
		for _, method := range []string{"GET", "HEAD"} {
			for how := range uint64(4) {
				seed := how % 3
				for _, closes := range []bool{false, true} {
					t.Run(fmt.Sprintf("%d/%s/%d/%v", i, method, how, closes), func(t *testing.T) {
						OverTLS = how == 3
						defer func() { OverTLS = false }()
						compare(t, []byte(data), method, seed, closes, false)
						compare(t, []byte(data), method, seed, closes, true)
					})
				}
			}
		}
	}
}

func FuzzTransport(f *testing.F) {
	for i, data := range answers {
		f.Add([]byte(data), uint64(i%3), uint8(i))
	}
	for i, tt := range framings {
		f.Add([]byte(tt.head+tt.body), uint64(i%3), uint8(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64, how uint8) {
		method := "GET"
		if how&1 != 0 {
			method = "HEAD"
		}
		compare(t, data, method, seed, how&2 != 0, how&4 != 0)
	})
}
