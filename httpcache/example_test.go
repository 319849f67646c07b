package httpcache_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"

	"github.com/tegenaria/tegenaria/httpcache"

	"github.com/tegenaria/tegenaria"
)

// While a spider is written, every page is fetched once: the second crawl gets its pages from the disk, at once.
func Example() {
	var requests atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		fmt.Fprint(w, "<h1>Books</h1>")
	}))
	defer site.Close()
	folder, err := os.MkdirTemp("", "cache")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)

	cache, err := httpcache.Open(folder, httpcache.Options{})
	if err != nil {
		panic(err)
	}
	defer cache.Close()
	for range 2 {
		spider := tegenaria.NewSpider("books", tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, _ *tegenaria.Output[any]) error {
			fmt.Println(page.CSS("h1").Text(), page.Cached().State)
			return nil
		}), site.URL)
		cached := tegenaria.EngineWithDownloaderLayers(cache.Layer)
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), cached,
			tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK())
		if err := engine.Run(context.Background(), "books"); err != nil {
			panic(err)
		}
		stats := engine.Stats()
		fmt.Println(requests.Load(), "requests so far,", stats.Cache.Hits, "hits")
	}
	// Output:
	// Books miss
	// 2 requests so far, 0 hits
	// Books hit
	// 2 requests so far, 2 hits
}
