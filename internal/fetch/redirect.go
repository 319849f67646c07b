package fetch

import (
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"
)

// IsRedirect reports whether a response says where to go on (RFC 9110 §15.4): its status is that of a redirect, and it has a
// Location.
func IsRedirect(status int, header map[string][]string) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return false
	}
	return FirstHeader(header, "Location") != ""
}

// LocationURL returns the reference in a Location header. What is not UTF-8 is in a charset of the server's own: its
// bytes are escaped as they are, as browsers do.
func LocationURL(location string) string {
	location = strings.TrimSpace(location)
	if utf8.ValidString(location) {
		return location
	}
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(location)+16)
	for _, c := range []byte(location) {
		if c < utf8.RuneSelf {
			b = append(b, c)
			continue
		}
		b = append(b, '%', hex[c>>4], hex[c&15])
	}
	return string(b)
}

// BecomesGet reports whether a redirect with this status turns a request into a GET without a body, as browsers and
// RFC 9110 §15.4 do: 303 always, 301 and 302 a POST, 307 and 308 never. A HEAD stays a HEAD.
func BecomesGet(method string, status int) bool {
	switch {
	case method == http.MethodHead, method == http.MethodGet:
		return false
	case status == http.StatusSeeOther:
		return true
	}
	return method == http.MethodPost && (status == http.StatusMovedPermanently || status == http.StatusFound)
}

// DropContent deletes the fields of a request's header that describe its body.
func DropContent(header map[string]string) {
	for name := range header {
		if strings.HasPrefix(strings.ToLower(name), "content-") {
			delete(header, name)
		}
	}
}

// DropCredentials deletes the fields of a request's header that were meant for another origin: Host, those whose name says that
// the value is a secret, and those that secret names, whatever the case.
func DropCredentials(header map[string]string, secret []string) {
	for name := range header {
		if strings.EqualFold(name, "Host") || IsCredential(name, secret) {
			delete(header, name)
		}
	}
}

// IsCredential reports whether the value of a header is a secret, by its name or because secret names it, whatever the case.
func IsCredential(name string, secret []string) bool {
	return isCredential(name) || slices.ContainsFunc(secret, func(other string) bool { return strings.EqualFold(other, name) })
}

// isCredential reports whether a field's name says that its value is a secret.
func isCredential(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "authorization", "cookie", "x-api-key", "x-auth-token", "api-key":
		return true
	}
	return strings.HasPrefix(name, "proxy-")
}
