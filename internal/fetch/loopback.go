package fetch

import (
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Loopback holds the host:port pairs on this machine that seeds have named literally: these, and
// nothing else of it, may be asked. It may be used concurrently; the zero value is empty.
type Loopback struct {
	Denied bool // it stays empty: nothing of this machine may be asked; not changed after the first use

	mu  sync.RWMutex // guards set
	set map[string]struct{}
}

// Allow adds the host:port of a URL if its host is localhost, a name below it, or a loopback address, and reports
// whether it has.
func (s *Loopback) Allow(rawURL string) bool {
	host := urlx.Hostname(rawURL)
	if !httpx.IsLocalhost(host) {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.IsLoopback() {
			return false
		}
	}
	s.Add(net.JoinHostPort(host, urlx.Port(rawURL)))
	return !s.Denied
}

// loopbackKey is the one spelling of a host:port.
func loopbackKey(hostport string) string {
	hostport = strings.ToLower(hostport)
	if host, port, ok := strings.Cut(hostport, ".:"); ok {
		return host + ":" + port // without the dot of the DNS root
	}
	return hostport
}

// Has reports whether a host:port was added.
func (s *Loopback) Has(hostport string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.set[loopbackKey(hostport)]
	return ok
}

// List returns the addresses that were added, sorted.
func (s *Loopback) List() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.set))
}

// Add adds host:port pairs, as List returned them.
func (s *Loopback) Add(hostports ...string) {
	if s.Denied {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = make(map[string]struct{})
	}
	for _, hostport := range hostports {
		s.set[loopbackKey(hostport)] = struct{}{}
	}
}
