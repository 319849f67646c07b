package tegenaria

import "net/netip"

// IsPublicAddr tells whether an address is one that the default downloader dials without being allowed to by
// Politeness.AllowPrivate: a unicast address of the public internet, none of the special-purpose ranges of
// the IANA registries (RFC 6890), and, for an IPv6 address that a translator or tunnel forwards to an
// IPv4 one, that one public too. An invalid address is not public. For those who bring an http.Client of their own
// (EngineWithHTTPClient): its dialer has to judge what it dials.
func IsPublicAddr(addr netip.Addr) bool {
	return addr.IsValid() && new(dialGuard).mayDial(addr.WithZone(""), "")
}
