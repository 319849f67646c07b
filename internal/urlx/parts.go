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
	return p.hostname()
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

// MachineOrigin is [Origin] without a dot at the end of the host: see [WithoutDot].
func MachineOrigin(abs string) string {
	origin := Origin(abs)
	p, _ := split(origin)
	host := WithoutDot(p.host)
	if len(host) == len(p.host) {
		return origin
	}
	return strings.Replace(origin, p.host, host, 1)
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

// hostname is the host without brackets.
func (p *parts) hostname() string { return strings.TrimSuffix(strings.TrimPrefix(p.host, "["), "]") }

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
	_, plain := plainSite(abs)
	return plain
}

// Site returns the beginning of an http or https URL up to its path, with the slash: all URLs that begin with the same one have
// the same scheme, host and port. It is "" for a URL that would have to be parsed for it.
func Site(abs string) string {
	if end, plain := plainSite(abs); plain && end < len(abs) && abs[end] == '/' {
		return abs[:end+1]
	}
	return ""
}

// plainSite returns where the authority of abs ends, and whether [plainAuthority] is true.
func plainSite(abs string) (end int, plain bool) {
	http, https := webScheme(abs)
	if !http {
		return 0, false
	}
	host := len("http://")
	if https {
		host++
	}
	if len(abs) < host || abs[host-2:host] != "//" {
		return 0, false
	}
	end = host
	for end < len(abs) && abs[end] != 0 && hostBytes[abs[end]] == abs[end] { // what a host may not have is 0 there
		end++
	}
	if !plainHostname(abs[host:end]) {
		return 0, false
	}
	if end < len(abs) && abs[end] == ':' {
		if end, plain = plainPort(abs, end+1, https); !plain {
			return 0, false
		}
	}
	return end, end == len(abs) || abs[end] == '/' || abs[end] == '?' || abs[end] == '#'
}

// isSerialised reports whether abs is an http(s) URL without a fragment that surely parses to itself.
func isSerialised(abs string) bool {
	i, plain := plainSite(abs)
	if !plain || i == len(abs) || abs[i] != '/' {
		return false
	}
	for ; i < len(abs); i++ {
		switch c := abs[i]; {
		case c == '/':
			if i+1 < len(abs) && abs[i+1] == '.' {
				return false // maybe a dot segment, as with %2e
			}
		case c == '?':
			for i++; i < len(abs); i++ {
				if stops[abs[i]]&stopQuery != 0 {
					return false
				}
			}
		case stops[c]&stopPath != 0 || c == '%':
			return false
		}
	}
	return true
}

// plainHostname reports whether a host of plain bytes in lower case surely parses to itself: a name does, unless its last label
// is a number, and so does an IPv4 address in its usual form.
func plainHostname(host string) bool {
	last := host[strings.LastIndexByte(strings.TrimSuffix(host, "."), '.')+1:]
	return last != "" && (isAlpha(last[0]) || isIPv4(host))
}

// plainPort returns where the port that begins at start ends, and whether it is written as the URL standard serialises it.
func plainPort(abs string, start int, https bool) (end int, plain bool) {
	port := 0
	for end = start; end < len(abs) && isDigit(abs[end]) && end-start < len("65535"); end++ {
		port = 10*port + int(abs[end]-'0')
	}
	usual := 80
	if https {
		usual = 443
	}
	return end, end > start && abs[start] != '0' && port <= 65535 && port != usual
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

// WithoutDot returns a host without the dot that ends a full name of DNS: example.com. is the machine example.com.
func WithoutDot[S []byte | string](host S) S {
	if n := len(host) - 1; n > 0 && host[n] == '.' {
		return host[:n]
	}
	return host
}

// IsAddress reports whether a host is an IP address, as the URL standard serialises it: the last label of a name is no
// number.
func IsAddress(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return strings.Trim(last, "0123456789") == "" || strings.Contains(host, ":")
}
