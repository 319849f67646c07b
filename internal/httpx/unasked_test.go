//go:build unix

package httpx_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/httpx"
)

// respond is a response with a body.
func respond(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// A server sends a second answer in the instant between the choice of a connection and the request. The request is sent
// over another connection instead. It fails if transportConn.Write does not listen first.
func TestUnaskedBeforeTheRequestIsWritten(t *testing.T) {
	speak, spoken := make(chan struct{}), make(chan struct{})
	server := httpx.NewServer(t, func(p *httpx.Peer) {
		if p.Hear(); p.Say(good) && p.N == 1 {
			<-speak
			p.Say(respond("bad"))
			close(spoken)
		}
		p.Hear()
	})
	rt := newTransport(t, server)
	wantGood(t, rt)
	var reused []bool
	req := newRequest(t, "http://example.com/")
	req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if reused = append(reused, info.Reused); info.Reused {
			close(speak)
			<-spoken
		}
	}}))
	if body, err := get(rt, req); err != nil || body != "good" {
		t.Errorf("%q, %v", body, err)
	}
	if fmt.Sprint(reused) != "[true false]" {
		t.Errorf("connections, and whether each was used before: %v", reused)
	}
}

// A server gives two answers to each request, in one piece or in two, the second before the next request is made: it is
// nobody's answer. This fails if transportConn.Write does not listen to the connection and, over TLS, to TLS; and with net/http if Conn
// gives it what comes behind a response.
func TestSecondAnswersAreDropped(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	for _, tt := range []struct {
		name   string
		rounds int
		method string
		tls    bool
		client func(*testing.T, *httpx.Server) http.RoundTripper
	}{
		{"plain", 10_000, "GET", false, func(t *testing.T, s *httpx.Server) http.RoundTripper { return newTransport(t, s) }},
		{"with a body", 10_000, "POST", false, func(t *testing.T, s *httpx.Server) http.RoundTripper { return newWatched(t, s, false) }},
		{"TLS", 500, "GET", true, func(t *testing.T, s *httpx.Server) http.RoundTripper { return newSecureTransport(t, s) }},
		{"TLS by net/http", 500, "GET", true, func(t *testing.T, s *httpx.Server) http.RoundTripper { return newWatched(t, s, true) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rounds := tt.rounds
			if testing.Short() {
				rounds /= 10
			}
			rnd := rand.New(rand.NewPCG(seed, 0))
			said := make(chan struct{}, 1)
			server := httpx.NewServer(t, func(p *httpx.Peer) {
				conn := p.Conn
				if tt.tls {
					conn = httpx.SecureServer(conn)
				}
				in := bufio.NewReader(conn)
				for {
					req, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					io.Copy(io.Discard, req.Body)
					first, second := respond(req.URL.Path), respond("unasked")
					if strings.HasSuffix(req.URL.Path, "piece") {
						io.WriteString(conn, first+second)
					} else {
						io.WriteString(conn, first)
						io.WriteString(conn, second)
					}
					said <- struct{}{}
				}
			})
			rt := tt.client(t, server)
			for round := range rounds {
				path := fmt.Sprintf("/%d/%s", round, []string{"piece", "pieces"}[rnd.IntN(2)])
				req := newRequest(t, "http://example.com"+path)
				if req.Method = tt.method; tt.method == "POST" {
					req.Body, req.ContentLength = io.NopCloser(strings.NewReader("body")), 4
					req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("body")), nil }
				}
				if tt.tls {
					req.URL.Scheme = "https"
				}
				req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
					if watched, ok := info.Conn.(*httpx.Conn); ok {
						watched.Expect(tt.method)
					}
				}}))
				body, err := get(rt, req)
				if tt.method == "POST" && err != nil && strings.Contains(err.Error(), "server closed idle connection") {
					continue // net/http has written nothing, and does not send a POST again when it finds that out late
				}
				if err != nil || body != path {
					t.Fatalf("round %d: %q, %v", round, body, err)
				}
				<-said // both answers are on their way
			}
		})
	}
}

// newSecureTransport returns a transport over TLS.
func newSecureTransport(t *testing.T, s *httpx.Server) http.RoundTripper {
	rt := newTransport(t, s)
	rt.Secure, rt.Dial = true, func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := s.Dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return httpx.SecureClient(ctx, conn)
	}
	return rt
}

// newWatched returns net/http's transport over connections that are watched.
func newWatched(t *testing.T, s *httpx.Server, secure bool) http.RoundTripper {
	rt := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := s.Dial(ctx, network, addr)
		return httpx.NewConn(conn), err
	}}
	if secure {
		rt.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := s.Dial(ctx, network, addr)
			return httpx.NewConn(tls.Client(conn, &tls.Config{InsecureSkipVerify: true})), err
		}
	}
	t.Cleanup(rt.CloseIdleConnections)
	return rt
}
