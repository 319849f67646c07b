package urlx

import (
	"net/url"
	"strings"
)

// Redact hides the password of a URL that is about to be printed, or the user name where it stands alone, since it may be a
// token.
func Redact(raw string) string {
	if !strings.Contains(raw, "@") {
		return raw
	}
	u, err := url.Parse(raw)
	if err == nil && u.Scheme == "mailto" {
		return raw // an address, without a password
	}
	if err != nil || u.Opaque != "" || u.Scheme != "" && u.Host == "" { // the last is a mistyped "http:/user:password@host/"
		at := strings.LastIndexByte(raw, '@')
		scheme, _, ok := strings.Cut(raw[:at], "//")
		if !ok {
			return "…" + raw[at:]
		}
		return scheme + "//…" + raw[at:]
	}
	if _, ok := u.User.Password(); u.User != nil && !ok && u.User.Username() != "" {
		u.User = url.User("xxxxx")
	}
	return u.Redacted()
}
