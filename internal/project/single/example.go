package main

import (
	"context"

	"github.com/tegenaria/tegenaria"
)

// exampleItem is what the spider collects. Give it the fields that you want to have.
type exampleItem struct {
	URL   string `json:"url"`
	Title string `json:"title"`
}

// newExample makes the spider: its name, its parser, and the pages that it starts from.
func newExample() tegenaria.SpiderInterface {
	return tegenaria.NewSpider("example", tegenaria.Handle(parseExample), "https://example.com/")
}

// parseExample reads a page. To go on to others, follow their links: return out.Follow(page.CSS("a.next").Attr("href"))
func parseExample(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[exampleItem]) error {
	return out.Item(exampleItem{URL: page.URL, Title: page.CSS("title").Text()})
}
