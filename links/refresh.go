package links

import (
	"bytes"
	"math"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/html"
)

// Refresh returns the page that a page sends browsers to by <meta http-equiv=refresh>, and after
// what time. It reads the first such element that is valid, is not in a noscript element, and names
// an http or https URL. base is the URL of the page; a base element that stands before the meta
// element is respected. The URL keeps its fragment. A page that only reloads itself gives base.
//
// The content attribute is read by the shared declarative refresh steps of the HTML standard,
// section 4.2.5.3. The time is whole seconds, at most 2^63-1 nanoseconds (292 years).
func Refresh(body []byte, base string) (url string, after time.Duration, ok bool) {
	if !mayHaveRefresh(body) {
		return "", 0, false
	}
	p := page{tags: tagReader{Tags: html.NewTags(body)}, base: parseDocURL(base)}
	hasBase := false
	for p.tags.nextStart() {
		if !hasBase {
			if href, ok := p.tags.baseHref(); ok {
				_, p.base = resolveBase(p.base, base, href)
				hasBase = true
			}
		}
		content, isRefresh := p.tags.refreshContent()
		if !isRefresh {
			continue
		}
		after, ref, reload, ok := parseRefresh(content)
		switch {
		case !ok:
		case reload:
			return base, after, true
		case p.resolve([]byte(ref)):
			return string(p.buf), after, true
		}
	}
	return "", 0, false
}

// RefreshHeader reads the value of a Refresh header of the page at base, as [Refresh] reads the meta element. The target of a
// page that reloads itself is base; ok is false for a value that names no time, or a URL that cannot be read.
func RefreshHeader(value, base string) (url string, after time.Duration, ok bool) {
	after, ref, reload, ok := parseRefresh(value)
	switch {
	case !ok:
		return "", 0, false
	case reload:
		return base, after, true
	}
	p := page{base: parseDocURL(base)}
	if !p.resolve([]byte(ref)) {
		return "", 0, false
	}
	return string(p.buf), after, true
}

// refreshContent returns the content of the start tag that was just read if it is a refresh.
func (r *tagReader) refreshContent() (string, bool) {
	if r.tag != html.AtomMeta || r.noscripts > 0 || r.templates > 0 {
		return "", false
	}
	if equiv, _ := r.Attr(html.AtomHttpEquiv); !equalFold(equiv, "refresh") {
		return "", false
	}
	content, _ := r.Attr(html.AtomContent)
	return string(content), true
}

// mayHaveRefresh spares pages without http-equiv the reading.
func mayHaveRefresh(body []byte) bool {
	for {
		i := bytes.IndexByte(body, '-')
		if i < 0 {
			return false
		}
		if i >= len("http") && bytes.EqualFold(body[i-len("http"):min(i+len("-equiv"), len(body))], []byte("http-equiv")) {
			return true
		}
		body = body[i+1:]
	}
}

// parseRefresh reads the content attribute. reload says that it names no URL.
func parseRefresh(content string) (after time.Duration, ref string, reload, ok bool) {
	s := strings.TrimLeft(content, asciiSpace)
	rest := strings.TrimLeft(s, "0123456789")
	digits := s[:len(s)-len(rest)]
	if digits == "" && !strings.HasPrefix(rest, ".") {
		return 0, "", false, false
	}
	after = seconds(digits)
	rest = strings.TrimLeft(rest, "0123456789.")
	if rest == "" {
		return after, "", true, true
	}
	if !strings.ContainsRune(";,"+asciiSpace, rune(rest[0])) {
		return 0, "", false, false
	}
	rest = strings.TrimLeft(rest, asciiSpace)
	if rest != "" && (rest[0] == ';' || rest[0] == ',') {
		rest = strings.TrimLeft(rest[1:], asciiSpace)
	}
	if rest == "" {
		return after, "", true, true
	}
	return after, refreshURL(rest), false, true
}

// refreshURL removes "url=" and quotes. What only begins like "url" is itself the URL.
func refreshURL(s string) string {
	value := s
	if s[0] == 'u' || s[0] == 'U' {
		if len(s) < 3 || !strings.EqualFold(s[:3], "url") {
			return s
		}
		after, found := strings.CutPrefix(strings.TrimLeft(s[3:], asciiSpace), "=")
		if !found {
			return s
		}
		value = strings.TrimLeft(after, asciiSpace)
	}
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		value, _, _ = strings.Cut(value[1:], value[:1])
	}
	return value
}

// seconds reads digits, with the largest Duration for what does not fit.
func seconds(digits string) time.Duration {
	var n int64
	for _, c := range []byte(digits) {
		n = n*10 + int64(c-'0')
		if n > math.MaxInt64/int64(time.Second) {
			return math.MaxInt64
		}
	}
	return time.Duration(n) * time.Second
}
