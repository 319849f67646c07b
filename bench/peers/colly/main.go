//go:build unix

// Command colly is colly with asynchronous visits, as its documentation shows it. We cut the fragments off: to colly a
// page with another fragment is another page.
package main

import (
	"errors"

	"github.com/gocolly/colly/v2"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/peers/shop"
)

func main() { job.Main(run) }

func run(j job.Job) (err error) {
	c, items, err := shop.Collector(j, colly.Async(true))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, items.Close()) }()
	if err := c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: j.Concurrency}); err != nil {
		return err
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		_ = e.Request.Visit(job.WithoutFragment(e.Attr("href"))) // an error for what is known, and for other hosts
	})
	if err := c.Visit(j.URL); err != nil {
		return err
	}
	c.Wait()
	return nil
}
