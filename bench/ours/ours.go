//go:build unix

// Package ours is what the forms of our own contestant have in common.
package ours

import (
	"context"
	"net/netip"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/feed"
)

// Options are those of the job: so many requests in flight, robots.txt not asked for.
func Options(j job.Job) ([]tegenaria.EngineOption, error) {
	politeness := tegenaria.Politeness{PerSlot: j.Concurrency, IgnoreRobots: true}
	if j.AnyHost {
		politeness.AllowPrivate = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	}
	options := []tegenaria.EngineOption{
		tegenaria.EngineWithConcurrency(j.Concurrency),
		tegenaria.EngineWithPoliteness(politeness),
	}
	config, err := j.TLS()
	if err != nil {
		return nil, err
	}
	if config != nil {
		options = append(options, tegenaria.EngineWithTLSConfig(config))
	}
	if !j.AnyHost {
		options = append(options, tegenaria.EngineWithAllowedDomains("127.0.0.1"))
	}
	return options, nil
}

// Parse is the handler of the benchmark spider.
func Parse(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[site.Item]) error {
	if it, ok := Item(resp); ok {
		if err := out.Item(it); err != nil {
			return err
		}
	}
	return out.FollowLinks()
}

// Item is the item of a product page; ok is false for other pages.
func Item(resp *tegenaria.Response) (it site.Item, ok bool) {
	product := resp.CSS("div.product").First()
	if product.Len() == 0 {
		return it, false
	}
	return site.Item{
		SKU: product.CSS(".sku").Text(), Title: product.CSS("h1.title").Text(), Price: product.CSS(".price").Text(),
		Description: product.CSS("p.description").Text(), Tags: product.CSS(".tags li").Texts(),
	}, true
}

// Handler is a func for [tegenaria.Handle].
type Handler = func(context.Context, *tegenaria.Response, *tegenaria.Output[site.Item]) error

// Spider is the benchmark spider.
func Spider(j job.Job) tegenaria.SpiderInterface {
	return tegenaria.NewSpider("race", tegenaria.Handle(Parse), j.URL)
}

// Run does the job with a handler and a JSON Lines feed.
func Run(j job.Job, parse Handler) error {
	options, err := Options(j)
	if err != nil {
		return err
	}
	engine := tegenaria.NewSpiderEngine(options...)
	engine.RegisterSpiders(tegenaria.NewSpider("race", tegenaria.Handle(parse), j.URL))
	engine.RegisterPipelines(feed.JSONL(j.Out))
	return engine.Run(context.Background(), "race")
}
