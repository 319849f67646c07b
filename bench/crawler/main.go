//go:build unix

// Command crawler is the benchmark spider: it crawls a bench site, extracts the items with CSS selectors and writes them as
// lines of JSON. It prints what it took as one line of JSON.
//
//	go -C bench run ./crawler -url http://127.0.0.1:8080/ -out items.jsonl -job DIR
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
)

// Result is what the crawler prints.
type Result struct {
	Pages     int64   `json:"pages"`
	Items     int64   `json:"items"`
	Seconds   float64 `json:"seconds"`
	CPUMicros float64 `json:"cpu_micros"` // user and system
	RSSMiB    float64 `json:"rss_mib"`    // the most it had
}

func main() {
	url := flag.String("url", "", "`URL` of the site")
	out := flag.String("out", "", "`file` for the items")
	job := flag.String("job", "", "`directory` of the durable cache; none: memory")
	concurrency := flag.Int("c", 16, "`requests` in flight")
	flag.Parse()
	if err := run(*url, *out, *job, *concurrency); err != nil {
		fmt.Fprintln(os.Stderr, "crawler:", err)
		os.Exit(1)
	}
}

// parse reads a page.
func parse(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[site.Item]) error {
	if product := resp.CSS("div.product").First(); product.Len() > 0 {
		it := site.Item{
			SKU: product.CSS(".sku").Text(), Title: product.CSS("h1.title").Text(), Price: product.CSS(".price").Text(),
			Description: product.CSS("p.description").Text(), Tags: product.CSS(".tags li").Texts(),
		}
		if err := out.Item(it); err != nil {
			return err
		}
	}
	return out.FollowLinks()
}

func run(url, out, job string, concurrency int) (err error) {
	begin := time.Now()
	options := []tegenaria.EngineOption{
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("bench", tegenaria.Handle(parse), url)),
		tegenaria.EngineWithConcurrency(concurrency),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: concurrency, IgnoreRobots: true}),
		tegenaria.EngineWithPipelines(feed.JSONL(out, feed.Overwrite())),
	}
	var cache *disk.Cache
	if job != "" {
		if cache, err = disk.Open(job); err != nil {
			return err
		}
		options = append(options, tegenaria.EngineWithCache(cache))
	}
	engine := tegenaria.NewSpiderEngine(options...)
	err = engine.Run(context.Background(), "bench")
	if cache != nil {
		err = errors.Join(err, cache.Close())
	}
	if err != nil {
		return err
	}
	stats := engine.Stats()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(Result{
		Pages: stats.Outcomes[tegenaria.Fetched], Items: stats.ItemScraped, Seconds: time.Since(begin).Seconds(),
		CPUMicros: float64(used.Utime.Nano()+used.Stime.Nano()) / 1e3, RSSMiB: float64(used.Maxrss) / 1024,
	})
}
