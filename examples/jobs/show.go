package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/feed"
)

// quote is what the crawl finds.
type quote struct {
	Text   string `json:"text"`
	Author string `json:"author"`
}

// parse reads a page of quotes, and asks for one that does not exist.
func parse(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[quote]) error {
	for _, q := range resp.CSS("div.quote").All() {
		if err := out.Item(quote{q.CSS("span.text::text").Text(), q.CSS("small.author::text").Text()}); err != nil {
			return err
		}
	}
	if err := out.Follow("/no-such-page"); err != nil {
		return err
	}
	for _, href := range resp.CSS("li.next a").Attrs("href") {
		if err := out.Follow(href); err != nil {
			return err
		}
	}
	return nil
}

// show stops a crawl in the middle, looks into it, and resumes it.
func show(ctx context.Context, out io.Writer) (err error) {
	site, err := demosite.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, site.Close()) }()
	dir, err := os.MkdirTemp("", "jobs")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	job := filepath.Join(dir, "job")

	fmt.Fprintln(out, "== a crawl that stops after four pages")
	var stopped *tegenaria.StoppedError
	if err := crawl(ctx, job, site.URL()+"/quotes/", tegenaria.Limits{Pages: 4}); !errors.As(err, &stopped) {
		return fmt.Errorf("the crawl did not stop: %w", err)
	}
	for _, args := range [][]string{{"status", job}, {"pending", job}, {"explain", job, site.URL() + "/no-such-page"}, {"requeue", job}} {
		if err := look(ctx, out, args...); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "== the same crawl, resumed")
	if err := crawl(ctx, job, site.URL()+"/quotes/", tegenaria.Limits{}); err != nil {
		return err
	}
	for _, verb := range []string{"status", "dead"} {
		if err := look(ctx, out, verb, job); err != nil {
			return err
		}
	}
	return nil
}

// look runs a command for jobs.
func look(ctx context.Context, out io.Writer, args ...string) error {
	fmt.Fprintf(out, "== tegenaria jobs %s\n", args[0])
	if code := cli.New().Run(ctx, append([]string{"jobs"}, args...), os.Stdin, out, out); code != 0 {
		return fmt.Errorf("jobs %s: exit code %d", args[0], code)
	}
	return nil
}

// crawl begins the job, or resumes it.
func crawl(ctx context.Context, job, url string, limits tegenaria.Limits) error {
	cache, err := disk.Open(job)
	if err != nil {
		return err
	}
	logger := logrus.New()
	logger.SetOutput(io.Discard)
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithCache(cache),
		tegenaria.EngineWithLimits(limits),
		tegenaria.EngineWithLogger(logger),
		tegenaria.EngineWithConcurrency(1),
		tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(filepath.Dir(job), "quotes.jsonl"))),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("quotes", tegenaria.Handle(parse), url)))
	return errors.Join(engine.Run(ctx, "quotes"), cache.Close())
}
