//go:build unix

// Command katana is katana as a library, with its limits of depth and rate lifted.
package main

import (
	"errors"
	"math"

	"github.com/projectdiscovery/katana/pkg/engine/standard"
	"github.com/projectdiscovery/katana/pkg/output"
	"github.com/projectdiscovery/katana/pkg/types"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/peers/shop"
)

func main() { job.Main(run) }

func run(j job.Job) (err error) {
	items, err := j.Items()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, items.Close()) }()
	options, err := types.NewCrawlerOptions(&types.Options{
		MaxDepth: math.MaxInt32, BodyReadSize: 32 << 20, Timeout: 3, Concurrency: j.Concurrency, Parallelism: 1, RateLimit: 1_000_000,
		Strategy: "breadth-first", FieldScope: "fqdn", Silent: true, OmitRaw: true, OmitBody: true, DisableUniqueFilter: true,
		OnResult: func(r output.Result) {
			if r.Response == nil || r.Response.Reader == nil {
				return
			}
			if it, ok := shop.Item(r.Response.Reader.Selection); ok {
				items.Add(it)
			}
		},
	})
	if err != nil {
		return err
	}
	crawler, err := standard.New(options)
	if err != nil {
		return errors.Join(err, options.Close())
	}
	return errors.Join(crawler.Crawl(j.URL), crawler.Close(), options.Close())
}
