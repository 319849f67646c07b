package tegenaria

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// domainSet is EngineWithAllowedDomains: hosts with their sub-domains, and hosts at one port.
type domainSet struct {
	hosts map[string]bool // "example.com" allows a.example.com too
	ports map[string]bool // "example.com:8080" allows that port alone
}

// newDomainSet reads the domains; nil if there are none, which allows all.
func newDomainSet(domains []string) (*domainSet, error) {
	if len(domains) == 0 {
		return nil, nil
	}
	s := &domainSet{hosts: make(map[string]bool), ports: make(map[string]bool)}
	var errs []error
	for _, d := range domains {
		errs = append(errs, s.add(d))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *domainSet) add(domain string) error {
	host, port, err := net.SplitHostPort(domain)
	if err != nil {
		host, port = strings.Trim(domain, "[]"), ""
	}
	literal := host
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() {
		literal = "[" + addr.String() + "]"
	}
	normal, err := urlx.Parse("http://" + strings.TrimPrefix(literal, "."))
	if err != nil || strings.ContainsAny(domain, "/@?#*") || urlx.Hostname(normal) == "" {
		return fmt.Errorf("EngineWithAllowedDomains: %q is no host; write \"example.com\", which includes its sub-domains, or \"example.com:8080\"", redact(domain))
	}
	host = urlx.Hostname(normal)
	if port != "" {
		s.ports[net.JoinHostPort(host, port)] = true
	} else {
		s.hosts[host] = true
	}
	return nil
}

// allowPlain is allow for a URL in a buffer.
func (s *domainSet) allowPlain(host string, url []byte) bool {
	if s != nil && len(s.ports) == 0 {
		return s.allow(host, "")
	}
	return s == nil || s.allow(host, string(url))
}

// allow tells whether an URL's host is one of the domains or below one.
func (s *domainSet) allow(host, url string) bool {
	if s == nil {
		return true
	}
	if len(s.ports) > 0 && s.ports[net.JoinHostPort(host, urlx.Port(url))] {
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
