package urlx

import "strings"

// CutFragment splits a URL at its first #. The fragment comes without it.
func CutFragment(abs string) (url, fragment string) {
	url, fragment, _ = strings.Cut(abs, "#")
	return url, fragment
}

// Scheme returns the scheme in lower case without colon, "" if abs is not an absolute URL.
func Scheme(abs string) string {
	p, _ := split(abs)
	return p.scheme
}

// Hostname returns the host in lower case, without port and without the brackets of an IPv6
// address; "" if abs is not an absolute URL or has no host.
func Hostname(abs string) string {
	p, _ := split(abs)
	return strings.TrimSuffix(strings.TrimPrefix(p.host, "["), "]")
}

// Port returns the port in force: the URL's own or its scheme's default ("80" for http, "443" for
// https); "" if there is none.
func Port(abs string) string {
	p, _ := split(abs)
	if p.port != "" {
		return p.port
	}
	switch p.scheme {
	case "http", "ws":
		return "80"
	case "https", "wss":
		return "443"
	case "ftp":
		return "21"
	}
	return ""
}

// Origin returns scheme://host, with the port unless it is the scheme's default; "" if abs is not
// an absolute URL or has no host. An IPv6 address has its brackets.
func Origin(abs string) string {
	p, url := split(abs)
	if p.host == "" {
		return ""
	}
	if p.userinfo == "" {
		return url[:p.path]
	}
	origin := p.scheme + "://" + p.host
	if p.port != "" {
		origin += ":" + p.port
	}
	return origin
}

// Path returns path and query as an http client sends them, at least "/"; "" if abs is not an
// absolute URL.
func Path(abs string) string {
	url, err := Parse(abs)
	if err != nil {
		return ""
	}
	p := splitNormal(url)
	path, _ := CutFragment(url[p.path:])
	if path == "" || path[0] == '?' {
		return "/" + path
	}
	return path
}

// parts is a serialised URL taken apart.
type parts struct {
	scheme   string
	userinfo string
	host     string // with the brackets of an IPv6 address
	port     string // "" if the scheme's default
	path     int    // where the path starts
}

// split takes abs apart, after parsing it if need be, and returns what was taken apart. The parts
// are empty when abs is not an absolute URL.
func split(abs string) (parts, string) {
	if plainAuthority(abs) {
		return splitNormal(abs), abs
	}
	url, err := Parse(abs)
	if err != nil {
		return parts{}, ""
	}
	return splitNormal(url), url
}

// plainAuthority reports whether abs is an http(s) URL whose authority is surely serialised already:
// what comes behind it need not be looked at.
func plainAuthority(abs string) bool {
	http, https := webScheme(abs)
	if !http {
		return false
	}
	host := len("http://")
	if https {
		host++
	}
	if len(abs) < host || abs[host-2:host] != "//" {
		return false
	}
	// A host of plain bytes in lower case parses to itself, unless its last label is a number: a
	// letter in front settles that, and other hosts may take the long way.
	prev, label := byte('.'), byte('.')
	for i := host; i < len(abs); i++ {
		c := abs[i]
		if c == '/' || c == '?' || c == '#' {
			return i > host && isAlpha(label)
		}
		if hostBytes[c] != c {
			return false
		}
		if prev == '.' {
			label = c
		}
		prev = c
	}
	return len(abs) > host && isAlpha(label)
}

// splitNormal takes a serialised URL apart.
func splitNormal(url string) (p parts) {
	n := schemeLen(url)
	if n == 0 {
		return p
	}
	p.scheme, p.path = url[:n], n+1
	if !strings.HasPrefix(url[n+1:], "//") {
		return p
	}
	start := n + len("://")
	p.path = start
	for p.path < len(url) && url[p.path] != '/' && url[p.path] != '?' && url[p.path] != '#' {
		p.path++
	}
	authority := url[start:p.path]
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		p.userinfo, authority = authority[:i], authority[i+1:]
	}
	p.host = authority
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		p.host, p.port = authority[:i], authority[i+1:]
	}
	return p
}

// PlainHost returns the host of a resolved http or https URL, without port and credentials, as a part of url where that can
// be; nil for other URLs.
func PlainHost(url []byte) []byte {
	var rest []byte
	switch {
	case len(url) > 7 && string(url[:7]) == "http://":
		rest = url[7:]
	case len(url) > 8 && string(url[:8]) == "https://":
		rest = url[8:]
	default:
		return nil
	}
	end := len(rest)
	for i, b := range rest {
		switch b {
		case '@', '[':
			return []byte(Hostname(string(url)))
		case ':': // of a port, unless an @ follows
			end = min(end, i)
		case '/', '?':
			return rest[:min(end, i)]
		}
	}
	return rest[:end]
}

// IsAddress reports whether a host is an IP address, as the URL standard serialises it: the last label of a name is no
// number.
func IsAddress(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Trim(last, "0123456789") == "" || strings.Contains(host, ":")
}
