//go:build unix

package httpx_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// The header of a response may be as large as MaxHeaderBytes to the byte, and no larger, as in net/http.
func TestTransportHeaderLimit(t *testing.T) {
	const limit = 300
	head := func(size int) string {
		const frame = "HTTP/1.1 200 OK\r\nConnection: close\r\nX: \r\n\r\n"
		return strings.Replace(frame, "X: ", "X: "+strings.Repeat("x", size-len(frame)), 1)
	}
	const interim = "HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\n"
	for _, tt := range []struct {
		name, answer string
		body         string
		large        bool
	}{
		{"below", head(limit-1) + "good", "good", false},
		{"equal", head(limit) + "good", "good", false},
		{"equal, without a body", head(limit), "", false},
		{"above", head(limit+1) + "good", "", true},
		{"far above", head(1 << 20), "", true},
		{"with interim, equal", interim + head(limit-len(interim)) + "good", "good", false},
		{"with interim, above", interim + head(limit-len(interim)+1) + "good", "", true},
		{"interim responses without end", strings.Repeat(interim, 1000), "", true},
		{"status line without end", strings.Repeat("HTTP", 1<<10), "", true},
		{"large body", head(limit) + strings.Repeat("good", 10000), strings.Repeat("good", 10000), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httpx.NewServer(t, func(p *httpx.Peer) { p.Hear(); p.Say(tt.answer) })
			ours, theirs := newTransport(t, server), newNetHTTP(t, server)
			ours.MaxHeaderBytes, theirs.MaxResponseHeaderBytes = limit, limit
			body, err := get(ours, newRequest(t, "http://example.com/"))
			if errors.Is(err, httpx.ErrHeaderTooLarge) != tt.large || err != nil != tt.large || body != tt.body {
				t.Errorf("%d bytes, %v", len(body), err)
			}
			if _, err := get(theirs, newRequest(t, "http://example.com/")); (err != nil) != tt.large {
				t.Errorf("net/http: %v", err)
			}
		})
	}
}

// What a server says before it is asked is not taken for an answer, unless it comes while the request is under way.
func TestTransportSpokenTo(t *testing.T) {
	server := httpx.NewServer(t, func(p *httpx.Peer) { p.Hear() })
	server.Pair = func() (ours, theirs net.Conn, err error) {
		if ours, theirs, err = httpx.Pair(); err == nil {
			_, err = io.WriteString(theirs, good)
		}
		return ours, theirs, err
	}
	_, err := get(newTransport(t, server), newRequest(t, "http://example.com/"))
	if framing := (*httpx.FramingError)(nil); !errors.As(err, &framing) {
		t.Error(err)
	}
}

// deafConn is a connection whose server answers, and may end, before anything is written to it.
type deafConn struct {
	net.Conn
	peer   net.Conn
	answer string
	ends   bool
}

func (c deafConn) Write([]byte) (int, error) {
	io.WriteString(c.peer, c.answer)
	if c.ends {
		c.peer.Close()
	}
	return 0, &net.OpError{Op: "write", Err: syscall.EPIPE}
}

func (c deafConn) SyscallConn() (syscall.RawConn, error) { return c.Conn.(syscall.Conn).SyscallConn() }

// A server that does not take a request may have said why. That answer counts, and its connection is not used again.
func TestTransportNotTaken(t *testing.T) {
	const busy = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 4\r\n\r\nbusy"
	for _, tt := range []struct {
		name, answer, body string
		ends               bool
		pipe               bool // the error is that of the write
	}{
		{name: "answered", answer: busy, body: "busy", ends: true},
		{name: "answered, and open", answer: busy, body: "busy"},
		{name: "not answered", ends: true, pipe: true},
		{name: "half answered", answer: busy[:20], ends: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httpx.NewServer(t, answering(good))
			server.Pair = func() (ours, theirs net.Conn, err error) {
				ours, theirs, err = httpx.Pair()
				if len(server.Dialled()) == 0 {
					ours = deafConn{ours, theirs, tt.answer, tt.ends}
				}
				return ours, theirs, err
			}
			rt := newTransport(t, server)
			body, err := get(rt, newRequest(t, "http://example.com/"))
			if body != tt.body || (err != nil) != (tt.body == "") || errors.Is(err, syscall.EPIPE) != tt.pipe {
				t.Errorf("%q, %v", body, err)
			}
			wantGood(t, rt)
			if len(server.Dialled()) != 2 {
				t.Errorf("%d connections", len(server.Dialled()))
			}
		})
	}
}

// Wherever its context ends, a request fails with the cause of that, and the next one is none the worse.
func TestTransportCancel(t *testing.T) {
	why := errors.New("why")
	for _, tt := range []struct {
		name   string
		answer string // to the request that is cancelled
		hook   func(trace *httptrace.ClientTrace, cancel func())
		dial   bool // cancelled while it dials
		body   bool // cancelled when the header has come
		heard  bool // cancelled when the server has the request
	}{
		{name: "before"},
		{name: "in the dial", dial: true},
		{name: "before it is written", hook: func(trace *httptrace.ClientTrace, cancel func()) {
			trace.GotConn = func(httptrace.GotConnInfo) { cancel() }
		}},
		{name: "when it was heard", heard: true},
		{name: "in the header", answer: "HTTP/1.1 200 OK\r\nCon", hook: func(trace *httptrace.ClientTrace, cancel func()) {
			trace.GotFirstResponseByte = cancel
		}},
		{name: "in the body", answer: good[:len(good)-1], body: true},
		{name: "in a body in chunks", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngo", body: true},
		{name: "in a body until the end", answer: "HTTP/1.1 200 OK\r\n\r\ngo", body: true},
	} {
		for _, reused := range []bool{false, true} {
			t.Run(tt.name+map[bool]string{true: ", reused"}[reused], func(t *testing.T) {
				req := newRequest(t, "http://example.com/")
				ctx, cancel := context.WithCancelCause(req.Context())
				end := func() { cancel(why) }
				server := httpx.NewServer(t, func(p *httpx.Peer) {
					for req := p.Hear(); req != nil; req = p.Hear() {
						if req.Header.Get("Cancel") == "" {
							p.Say(good)
							continue
						}
						if tt.heard {
							end()
						}
						p.Say(tt.answer)
					}
				})
				rt := newTransport(t, server)
				if reused {
					wantGood(t, rt)
				}
				if tt.dial {
					rt.CloseIdle()
					dial := rt.Dial
					rt.Dial = func(ctx context.Context, network, hostport string) (net.Conn, error) {
						rt.Dial = dial
						end()
						<-ctx.Done()
						return nil, &net.OpError{Op: "dial", Err: ctx.Err()}
					}
				}
				trace := new(httptrace.ClientTrace)
				switch {
				case tt.hook != nil:
					tt.hook(trace, end)
				case !tt.dial && !tt.body && !tt.heard:
					end()
				}
				req = req.WithContext(httptrace.WithClientTrace(ctx, trace))
				req.Header.Set("Cancel", "x")
				resp, err := rt.RoundTrip(req)
				if tt.body && err == nil {
					io.ReadFull(resp.Body, make([]byte, 2))
					end()
					_, err = io.ReadAll(resp.Body)
					if _, again := resp.Body.Read(make([]byte, 1)); !errors.Is(again, err) {
						t.Errorf("then %v", again)
					}
					resp.Body.Close()
				}
				if !errors.Is(err, why) {
					t.Errorf("%v", err)
				}
				if tt.name == "before" && !reused && len(server.Dialled()) > 0 {
					t.Error("it was dialled for")
				}
				wantGood(t, rt)
			})
		}
	}
}

// A context that ends when its response has come to its end is nothing to the next request on the connection.
func TestTransportCancelLate(t *testing.T) {
	var cancel func()
	server := httpx.NewServer(t, func(p *httpx.Peer) {
		for n := 0; p.Hear() != nil; n++ {
			if n%2 == 0 {
				p.Say(good)
				continue
			}
			p.Say(good[:len(good)-2])
			cancel()
			<-time.NewTimer(time.Millisecond).C // for what the end of its context does, if it does anything
			p.Say(good[len(good)-2:])
		}
	})
	rt := newTransport(t, server)
	for range 20 {
		req := newRequest(t, "http://example.com/")
		ctx, end := context.WithCancel(req.Context())
		if body, err := get(rt, req.WithContext(ctx)); err != nil || body != "good" {
			t.Fatalf("%q, %v", body, err)
		}
		cancel = end
		wantGood(t, rt)
	}
	if len(server.Dialled()) != 1 {
		t.Errorf("%d connections", len(server.Dialled()))
	}
}

// slowToClose is a connection whose first Close takes its time.
type slowToClose struct {
	net.Conn
	began, goOn chan struct{}
	closes      atomic.Int32
}

func (c *slowToClose) Close() error {
	if c.closes.Add(1) == 1 {
		close(c.began)
		<-c.goOn
	}
	return c.Conn.Close()
}

func (c *slowToClose) SyscallConn() (syscall.RawConn, error) {
	return c.Conn.(syscall.Conn).SyscallConn()
}

// A connection that a context's end is about to close when a response comes to its end is not used again.
func TestTransportCancelAtEnd(t *testing.T) {
	began, goOn := make(chan struct{}), make(chan struct{})
	server := httpx.NewServer(t, answering(good))
	server.Wrap = func(c net.Conn) net.Conn {
		if len(server.Dialled()) > 1 {
			return c
		}
		return &slowToClose{Conn: c, began: began, goOn: goOn}
	}
	rt := newTransport(t, server)
	req := newRequest(t, "http://example.com/")
	ctx, cancel := context.WithCancel(req.Context())
	resp, err := rt.RoundTrip(req.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-began
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "good" {
		t.Errorf("%q, %v", body, err)
	}
	wantGood(t, rt)
	if len(server.Dialled()) != 2 {
		t.Error("the next request went over it")
	}
	close(goOn)
}

// Without SyscallConn a connection serves one request. A deadline ends what waits.
func TestTransportPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := httpx.NewServer(t, func(p *httpx.Peer) {
			if p.N < 3 {
				answering(good)(p)
				return
			}
			p.Hear()
			p.Hear()
		})
		server.Pair = func() (ours, theirs net.Conn, err error) {
			ours, theirs = net.Pipe()
			return ours, theirs, nil
		}
		rt := newTransport(t, server)
		wantGood(t, rt)
		wantGood(t, rt)
		if len(server.Dialled()) != 2 {
			t.Errorf("%d connections", len(server.Dialled()))
		}
		began := time.Now()
		_, err := get(rt, newRequest(t, "http://example.com/"))
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("after %s %v", took, err)
		}
	})
}

// A body may be closed while it is read. That ends the Read, and the connection.
func TestTransportCloseBody(t *testing.T) {
	server := httpx.NewServer(t, answering(good[:len(good)-2]))
	rt := newTransport(t, server)
	for n := range 50 {
		resp, err := rt.RoundTrip(newRequest(t, "http://example.com/"))
		if err != nil {
			t.Fatal(err)
		}
		var reads sync.WaitGroup
		began := make(chan struct{})
		reads.Go(func() {
			close(began)
			body, err := io.ReadAll(resp.Body)
			if len(body) > 2 || err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%q, %v", body, err)
			}
		})
		<-began
		if n%2 > 0 {
			<-time.NewTimer(time.Millisecond).C // that the Read waits is likely then
		}
		resp.Body.Close()
		reads.Wait()
		if _, err := resp.Body.Read(make([]byte, 1)); err == nil || err == io.EOF {
			t.Errorf("behind Close: %v", err)
		}
	}
	server.Wait() // each connection has ended
	if len(server.Dialled()) != 50 {
		t.Errorf("%d connections", len(server.Dialled()))
	}
}

// A body that is closed just when its end is read gives its buffer and its connection back once.
func TestTransportCloseAtEnd(t *testing.T) {
	server := httpx.NewServer(t, answering(good))
	rt := newTransport(t, server)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for range 200 {
				resp, err := rt.RoundTrip(newRequest(t, "http://example.com/"))
				if err != nil {
					t.Error(err)
					return
				}
				var closing sync.WaitGroup
				closing.Go(func() { resp.Body.Close() })
				if body, err := io.ReadAll(resp.Body); err == nil && string(body) != "good" {
					t.Errorf("%q", body)
				}
				closing.Wait()
				wantGood(t, rt)
			}
		})
	}
	clients.Wait()
}

// Two goroutines that read a body at once do no harm but to themselves.
func TestTransportTwoReaders(t *testing.T) {
	server := httpx.NewServer(t, answering(good[:len(good)-2]))
	rt := newTransport(t, server)
	resp, err := rt.RoundTrip(newRequest(t, "http://example.com/"))
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := io.ReadAll(resp.Body)
			failed <- err
		}()
	}
	if err := <-failed; err == nil { // the other one waits
		t.Error("both read the body")
	}
	resp.Body.Close()
	<-failed
}

// Close ends the connections that wait, and the others when their responses end; a transport still works then.
func TestTransportClose(t *testing.T) {
	server := httpx.NewServer(t, answering(good))
	rt := newTransport(t, server)
	wantGood(t, rt)
	rt.CloseIdle()
	server.Wait()
	resp, err := rt.RoundTrip(newRequest(t, "http://example.com/"))
	if err != nil {
		t.Fatal(err)
	}
	rt.Close()
	if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "good" {
		t.Errorf("%q, %v", body, err)
	}
	server.Wait()
	wantGood(t, rt)
	server.Wait()
	if len(server.Dialled()) != 3 {
		t.Errorf("%d connections", len(server.Dialled()))
	}
}

// A reused connection that is reset behind the first byte of an answer is no reason to ask again.
func TestTransportResetInHeader(t *testing.T) {
	begun := make(chan struct{})
	server := httpx.NewServer(t, func(p *httpx.Peer) {
		p.Hear()
		p.Say(good)
		p.Hear()
		p.Say("HTTP/1.1 200 OK\r\n")
		<-begun // the client has read that
		p.Reset()
	})
	server.Pair = httpx.TCPPair
	rt := newTransport(t, server)
	wantGood(t, rt)
	req := newRequest(t, "http://example.com/")
	trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { close(begun) }}
	_, err := get(rt, req.WithContext(httptrace.WithClientTrace(req.Context(), trace)))
	if !errors.Is(err, syscall.ECONNRESET) || len(server.Dialled()) != 1 {
		t.Errorf("%v, %d connections", err, len(server.Dialled()))
	}
}

// A request that cannot be written fails on the first connection that it gets.
func TestTransportUnwritable(t *testing.T) {
	server := httpx.NewServer(t, answering(good))
	rt := newTransport(t, server)
	wantGood(t, rt)
	req := newRequest(t, "http://example.com/")
	req.URL.Opaque = "/\n"
	if _, err := get(rt, req); err == nil || len(server.Dialled()) != 1 {
		t.Errorf("%v, %d connections", err, len(server.Dialled()))
	}
}

// The tracer is told once of each, in net/http's order, and of what is so.
func TestTransportTrace(t *testing.T) {
	calls := func(rt http.RoundTripper) (calls []string) {
		var mu sync.Mutex // net/http has several goroutines
		note := func(what string) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, what)
		}
		for range 2 {
			req := newRequest(t, "http://example.com/")
			req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
				GotConn: func(info httptrace.GotConnInfo) {
					note("connection")
					if info.Reused {
						note("reused")
					}
				},
				GotFirstResponseByte: func() { note("answer") },
			}))
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if resp.Request != req {
				t.Error("the response is another request's")
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		mu.Lock()
		defer mu.Unlock()
		return calls
	}
	server := httpx.NewServer(t, answering(good))
	got, want := calls(newTransport(t, server)), calls(newNetHTTP(t, server))
	if strings.Join(got, " ") != strings.Join(want, " ") || len(got) != 5 {
		t.Errorf("we:       %q\nnet/http: %q", got, want)
	}
}

// A connection that cannot be made is the request's failure, told as it is.
func TestTransportDialFails(t *testing.T) {
	why := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	rt := httpx.RoundTripper{Transport: &httpx.Transport{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, why }}}
	if _, err := get(rt, newRequest(t, "http://example.com/")); err != error(why) {
		t.Error(err)
	}
}
