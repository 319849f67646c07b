package links

import (
	"bytes"
	"regexp"
	"strings"
)

// Glob makes a pattern for [Allow] and [Deny] of one that shells have: * stands for any text without
// a slash, ** for any text at all, everything else for itself. It is compared with the whole URL, or,
// if it begins with a slash, with what follows the host.
//
//	links.Allow(links.Glob("https://example.com/shop/**"), links.Glob("/*/item-*.html"))
func Glob(pattern string) string {
	var b strings.Builder
	b.WriteString("^")
	if strings.HasPrefix(pattern, "/") {
		b.WriteString("https?://[^/]*")
	}
	for pattern != "" {
		literal, rest, star := strings.Cut(pattern, "*")
		b.WriteString(regexp.QuoteMeta(literal))
		if !star {
			break
		}
		if strings.HasPrefix(rest, "*") {
			rest = strings.TrimLeft(rest, "*")
			b.WriteString(".*")
		} else {
			b.WriteString("[^/]*")
		}
		pattern = rest
	}
	b.WriteString("$")
	return b.String()
}

// pattern is a compiled expression. Most are a text without any syntax, which is found faster.
type pattern struct {
	literal []byte // nil if there is syntax
	re      *regexp.Regexp
}

func (p *pattern) match(b []byte) bool {
	if p.literal != nil {
		return bytes.Contains(b, p.literal)
	}
	return p.re.Match(b)
}

func matchAny(patterns []*pattern, b []byte) bool {
	for _, p := range patterns {
		if p.match(b) {
			return true
		}
	}
	return false
}

var patterns cache[*pattern]

// mustCompile compiles patterns and panics as regexp.MustCompile does.
func mustCompile(exprs []string) []*pattern {
	found := make([]*pattern, len(exprs))
	for i, expr := range exprs {
		found[i] = patterns.get(expr, newPattern)
	}
	return found
}

func newPattern(expr string) *pattern {
	p := &pattern{re: regexp.MustCompile(expr)}
	if prefix, complete := p.re.LiteralPrefix(); complete {
		p.literal = []byte(prefix)
	}
	return p
}
