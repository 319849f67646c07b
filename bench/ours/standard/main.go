//go:build unix

// Command standard is our contestant as docs/getting-started.md shows a program: a loop over items of one type, and the
// standard middlewares.
package main

import (
	"context"
	"errors"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/middleware"
)

func main() { job.Main(run) }

func run(j job.Job) (err error) {
	options, err := ours.Options(j)
	if err != nil {
		return err
	}
	items, err := j.Items()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, items.Close()) }()
	options = append(options, tegenaria.EngineWithMiddlewares(middleware.Standard()...))
	for it, err := range tegenaria.Crawl[site.Item](context.Background(), ours.Spider(j), options...) {
		if err != nil {
			return err
		}
		items.Add(it)
	}
	return nil
}
