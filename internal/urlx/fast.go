package urlx

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// appendFast is appendURL for ordinary references. It says false when the reference is not for it,
// whatever it then has appended; it never decides that a reference is invalid.
func appendFast(dst []byte, b *Base, ref string, fragment bool) ([]byte, bool) {
	start := len(dst)
	for len(ref) > 0 && ref[0] <= ' ' {
		ref = ref[1:]
	}
	for len(ref) > 0 && ref[len(ref)-1] <= ' ' {
		ref = ref[:len(ref)-1]
	}
	if i := schemeLen(ref); i > 0 {
		if isSerialised(ref) {
			return append(dst, ref...), true
		}
		return appendAbsolute(dst, ref, i, fragment)
	}
	if b == nil || !b.http {
		return dst, false
	}

	var ok bool
	switch {
	case ref == "":
		return append(dst, b.href[:b.end]...), true
	case ref[0] == '#':
		return appendTail(append(dst, b.href[:b.end]...), ref, fragment)
	case ref[0] == '?':
		return appendTail(append(dst, b.href[:b.pathEnd]...), ref, fragment)
	case strings.HasPrefix(ref, "//"):
		scheme := "http://"
		if b.https {
			scheme = "https://"
		}
		return appendAuthority(append(dst, scheme...), ref[2:], b.https, fragment)
	case ref[0] == '/':
		dst = append(dst, b.href[:b.path]...)
		dst, ref, ok = appendPath(append(dst, '/'), len(dst), ref[1:])
	default:
		dst, ref, ok = appendPath(append(dst, b.href[:b.dir]...), start+b.path, ref)
	}
	if !ok {
		return dst, false
	}
	return appendTail(dst, ref, fragment)
}

// schemeLen returns the length of the scheme that s starts with, 0 if none.
func schemeLen(s string) int {
	if s == "" || !isAlpha(s[0]) {
		return 0
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == ':':
			return i
		case !isAlpha(c) && !isDigit(c) && c != '+' && c != '-' && c != '.':
			return 0
		}
	}
	return 0
}

// webScheme reports whether s starts with http: or https:, in lower case.
func webScheme(s string) (http, https bool) {
	if strings.HasPrefix(s, "https:") {
		return true, true
	}
	return strings.HasPrefix(s, "http:"), false
}

// appendAbsolute appends the URL s, whose scheme has n bytes.
func appendAbsolute(dst []byte, s string, n int, fragment bool) ([]byte, bool) {
	start := len(dst)
	dst = append(dst, s[:n]...)
	scheme, rest := dst[start:], s[n+1:]
	for i, c := range scheme {
		if 'A' <= c && c <= 'Z' {
			scheme[i] = c | 0x20
		}
	}
	https := string(scheme) == "https"
	if https || string(scheme) == "http" {
		// With fewer slashes the URL may be relative (§4.4, scheme state), with more they go.
		if !strings.HasPrefix(rest, "//") {
			return dst, false
		}
		return appendAuthority(append(dst, "://"...), rest[2:], https, fragment)
	}
	switch string(scheme) {
	case "ftp", "file", "ws", "wss":
		return dst, false
	}
	if rest == "" || rest[0] == '/' {
		return dst, false
	}
	for i := range len(rest) {
		if stops[rest[i]]&stopOpaque != 0 {
			return dst, false
		}
	}
	if !fragment {
		rest, _, _ = strings.Cut(rest, "#")
	}
	return append(append(dst, ':'), rest...), true
}

// appendAuthority appends host, port and all that follows.
func appendAuthority(dst []byte, s string, https, fragment bool) ([]byte, bool) {
	// To the standard a host name all in ASCII is itself in lower case, whatever IDNA thinks of its
	// labels ("domain to ASCII" with beStrict false, §3.3).
	i, upper := 0, false
	for ; i < len(s); i++ {
		c := hostBytes[s[i]]
		if c == 0 {
			break
		}
		upper = upper || c != s[i]
	}
	if i == 0 {
		return dst, false
	}
	start := len(dst)
	dst = append(dst, s[:i]...)
	host := dst[start:]
	if upper {
		for j, c := range host {
			host[j] = hostBytes[c]
		}
	}
	// A host whose last label could be a number is an IPv4 address or an error (§3.5). To the
	// library a number may have a sign.
	last := bytes.TrimSuffix(host, []byte("."))
	last = last[bytes.LastIndexByte(last, '.')+1:]
	if len(last) > 0 && isDigit(last[0]) && !isIPv4(host) || len(last) > 1 && last[0] == '-' && isDigit(last[1]) {
		return dst, false
	}

	s = s[i:]
	if s != "" && s[0] == ':' {
		port := 0
		for i = 1; i < len(s) && isDigit(s[i]) && port <= 65535; i++ {
			port = port*10 + int(s[i]-'0')
		}
		digits := s[1:i]
		if port > 65535 || len(digits) > 1 && digits[0] == '0' {
			return dst, false
		}
		if digits != "" && !(https && port == 443 || !https && port == 80) {
			dst = append(append(dst, ':'), digits...)
		}
		s = s[i:]
	}

	switch {
	case s == "" || s[0] == '?' || s[0] == '#':
		return appendTail(append(dst, '/'), s, fragment)
	case s[0] != '/':
		return dst, false
	}
	dst, s, ok := appendPath(append(dst, '/'), len(dst), s[1:])
	if !ok {
		return dst, false
	}
	return appendTail(dst, s, fragment)
}

// isIPv4 reports whether host is an IPv4 address in the form that the standard serialises to.
func isIPv4[S []byte | string](host S) bool {
	parts, digits, n := 1, 0, 0
	for i := range len(host) {
		c := host[i]
		switch {
		case c == '.' && digits > 0:
			parts, digits, n = parts+1, 0, 0
		case !isDigit(c) || digits > 0 && n == 0:
			return false
		default:
			n = n*10 + int(c-'0')
			digits++
			if n > 255 {
				return false
			}
		}
	}
	return parts == 4 && digits > 0
}

// appendPath appends the path s to dst, in which the path starts at root and ends with a slash, and
// returns what follows the path in s: "", or a query, or a fragment.
func appendPath(dst []byte, root int, s string) (_ []byte, rest string, ok bool) {
	segment := len(dst)
	for {
		i := 0
		for i < len(s) && stops[s[i]]&stopPath == 0 {
			i++
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		if s != "" && s[0] != '/' && s[0] != '?' && s[0] != '#' {
			if s[0] == '\\' {
				return dst, "", false
			}
			if dst, s, ok = appendEncoded(dst, s); !ok {
				return dst, "", false
			}
			continue
		}

		slash := s != "" && s[0] == '/'
		switch dots(dst[segment:]) {
		case 1:
			dst = dst[:segment]
		case 2:
			dst = dst[:segment]
			// The parent goes too: back to behind the slash before the last, if there is one.
			if segment-1 > root {
				dst = dst[:root+bytes.LastIndexByte(dst[root:segment-1], '/')+1]
			}
		default:
			if slash {
				dst = append(dst, '/')
			}
		}
		if !slash {
			return dst, s, true
		}
		s = s[1:]
		segment = len(dst)
	}
}

// dots returns 1 for a single-dot path segment, 2 for a double-dot one, else 0 (§4.1).
func dots(segment []byte) int {
	if len(segment) == 0 || len(segment) > len("%2e%2e") || segment[0] != '.' && segment[0] != '%' {
		return 0
	}
	n := 0
	for i := 0; i < len(segment); n++ {
		switch {
		case segment[i] == '.':
			i++
		case i+3 <= len(segment) && segment[i] == '%' && segment[i+1] == '2' && segment[i+2]|0x20 == 'e':
			i += 3
		default:
			return 0
		}
	}
	if n > 2 {
		return 0
	}
	return n
}

// appendTail appends a query and a fragment, either of which may be missing.
func appendTail(dst []byte, s string, fragment bool) ([]byte, bool) {
	ok := true
	for stop := uint8(stopQuery); s != ""; {
		if s[0] == '#' && stop == stopQuery {
			if !fragment {
				return dst, true
			}
			stop = stopFragment
			dst, s = append(dst, '#'), s[1:]
		}
		i := 0
		for i < len(s) && stops[s[i]]&stop == 0 {
			i++
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		if s != "" && !(s[0] == '#' && stop == stopQuery) {
			if dst, s, ok = appendEncoded(dst, s); !ok {
				return dst, false
			}
		}
	}
	return dst, true
}

// appendEncoded appends the first character of s, percent-encoded.
func appendEncoded(dst []byte, s string) (_ []byte, rest string, ok bool) {
	n := 1
	if s[0] >= utf8.RuneSelf {
		if _, n = utf8.DecodeRuneInString(s); n == 1 {
			return dst, "", false
		}
	} else if stops[s[0]]&refuse != 0 {
		return dst, "", false
	}
	for i := range n {
		dst = append(dst, '%', upperHex[s[i]>>4], upperHex[s[i]&15])
	}
	return dst, s[n:], true
}
