package urlx

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// MergeParams returns abs with params added to its query, sorted by name and form-urlencoded (a
// space is +). A parameter replaces the pairs of the same name that are there; other pairs stay as
// they are, in their order, before the added ones. The fragment stays at the end. Without params
// the URL is returned as it is.
func MergeParams(abs string, params map[string]string) string {
	if len(params) == 0 {
		return abs
	}
	front, fragment, hasFragment := strings.Cut(abs, "#")
	front, query, _ := strings.Cut(front, "?")

	var b strings.Builder
	b.WriteString(front)
	separator := byte('?')
	for raw := range strings.SplitSeq(query, "&") {
		name, _, _ := strings.Cut(raw, "=")
		if _, replaced := params[formDecode(name)]; replaced || raw == "" {
			continue
		}
		b.WriteByte(separator)
		b.WriteString(raw)
		separator = '&'
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		b.WriteByte(separator)
		b.WriteString(url.QueryEscape(name))
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(params[name]))
		separator = '&'
	}
	if hasFragment {
		b.WriteByte('#')
		b.WriteString(fragment)
	}
	return b.String()
}

// formDecode decodes a name of a form-urlencoded query; broken encodings stand for themselves
// (URL standard §5.1).
func formDecode(s string) string {
	if strings.IndexByte(s, '+') >= 0 {
		s = strings.ReplaceAll(s, "+", " ")
	}
	return percentDecode(s)
}

// percentDecode decodes all percent-encodings; broken ones stand for themselves (§1.3).
func percentDecode(s string) string {
	i := strings.IndexByte(s, '%')
	if i < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:i]...)
	for ; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && unhex[s[i+1]] != 0 && unhex[s[i+2]] != 0 {
			b = append(b, (unhex[s[i+1]]-1)<<4|(unhex[s[i+2]]-1))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}
