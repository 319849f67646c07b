//go:build unix

// Command cluster is a worker of a crawl of ours that several share, in the database that the environment names. Its name is that of
// the folder -dir, and its items are a file of its own.
package main

import (
	"context"
	"path/filepath"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/middleware"
)

func main() { job.Main(run) }

func run(j job.Job) error {
	options, err := ours.Options(j)
	if err != nil {
		return err
	}
	worker := cluster.Options{Worker: filepath.Base(j.Dir), Dir: j.Dir}
	return cluster.Run(context.Background(), "", "race", worker, func(ctx context.Context, cache *cluster.Cache) error {
		engine := tegenaria.NewSpiderEngine(append(options,
			tegenaria.EngineWithCache(cache),
			tegenaria.EngineWithSignals(),
			tegenaria.EngineWithSpiders(ours.Spider(j)),
			tegenaria.EngineWithMiddlewares(middleware.Standard()...),
			tegenaria.EngineWithPipelines(feed.JSONL(j.Out)))...)
		return engine.Run(ctx, "race")
	})
}
