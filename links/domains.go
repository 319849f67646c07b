package links

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// domains are host names that stand for themselves and what is below them.
type domains []string

// mustDomains normalises names as hosts of URLs are normalised.
func mustDomains(names []string) domains {
	list := make(domains, 0, len(names))
	for _, name := range names {
		host := urlx.WithoutDot(urlx.Hostname("http://" + strings.TrimPrefix(name, ".") + "/"))
		if host == "" || strings.ContainsAny(name, "/@?#*:") {
			panic(fmt.Sprintf(`links: %q is no domain; write "example.com", which includes what is below it`, name))
		}
		list = append(list, host)
	}
	return list
}

// match reports whether a host is one of the domains or below one.
func (d domains) match(host []byte) bool {
	for _, domain := range d {
		rest := len(host) - len(domain)
		if rest >= 0 && string(host[rest:]) == domain && (rest == 0 || host[rest-1] == '.') {
			return true
		}
	}
	return false
}

// hostOf returns the host of a serialised http or https URL.
func hostOf(url []byte) []byte {
	_, rest, _ := bytes.Cut(url, []byte("//"))
	if i := bytes.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	rest = rest[bytes.LastIndexByte(rest, '@')+1:]
	if i := bytes.LastIndexByte(rest, ':'); i >= 0 && i > bytes.LastIndexByte(rest, ']') {
		rest = rest[:i]
	}
	return urlx.WithoutDot(rest)
}
