package httpx_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// quietLog fails the test if net/http writes to the process's log.
func quietLog(t *testing.T) {
	var said bytes.Buffer // log.Logger writes under its lock
	before := log.Writer()
	log.SetOutput(&said)
	t.Cleanup(func() {
		log.SetOutput(before)
		if said.Len() > 0 {
			t.Errorf("net/http says: %s", said.String())
		}
	})
}

// pipeClient is a client whose connections lead to a server made of a func, and which knows how many it made.
type pipeClient struct {
	*http.Client
	dialled int
}

func newPipeClient(serve func(conn net.Conn, n int)) *pipeClient {
	p := new(pipeClient)
	p.Client = &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			p.dialled++
			n := p.dialled
			go func() {
				defer theirs.Close()
				serve(theirs, n)
			}()
			return httpx.NewConn(ours), nil
		},
	}}
	return p
}

// do makes a request and reads its body.
func (p *pipeClient) do(t *testing.T, method, body string) (string, error) {
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		conn, ok := info.Conn.(*httpx.Conn)
		if !ok {
			t.Errorf("a connection is a %T", info.Conn)
			return
		}
		conn.Expect(method)
	}})
	req, err := http.NewRequestWithContext(ctx, method, "http://example.com/", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return string(answer), err
}

// hear takes one request; false: there is none.
func hear(conn net.Conn) bool {
	buffer := make([]byte, 4096)
	n, err := conn.Read(buffer)
	if method, _, _ := bytes.Cut(buffer[:n], []byte{' '}); err == nil && string(method) == "POST" {
		return bytes.Contains(buffer[:n], []byte("body")) || hearRest(conn)
	}
	return err == nil
}

func hearRest(conn net.Conn) bool {
	_, err := conn.Read(make([]byte, 4096))
	return err == nil
}

const good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"

// What a server sends unasked is nobody's answer, does not even fail a POST, and is not worth a line in a log.
func TestConnUnasked(t *testing.T) {
	const unasked = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad"
	for _, tt := range []struct {
		name   string
		answer []string // with a pause between
		conns  int      // for three requests
	}{
		{"good", []string{good}, 1},
		{"in one piece", []string{good + unasked}, 3},
		{"in pieces", []string{good[:len(good)-2], good[len(good)-2:] + unasked[:5], unasked[5:]}, 3},
		{"later", []string{good, unasked}, 3},
		{"line ends", []string{good + "\r\n"}, 3},
		{"408", []string{good, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"}, 3},
		{"behind chunks", []string{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n" + unasked}, 3},
		{"behind a large body", []string{"HTTP/1.1 200 OK\r\nContent-Length: 10004\r\n\r\ngood" + strings.Repeat("!", 10000) + unasked}, 3},
	} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(tt.name+", "+method, func(t *testing.T) {
				quietLog(t)
				synctest.Test(t, func(t *testing.T) {
					p := newPipeClient(func(conn net.Conn, _ int) {
						for hear(conn) {
							for _, part := range tt.answer {
								if _, err := io.WriteString(conn, part); err != nil {
									return
								}
								<-time.NewTimer(time.Millisecond).C
							}
						}
					})
					for range 3 {
						if body, err := p.do(t, method, "body"); err != nil || strings.TrimRight(body, "!") != "good" {
							t.Errorf("%q, %v", body, err)
						}
						<-time.NewTimer(time.Second).C
					}
					if p.dialled != tt.conns {
						t.Errorf("%d connections, want %d", p.dialled, tt.conns)
					}
					p.CloseIdleConnections()
				})
			})
		}
	}
}

// A request on a connection that was used waits until the bytes that came before it have been looked at.
func TestConnWriteWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		conn := httpx.NewConn(ours)
		heard, answered := 0, make(chan struct{})
		go func() {
			defer close(answered)
			for hear(theirs) {
				heard++
				io.WriteString(theirs, good)
			}
		}()
		answer := make([]byte, 100)
		written := make(chan error, 1)
		for range 2 {
			conn.Expect("GET")
			go func() {
				_, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n")
				written <- err
			}()
			if synctest.Wait(); heard != 1 {
				t.Errorf("%d requests were written before somebody reads", heard)
			}
			if n, _ := conn.Read(answer); string(answer[:n]) != good {
				t.Errorf("read %q", answer[:n])
			}
			if err := <-written; err != nil {
				t.Error(err)
			}
		}
		conn.Close()
		conn.Expect("GET")
		if _, err := conn.Write([]byte("x")); err == nil {
			t.Error("a closed connection can be written to")
		}
		<-answered
	})
}

// noDeadline is a connection whose Read cannot be interrupted.
type noDeadline struct{ net.Conn }

func (noDeadline) SetReadDeadline(time.Time) error { return errors.ErrUnsupported }

// A connection of which nobody can tell what has come serves one request.
func TestConnWithoutDeadlines(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		hear(theirs)
		io.WriteString(theirs, good)
	}()
	conn := httpx.NewConn(noDeadline{ours})
	defer conn.Close()
	conn.Expect("GET")
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 100)); n != len(good) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	conn.Expect("GET")
	if n, err := conn.Write([]byte("x")); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("%d bytes were written, %v", n, err)
	}
}

// While a response is on its way there is no other request.
func TestConnOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		conn := httpx.NewConn(ours)
		go func() {
			hear(theirs)
			io.WriteString(theirs, good[:len(good)-1])
			hear(theirs)
		}()
		read := make(chan string)
		go func() {
			p := make([]byte, 100)
			for {
				n, err := conn.Read(p)
				if err != nil {
					return
				}
				read <- string(p[:n])
			}
		}()
		conn.Expect("GET")
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-read
		conn.Expect("GET")
		if n, err := io.WriteString(conn, "GET / HTTP/1.1\r\n\r\n"); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("%d bytes were written, %v", n, err)
		}
		conn.Close()
	})
}

// A server that speaks first is told from one that answers.
func TestConnSpokenTo(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		io.WriteString(theirs, "220 mail.example.com ESMTP\r\n")
		theirs.Close()
	}()
	got, err := io.ReadAll(httpx.NewConn(ours))
	if bad := (*httpx.FramingError)(nil); len(got) > 0 || !errors.As(err, &bad) {
		t.Errorf("%q, %v", got, err)
	}
}
