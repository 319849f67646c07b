//go:build unix

package httpx_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// fate is what a server did with a request.
type fate struct {
	how   string // answered; partly: something of an answer was sent; unanswered; lost: partly, but that may not have come
	first bool   // it was the first on its connection
}

// storm is a server of several hosts that answers well and badly, and a witness of what it was asked.
type storm struct {
	seed    uint64
	hosts   map[string]net.Listener
	running sync.WaitGroup

	mu    sync.Mutex // guards the fields below
	fates map[string][]fate
	wrong []string // requests that came to another host than theirs
	conns uint64
}

func newStorm(t *testing.T, seed uint64, hosts ...string) *storm {
	s := &storm{seed: seed, hosts: make(map[string]net.Listener), fates: make(map[string][]fate)}
	for _, host := range hosts {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		s.hosts[host] = listener
		s.running.Go(func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				if httpx.OverTLS {
					conn = httpx.SecureServer(conn)
				}
				s.running.Go(func() { s.serve(conn, host) })
			}
		})
	}
	return s
}

// close waits until the clients have closed all of their connections.
func (s *storm) close() {
	for _, listener := range s.hosts {
		listener.Close()
	}
	s.running.Wait()
}

func (s *storm) serve(conn net.Conn, host string) {
	defer conn.Close()
	s.mu.Lock()
	s.conns++
	rnd := rand.New(rand.NewPCG(s.seed, s.conns))
	s.mu.Unlock()
	in := bufio.NewReader(conn)
	for first, spoken := true, false; ; first = false {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		id := req.URL.Query().Get("id")
		how, goOn := "partly", false
		if !spoken {
			how, goOn, spoken = s.answer(conn, rnd, req, id)
		}
		s.mu.Lock()
		s.fates[id] = append(s.fates[id], fate{how, first})
		if req.Host != host {
			s.wrong = append(s.wrong, id)
		}
		s.mu.Unlock()
		if !goOn {
			return
		}
	}
}

// answer does something with a request. It tells what, whether the connection goes on, and whether something was said
// there that nobody has asked for.
func (s *storm) answer(conn net.Conn, rnd *rand.Rand, req *http.Request, id string) (how string, goOn, spoken bool) {
	body := strings.Repeat(id+"\n", rnd.IntN(1<<rnd.IntN(12)))
	head := "HTTP/1.1 200 OK\r\nX-Id: " + id + "\r\n"
	sized := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
	chunked := fmt.Sprintf("%sTransfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n%x;x=y\r\n%s\r\n0\r\nX-End: %s\r\n\r\n", head, len(body)+1, body+"\n", id)
	if req.Method == "HEAD" {
		sized = fmt.Sprintf("%sContent-Length: %d\r\n\r\n", head, len(body))
		chunked = head + "Transfer-Encoding: chunked\r\n\r\n"
	}
	say := func(what string) bool {
		_, err := io.WriteString(conn, what)
		return err == nil
	}
	switch rnd.IntN(20) {
	case 0: // until the connection's end
		say(head + "\r\n" + body)
		return "answered", false, false
	case 1: // closed without a word
		say(sized)
		return "answered", false, false
	case 2: // closed with a word; the client closes first
		say(strings.Replace(sized, "X-Id", "Connection: close\r\nX-Id", 1))
		return "answered", true, false
	case 3: // another response behind, for which nobody has asked
		say(sized + "HTTP/1.1 200 OK\r\nX-Id: bad\r\nContent-Length: 3\r\n\r\nbad")
		return "answered", true, false
	case 4:
		return "unanswered", false, false
	case 5:
		httpx.ResetAtClose(conn)
		return "unanswered", false, false
	case 6:
		say(sized[:1+rnd.IntN(len(sized)-1)])
		return "partly", false, false
	case 7:
		say(chunked[:1+rnd.IntN(len(chunked)-1)])
		httpx.ResetAtClose(conn)
		return "lost", false, false
	case 8: // something unasked, while the connection waits or as the next request comes
		say(sized)
		<-time.NewTimer(time.Duration(rnd.IntN(2000)) * time.Microsecond).C
		say("x")
		return "answered", true, true
	case 9:
		say("HTTP/1.1 103 Early Hints\r\nX-Id: bad\r\n\r\n" + sized)
	case 10: // late, and in parts
		<-time.NewTimer(time.Duration(rnd.IntN(3000)) * time.Microsecond).C
		say(sized[:len(sized)/2])
		<-time.NewTimer(time.Duration(rnd.IntN(1000)) * time.Microsecond).C
		say(sized[len(sized)/2:])
	case 11, 12, 13, 14:
		say(chunked)
	default:
		say(sized)
	}
	return "answered", true, false
}

// countedConn counts the connections that are open.
type countedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *countedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

func (c *countedConn) SyscallConn() (syscall.RawConn, error) {
	return c.Conn.(syscall.Conn).SyscallConn()
}

// descriptors counts those of this process.
func descriptors(t *testing.T) int {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// Many clients ask several hosts that answer well and badly. Each answer is that of its request, none that was answered
// is sent again, what fails has a reason that the servers know, and nothing is left over.
func TestTransportStorm(t *testing.T) {
	_, seed := random(t)
	a, b, err := httpx.TCPPair() // the poller has its descriptors now
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	b.Close()
	before, ours := descriptors(t), goleak.IgnoreCurrent()

	server := newStorm(t, seed, "a.example", "b.example", "c.example", "d.example")
	var open atomic.Int64
	rt := httpx.RoundTripper{Transport: &httpx.Transport{
		Dial: func(ctx context.Context, network, hostport string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, server.hosts[strings.TrimSuffix(strings.TrimSuffix(hostport, ":80"), ":443")].Addr().String())
			if err != nil {
				return nil, err
			}
			open.Add(1)
			counted := &countedConn{Conn: conn, open: &open}
			if !httpx.OverTLS {
				return counted, nil
			}
			return httpx.SecureClient(ctx, counted)
		},
		Secure:         httpx.OverTLS,
		MaxHeaderBytes: 1 << 20, MaxIdle: 6, MaxIdlePerHost: 2, IdleTimeout: 5 * time.Millisecond,
	}}
	var mu sync.Mutex // guards the fields below
	done := make(map[string]error)
	gaveUp := make(map[string]bool)
	var clients sync.WaitGroup
	each := 200
	if httpx.OverTLS {
		each = 40 // most of them make a handshake
	}
	for n := range 12 {
		rnd := rand.New(rand.NewPCG(seed, uint64(n)))
		clients.Go(func() {
			for k := range each {
				id := fmt.Sprintf("%d-%d", n, k)
				left, err := stormRequest(t, rt, rnd, id)
				mu.Lock()
				done[id], gaveUp[id] = err, left
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	rt.Close()
	server.close()

	if len(server.wrong) > 0 {
		t.Errorf("requests to the wrong host: %q", server.wrong)
	}
	repeated, failed := 0, 0
	for id, err := range done {
		fates := server.fates[id]
		for i, f := range fates {
			if i < len(fates)-1 && (f.how != "unanswered" && f.how != "lost" || f.first) {
				t.Errorf("%s was sent again: %v", id, fates)
			}
		}
		repeated += max(len(fates)-1, 0)
		switch {
		case gaveUp[id]:
		case len(fates) == 0:
			t.Errorf("%s never came: %v", id, err)
		default:
			last := fates[len(fates)-1]
			if err != nil {
				failed++
			}
			if good := last.how == "answered"; good != (err == nil) {
				t.Errorf("%s ends as %v, %v", id, fates, err)
			} else if last.how == "unanswered" && !last.first {
				t.Errorf("%s could have been sent again: %v", id, fates)
			}
		}
	}
	t.Logf("%d requests, %d sent again, %d failed, %d connections", len(done), repeated, failed, server.conns)
	if open.Load() != 0 {
		t.Errorf("%d connections are open", open.Load())
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors, before %d", after, before)
	}
	goleak.VerifyNone(t, ours)
}

// stormRequest makes a request. It reports whether it gave the request up itself, and how that failed otherwise.
func stormRequest(t *testing.T, rt httpx.RoundTripper, rnd *rand.Rand, id string) (gaveUp bool, err error) {
	limited, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(limited)
	defer cancel(why) // at the very end, often while the next request is under way on the same connection
	host := string(rune('a'+rnd.IntN(4))) + ".example"
	method := "GET"
	if rnd.IntN(5) == 0 {
		method = "HEAD"
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+host+"/?id="+id, nil)
	if err != nil {
		t.Error(err)
	}
	most := int64(1 << 20)
	closes := false
	switch rnd.IntN(10) {
	case 0:
		gaveUp = true
		timer := time.AfterFunc(time.Duration(rnd.IntN(1500))*time.Microsecond, func() { cancel(why) })
		defer timer.Stop()
	case 1:
		gaveUp, most = true, int64(rnd.IntN(2000))
	case 2:
		gaveUp, closes = true, true
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return gaveUp, err
	}

	defer resp.Body.Close()
	if got := resp.Header.Get("X-Id"); got != id {
		t.Errorf("%s gets the answer to %q", id, got)
	}
	var closing sync.WaitGroup
	if closes {
		closing.Go(func() { resp.Body.Close() })
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	closing.Wait()
	line := id + "\n"
	for rest := string(body); rest != "" && rest != "\n"; rest = strings.TrimPrefix(rest, line) {
		if !strings.HasPrefix(rest, line) && !strings.HasPrefix(line, rest) {
			t.Errorf("%s gets a body with %.40q", id, rest)
			break
		}
		if len(rest) < len(line) {
			break
		}
	}
	if end := resp.Trailer.Get("X-End"); end != "" && end != id {
		t.Errorf("%s gets the trailer of %q", id, end)
	}
	return gaveUp, err
}
