//go:build unix

// Command ours is a crawl of ours as the guide to jobs shows one that survives its process: the standard middlewares, a durable job,
// an output, and an orderly end at SIGINT and SIGTERM. The output is the file of -out, .jsonl, .csv or .db; or, if that is "postgres:",
// the database that the environment names.
package main

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/postgres"
	"github.com/tegenaria/tegenaria/feed/sqlite"
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
	var output tegenaria.PipelinesInterface
	switch filepath.Ext(j.Out) {
	case ".csv":
		output = feed.CSV(j.Out)
	case ".db":
		output = sqlite.New[site.Item](j.Out, sqlite.Table("items"))
	case ".jsonl":
		output = feed.JSONL(j.Out)
	default:
		pool, err := pgxpool.New(context.Background(), "")
		if err != nil {
			return err
		}
		defer pool.Close()
		output = postgres.New[site.Item](pool, postgres.Table("items"), postgres.Rejects(j.Dir+".rejects.jsonl"))
	}
	engine := tegenaria.NewSpiderEngine(append(options,
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithSignals(),
		tegenaria.EngineWithSpiders(ours.Spider(j)),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithPipelines(output))...)
	return engine.Run(context.Background(), "race")
}
