package links

import (
	"slices"
	"strings"
)

// eachHeader calls f for each URL reference of a response's header, with the name of the field and,
// of Link, the relation types, until f returns false: Link (RFC 8288), Refresh (HTML standard,
// section 4.2.5.3), Location and Content-Location (RFC 9110, sections 10.2.2 and 8.7).
func eachHeader(header map[string][]string, f func(field, ref, rel string) bool) bool {
	names := make([]string, 0, 4)
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range header[name] {
			more := true
			switch field := strings.ToLower(name); field {
			case "link":
				more = eachLinkValue(value, func(ref, rel string) bool { return f(field, ref, rel) })
			case "refresh":
				if _, ref, reload, ok := parseRefresh(value); ok && !reload {
					more = f(field, ref, "")
				}
			case "location", "content-location":
				more = f(field, value, "")
			}
			if !more {
				return false
			}
		}
	}
	return true
}

// isStylesheet reports whether a response is a style sheet.
func isStylesheet(header map[string][]string) bool {
	for name, values := range header {
		if strings.EqualFold(name, "Content-Type") && len(values) > 0 {
			media, _, _ := strings.Cut(values[0], ";")
			return strings.EqualFold(strings.TrimSpace(media), "text/css")
		}
	}
	return false
}

// eachLinkValue reads a Link field (RFC 8288, section 3 and appendix B.2). Links with an anchor are
// about another page than this one and are passed over.
func eachLinkValue(value string, f func(ref, rel string) bool) bool {
	for {
		_, rest, found := strings.Cut(value, "<")
		if !found {
			return true
		}
		ref, rest, closed := strings.Cut(rest, ">")
		if !closed {
			return true
		}
		var rel string
		anchored, hasRel := false, false
		for {
			rest = strings.TrimLeft(rest, " \t")
			if !strings.HasPrefix(rest, ";") {
				break
			}
			var name, param string
			name, param, rest = linkParameter(rest[1:])
			switch {
			case strings.EqualFold(name, "anchor"):
				anchored = true
			case strings.EqualFold(name, "rel") && !hasRel:
				rel, hasRel = param, true
			}
		}
		// The next link begins behind the comma.
		_, value, _ = strings.Cut(rest, ",")
		if !anchored && !f(ref, rel) {
			return false
		}
	}
}

// linkParameter reads a parameter and returns what follows it.
func linkParameter(s string) (name, value, rest string) {
	end := strings.IndexAny(s, "=;,")
	if end < 0 {
		return strings.TrimSpace(s), "", ""
	}
	name, rest = strings.TrimSpace(s[:end]), s[end:]
	if rest[0] != '=' {
		return name, "", rest
	}
	rest = strings.TrimLeft(rest[1:], " \t")
	if !strings.HasPrefix(rest, `"`) {
		end := strings.IndexAny(rest, ";,")
		if end < 0 {
			end = len(rest)
		}
		return name, strings.TrimSpace(rest[:end]), rest[end:]
	}
	var b strings.Builder
	i := 1
	for ; i < len(rest) && rest[i] != '"'; i++ {
		if rest[i] == '\\' && i+1 < len(rest) {
			i++
		}
		b.WriteByte(rest[i])
	}
	return name, b.String(), rest[min(i+1, len(rest)):]
}
