package page

import "github.com/tegenaria/tegenaria/forms"

// Form returns the form of the first node that a CSS selector matches, to be filled in. The error is a [*forms.FormError]. It panics with the
// error of [Page.Text], or with a [*selector.ParseError] if the page is refused, and for a wrong selector.
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

// CSRF returns the token that the page has for its scripts, see [forms.FindCSRF]. Panics are as for Form.
func (p *Page) CSRF(h Host, cookies map[string]string) forms.CSRF {
	return forms.FindCSRF(p.Document(h).Root().Document(), cookies)
}
