//go:build unix

// Command same is a crawl without a framework on net/http and on our own parser, selectors and links: what our engine
// needs above it is the engine's own.
package main

import (
	"slices"

	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/raw"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

func main() {
	job.Main(func(j job.Job) error {
		return raw.Crawl(j, func() raw.Reader[[]byte] { return new(reader).read })
	})
}

// reader reads one page after the other.
type reader struct {
	urls  []byte // one behind the other
	ends  []int
	links [][]byte
}

func (r *reader) read(address string, body []byte) (raw.Page[[]byte], error) {
	body = slices.Clone(body) // an engine's users may keep what they select, so it cannot use a body again
	doc := selector.Parse(body)
	page := raw.Page[[]byte]{Links: r.find(address, doc.Root().Document())}
	product := doc.CSS("div.product").First()
	if product.Len() == 0 {
		return page, nil
	}
	page.HasItem = true
	page.Item = site.Item{
		SKU: product.CSS(".sku").Text(), Title: product.CSS("h1.title").Text(), Price: product.CSS(".price").Text(),
		Description: product.CSS("p.description").Text(), Tags: product.CSS(".tags li").Texts(),
	}
	return page, nil
}

// find is where the page leads. It is overwritten by the next page.
func (r *reader) find(address string, doc *html.Document) [][]byte {
	r.urls, r.ends, r.links = r.urls[:0], r.ends[:0], r.links[:0]
	for ref := range links.EachFrom(doc, address) {
		r.urls = append(r.urls, ref.URL...)
		r.ends = append(r.ends, len(r.urls))
	}
	start := 0
	for _, end := range r.ends {
		r.links = append(r.links, r.urls[start:end])
		start = end
	}
	return r.links
}
