package page

import (
	"github.com/tegenaria/tegenaria/content"
)

// nodeSize is what package content takes for a node of the page while it reads it, in bytes.
const nodeSize = 64

// Article returns the main text of the page, read anew at each call. The error is that of [content.Extract]. Article panics with the error
// of [Page.Text], or with a [*selector.ParseError] if the page is refused or there is no memory.
func (p *Page) Article(h Host, opts []content.Option) (*content.Article, error) {
	tree := p.Document(h).Root().Document()
	if tree != nil {
		// The text and what the page says about itself are texts of the page, each once or twice.
		if err := p.growCopy(h, 0, int64(nodeSize*min(tree.Len(), content.MaxNodes)+2*len(tree.Source()))); err != nil {
			panic(err)
		}
	}
	p.mu.Lock()
	url, encoding := h.Given().URL, p.encoding
	p.mu.Unlock()
	return content.Extract(tree, url, append([]content.Option{content.Charset(encoding)}, opts...)...)
}
