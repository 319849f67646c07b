package fetch

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// dialGuard makes connections to public addresses only. It judges the addresses that are dialled, after all
// look-ups, so that no name can stand for one address when it is checked and for another one when
// it is used. Of a name that stands for both kinds it dials the public ones.
type dialGuard struct {
	dialer   net.Dialer
	resolver *httpx.Resolver
	allowed  []netip.Prefix
	loopback *Loopback
}

func newDialGuard(allowed []netip.Prefix, loopback *Loopback, timeout time.Duration) *dialGuard {
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
	enter(ctx, StepLookup)
	began := time.Now()
	found, err := g.resolver.Resolve(ctx, host)
	lookedUp := time.Now()
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	enter(ctx, StepConnect)
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
	denied := g.loopback != nil && g.loopback.Denied && addr.Unmap().IsLoopback()
	return &PrivateAddressError{Host: host, Addr: addr, denied: denied}
}

func (g *dialGuard) mayDial(addr netip.Addr, asked string) bool {
	addr = addr.Unmap()
	for _, p := range g.allowed {
		if p.Contains(addr) {
			return true
		}
	}
	if addr.IsLoopback() {
		return g.loopback != nil && g.loopback.Has(asked)
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

// checkLiteral judges a target that a proxy will look up and dial: only a host that is written as an address that is not
// public can be refused.
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

// first returns the address of a URL's host that is dialled first, which is where most connections lead.
func (g *dialGuard) first(ctx context.Context, rawURL string) (netip.Addr, bool) {
	host := urlx.Hostname(rawURL)
	asked := net.JoinHostPort(host, urlx.Port(rawURL))
	addrs, err := g.resolver.Resolve(ctx, host)
	if err != nil {
		return netip.Addr{}, false
	}
	for _, addr := range addrs {
		if g.check(addr, asked) == nil {
			return addr.Unmap(), true
		}
	}
	return netip.Addr{}, false
}

// IsPublic reports whether an address is dialled without being allowed: a unicast address of the public internet, none
// of the special-purpose ranges of the IANA registries (RFC 6890), and, for an IPv6 address that a translator or tunnel
// forwards to an IPv4 one, that one public too. An invalid address is not public.
func IsPublic(addr netip.Addr) bool {
	return addr.IsValid() && new(dialGuard).mayDial(addr.WithZone(""), "")
}

// The addresses that are not public, from the IANA special-purpose address registries (RFC 6890): private and shared
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
