package cookiejar

import (
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// The bounds of RFC 6265bis §5.6 on one cookie.
const (
	maxCookieBytes    = 4096 // of name and value
	maxAttributeBytes = 1024
	maxCookieAge      = 400 * 24 * time.Hour
)

// Origin is the part of a URL that matters to cookies.
type Origin struct {
	Host   string // lower case, ASCII, without port and brackets
	Path   string // as sent, without query
	Secure bool   // https
}

// OriginOf takes a URL apart; ok reports whether it is http or https.
func OriginOf(url string) (o Origin, ok bool) {
	scheme := urlx.Scheme(url)
	if scheme != "http" && scheme != "https" {
		return o, false
	}
	o.Host, o.Secure = urlx.Hostname(url), scheme == "https"
	o.Path, _, _ = strings.Cut(urlx.Path(url), "?")
	return o, o.Host != ""
}

// defaultPath is the directory of the path (RFC 6265 §5.1.4).
func defaultPath(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 && path[0] == '/' {
		return path[:i]
	}
	return "/"
}

// ParseSetCookie reads a Set-Cookie header that came from an origin, by RFC 6265 §5.2 and §5.3 with the bounds, prefixes and
// the care for secure cookies of RFC 6265bis; ok is false for a cookie that is to be ignored. A cookie that is to be
// deleted has an Expires that has passed.
func ParseSetCookie(header string, from Origin, now time.Time) (c Cookie, ok bool) {
	pair, attributes, _ := strings.Cut(header, ";")
	if strings.ContainsFunc(header, isControl) {
		return c, false
	}
	name, value, hasValue := strings.Cut(pair, "=")
	c.Name, c.Value = trimBlank(name), trimBlank(value)
	if !hasValue || c.Name == "" || len(c.Name)+len(c.Value) > maxCookieBytes {
		return c, false
	}
	var path string
	maxAge, hasMaxAge := time.Duration(0), false
	for attributes != "" {
		var attribute string
		attribute, attributes, _ = strings.Cut(attributes, ";")
		name, value, _ := strings.Cut(attribute, "=")
		if name, value = trimBlank(name), trimBlank(value); len(value) > maxAttributeBytes {
			continue
		}
		switch {
		case strings.EqualFold(name, "Expires"):
			if date, ok := ParseDate(value); ok {
				c.Expires = date
			}
		case strings.EqualFold(name, "Max-Age"):
			if age, ok := parseMaxAge(value); ok {
				maxAge, hasMaxAge = age, true
			}
		case strings.EqualFold(name, "Domain"):
			if value != "" {
				c.Domain = strings.ToLower(strings.TrimPrefix(value, "."))
			}
		case strings.EqualFold(name, "Path"):
			path = value
		case strings.EqualFold(name, "Secure"):
			c.Secure = true
		case strings.EqualFold(name, "HttpOnly"):
			c.HTTPOnly = true
		case strings.EqualFold(name, "SameSite"):
			c.SameSite = sameSite(value)
		}
	}
	if hasMaxAge {
		c.Expires = now.Add(maxAge)
	}
	if latest := now.Add(maxCookieAge); c.Expires.After(latest) {
		c.Expires = latest
	}
	c.Expires = c.Expires.UTC().Round(0) // by the wall clock: a computer may sleep
	if c.Path = path; path == "" || path[0] != '/' {
		c.Path = defaultPath(from.Path)
	}
	if !c.settleDomain(from.Host) || c.Secure && !from.Secure {
		return c, false
	}
	return c, c.prefixHolds(path)
}

// settleDomain decides which hosts a cookie from host goes to. It returns false if it goes to none.
func (c *Cookie) settleDomain(host string) bool {
	c.HostOnly = c.Domain == ""
	if !c.HostOnly && isPublicSuffix(c.Domain) {
		c.HostOnly = true
		if c.Domain != host {
			return false
		}
	}
	if c.HostOnly {
		c.Domain = host
		return true
	}
	return domainMatches(host, c.Domain)
}

// prefixHolds reports whether a cookie keeps what its name promises (RFC 6265bis §4.1.3). path is the attribute as it
// was written.
func (c *Cookie) prefixHolds(path string) bool {
	switch {
	case hasPrefixFold(c.Name, "__Secure-"):
		return c.Secure
	case hasPrefixFold(c.Name, "__Host-"):
		return c.Secure && c.HostOnly && path == "/"
	}
	return true
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// isControl reports whether a byte makes a cookie void (RFC 6265bis §5.6 step 1).
func isControl(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }

func trimBlank(s string) string { return strings.Trim(s, " \t") }

// parseMaxAge reads a Max-Age (RFC 6265 §5.2.2). A number that is not positive ends the cookie at once.
func parseMaxAge(s string) (age time.Duration, ok bool) {
	unsigned := strings.TrimPrefix(s, "-")
	if unsigned == "" || strings.Trim(unsigned, "0123456789") != "" {
		return 0, false
	}
	seconds, err := strconv.ParseInt(s, 10, 64)
	switch {
	case err == nil && seconds <= 0, s[0] == '-':
		return -1, true
	case err != nil || seconds > math.MaxInt64/int64(time.Second):
		return math.MaxInt64, true
	}
	return min(time.Duration(seconds)*time.Second, maxCookieAge), true
}

func sameSite(s string) string {
	for _, known := range [...]string{"Strict", "Lax", "None"} {
		if strings.EqualFold(s, known) {
			return known
		}
	}
	return ""
}

// isPublicSuffix reports whether anybody can register names below domain (https://publicsuffix.org, private section
// included). A last label that the list does not know counts as one.
func isPublicSuffix(domain string) bool {
	suffix, _ := publicsuffix.PublicSuffix(domain)
	return suffix == domain
}

// domainMatches is RFC 6265 §5.1.3.
func domainMatches(host, domain string) bool {
	if host == domain {
		return true
	}
	return len(host) > len(domain) && strings.HasSuffix(host, domain) && host[len(host)-len(domain)-1] == '.' && !urlx.IsAddress(host)
}

// pathMatches is RFC 6265 §5.1.4.
func pathMatches(path, of string) bool {
	if !strings.HasPrefix(path, of) {
		return false
	}
	return len(path) == len(of) || of[len(of)-1] == '/' || path[len(of)] == '/'
}
