package tegenaria

import (
	"context"
	"net"
	"net/netip"

	"github.com/tegenaria/tegenaria/internal/fetch"
)

// Network is the way to the network that a run gives to a part that makes connections of its own, such as a downloader that
// drives a browser. A connection that it makes is checked like those of the engine's own downloader.
type Network interface {
	// Dial connects to a host:port; network is "tcp". It resolves the host with the engine's resolver and checks the addresses that
	// it is about to dial, after the look-up: special-purpose addresses are refused with a [*PrivateAddressError], except those of
	// Politeness.AllowPrivate and the loopback addresses that seeds have named. Limits.Connect bounds the attempt at each address,
	// and ctx bounds the whole call.
	//
	// The caller closes the connection. Those that are still open when the run is over are closed then, and Dial fails from
	// then on. It may be called concurrently. The engine does not count these connections, and no delay applies to them:
	// politeness is about requests, which the caller has from the engine.
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// NetworkUser is an optional interface of any registered part that makes connections of its own. UseNetwork is called once in each
// run, after Open if the part is an [Opener] too, and before the first request. It must not block. The Network is of no use
// after the run.
//
//	func (d *Downloader) UseNetwork(n tegenaria.Network) {
//		d.client.Transport = &http.Transport{DialContext: n.Dial}
//	}
type NetworkUser interface {
	UseNetwork(n Network)
}

// network is the Network of a run. Its connections are of the same guard as those of the engine's own downloader.
type network struct{ client *fetch.Client }

var _ Network = network{}

// Dial connects to a host:port.
func (n network) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" { // the guard answers for addresses that are dialled, and can do so for no other network
		return nil, &net.OpError{Op: "dial", Net: network, Err: net.UnknownNetworkError(network)}
	}
	return n.client.Dial(ctx, address)
}

// PrivateAddressError is the failure of a request whose host has a special-purpose address: private, loopback, link-local, that of
// a cloud's metadata service and so on. No connection was made to it.
//
//	Host string     // as it is in the URL
//	Addr netip.Addr // the address of the host
type PrivateAddressError = fetch.PrivateAddressError

// IsPublicAddr reports whether the default downloader dials an address without permission by
// Politeness.AllowPrivate: the address is a unicast address of the public internet, outside the special-purpose ranges of
// the IANA registries (RFC 6890); and if it is an IPv6 address that a translator or tunnel forwards to an
// IPv4 address, that address is public too. An invalid address is not public. It is for programs with their own http.Client
// (EngineWithHTTPClient), whose dialer has to check the addresses that it dials.
func IsPublicAddr(addr netip.Addr) bool {
	return fetch.IsPublic(addr)
}
