package crawl

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Guard keeps the crawler out of private networks: what is found there could end in a public index.
//
// The address that is dialled is judged, after all look-ups and for every redirect: a name that stands for a
// public address when it is checked and for a private one when it is used gains nothing. [Guard.Permits]
// refuses by the URL alone what says by itself that it is not public.
//
// A URL that whoever runs the crawler has named, and that is literally on a loopback address or localhost, is
// trusted, with its port and nothing else of this machine. A link that is found or submitted never is.
// A Guard does not change and may be used concurrently; nil trusts nothing.
type Guard struct {
	trusted []string // host:port
	urls    []string // with these, as they were given
}

// NewGuard returns a guard that trusts these URLs, as far as they are on loopback.
func NewGuard(trusted ...string) *Guard {
	g := new(Guard)
	for _, url := range trusted {
		if addr, known := literal(urlx.Hostname(url)); known && addr.IsLoopback() {
			g.trusted = append(g.trusted, hostPort(url))
			g.urls = append(g.urls, url)
		}
	}
	return g
}

func hostPort(url string) string { return net.JoinHostPort(urlx.Hostname(url), urlx.Port(url)) }

// literal returns the address that a host stands for without a look-up.
func literal(host string) (netip.Addr, bool) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761, section 6.3
		return netip.AddrFrom4([4]byte{127, 0, 0, 1}), true
	}
	addr, err := netip.ParseAddr(host)
	return addr, err == nil
}

// Permits reports whether a URL may be asked for, by itself: whether it is http or https, and not on an address
// that is private, unless trusted. A name may still turn out to be private when it is dialled.
func (g *Guard) Permits(url string) bool {
	if scheme := urlx.Scheme(url); scheme != "http" && scheme != "https" {
		return false
	}
	host := urlx.Hostname(url)
	addr, known := literal(host)
	return host != "" && (!known || g.may(addr, hostPort(url)))
}

// may reports whether an address may be dialled for a host:port that was asked for.
func (g *Guard) may(addr netip.Addr, asked string) bool {
	if tegenaria.IsPublicAddr(addr) {
		return true
	}
	return g != nil && addr.Unmap().IsLoopback() && slices.Contains(g.trusted, strings.ToLower(asked))
}

// Trusted returns the URLs that the guard trusts.
func (g *Guard) Trusted() []string {
	if g == nil {
		return nil
	}
	return slices.Clone(g.urls)
}

// PrivateAddressError says that a host turned out to be at an address that must not be dialled.
type PrivateAddressError struct {
	Host string // host:port, as it was asked for
	Addr netip.Addr
}

func (e *PrivateAddressError) Error() string {
	return fmt.Sprintf("%s is at the private address %s", e.Host, e.Addr)
}

// DialContext is for an http.Transport.
func (g *Guard) DialContext(ctx context.Context, network, asked string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if !g.may(at.Addr(), asked) {
			return &PrivateAddressError{Host: asked, Addr: at.Addr()}
		}
		return nil
	}}
	return dialer.DialContext(ctx, network, asked)
}
