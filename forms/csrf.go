package forms

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// CSRF is a token against forged requests that a page has for its scripts. The zero value is none.
type CSRF struct {
	Token  string
	Header string // the header that servers expect it in: X-CSRF-Token
	Field  string // the field of a form, where the page names it: authenticity_token; else ""
	From   string // where it was found: `meta name="csrf-token"`, `cookie "XSRF-TOKEN"`
}

// Headers returns the header that sends the token, an empty map if there is none.
func (c CSRF) Headers() map[string]string {
	if c.Token == "" {
		return map[string]string{}
	}
	return map[string]string{c.Header: c.Token}
}

// csrfMetas are names of meta elements that frameworks write, without punctuation and in lower case, and the header that they read.
var csrfMetas = map[string]string{
	"csrftoken":                "X-CSRF-Token", // Rails, Laravel, Phoenix, Yii
	"csrf":                     "X-CSRF-Token", // Spring Security, whose page also names the header
	"xcsrftoken":               "X-CSRF-Token",
	"csrfmiddlewaretoken":      "X-CSRFToken", // Django
	"xsrftoken":                "X-XSRF-TOKEN",
	"requestverificationtoken": "RequestVerificationToken", // ASP.NET
}

// csrfCookies are names of cookies whose value scripts send back (double submit), and the header they send it in.
var csrfCookies = []struct{ name, header string }{
	{"XSRF-TOKEN", "X-XSRF-TOKEN"}, // Angular, axios, Laravel
	{"csrftoken", "X-CSRFToken"},   // Django
	{"csrf-token", "X-CSRF-Token"},
	{"csrf_token", "X-CSRF-Token"},
	{"_csrf", "X-CSRF-Token"},
	{"csrf", "X-CSRF-Token"},
	{"_xsrf", "X-XSRFToken"}, // Tornado
}

// FindCSRF finds the token of a page, for logins that a script sends: in a meta element, or else in a cookie that the
// scripts of common frameworks read. cookies are those of the page by name. Tokens in hidden fields travel with their
// form and are not looked for.
func FindCSRF(doc *html.Document, cookies map[string]string) CSRF {
	var found CSRF
	header, field := "", ""
	if doc != nil {
		end := uint32(doc.Len()) + 1
		for id := uint32(1); id < end; id++ {
			n := doc.Node(id)
			if n.Is(html.AtomTemplate) {
				id = n.EndID() - 1
				continue
			}
			if !n.Is(html.AtomMeta) {
				continue
			}
			name, content := n.Attr("name"), n.Attr("content")
			switch plain := bare(name); {
			case content == "":
			case plain == "csrfheader":
				header = content
			case plain == "csrfparam" || plain == "csrfparameter":
				field = content
			case found.Token == "" && csrfMetas[plain] != "":
				found = CSRF{Token: content, Header: csrfMetas[plain], From: `meta name="` + name + `"`}
			}
		}
	}
	if found.Token != "" {
		found.Field = field
		if header != "" {
			found.Header = header
		}
		return found
	}
	for _, known := range csrfCookies {
		for _, name := range slices.Sorted(maps.Keys(cookies)) {
			value := cookies[name]
			short := strings.TrimPrefix(strings.TrimPrefix(name, "__Host-"), "__Secure-")
			if value == "" || !strings.EqualFold(short, known.name) {
				continue
			}
			if plain, err := url.PathUnescape(value); err == nil && known.name == "XSRF-TOKEN" {
				value = plain
			}
			found = CSRF{Token: value, Header: known.header, From: `cookie "` + name + `"`}
			if name == known.name {
				return found
			}
		}
		if found.Token != "" {
			return found
		}
	}
	return found
}

// bare returns a name in lower case, without punctuation.
func bare(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '-', '_', '.', ':', ' ':
			return -1
		}
		return r
	}, strings.ToLower(name))
}
