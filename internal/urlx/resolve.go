package urlx

import (
	"bytes"
	"strings"
)

// Base is a parsed base URL: the URL of a page, or what its <base href> makes of it. It is cheap
// to make, does not change, and may be used concurrently.
type Base struct {
	href    string // serialised, fragment included
	path    int    // where the path starts; set only if http
	dir     int    // just behind the last slash of the path; set only if http
	pathEnd int    // where the path ends; set only if http
	end     int    // where the fragment, # included, starts
	http    bool   // the scheme is http or https
	https   bool
}

// ParseBase parses an absolute URL to resolve references against. A fragment has no effect.
func ParseBase(raw string) (*Base, error) {
	href, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	b := &Base{href: href, end: len(href)}
	if i := strings.IndexByte(href, '#'); i >= 0 {
		b.end = i
	}
	b.http, b.https = webScheme(href)
	if !b.http {
		return b, nil
	}
	host := len("http://")
	if b.https {
		host++
	}
	b.path = host + strings.IndexByte(href[host:], '/')
	b.pathEnd = b.end
	if i := strings.IndexByte(href[:b.end], '?'); i >= 0 {
		b.pathEnd = i
	}
	b.dir = strings.LastIndexByte(href[:b.pathEnd], '/') + 1
	return b, nil
}

// String returns the base as the standard serialises it, fragment included.
func (b *Base) String() string { return b.href }

// Resolve appends to dst what ref means on a page with this base: the serialised absolute URL, of
// any scheme, with its fragment. On error (an *[Error]) it returns dst as it was. For typical
// references it allocates nothing but dst's growth.
//
// Credentials that an http or https reference writes are dropped: they would be sent unasked. A reference without an
// authority inherits those of the base.
func (b *Base) Resolve(dst []byte, ref string) ([]byte, error) {
	start := len(dst)
	dst, ok := appendFast(dst, b, ref, true) // has no credentials but the base's
	if ok {
		return dst, nil
	}
	dst, err := appendSlow(dst[:start], b, ref, true)
	if i := pastScheme(dst[start:]); err == nil && i > 0 && !(b.http && bytes.HasPrefix(dst[start:], []byte(b.href[:b.path]))) {
		dst = cutUserinfo(dst, start+i)
	}
	return dst, err
}

// WithoutUserinfo returns an http or https URL, serialised, without its user name and password; other URLs as they are.
func WithoutUserinfo(url string) string {
	if start := pastScheme(url); start > 0 && strings.IndexByte(url[start:], '@') >= 0 {
		return string(cutUserinfo([]byte(url), start))
	}
	return url
}

// Resolve returns what ref means on a page whose URL is base. For many references use [ParseBase].
func Resolve(base, ref string) (string, error) {
	b, err := ParseBase(base)
	if err != nil {
		return "", err
	}
	var buf [stackLen]byte
	url, err := b.Resolve(buf[:0], ref)
	if err != nil {
		return "", err
	}
	return string(url), nil
}

// Parse returns the standard's serialisation of an absolute URL: the same string, without
// allocation, if raw is one already.
func Parse(raw string) (string, error) {
	var buf [stackLen]byte
	url, err := appendURL(buf[:0], nil, raw, true)
	if err != nil {
		return "", err
	}
	if string(url) == raw {
		return raw, nil
	}
	return string(url), nil
}

// stackLen is the length of buffers on the stack: nearly all URLs fit.
const stackLen = 512

// appendURL appends the serialisation of ref against b, which is nil for absolute URLs. The
// fragment is left off unless asked for.
func appendURL(dst []byte, b *Base, ref string, fragment bool) ([]byte, error) {
	start := len(dst)
	dst, ok := appendFast(dst, b, ref, fragment)
	if ok {
		return dst, nil
	}
	return appendSlow(dst[:start], b, ref, fragment)
}
