package disk_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
)

// A crawl that is stopped after two pages, and goes on where it was. The items of different pages come in any order.
func ExampleOpen() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
		if n < 4 {
			fmt.Fprintf(w, `<a href="/%d">next</a>`, n+1)
		}
	}))
	defer site.Close()
	dir, err := os.MkdirTemp("", "disk")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
		return errors.Join(out.Item(resp.CSS("a").Attr("href")), out.FollowLinks())
	}
	crawl := func(limits tegenaria.Limits) error {
		cache, err := disk.Open(filepath.Join(dir, "job"))
		if err != nil {
			return err
		}
		engine := tegenaria.NewSpiderEngine(
			tegenaria.EngineWithCache(cache),
			tegenaria.EngineWithLimits(limits),
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("links", tegenaria.Handle(parse), site.URL+"/0")),
			tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(dir, "links.jsonl"))))
		return errors.Join(engine.Run(context.Background(), "links"), cache.Close())
	}
	fmt.Println(crawl(tegenaria.Limits{Pages: 2}))
	fmt.Println(crawl(tegenaria.Limits{}))
	text, err := os.ReadFile(filepath.Join(dir, "links.jsonl"))
	fmt.Print(string(text), err, "\n")
	// Unordered output:
	// tegenaria: crawl stopped: limit: pages
	// <nil>
	// "/1"
	// "/2"
	// "/3"
	// "/4"
	// ""
	// <nil>
}
