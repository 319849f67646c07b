//go:build unix

package httpx_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// What holds without TLS holds with it.
func TestTransportOverTLS(t *testing.T) {
	httpx.OverTLS = true
	defer func() { httpx.OverTLS = false }()
	for _, tt := range []struct {
		name string
		test func(*testing.T)
	}{
		{"Keeps", TestTransportKeeps},
		{"Stale", TestTransportStale},
		{"AllStale", TestTransportAllStale},
		{"Fresh", TestTransportFresh},
		{"HeaderLimit", TestTransportHeaderLimit},
		{"Cancel", TestTransportCancel},
		{"CancelLate", TestTransportCancelLate},
		{"CancelAtEnd", TestTransportCancelAtEnd},
		{"CloseBody", TestTransportCloseBody},
		{"CloseAtEnd", TestTransportCloseAtEnd},
		{"TwoReaders", TestTransportTwoReaders},
		{"Close", TestTransportClose},
		{"ResetInHeader", TestTransportResetInHeader},
		{"Unwritable", TestTransportUnwritable},
		{"Storm", TestTransportStorm},
		{"Unasked", TestUnaskedBeforeTheRequestIsWritten},
	} {
		t.Run(tt.name, tt.test)
	}
}

// A connection that ends without the end of TLS, or within a record, costs a request only where something of its answer has
// come, or where the connection was new.
func TestTransportCutUnderTLS(t *testing.T) {
	httpx.OverTLS = true
	defer func() { httpx.OverTLS = false }()
	const header = "\x17\x03\x03\x00\x20" // of a record of 32 bytes
	cut := func(p *httpx.Peer, record string) {
		below := p.Conn.(*tls.Conn).NetConn()
		io.WriteString(below, record)
		below.Close()
	}
	for _, tt := range []struct {
		name    string
		first   func(*httpx.Peer) // what the server does on the first connection
		asked   int               // how many requests the client makes
		fails   bool              // the last one
		dialled int
	}{
		{"while it waits", func(p *httpx.Peer) { p.Hear(); p.Say(good); cut(p, "") }, 2, false, 2},
		{"while it waits, within a record", func(p *httpx.Peer) { p.Hear(); p.Say(good); cut(p, header) }, 2, false, 2},
		{"when used again", func(p *httpx.Peer) { p.Hear(); p.Say(good); p.Hear(); cut(p, "") }, 2, false, 2},
		{"when used again, within a record", func(p *httpx.Peer) { p.Hear(); p.Say(good); p.Hear(); cut(p, header) }, 2, false, 2},
		{"unanswered, within a record", func(p *httpx.Peer) { p.Hear(); cut(p, header) }, 1, true, 1},
		{"in a body that the connection ends, within a record",
			func(p *httpx.Peer) { p.Hear(); p.Say("HTTP/1.1 200 OK\r\n\r\ngood"); cut(p, header) }, 1, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httpx.NewServer(t, func(p *httpx.Peer) {
				if p.N == 1 {
					tt.first(p)
				} else {
					answering(good)(p)
				}
			})
			rt := newTransport(t, server)
			var body string
			var err error
			for range tt.asked {
				body, err = get(rt, newRequest(t, "http://example.com/"))
			}
			if errors.Is(err, io.ErrUnexpectedEOF) != tt.fails || !tt.fails && body != "good" {
				t.Errorf("%q, %v", body, err)
			}
			if dialled := len(server.Dialled()); dialled != tt.dialled {
				t.Errorf("%d connections", dialled)
			}
		})
	}
}

// mergedConn sends its second write, which in TLS 1.2 is the end of a server's handshake, together with the third.
type mergedConn struct {
	net.Conn
	writes int
	held   []byte
}

func (c *mergedConn) Write(p []byte) (int, error) {
	if c.writes++; c.writes == 2 {
		c.held = append(c.held, p...)
		return len(p), nil
	}
	_, err := c.Conn.Write(append(c.held, p...))
	c.held = nil
	return len(p), err
}

// What a server says with the end of its handshake is not taken for an answer.
func TestTransportSpokenToInTLS(t *testing.T) {
	ours, theirs, err := httpx.Pair()
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		server := httpx.SecureServer(&mergedConn{Conn: theirs})
		io.WriteString(server, good)
		io.Copy(io.Discard, server)
		server.Close()
	}()
	rt := httpx.RoundTripper{Transport: &httpx.Transport{
		Secure: true, MaxHeaderBytes: 1 << 20,
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			secured := tls.Client(ours, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
			return secured, secured.HandshakeContext(ctx)
		},
	}}
	_, err = get(rt, newRequest(t, "https://example.com/"))
	if framing := (*httpx.FramingError)(nil); !errors.As(err, &framing) {
		t.Error(err)
	}
	<-said
}
