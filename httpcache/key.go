package httpcache

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tegenaria/tegenaria/httpcache/internal/rfc9111"
	"github.com/tegenaria/tegenaria/httpcache/internal/store"
	"github.com/tegenaria/tegenaria/internal/cookiejar"
	"github.com/tegenaria/tegenaria/internal/urlx"

	"github.com/tegenaria/tegenaria"
)

// keyOf returns what the page of a request is found by, see the package comment.
func keyOf(ctx *tegenaria.Context) store.Key {
	r := ctx.Request
	url, _ := urlx.CutFragment(urlx.MergeParams(r.Url, r.Params))
	url, user := cutUser(url)
	k := store.Key{URL: url, Method: methodOf(r)}
	if len(r.Body) > 0 || r.Variant() != "" {
		k.Body = digest(string(r.Body), r.Variant())
	}
	k.Identity = identityOf(ctx, user)
	return k
}

// methodOf returns the method that is sent.
func methodOf(r *tegenaria.Request) string {
	if r.Method == "" && r.Body != nil {
		return http.MethodPost
	}
	return cmp.Or(r.Method, http.MethodGet)
}

// cutUser removes user and password from a URL.
func cutUser(url string) (rest, user string) {
	scheme, after, ok := strings.Cut(url, "://")
	if !ok {
		return url, ""
	}
	end := strings.IndexAny(after, `/?#\`)
	if end < 0 {
		end = len(after)
	}
	at := strings.LastIndexByte(after[:end], '@')
	if at < 0 {
		return url, ""
	}
	return scheme + "://" + after[at+1:], after[:at]
}

// identityOf stands for whoever asks; "" is everybody who says nothing of himself. The engine asks for a robots.txt as nobody else: it
// reads the beginning of a long one alone.
func identityOf(ctx *tegenaria.Context, user string) string {
	r := ctx.Request
	jar, _ := r.Meta[cookiejar.MetaJar].(string)
	if strings.HasPrefix(r.Session(), "#") { // such sessions are all alike
		jar = ""
	}
	parts := []string{jar, ownCookies(r), headerField(r, "Authorization"), user}
	for _, name := range slices.Sorted(maps.Keys(r.Cookies)) {
		parts = append(parts, name, r.Cookies[name])
	}
	if ctx.IsInternal() {
		parts = append(parts, "robots.txt")
	}
	if !slices.ContainsFunc(parts, func(part string) bool { return part != "" }) {
		return ""
	}
	return digest(parts...)
}

// ownCookies returns the Cookie header field of a request without what its jar has added.
func ownCookies(r *tegenaria.Request) string {
	if own, ok := r.Meta[cookiejar.MetaOwn].(string); ok {
		return own
	}
	return headerField(r, "Cookie")
}

func headerField(r *tegenaria.Request, name string) string {
	if value, ok := r.Header[name]; ok {
		return value
	}
	for other, value := range r.Header {
		if strings.EqualFold(other, name) {
			return value
		}
	}
	return ""
}

// digest stands for a list of texts. It does not tell them.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		h.Write(strconv.AppendInt(nil, int64(len(part)), 10))
		h.Write([]byte{':'})
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// requestOf returns a request as the rules see it. Fields with which sites tell users apart are stored with a page if its Vary names
// them, so there are digests in their place.
func requestOf(ctx *tegenaria.Context, k store.Key) rfc9111.Request {
	r := ctx.Request
	h := make(http.Header, len(r.Header)+1)
	if agent := ctx.UserAgent(); agent != "" {
		h["User-Agent"] = []string{digest(agent)}
	}
	for name, value := range r.Header {
		name = http.CanonicalHeaderKey(name)
		if !strings.HasPrefix(name, "Accept") && name != "Cache-Control" && name != "Range" && !isCondition(name) {
			value = digest(value)
		}
		h[name] = []string{value}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Cookies)) {
		h["Cookie"] = append(h["Cookie"], digest(name, r.Cookies[name]))
	}
	return rfc9111.Request{Method: k.Method, URL: k.URL, Header: h}
}

// hasUnreadBody reports whether nobody knows the body of a request before it is sent.
func hasUnreadBody(r *tegenaria.Request) bool { return r.BodyReader != nil && r.Body == nil }

// isConditional reports whether a request asks for a part of a page, or for one that it does not know yet.
func isConditional(r *tegenaria.Request) bool {
	for name := range r.Header {
		if name = http.CanonicalHeaderKey(name); name == "Range" || isCondition(name) {
			return true
		}
	}
	return false
}

// isCondition reports whether a header field is a precondition (RFC 9110 §13.1).
func isCondition(name string) bool {
	switch name {
	case "If-Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since":
		return true
	}
	return false
}
