package crawl_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria/examples/linksrus/crawl"
	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
)

// Two pages, of which one is in the graph at first. The client stands for the web.
func ExamplePipeline_Pass() {
	pages := web{
		"http://example.com/":      htmlPage(`<title>Home</title><a href="/about">about us</a> <a href="https://example.org/">others</a>`),
		"http://example.com/about": htmlPage(`<title>About</title><p>We spin webs.</p> <a href="/missing">more</a>`),
	}
	ctx := context.Background()
	g, idx := graph.NewMemory(), index.NewMemory()
	_ = g.UpsertLink(ctx, &graph.Link{URL: "http://example.com/"})
	crawler := crawl.NewPipeline(crawl.Config{Graph: g, Indexer: idx, Client: pages,
		Dropped: func(url string, why error) { fmt.Println("dropped", url) }})

	report, err := crawler.Pass(ctx, crawl.Work{From: g, Scope: crawl.NewScope("http://example.com/")})
	fmt.Println(report.Pages, "pages,", report.Dropped, "dropped,", err)
	for link := range g.Links(ctx, graph.All, time.Now().Add(time.Hour)) {
		fmt.Println(link.URL, !link.RetrievedAt.IsZero())
	}
	found, _ := idx.Search(ctx, index.ParseQuery(`"spin webs"`))
	fmt.Println(found.Documents[0].Title)
	// Unordered output:
	// dropped http://example.com/missing
	// 2 pages, 1 dropped, <nil>
	// http://example.com/ true
	// http://example.com/about true
	// http://example.com/missing false
	// https://example.org/ false
	// About
}
