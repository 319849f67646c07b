//go:build unix

// Command collyqueue is colly with its queue package, as its documentation shows it.
package main

import (
	"errors"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/peers/shop"
)

func main() { job.Main(run) }

func run(j job.Job) (err error) {
	c, items, err := shop.Collector(j)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, items.Close()) }()
	q, err := queue.New(j.Concurrency, &queue.InMemoryQueueStorage{MaxSize: 10_000_000}) // it drops what is beyond
	if err != nil {
		return err
	}
	known := shop.NewKnown() // the queue asks nobody before it stores a request
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		if link := e.Request.AbsoluteURL(job.WithoutFragment(e.Attr("href"))); known.Add(link) {
			_ = q.AddURL(link) // an error for a text that is not a URL
		}
	})
	known.Add(j.URL)
	if err := q.AddURL(j.URL); err != nil {
		return err
	}
	return q.Run(c)
}
