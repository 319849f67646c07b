//go:build unix

// Package shop is what contestants have in common whose pages are goquery documents.
package shop

import (
	"net/url"
	"sync"

	"github.com/PuerkitoBio/goquery"
	"github.com/gocolly/colly/v2"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/site"
)

// Item is the item of a product page; ok is false for other pages.
func Item(page *goquery.Selection) (it site.Item, ok bool) {
	product := page.Find("div.product").First()
	if product.Length() == 0 {
		return it, false
	}
	return site.Item{
		SKU: product.Find(".sku").Text(), Title: product.Find("h1.title").Text(), Price: product.Find(".price").Text(),
		Description: product.Find("p.description").Text(), Tags: product.Find(".tags li").Map(func(_ int, s *goquery.Selection) string { return s.Text() }),
	}, true
}

// Collector is a collector that writes items.
func Collector(j job.Job, options ...colly.CollectorOption) (*colly.Collector, *job.Items, error) {
	start, err := url.Parse(j.URL)
	if err != nil {
		return nil, nil, err
	}
	transport, err := j.Transport()
	if err != nil {
		return nil, nil, err
	}
	items, err := j.Items()
	if err != nil {
		return nil, nil, err
	}
	c := colly.NewCollector(append(options, colly.AllowedDomains(start.Hostname()), colly.IgnoreRobotsTxt())...)
	c.WithTransport(transport)
	c.OnHTML("div.product", func(e *colly.HTMLElement) {
		items.Add(site.Item{
			SKU: e.ChildText(".sku"), Title: e.ChildText("h1.title"), Price: e.ChildText(".price"),
			Description: e.ChildText("p.description"), Tags: e.ChildTexts(".tags li"),
		})
	})
	return c, items, nil
}

// Known is a set of URLs. Add may be called concurrently.
type Known struct {
	mu   sync.Mutex // guards urls
	urls map[string]struct{}
}

// NewKnown makes an empty set.
func NewKnown() *Known { return &Known{urls: make(map[string]struct{})} }

// Add adds a URL; false: it was there.
func (k *Known) Add(url string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, known := k.urls[url]; known {
		return false
	}
	k.urls[url] = struct{}{}
	return true
}
