package urlx

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// domainProfile maps international names as the URL standard does (§3.3), but takes names as lenient
// as DNS does.
var domainProfile = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(false),
	idna.CheckHyphens(false),
	idna.VerifyDNSLength(false),
)

// RegistrableDomain returns the part of a host name that someone registered: the public suffix, by
// the list at https://publicsuffix.org with its private section, plus one label. It is in lower
// case and ASCII, without a trailing dot. A host that has none is itself: an IP address, localhost,
// a bare suffix, a name that is not valid. The host comes without port; brackets go.
//
// The list is the one built into golang.org/x/net/publicsuffix.
func RegistrableDomain(host string) string {
	host = asciiHost(strings.TrimSuffix(host, "."))
	if isIP(host) {
		return host
	}
	suffix, _ := publicsuffix.PublicSuffix(host)
	rest := len(host) - len(suffix) - 1
	if rest <= 0 || host[rest] != '.' || host[0] == '.' || strings.Contains(host, "..") {
		return host
	}
	return host[strings.LastIndexByte(host[:rest], '.')+1:]
}

// asciiHost returns host in lower case and ASCII, without the brackets of an IPv6 address.
func asciiHost(host string) string {
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		host = host[1 : len(host)-1]
	}
	for i := range len(host) {
		if host[i] >= 0x80 {
			if ascii, err := domainProfile.ToASCII(host); err == nil {
				return ascii
			}
			break
		}
	}
	return strings.ToLower(host)
}

// isIP reports whether host is an IP address. It looks before it parses, because errors cost.
func isIP(host string) bool {
	if host == "" || !isDigit(host[len(host)-1]) && strings.IndexByte(host, ':') < 0 {
		return false
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}
