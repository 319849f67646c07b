package tegenaria

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// PrivateAddressError is the failure of a request whose host has a special-purpose address: private,
// loopback, link-local, a cloud's metadata service and the like. Nothing was sent to it.
type PrivateAddressError struct {
	Host string     // as it was asked for
	Addr netip.Addr // what it stands for
}

// Error names host, address and remedy.
func (e *PrivateAddressError) Error() string {
	who := e.Addr.String()
	if e.Host != who {
		who = e.Host + " is at " + who + ", which"
	}
	return fmt.Sprintf("%s is no public address; Politeness.AllowPrivate allows it (%s/%d, say)", who, e.Addr, e.Addr.BitLen())
}

// dialGuard makes connections to public addresses only. It judges the addresses that are dialled, after all
// look-ups, so that no name can stand for one address when it is checked and for another one when
// it is used. Of a name that stands for both kinds it dials the public ones.
type dialGuard struct {
	dialer   net.Dialer
	resolver *httpx.Resolver
	allowed  []netip.Prefix
	loopback *loopbackSet
}

func newDialGuard(allowed []netip.Prefix, loopback *loopbackSet, timeout time.Duration) *dialGuard {
	g := &dialGuard{dialer: net.Dialer{Timeout: timeout}, resolver: new(httpx.Resolver), loopback: loopback}
	for _, p := range allowed {
		if p.Addr().Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		g.allowed = append(g.allowed, p)
	}
	return g
}

// dial connects to a host:port. If none of its addresses answers they are forgotten: the next one to ask
// looks the host up again.
func (g *dialGuard) dial(ctx context.Context, network, asked string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(asked)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	found, err := g.resolver.Resolve(ctx, host)
	lookedUp := time.Now()
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	addrs := make([]netip.Addr, 0, len(found))
	var refused error
	for _, addr := range found {
		if err := g.check(addr, asked); err == nil {
			addrs = append(addrs, addr)
		} else if refused == nil {
			refused = err
		}
	}
	if len(addrs) == 0 {
		return nil, refused
	}
	conn, err := httpx.Dial(ctx, addrs, func(ctx context.Context, addr netip.Addr) (net.Conn, error) {
		return g.dialer.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
	})
	if err != nil {
		if ctx.Err() == nil {
			g.resolver.Forget(host)
		}
		return nil, err
	}
	return &dialled{Conn: conn, lookup: lookedUp.Sub(began), connect: time.Since(lookedUp)}, nil
}

// check reports whether an address that stands for the asked host:port may be dialled.
func (g *dialGuard) check(addr netip.Addr, asked string) error {
	if g.mayDial(addr.WithZone(""), asked) {
		return nil
	}
	host, _, err := net.SplitHostPort(asked)
	if err != nil {
		host = asked
	}
	return &PrivateAddressError{Host: host, Addr: addr}
}

func (g *dialGuard) mayDial(addr netip.Addr, asked string) bool {
	addr = addr.Unmap()
	for _, p := range g.allowed {
		if p.Contains(addr) {
			return true
		}
	}
	if addr.IsLoopback() {
		return g.loopback != nil && g.loopback.has(asked)
	}
	if addr.Is4() {
		return !inAny(special4, addr)
	}
	if embedded := embedded4(addr); len(embedded) > 0 {
		for _, v4 := range embedded {
			if !g.mayDial(v4, asked) {
				return false
			}
		}
		return true
	}
	return global6.Contains(addr) && !inAny(special6, addr)
}

// checkLiteral judges a target that somebody else will look up and dial: only a host that says by itself
// that it is not public can be refused.
func (g *dialGuard) checkLiteral(host, asked string) error {
	if httpx.IsLocalhost(host) {
		return g.check(netip.AddrFrom4([4]byte{127, 0, 0, 1}), asked)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return nil
	}
	return g.check(addr, asked)
}

// What is not public, from the IANA special-purpose address registries (RFC 6890): private and shared
// networks, loopback, link-local and with it most metadata services, documentation, benchmarks,
// protocol assignments, multicast, reserved.
var (
	special4 = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32") // the platform address of Azure, public only by its number
	special6 = prefixes("2001::/23", "2001:db8::/32", "3fff::/20")
	global6  = netip.MustParsePrefix("2000::/3") // all that IANA has given out for use in public

	nat64  = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixTo4 = netip.MustParsePrefix("2002::/16")    // RFC 3056
	teredo = netip.MustParsePrefix("2001::/32")    // RFC 4380
)

// embedded4 returns the IPv4 addresses to which packets for an IPv6 address are forwarded by a translator
// or a tunnel.
func embedded4(addr netip.Addr) []netip.Addr {
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[12:]))}
	case sixTo4.Contains(addr):
		return []netip.Addr{netip.AddrFrom4([4]byte(b[2:6]))}
	case teredo.Contains(addr):
		client := [4]byte{^b[12], ^b[13], ^b[14], ^b[15]}
		return []netip.Addr{netip.AddrFrom4([4]byte(b[4:8])), netip.AddrFrom4(client)}
	}
	return nil
}

func prefixes(list ...string) []netip.Prefix {
	p := make([]netip.Prefix, len(list))
	for i, s := range list {
		p[i] = netip.MustParsePrefix(s)
	}
	return p
}

func inAny(list []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// loopbackSet holds the host:port pairs on this machine that seeds have named literally: these, and
// nothing else of it, may be asked. It may be used concurrently; the zero value is empty.
type loopbackSet struct {
	mu  sync.RWMutex // guards set
	set map[string]struct{}
}

// allow adds the host:port of an URL if its host is localhost, a name below it, or a loopback address, and reports
// whether it is.
func (s *loopbackSet) allow(rawURL string) bool {
	host := urlx.Hostname(rawURL)
	if !httpx.IsLocalhost(host) {
		addr, err := netip.ParseAddr(host)
		if err != nil || !addr.IsLoopback() {
			return false
		}
	}
	s.add(net.JoinHostPort(host, urlx.Port(rawURL)))
	return true
}

// loopbackKey is the one spelling of a host:port.
func loopbackKey(hostport string) string {
	hostport = strings.ToLower(hostport)
	if host, port, ok := strings.Cut(hostport, ".:"); ok {
		return host + ":" + port // without the dot of the DNS root
	}
	return hostport
}

// has reports whether a host:port was added.
func (s *loopbackSet) has(hostport string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.set[loopbackKey(hostport)]
	return ok
}

// list returns what was added, sorted.
func (s *loopbackSet) list() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Sorted(maps.Keys(s.set))
}

// add adds host:port pairs, as list returned them.
func (s *loopbackSet) add(hostports ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = make(map[string]struct{})
	}
	for _, hostport := range hostports {
		s.set[loopbackKey(hostport)] = struct{}{}
	}
}
