//go:build unix

// Command ours is a crawl of ours as the guide to jobs shows one that survives its process: the standard middlewares, a durable job,
// a feed, and an orderly end at SIGINT and SIGTERM.
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
	engine := tegenaria.NewSpiderEngine(append(options,
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithSignals(),
		tegenaria.EngineWithSpiders(ours.Spider(j)),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithPipelines(feed.JSONL(j.Out)))...)
	return engine.Run(context.Background(), "race")
}
