package main

import (
	"context"
	"regexp"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spiders"
)

// product is what the spider collects: a product is a line of JSON, or a row of CSV.
type product struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// newProducts makes the spider. It reads the sitemaps of a site, and of the pages in them those that a rule matches.
func newProducts() tegenaria.SpiderInterface {
	spider := spiders.NewSitemap("products", nil, "https://web-scraping.dev")
	spider.Rules = []spiders.Rule{
		{Match: regexp.MustCompile(`/product/`), Name: "product", Parser: tegenaria.Handle(parseProduct)},
	}
	return spider
}

// parseProduct reads the page of a product.
func parseProduct(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	return out.Item(product{URL: page.URL, Title: page.CSS("title").Text()})
}
