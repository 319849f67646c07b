package main

import (
	"context"
	"strconv"

	"github.com/tegenaria/tegenaria"
)

// answer is a page of the API, with the fields that are needed of it.
type answer struct {
	Page    int  `json:"page"`
	HasNext bool `json:"has_next"`
	Quotes  []struct {
		Text   string `json:"text"`
		Author struct {
			Name string `json:"name"`
		} `json:"author"`
		Tags []string `json:"tags"`
	} `json:"quotes"`
}

// quote is what the spider collects: a quote is a line of JSON, or a row of CSV.
type quote struct {
	Text   string   `json:"text"`
	Author string   `json:"author"`
	Tags   []string `json:"tags"`
}

// newQuotes makes the spider: its name, its parser, and the pages that it starts from.
func newQuotes() tegenaria.SpiderInterface {
	return tegenaria.NewSpider("quotes", tegenaria.Handle(parseQuotes), "https://quotes.toscrape.com/api/quotes?page=1")
}

// parseQuotes reads a page of the API: it sends the quotes, and asks for the next page.
func parseQuotes(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
	var a answer
	if err := page.Decode(&a); err != nil {
		return err
	}
	for _, q := range a.Quotes {
		if err := out.Item(quote{Text: q.Text, Author: q.Author.Name, Tags: q.Tags}); err != nil {
			return err
		}
	}
	if !a.HasNext {
		return nil
	}
	return out.Follow("?page=" + strconv.Itoa(a.Page+1))
}
