package page

import (
	"github.com/tegenaria/tegenaria/metadata"
)

// Metadata returns what the page says about itself, read anew at each call. It panics with the error of [Page.Text], or with a
// [*selector.ParseError] if the page is refused.
func (p *Page) Metadata(h Host) *metadata.Page {
	tree := p.Document(h).Root().Document()
	if tree == nil {
		return new(metadata.Page)
	}
	p.mu.Lock()
	url, encoding, host := h.Given().URL, p.encoding, p.tenantOf(h)
	p.mu.Unlock()
	return metadata.Extract(tree, url, metadata.Charset(encoding), metadata.For(host))
}
