package robots

import "strings"

// plain holds the octets that mean themselves in patterns and targets alike: the unreserved and
// reserved characters of RFC 3986 §2.2 and §2.3 without "#", which ends both, and "*" and "$",
// which are special in patterns.
var plain = octets("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~:/?[]@!&'()+,;=")

func octets(s string) (set [256]bool) {
	for i := range len(s) {
		set[s[i]] = true
	}
	return set
}

const upperHex = "0123456789ABCDEF"

// pathAndQuery returns the path and query of a target as [Group.Allowed] takes it. The result
// starts with "/"; a fragment may be left.
func pathAndQuery(target string) string {
	if strings.HasPrefix(target, "/") {
		return target
	}
	if i := strings.IndexAny(target, "/?#"); i > 0 && target[i-1] == ':' && strings.HasPrefix(target[i:], "//") {
		target = target[i+2:]
		if i = strings.IndexAny(target, "/?#"); i < 0 {
			return "/"
		}
		target = target[i:]
	}
	if strings.HasPrefix(target, "/") {
		return target
	}
	return "/" + target
}

// normalise brings a pattern, or a target, whose fragment it cuts off, to the form in which they
// are compared octet by octet (RFC 9309 §2.2.2). It returns s itself where nothing is to do.
func normalise(s string, isPattern bool) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case plain[c]:
		case c == '#':
			return s[:i]
		case c == '%' && isNormalEscape(s[i:]):
			i += 2
		case isPattern && isSpecial(s, i):
		default:
			return rewrite(s, i, isPattern)
		}
	}
	return s
}

// rewrite is normalise for an s whose first i octets are as they should be.
func rewrite(s string, i int, isPattern bool) string {
	b := make([]byte, i, len(s)+16)
	copy(b, s)
	for ; i < len(s); i++ {
		c := s[i]
		if c == '#' {
			break
		}
		if c == '%' {
			v, ok := unescape(s[i:])
			switch {
			case !ok:
				// A lone "%" is wrong in a URL, yet URLs have it; it stands for itself.
				b = append(b, c)
			case isUnreserved(v):
				b = append(b, v)
				i += 2
			default:
				b = append(b, '%', upperHex[v>>4], upperHex[v&15])
				i += 2
			}
			continue
		}
		if plain[c] || isPattern && isSpecial(s, i) {
			b = append(b, c)
			continue
		}
		b = append(b, '%', upperHex[c>>4], upperHex[c&15])
	}
	return string(b)
}

// asWritten is normalise for a pattern as Google reads it: nothing is decoded.
func asWritten(pattern string) string {
	pattern, _, _ = strings.Cut(pattern, "#")
	b := make([]byte, 0, len(pattern)+16)
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch v, ok := unescape(pattern[i:]); {
		case c == '%' && ok:
			b = append(b, '%', upperHex[v>>4], upperHex[v&15])
			i += 2
		case c >= 0x80:
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

// openQuery decodes, behind the first "?", the escapes of the characters that delimit nothing
// there. Elsewhere an escaped delimiter is another octet than the delimiter.
func openQuery(s string) string {
	query := strings.IndexByte(s, '?')
	if query < 0 || strings.IndexByte(s[query:], '%') < 0 {
		return s
	}
	var b []byte
	done := 0
	for i := query; i < len(s); i++ {
		if s[i] != '%' {
			continue
		}
		switch v, _ := unescape(s[i:]); v {
		case ':', '/', '?', '[', ']', '@':
			b = append(append(b, s[done:i]...), v)
			i += 2
			done = i + 1
		}
	}
	if done == 0 {
		return s
	}
	return string(append(b, s[done:]...))
}

// isSpecial reports whether s[i] is one of the special characters of a pattern: "*", or "$" at its
// end.
func isSpecial(s string, i int) bool {
	return s[i] == '*' || s[i] == '$' && i == len(s)-1
}

// literalLen is the length of what stands before the first special character of a normalised
// pattern.
func literalLen(pattern string) int {
	if i := strings.IndexByte(pattern, '*'); i >= 0 {
		return i
	}
	return len(strings.TrimSuffix(pattern, "$"))
}

// matchRest matches what is left of a pattern behind its literal, so "", "$" or something that
// starts with "*". To take the first place where a piece between two "*" fits is always right, so
// there is no way back and the time is linear.
func matchRest(pattern, s string) bool {
	pattern, toEnd := strings.CutSuffix(pattern, "$")
	if pattern == "" {
		return !toEnd || s == ""
	}
	for {
		pattern = pattern[1:]
		next := strings.IndexByte(pattern, '*')
		if next < 0 {
			break
		}
		at := strings.Index(s, pattern[:next])
		if at < 0 {
			return false
		}
		s, pattern = s[at+next:], pattern[next:]
	}
	if toEnd {
		return strings.HasSuffix(s, pattern)
	}
	return strings.Contains(s, pattern)
}

// unescape reads the escape that s starts with.
func unescape(s string) (v byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}
	high, low := hexValue(s[1]), hexValue(s[2])
	if high > 15 || low > 15 {
		return 0, false
	}
	return high<<4 | low, true
}

// isNormalEscape reports whether s starts with an escape that stays as it is.
func isNormalEscape(s string) bool {
	v, ok := unescape(s)
	return ok && !isUnreserved(v) && s[1] == upperHex[v>>4] && s[2] == upperHex[v&15]
}

// hexValue is the value of a hexadecimal digit; more than 15 for anything else.
func hexValue(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}

func isUnreserved(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}
