package httpx

import (
	"iter"
	"strings"
)

// CookieNames yields the names of the cookies in the value of a Cookie header, "" for a part without "=".
func CookieNames(header string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for part := range strings.SplitSeq(header, ";") {
			if strings.Trim(part, " \t") != "" && !yield(cookieName(part)) {
				return
			}
		}
	}
}

// cookieName returns the name of a part of a Cookie header.
func cookieName(part string) string {
	name, _, ok := strings.Cut(part, "=")
	if !ok {
		return ""
	}
	return strings.Trim(name, " \t")
}

// WithoutCookies returns the value of a Cookie header without the cookies of these names. The others stay in their order and as
// they are, down to the byte.
func WithoutCookies(header string, names map[string]string) string {
	var without []string
	all := strings.Split(strings.Trim(header, "; \t"), ";")
	for _, part := range all {
		if _, named := names[cookieName(part)]; !named {
			without = append(without, part)
		}
	}
	return strings.Trim(strings.Join(without, ";"), "; \t")
}

// ValidCookiePart reports whether a name or a value can be part of a Cookie header: it has no control characters and no
// semicolon (RFC 6265bis §5.6). A tab is none of them.
func ValidCookiePart(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f || c == ';' {
			return false
		}
	}
	return true
}
