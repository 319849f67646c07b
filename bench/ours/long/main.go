//go:build unix

// Command long is our contestant with all that a long crawl of many hosts has: the standard middlewares, a durable
// job and a feed.
package main

import (
	"context"
	"errors"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/middleware"
)

func main() { job.Main(run) }

func run(j job.Job) (err error) {
	options, err := ours.Options(j)
	if err != nil {
		return err
	}
	cache, err := disk.Open(j.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cache.Close()) }()
	engine := tegenaria.NewSpiderEngine(append(options, tegenaria.EngineWithCache(cache))...)
	engine.RegisterSpiders(ours.Spider(j))
	engine.RegisterDownloadMiddlewares(middleware.Standard()...)
	engine.RegisterPipelines(feed.JSONL(j.Out))
	return engine.Run(context.Background(), "race")
}
