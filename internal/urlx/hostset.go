package urlx

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// HostSet is a set of hosts with their sub-domains, and of hosts at one port. The nil set has all. It may be used
// concurrently once it is complete.
type HostSet struct {
	hosts map[string]bool // "example.com" allows a.example.com too
	ports map[string]bool // "example.com:8080" allows that port alone
}

// NewHostSet returns an empty set.
func NewHostSet() *HostSet {
	return &HostSet{hosts: make(map[string]bool), ports: make(map[string]bool)}
}

// Add adds a host as people write it: "example.com" with its sub-domains, or "example.com:8080" at that port alone.
func (s *HostSet) Add(domain string) error {
	host, port, err := net.SplitHostPort(domain)
	if err != nil {
		host, port = strings.Trim(domain, "[]"), ""
	}
	literal := host
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		literal = "[" + addr.String() + "]"
	}
	normal, err := Parse("http://" + strings.TrimPrefix(literal, "."))
	if err != nil || strings.ContainsAny(domain, "/@?#*") || Hostname(normal) == "" {
		return fmt.Errorf("%q is no host; write \"example.com\", which includes its sub-domains, or \"example.com:8080\"", Redact(domain))
	}
	host = WithoutDot(Hostname(normal))
	if port != "" {
		s.ports[net.JoinHostPort(host, port)] = true
	} else {
		s.hosts[host] = true
	}
	return nil
}

// HasPlain is Has for a URL in a buffer.
func (s *HostSet) HasPlain(host string, url []byte) bool {
	if s != nil && len(s.ports) == 0 {
		return s.Has(host, "")
	}
	return s == nil || s.Has(host, string(url))
}

// Has reports whether the host of a URL, as [AskedHost] returns it, is in the set, or a sub-domain of one that is.
func (s *HostSet) Has(host, url string) bool {
	if s == nil {
		return true
	}
	if len(s.ports) > 0 && s.ports[net.JoinHostPort(host, Port(url))] {
		return true
	}
	if s.hosts[host] {
		return true
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	for rest := host; ; {
		_, after, ok := strings.Cut(rest, ".")
		if !ok {
			return false
		}
		if s.hosts[after] {
			return true
		}
		rest = after
	}
}
