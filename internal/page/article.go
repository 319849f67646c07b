package page

import (
	"github.com/tegenaria/tegenaria/content"
)

// Article returns the main text of the page, read anew at each call. The error is that of [content.Extract]. Article panics with the error
// of [Page.Text], or with a [*selector.ParseError] if the page is refused.
func (p *Page) Article(h Host, opts []content.Option) (*content.Article, error) {
	tree := p.Document(h).Root().Document()
	p.mu.Lock()
	url, encoding := h.Given().URL, p.encoding
	p.mu.Unlock()
	return content.Extract(tree, url, append([]content.Option{content.Charset(encoding)}, opts...)...)
}
