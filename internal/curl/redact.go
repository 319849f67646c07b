package curl

import (
	"maps"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Hidden stands for what Redact has hidden.
const Hidden = "…"

// Redact hides what may be secret, so that the line can be shown: passwords in URLs, all cookies, the headers that
// secret names, in the query and in a urlencoded body the values of fields whose names speak of secrets, and any other
// body as a whole. The line no longer sends the request.
func (c *Command) Redact(secret func(header string) bool) {
	c.URL, c.Proxy = redactQuery(urlx.Redact(c.URL)), urlx.Redact(c.Proxy)
	kind, _ := c.Get("Content-Type")
	header := make([]Field, len(c.Header))
	for i, f := range c.Header {
		if secret(f.Name) || isSecretName(f.Name) {
			f.Value = hideValue(f.Value)
		}
		header[i] = f
	}
	c.Header = header
	c.Cookies = maps.Clone(c.Cookies)
	for name := range c.Cookies {
		c.Cookies[name] = Hidden
	}
	switch {
	case len(c.Body) == 0:
	case strings.HasPrefix(strings.ToLower(kind), "application/x-www-form-urlencoded"):
		c.Body = []byte(redactPairs(string(c.Body), true))
	default:
		c.Body = []byte(Hidden)
	}
}

// hideValue hides all of a value but the scheme of a login, such as Basic.
func hideValue(value string) string {
	if scheme, _, ok := strings.Cut(value, " "); ok && (strings.EqualFold(scheme, "Basic") || strings.EqualFold(scheme, "Bearer") || strings.EqualFold(scheme, "Digest")) {
		return scheme + " " + Hidden
	}
	return Hidden
}

// redactQuery hides values in the query of a URL.
func redactQuery(url string) string {
	url, fragment, hasFragment := strings.Cut(url, "#")
	if before, query, ok := strings.Cut(url, "?"); ok {
		url = before + "?" + redactPairs(query, false)
	}
	if hasFragment {
		url += "#" + fragment
	}
	return url
}

// redactPairs hides values of urlencoded pairs, and if strict what is no such pair: JSON without its Content-Type, for example.
func redactPairs(query string, strict bool) string {
	pairs := strings.Split(query, "&")
	for i, pair := range pairs {
		switch name, _, ok := strings.Cut(pair, "="); {
		case strict && (!ok || strings.ContainsAny(name, " \t\r\n\"'{}<>:,;")):
			pairs[i] = Hidden
		case ok && isSecretName(name):
			pairs[i] = name + "=" + Hidden
		}
	}
	return strings.Join(pairs, "&")
}

// secretWords are parts of the names of fields that nobody should see, secretNames whole names.
var (
	secretWords = []string{"passw", "passphrase", "passcode", "pwd", "secret", "token", "csrf", "xsrf", "oauth", "authoriz", "authentic", "session", "signature",
		"credential", "apikey", "api_key", "api-key", "private"}
	secretNames = []string{"pass", "auth", "otp", "pin", "sid", "key", "sig", "code"}
)

// isSecretName reports whether a name speaks of a secret.
func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(secretNames, name) || slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}
