//go:build linux

package cluster_test

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// faultProxy stands between one worker and the database, which may be another one from now on. It does something at the
// moment when a message passes that has a certain text, and may cut the connection.
type faultProxy struct {
	dsn string

	mu     sync.Mutex // guards the fields below
	socket string
	open   map[net.Conn]bool
	armed  *moment
}

// moment is when something is to be done.
type moment struct {
	text   string // of a message of the worker
	answer bool   // when the database has answered it, and before the worker knows that; otherwise before it reaches the database
	do     func() (cut bool)
}

func newFaultProxy(t *testing.T, socket, rest string) *faultProxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	// In this mode each message has the text of its statements.
	p := &faultProxy{dsn: fmt.Sprintf("host=127.0.0.1 port=%s sslmode=disable default_query_exec_mode=cache_describe %s", port, rest), open: make(map[net.Conn]bool)}
	p.lead(socket)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.lead("")
		serving.Wait()
	})
	return p
}

// lead has the connections from now on lead to this database, and breaks the others.
func (p *faultProxy) lead(socket string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.socket = socket
	for conn := range p.open {
		_ = conn.Close()
	}
}

// arm has something done at a moment; nil: nothing.
func (p *faultProxy) arm(m *moment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = m
}

// take returns what is to be done now, if a message has its text.
func (p *faultProxy) take(message []byte) *moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.armed
	if m == nil || !bytes.Contains(message, []byte(m.text)) {
		return nil
	}
	p.armed = nil
	return m
}

// serve copies what a worker and the database send each other.
func (p *faultProxy) serve(client net.Conn) {
	defer client.Close()
	p.mu.Lock()
	server, err := net.Dial("unix", p.socket)
	if err == nil {
		p.open[client], p.open[server] = true, true
	}
	p.mu.Unlock()
	if err != nil {
		return
	}
	answers := make(chan *moment, 1)
	var answering sync.WaitGroup
	answering.Go(func() {
		defer client.Close()
		buf := make([]byte, 1<<20)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			select {
			case m := <-answers:
				if m.do() {
					return
				}
			default:
			}
			_, _ = client.Write(buf[:n]) // a worker that is gone does not end what the database does
		}
	})
	p.ask(client, server, answers)
	_ = server.Close()
	answering.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, client)
	delete(p.open, server)
}

// ask copies what a worker sends.
func (p *faultProxy) ask(client, server net.Conn, answers chan<- *moment) {
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		m := p.take(buf[:n])
		switch {
		case m == nil:
		case m.answer:
			answers <- m
		case m.do():
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// socketOf returns the socket of a server, and the rest of how to connect to it.
func socketOf(dsn string) (socket, rest string) {
	folder, rest, _ := strings.Cut(strings.TrimPrefix(dsn, "host="), " ")
	return folder + "/.s.PGSQL.5432", rest
}
