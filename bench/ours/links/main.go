//go:build unix

// Command links is our contestant with a loop over the links of a page, as a handler is written that looks at each link before
// it follows it.
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
	for _, link := range resp.Links() {
		if err := out.Follow(link.URL); err != nil {
			return err
		}
	}
	return nil
}
