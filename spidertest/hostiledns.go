package spidertest

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// HostileResolver is a name server whose answers change, as those of an attacker who points a name to a harmless address
// while it is checked, and to another one when it is dialled. It knows all names, and may be used concurrently.
//
// Code that looks names up by itself takes its LookupNetIP; what dials by name gets [HostileResolver.Resolver], for
// net.Dialer.Resolver say.
type HostileResolver struct {
	answers [][]netip.Addr
	running sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	lookups int
	conns   map[net.Conn]struct{}
}

// NewHostileResolver makes a resolver: the first look-up gets the first answer, and so on; the last answer stays.
// Addresses are of IPv4. It ends with the test.
func NewHostileResolver(t testing.TB, answers ...[]netip.Addr) *HostileResolver {
	r := &HostileResolver{answers: answers, conns: make(map[net.Conn]struct{})}
	t.Cleanup(r.close)
	return r
}

// Lookups returns how many look-ups have been answered.
func (r *HostileResolver) Lookups() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lookups
}

// LookupNetIP has the signature of net.Resolver's.
func (r *HostileResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return r.next(), nil
}

// next returns the answer of the next look-up.
func (r *HostileResolver) next() []netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := min(r.lookups, len(r.answers)-1)
	r.lookups++
	if i < 0 {
		return nil
	}
	return r.answers[i]
}

// Resolver returns a resolver that asks this name server, over pipes in memory.
func (r *HostileResolver) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		r.mu.Lock()
		r.conns[far] = struct{}{}
		r.mu.Unlock()
		r.running.Go(func() { r.serve(far) })
		return near, nil
	}}
}

func (r *HostileResolver) close() {
	r.mu.Lock()
	for conn := range r.conns {
		conn.Close()
	}
	r.mu.Unlock()
	r.running.Wait()
}

// serve answers the queries of a connection, which have their lengths before them as in TCP (RFC 1035 §4.2.2).
func (r *HostileResolver) serve(conn net.Conn) {
	defer func() {
		conn.Close()
		r.mu.Lock()
		delete(r.conns, conn)
		r.mu.Unlock()
	}()
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer, err := r.answer(query)
		if err != nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

var errNoQuestion = errors.New("no question")

func (r *HostileResolver) answer(query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	if len(m.Questions) == 0 {
		return nil, errNoQuestion
	}
	q := m.Questions[0]
	reply := dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true, RecursionDesired: true}, Questions: m.Questions[:1]}
	if q.Type == dnsmessage.TypeA {
		for _, addr := range r.next() {
			reply.Answers = append(reply.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body:   &dnsmessage.AResource{A: addr.As4()},
			})
		}
	}
	return reply.Pack()
}
