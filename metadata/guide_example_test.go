package metadata_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/metadata"
)

// The code of docs/guides/structured-data.md.

const shopPage = `<!DOCTYPE html><html><head><title>Oolong - Tea shop</title>
<link rel="canonical" href="/tea/oolong"><link rel="alternate" hreflang="de" href="/de/tee/oolong">
<link rel="alternate" type="application/atom+xml" title="New teas" href="/new.atom">
<meta property="og:image" content="https://tea.example/oolong.jpg"><meta property="article:modified_time" content="2026-03-01T08:00:00Z">
<script type="application/ld+json">
{"@context": "https://schema.org", "@graph": [
  {"@type": "WebSite", "name": "Tea shop"},
  {"@type": "Product", "name": "Oolong", "sku": "T-7", "offers": [{"@type": "Offer", "price": "8.90", "priceCurrency": "EUR"},],},
]}
</script></head><body></body></html>`

type Product struct {
	Name   string
	SKU    string
	Offers []struct {
		Price    string
		Currency string `json:"priceCurrency"`
	}
}

func parseProduct(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[Product]) error {
	for node := range page.Metadata().TypeOf("Product") {
		var product Product
		if err := node.Decode(&product); err != nil {
			return err
		}
		if err := out.Item(product); err != nil {
			return err
		}
	}
	return nil
}

func Example() {
	request := tegenaria.NewRequest("https://tea.example/tea/oolong?from=list", tegenaria.GET, nil)
	page := tegenaria.NewResponse(request, 200, nil, []byte(shopPage))
	meta := page.Metadata()
	fmt.Println(meta.Title, meta.Canonical, meta.OpenGraph.Get("og:image"), meta.Modified.Format(time.DateOnly))
	for _, alternate := range meta.Alternates {
		fmt.Println(alternate.Language, alternate.URL)
	}
	for _, feed := range meta.Feeds {
		fmt.Println(feed.Title, feed.URL)
	}
	for node := range meta.TypeOf("Offer") {
		fmt.Println(node.Get("price"), node.Get("priceCurrency"))
	}
	for _, note := range meta.Notes {
		fmt.Println(note.Syntax, note.Text)
	}
	// Output:
	// Oolong - Tea shop https://tea.example/tea/oolong https://tea.example/oolong.jpg 2026-03-01
	// de https://tea.example/de/tee/oolong
	// New teas https://tea.example/new.atom
	// 8.90 EUR
	// JSON-LD a comma before a closing bracket was left out
}

func ExampleExtract() {
	doc, err := html.Parse([]byte(`<div itemscope itemtype="https://schema.org/Event"><b itemprop="name">Fair</b>, <time itemprop="startDate" datetime="2026-05-01">May Day</time></div>`))
	if err != nil {
		fmt.Println(err)
		return
	}
	page := metadata.Extract(doc, "https://town.example/")
	for node := range page.Nodes() {
		fmt.Println(node)
	}
	// Output: {"@type":"Event","name":"Fair","startDate":"2026-05-01"}
}

var _ = tegenaria.Handle(parseProduct)
