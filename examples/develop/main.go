// Command develop shows a morning with a new spider: the selector of the author is wrong at first, and the second crawl, with the
// right one, gets the pages from disk. The site is the demo site of this repository, served on loopback by the program itself.
//
//	go run ./examples/develop
//
//	1st crawl: 100 quotes, 0 authors in 9.5s; asked the site for 10 pages, 48.8 kB
//	2nd crawl: 100 quotes, 100 authors in 20ms; asked the site for 0 pages, and saved 10 pages, 48.8 kB
//
// With --cache DIR the command does the same: tegenaria crawl quotes --cache .tegenaria/cache
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/httpcache"
)

func main() {
	site := demosite.MustStart()
	defer site.Close()
	folder, err := os.MkdirTemp("", "develop")
	if err == nil {
		err = errors.Join(develop(context.Background(), site.URL(), folder, os.Stdout), os.RemoveAll(folder))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "develop:", err)
		os.Exit(1)
	}
}

type quote struct{ text, author string }

// develop crawls twice, with a cache in a folder.
func develop(ctx context.Context, site, folder string, w io.Writer, more ...tegenaria.EngineOption) error {
	cache, err := httpcache.Open(folder, httpcache.Options{})
	if err != nil {
		return err
	}
	defer cache.Close()
	opts := append([]tegenaria.EngineOption{tegenaria.EngineWithDownloaderLayers(cache.Layer)}, more...)
	for i, selector := range []string{"span.author", "small.author"} {
		name := [...]string{"1st", "2nd"}[i]
		quotes, authors, stats, err := crawl(ctx, site, selector, opts...)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s crawl: %d quotes, %d authors in %s; asked the site for %d pages, ", name, quotes, authors,
			stats.Elapsed.Round(10*time.Millisecond), stats.Cache.Stored)
		if hits := stats.Cache.Hits; hits > 0 {
			fmt.Fprintf(w, "and saved %d pages, %.1f kB\n", hits, float64(stats.Cache.BytesSaved)/1000)
		} else {
			fmt.Fprintf(w, "%.1f kB\n", float64(stats.Bytes)/1000)
		}
	}
	return nil
}

// crawl counts the quotes of the site and those whose author a selector finds.
func crawl(ctx context.Context, site, selector string, opts ...tegenaria.EngineOption) (quotes, authors int, stats tegenaria.Stats, err error) {
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
		for _, q := range page.CSS("div.quote").All() {
			if err := out.Item(quote{q.CSS("span.text").Text(), q.CSS(selector).Text()}); err != nil {
				return err
			}
		}
		return out.Follow(page.CSS("li.next a").Attr("href"))
	}
	count := tegenaria.PipelineFunc(1, func(_ context.Context, q quote) (quote, error) { // items come one at a time
		quotes++
		if q.author != "" {
			authors++
		}
		return q, nil
	})
	logger := logrus.New()
	logger.SetLevel(logrus.WarnLevel)
	engine := tegenaria.NewSpiderEngine(append([]tegenaria.EngineOption{
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("quotes", tegenaria.Handle(parse), site+"/quotes/")),
		tegenaria.EngineWithPipelines(count),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: time.Second}),
		tegenaria.EngineWithLogger(logger),
	}, opts...)...)
	err = engine.Run(ctx, "quotes")
	return quotes, authors, engine.Stats(), err
}
