//go:build unix

// Command channels is our contestant in the form of the first Tegenaria: a spider with a Parser that sends items and
// requests into channels.
package main

import (
	"context"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/feed"
)

type spider struct{ *tegenaria.BaseSpider }

func (s *spider) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	page := resp.Response()
	if it, ok := ours.Item(page); ok {
		item <- tegenaria.NewItem(resp, it)
	}
	for _, link := range page.Links() {
		req <- tegenaria.NewContext(tegenaria.NewRequest(link.URL, tegenaria.GET, nil))
	}
	return nil
}

func main() { job.Main(run) }

func run(j job.Job) error {
	options, err := ours.Options(j)
	if err != nil {
		return err
	}
	engine := tegenaria.NewSpiderEngine(options...)
	engine.RegisterSpiders(&spider{&tegenaria.BaseSpider{Name: "race", FeedUrls: []string{j.URL}}})
	engine.RegisterPipelines(feed.JSONL(j.Out))
	return engine.Run(context.Background(), "race")
}
