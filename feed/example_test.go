package feed_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
)

// A crawl that writes what it finds to a file.
func ExampleJSONL() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<title>Spiders &amp; webs</title>")
	}))
	defer site.Close()
	dir, err := os.MkdirTemp("", "feed")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "titles.jsonl")

	type page struct {
		Title string `json:"title"`
	}
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[page]) error {
		return out.Item(page{resp.CSS("title").Text()})
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("titles", tegenaria.Handle(parse), site.URL)),
		tegenaria.EngineWithPipelines(feed.JSONL(path)))
	if err := engine.Run(context.Background(), "titles"); err != nil {
		panic(err)
	}
	text, err := os.ReadFile(path)
	fmt.Print(string(text), err, "\n")
	// Output:
	// {"title":"Spiders & webs"}
	// <nil>
}
