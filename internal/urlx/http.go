package urlx

import (
	"net/url"
	"strings"
)

// HTTP returns abs, an http or https URL, as a value that net/http sends byte for byte as the URL
// standard serialises it, even where [url.Parse] would reject or rewrite it ("/%zz", "/a|b").
// The fragment is dropped. The error is an *[Error], with [ErrNotHTTP] for other schemes.
//
// Path, RawPath and RawQuery are set in any case, for cookie jars and the like. For a path that
// net/url would not send as it is, Opaque is set too: to the path, so that the request has the
// origin form of RFC 9112 §3.2.1, or to //host/path if the path starts with two slashes, which
// gives the absolute form. A plain http request through a proxy needs the absolute form: see
// [ForProxy].
func HTTP(abs string) (*url.URL, error) {
	serialised, err := Parse(abs)
	if err != nil {
		return nil, err
	}
	if http, _ := webScheme(serialised); !http {
		return nil, &Error{Op: opParsing, URL: abs, Err: ErrNotHTTP}
	}
	p := splitNormal(serialised)
	rest, _ := CutFragment(serialised[p.path:])
	path, query, hasQuery := strings.Cut(rest, "?")

	u := &url.URL{
		Scheme:     p.scheme,
		Host:       p.host,
		Path:       percentDecode(path),
		RawQuery:   query,
		ForceQuery: hasQuery && query == "",
	}
	if p.port != "" {
		u.Host += ":" + p.port
	}
	if p.userinfo != "" {
		name, password, has := strings.Cut(p.userinfo, ":")
		u.User = url.User(percentDecode(name))
		if has {
			u.User = url.UserPassword(percentDecode(name), percentDecode(password))
		}
	}
	if u.EscapedPath() == path {
		return u, nil
	}
	u.RawPath = path
	if u.EscapedPath() == path {
		return u, nil
	}
	u.Opaque = path
	if strings.HasPrefix(path, "//") {
		u.Opaque = "//" + u.Host + path
	}
	return u, nil
}

// ForProxy returns u, made by [HTTP], as a plain http request through a proxy must have it. Without
// it net/http would send a URL with Opaque set to the proxy without its host. Most URLs, and all of
// https, are returned as they are.
func ForProxy(u *url.URL) *url.URL {
	if u.Scheme != "http" || u.Opaque == "" || strings.HasPrefix(u.Opaque, "//") {
		return u
	}
	c := *u
	c.Opaque = "//" + u.Host + u.Opaque
	return &c
}
