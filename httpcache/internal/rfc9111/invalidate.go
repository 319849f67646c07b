package rfc9111

import (
	"net/http"
	"net/url"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// safe reports whether a method is known to change nothing at the origin (RFC 9110 §9.2.1).
func safe(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// invalidated returns the URLs whose stored responses the answer to an unsafe request makes invalid (§4.4): its own and, of the same
// origin, those in Location and Content-Location. An error makes none invalid.
func invalidated(r Request, a Response) []string {
	if a.Status < 200 || a.Status > 399 {
		return nil
	}
	urls := []string{r.URL}
	own, err := urlx.Resolve(r.URL, "")
	if err != nil {
		return urls
	}
	for _, name := range [...]string{"Location", "Content-Location"} {
		for _, ref := range a.Header[name] {
			if abs, err := urlx.Resolve(r.URL, ref); err == nil && abs != own && origin(abs) == origin(own) {
				urls = append(urls, abs)
			}
		}
	}
	return urls
}

// origin returns scheme, host and port of a resolved URL, in which no port is the usual one.
func origin(abs string) string {
	u, err := url.Parse(abs)
	if err != nil {
		return abs
	}
	return u.Scheme + "://" + u.Host
}
