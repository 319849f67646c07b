//go:build unix

// Command attrs is our contestant with a loop over the attributes that a selector finds.
package main

import (
	"context"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/bench/site"
)

func main() { job.Main(func(j job.Job) error { return ours.Run(j, parse) }) }

func parse(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[site.Item]) error {
	if it, ok := ours.Item(resp); ok {
		if err := out.Item(it); err != nil {
			return err
		}
	}
	for _, ref := range resp.CSS("a").Attrs("href") {
		if err := out.Follow(ref); err != nil {
			return err
		}
	}
	return nil
}
