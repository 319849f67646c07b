package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/spidertest"
)

// proxy stands between a cache and its server, and cuts connections at random: before a message has reached the server,
// or after it has, so that nobody knows whether the server has done what it said. Then the server goes on without
// having noticed.
type proxy struct {
	listener net.Listener
	socket   string

	mu     sync.Mutex // guards the fields below
	random *rand.Rand
	armed  bool
	cuts   [2]int // before a message has arrived, after
	open   []net.Conn
}

// newProxy makes one for a server that listens at a socket, and returns how to connect to it.
func newProxy(t testing.TB, dsn string, seed uint64) (*proxy, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	folder, rest, _ := strings.Cut(strings.TrimPrefix(dsn, "host="), " ")
	p := &proxy{listener: listener, socket: folder + "/.s.PGSQL.5432", random: rand.New(rand.NewPCG(seed, 1))}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", p.socket)
			if err != nil {
				_ = client.Close()
				continue
			}
			p.mu.Lock()
			p.open = append(p.open, client, server)
			p.mu.Unlock()
			serving.Go(func() { p.forward(client, server) })
			serving.Go(func() { back(client, server) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.disarm()
		serving.Wait()
	})
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	return p, fmt.Sprintf("host=127.0.0.1 port=%s sslmode=disable %s", port, rest)
}

// forward copies messages to the server.
func (p *proxy) forward(client, server net.Conn) {
	defer client.Close()
	buf := make([]byte, 1<<20)
	for {
		n, err := client.Read(buf)
		if err != nil {
			_ = server.Close()
			return
		}
		before, after := p.pick()
		if before {
			_ = server.Close()
			return
		}
		if _, err := server.Write(buf[:n]); err != nil || after {
			return
		}
	}
}

// back copies what the server answers.
func back(client, server net.Conn) {
	buf := make([]byte, 1<<20)
	for {
		n, err := server.Read(buf)
		if err != nil {
			_ = client.Close()
			return
		}
		_, _ = client.Write(buf[:n]) // a client that is gone does not end the server
	}
}

// pick says at random whether a connection is cut now.
func (p *proxy) pick() (before, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.armed {
		return false, false
	}
	n := p.random.IntN(50)
	if n < 2 {
		p.cuts[n]++
	}
	return n == 0, n == 1
}

func (p *proxy) arm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = true
}

// disarm ends the cuts, and the connections of those that are gone.
func (p *proxy) disarm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	for _, conn := range p.open {
		_ = conn.Close()
	}
	p.open = nil
}

// The suite, with connections that are cut at random: each verdict stands, and each batch is written once.
func TestConformsWithCuts(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	p, dsn := newProxy(t, database(t), seed)
	var job string
	opened := func(t *testing.T) tegenaria.CacheInterface {
		p.disarm()
		c := open(t, dsn, job, cluster.Options{QueueBytes: 1})
		p.arm()
		return underTest{c}
	}
	spidertest.TestCache(t, spidertest.CacheHarness{
		Open: func(t *testing.T) tegenaria.CacheInterface {
			job = newJob()
			return opened(t)
		},
		Reopen: func(t *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
			closed(t, c.(underTest).Cache)
			return opened(t)
		},
		Crash: func(t *testing.T, c tegenaria.CacheInterface) tegenaria.CacheInterface {
			c.(underTest).Cache.Abandon()
			return opened(t)
		},
	})
	p.disarm() // a connection that is not quite gone counts no more
	t.Logf("cuts %v", p.cuts)
	if p.cuts[0] < 20 || p.cuts[1] < 20 {
		t.Errorf("too few cuts: %v", p.cuts)
	}
}
