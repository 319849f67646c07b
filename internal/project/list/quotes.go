package main

import (
	"context"

	"github.com/tegenaria/tegenaria"
)

// quote is what the spider collects: a quote is a line of JSON, or a row of CSV.
type quote struct {
	Text   string   `json:"text"`
	Author string   `json:"author"`
	Tags   []string `json:"tags"`
}

// newQuotes makes the spider: its name, its parser, and the pages that it starts from.
func newQuotes() tegenaria.SpiderInterface {
	return tegenaria.NewSpider("quotes", tegenaria.Handle(parseQuotes), "https://quotes.toscrape.com/")
}

// parseQuotes reads a page of the list: it sends the quotes, and follows the link to the next page.
func parseQuotes(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
	for _, q := range page.CSS("div.quote").All() {
		item := quote{
			Text:   q.CSS("span.text").Text(),
			Author: q.CSS("small.author").Text(),
			Tags:   q.CSS("a.tag").Texts(),
		}
		if err := out.Item(item); err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}
