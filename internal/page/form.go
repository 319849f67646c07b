package page

import (
	"maps"
	"net/http"
	"strings"

	"github.com/tegenaria/tegenaria/forms"
)

// Form returns the form of the first node that a CSS selector matches, to be filled in. The error is a
// [*forms.FormError]. It panics with the error of [Page.Text], or with a [*selector.ParseError] if the page is refused,
// and for a wrong selector.
func (p *Page) Form(h Host, query string) (*forms.Form, error) {
	doc := p.Document(h)
	found := doc.CSS(query).Nodes()
	p.mu.Lock()
	url, encoding := h.Given().URL, p.encoding
	p.mu.Unlock()
	if len(found) == 0 {
		return nil, forms.NoForm(doc.Root().Document(), url, "nothing matches "+query)
	}
	return forms.Of(found[0], url, forms.Charset(encoding))
}

// CSRF returns the token that the page has for its scripts, see [forms.FindCSRF]. The request had this header and these
// cookies. Panics are as for Form.
func (p *Page) CSRF(h Host, header, cookies map[string]string) forms.CSRF {
	p.mu.Lock()
	set := h.Given().Header
	p.mu.Unlock()
	return forms.FindCSRF(p.Document(h).Root().Document(), known(header, cookies, set))
}

// known returns the cookies that a page knows: those of the request, then those that are set by the response. One that
// is malformed has no token.
func known(header, cookies map[string]string, response map[string][]string) map[string]string {
	all := make(map[string]string)
	maps.Copy(all, cookies)
	for name, value := range header {
		if strings.EqualFold(name, "Cookie") {
			sent, _ := http.ParseCookie(value)
			for _, c := range sent {
				all[c.Name] = c.Value
			}
		}
	}
	for name, lines := range response {
		if strings.EqualFold(name, "Set-Cookie") {
			for _, line := range lines {
				if c, err := http.ParseSetCookie(line); err == nil {
					all[c.Name] = c.Value
				}
			}
		}
	}
	return all
}
