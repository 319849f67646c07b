//go:build unix

// Command simplest is our contestant as a newcomer writes it: a handler, a feed.
package main

import (
	"context"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/feed"
)

func main() { job.Main(run) }

func run(j job.Job) error {
	options, err := ours.Options(j)
	if err != nil {
		return err
	}
	engine := tegenaria.NewSpiderEngine(options...)
	engine.RegisterSpiders(ours.Spider(j))
	engine.RegisterPipelines(feed.JSONL(j.Out))
	return engine.Run(context.Background(), "race")
}
