//go:build unix

// Command goquery is a crawl without a framework: net/http, goquery, net/url.
package main

import (
	"bytes"
	"net/url"

	"github.com/PuerkitoBio/goquery"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/raw"
	"github.com/tegenaria/tegenaria/bench/site"
)

func main() {
	job.Main(func(j job.Job) error { return raw.Crawl(j, func() raw.Reader[string] { return read }) })
}

func read(address string, body []byte) (page raw.Page[string], err error) {
	base, err := url.Parse(address)
	if err != nil {
		return page, err
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		return page, err
	}
	for _, a := range doc.Find("a[href]").EachIter() {
		link, err := raw.Resolve(base, a.AttrOr("href", ""))
		if err != nil {
			return page, err
		}
		page.Links = append(page.Links, link)
	}
	product := doc.Find("div.product").First()
	if product.Length() == 0 {
		return page, nil
	}
	page.HasItem = true
	page.Item = site.Item{
		SKU: product.Find(".sku").Text(), Title: product.Find("h1.title").Text(), Price: product.Find(".price").Text(),
		Description: product.Find("p.description").Text(), Tags: product.Find(".tags li").Map(func(_ int, s *goquery.Selection) string { return s.Text() }),
	}
	return page, nil
}
