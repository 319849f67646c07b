//go:build unix

package httpx

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// pipeConn is a connection on which nothing was said until something is written to its pipe.
type pipeConn struct {
	net.Conn
	in, out *os.File
	closed  atomic.Bool
}

func newPipeConn(t *testing.T) *pipeConn {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); out.Close() })
	return &pipeConn{in: in, out: out}
}

func (c *pipeConn) SyscallConn() (syscall.RawConn, error) { return c.in.SyscallConn() }

func (c *pipeConn) Close() error {
	c.closed.Store(true)
	c.out.Close()
	return c.in.Close()
}

// modelConn is what the model knows of a connection.
type modelConn struct {
	*transportConn
	pipe   *pipeConn
	since  time.Time
	bad    bool // something was said, or it has ended
	closed bool
}

// poolModel is what a transport's pool should be, as one list.
type poolModel struct {
	t       *testing.T
	rt      *Transport
	waiting []*modelConn // in the order in which they came
	all     []*modelConn
}

func (m *poolModel) drop(over func(*modelConn) bool) {
	m.waiting = slices.DeleteFunc(m.waiting, func(c *modelConn) bool {
		if over(c) {
			c.closed = true
			return true
		}
		return false
	})
}

func (m *poolModel) count(host string) (n int) {
	for _, c := range m.waiting {
		if c.host == host {
			n++
		}
	}
	return n
}

func (m *poolModel) keep(c *modelConn) {
	c.since = time.Now()
	switch {
	case m.rt.MaxIdle == 0, m.count(c.host) >= m.rt.MaxIdlePerHost:
		c.closed = true
	default:
		if len(m.waiting) == m.rt.MaxIdle {
			m.waiting[0].closed = true
			m.waiting = m.waiting[1:]
		}
		m.waiting = append(m.waiting, c)
	}
	m.rt.keep(c.transportConn)
}

// take takes connections until one is good. Nothing is written to the others.
func (m *poolModel) take(host string) *modelConn {
	for i := len(m.waiting) - 1; i >= 0; i-- {
		c := m.waiting[i]
		if c.host != host {
			continue
		}
		m.waiting = slices.Delete(m.waiting, i, i+1)
		if got := m.rt.take(host); got != c.transportConn {
			m.t.Errorf("take gives %p", got)
		}
		if !c.bad {
			return c
		}
		c.reused = true
		if n, err := c.Write([]byte("GET")); n != 0 || err != io.EOF {
			m.t.Errorf("Write to a connection that is over: %d, %v", n, err)
		}
		c.Close()
		c.closed = true
	}
	if got := m.rt.take(host); got != nil {
		m.t.Errorf("take gives %p", got)
	}
	return nil
}

// check compares all that can be seen of the pool with the model.
func (m *poolModel) check(after string) {
	m.t.Helper()
	rt := m.rt
	rt.mu.Lock()
	defer rt.mu.Unlock()
	c, before := rt.oldest, (*transportConn)(nil)
	tops, hosts := make(map[string]*transportConn), 0
	for i, want := range m.waiting {
		if c != want.transportConn || c.older != before || c.below != tops[c.host] || c.below != nil && c.below.above != c {
			m.t.Fatalf("after %s: the %dth that waits is wrong", after, i)
		}
		if tops[c.host] == nil {
			hosts++
		}
		tops[c.host] = c
		before, c = c, c.newer
	}
	if c != nil || rt.newest != before || rt.count != len(m.waiting) || len(rt.idle) != hosts {
		m.t.Fatalf("after %s: %d wait, of %d hosts; want %d, of %d", after, rt.count, len(rt.idle), len(m.waiting), hosts)
	}
	for host, top := range tops {
		if got := rt.idle[host]; got.top != top || top.above != nil || got.count != m.count(host) {
			m.t.Fatalf("after %s: %d wait for %s, want %d, or the last is another", after, got.count, host, m.count(host))
		}
	}
	for i, c := range m.all {
		if c.pipe.closed.Load() != c.closed {
			m.t.Fatalf("after %s: connection %d is closed: %v", after, i, !c.closed)
		}
	}
	if len(m.waiting) == 0 && rt.reaper != nil && rt.reaper.Stop() {
		m.t.Fatalf("after %s: the timer runs for nothing", after)
	}
}

// Random operations on the pool, in time that is not real, do what they do to a plain list.
func TestTransportPool(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	hosts := []string{"a", "b", "c", "d"}
	for range 25 {
		synctest.Test(t, func(t *testing.T) {
			m := &poolModel{t: t, rt: &Transport{MaxIdle: rnd.IntN(8), MaxIdlePerHost: rnd.IntN(5), IdleTimeout: time.Minute}}
			var free []*modelConn // in nobody's hands but ours
			for range 200 {
				what := ""
				switch op := rnd.IntN(20); {
				case op < 6:
					host := hosts[rnd.IntN(len(hosts))]
					pipe := newPipeConn(t)
					c := &modelConn{transportConn: &transportConn{Conn: pipe, transport: m.rt, host: host}, pipe: pipe}
					m.all = append(m.all, c)
					m.keep(c)
					what = "keep a new one for " + host
				case op < 9 && len(free) > 0:
					c := free[len(free)-1]
					free = free[:len(free)-1]
					m.keep(c)
					what = "keep one for " + c.host
				case op < 14:
					host := hosts[rnd.IntN(len(hosts))]
					if c := m.take(host); c != nil {
						free = append(free, c)
					}
					what = "take " + host
				case op < 16 && len(m.waiting) > 0:
					c := m.waiting[rnd.IntN(len(m.waiting))]
					if c.bad = true; rnd.IntN(2) > 0 {
						c.pipe.out.Write([]byte("x"))
						what = "something was said"
					} else {
						c.pipe.out.Close()
						what = "one has ended"
					}
				case op == 19 && rnd.IntN(8) == 0:
					m.drop(func(*modelConn) bool { return true })
					m.rt.CloseIdle()
					what = "CloseIdle"
				default:
					wait := time.Duration(rnd.IntN(50)) * time.Second
					<-time.NewTimer(wait).C
					synctest.Wait()
					m.drop(func(c *modelConn) bool { return time.Since(c.since) >= m.rt.IdleTimeout })
					what = fmt.Sprintf("a pause of %s", wait)
				}
				m.check(what)
			}
			m.drop(func(*modelConn) bool { return true })
			m.rt.Close()
			m.check("Close")
			for _, c := range free {
				c.closed = true
				m.rt.keep(c.transportConn)
			}
			m.check("keep after Close")
		})
	}
}
