package page

import (
	"github.com/tegenaria/tegenaria/metadata"
)

// Metadata returns what the page says about itself, read anew at each call. It panics with the error of [Page.Text], or with a
// [*selector.ParseError] if the page is refused or there is no memory.
func (p *Page) Metadata(h Host) *metadata.Page {
	tree := p.Document(h).Root().Document()
	if tree == nil {
		return new(metadata.Page)
	}
	// What metadata has of its own are mostly texts of the page, each once or a few times.
	if err := p.growCopy(h, 0, int64(len(tree.Source()))); err != nil {
		panic(err)
	}
	p.mu.Lock()
	url, encoding, host := h.Given().URL, p.encoding, p.tenantOf(h)
	p.mu.Unlock()
	return metadata.Extract(tree, url, metadata.Charset(encoding), metadata.For(host))
}
