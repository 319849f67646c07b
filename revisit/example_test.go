package revisit_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/revisit"
)

type book struct {
	ISBN  string `json:"isbn" key:"true"` // tells the books apart
	Price string `json:"price"`
}

// A shop is crawled on two days. On the second one a price has changed, and the feed has that change alone.
func Example() {
	price := "12.00"
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<li id=111>%s</li><li id=222>9.00</li>", price)
	}))
	defer shop.Close()
	folder, err := os.MkdirTemp("", "history")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	parse := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
		for _, b := range page.CSS("li").All() {
			if err := out.Item(book{b.Attr("id"), b.Text()}); err != nil {
				return err
			}
		}
		return nil
	})
	crawl := func() error {
		history, err := revisit.Open(folder, revisit.Options{})
		if err != nil {
			return err
		}
		defer history.Close()
		changes := history.Changes(feed.JSONL(filepath.Join(folder, "changes.jsonl")))
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", parse, shop.URL)),
			tegenaria.EngineWithPipelines(changes), tegenaria.EngineWithQuiet())
		if err := engine.Run(context.Background(), "books"); err != nil {
			return err
		}
		runs, err := history.Runs()
		if err != nil {
			return err
		}
		last := runs[len(runs)-1]
		fmt.Printf("run %d: %d new, %d changed, %d unchanged, %d removed\n", last.Number, last.New, last.Changed, last.Unchanged, last.Removed)
		return nil
	}
	for range 2 {
		if err := crawl(); err != nil {
			panic(err)
		}
		price = "10.00"
	}
	// Output:
	// run 1: 2 new, 0 changed, 0 unchanged, 0 removed
	// run 2: 0 new, 1 changed, 1 unchanged, 0 removed
}

// The parser reads a page for its links alone if the site says that the page is not modified: the history keeps the items of the page.
func ExampleHistory_Changes() {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		fmt.Fprint(w, "<h1>Dune</h1>")
	}))
	defer shop.Close()
	folder, err := os.MkdirTemp("", "history")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	cache, err := httpcache.Open(filepath.Join(folder, "pages"), httpcache.Options{Policy: httpcache.Refresh})
	if err != nil {
		panic(err)
	}
	defer cache.Close()
	history, err := revisit.Open(folder, revisit.Options{})
	if err != nil {
		panic(err)
	}
	defer history.Close()
	parse := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
		fmt.Println("the page is", page.Change())
		if page.Change() != tegenaria.ChangeNotModified {
			if err := out.Item(book{ISBN: page.CSS("h1").Text()}); err != nil {
				return err
			}
		}
		return out.FollowLinks()
	})
	for range 2 {
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", parse, shop.URL)),
			tegenaria.EngineWithDownloaderLayers(cache.Layer), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithQuiet(),
			tegenaria.EngineWithPipelines(history.Changes(feed.JSONL(filepath.Join(folder, "changes.jsonl")))))
		if err := engine.Run(context.Background(), "books"); err != nil {
			panic(err)
		}
	}
	for row := range history.Items() {
		fmt.Println("the history has", row.Key)
	}
	// Output:
	// the page is new
	// the page is not modified
	// the history has Dune
}

// The table has the items as they were found last, whichever run that was.
func ExampleHistory_Items() {
	folder, err := os.MkdirTemp("", "history")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	history, err := revisit.Open(folder, revisit.Options{KeyField: "isbn", MaxRemoved: 0.05})
	if err != nil {
		panic(err)
	}
	defer history.Close()
	for row, err := range history.Items() {
		if err != nil {
			panic(err)
		}
		fmt.Println(row.Key, string(row.Item))
	}
	// Output:
}

// The history stays as it is: the second crawl could be one with another selector.
func ExampleHistory_Compare() {
	folder, err := os.MkdirTemp("", "history")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	history, err := revisit.Open(folder, revisit.Options{KeyField: "id"})
	if err != nil {
		panic(err)
	}
	defer history.Close()
	comparison := history.Compare(func(change revisit.Change) error {
		fmt.Println(change.Op, change.Key, string(change.Old))
		return nil
	})
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<h1>Dune</h1>") }))
	defer site.Close()
	crawl := func(field string, to tegenaria.PipelinesInterface) {
		parse := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[map[string]string]) error {
			return out.Item(map[string]string{field: page.CSS("h1").Text(), "id": "1"})
		})
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", parse, site.URL)),
			tegenaria.EngineWithPipelines(to), tegenaria.EngineWithQuiet())
		if err := engine.Run(context.Background(), "books"); err != nil {
			panic(err)
		}
	}
	crawl("name", history.Changes(feed.JSONL(filepath.Join(folder, "changes.jsonl"))))
	crawl("title", comparison)
	fmt.Printf("%d same, %d changed\n", comparison.Found().Same, comparison.Found().Changed)
	// Output:
	// changed 1 {"name":"Dune","title":null}
	// 0 same, 1 changed
}

// On the second day the site says of both pages that they are not modified, and no parser runs. The page of the book is asked for all the same.
func ExampleOptions() {
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"1"`)
		if r.Header.Get("If-None-Match") == `"1"` {
			fmt.Println("304", r.URL.Path)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if r.URL.Path == "/" {
			fmt.Fprint(w, "<a href=/dune>Dune</a>")
			return
		}
		fmt.Fprint(w, "<h1>Dune</h1>")
	}))
	defer shop.Close()
	folder, err := os.MkdirTemp("", "history")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(folder)
	cache, err := httpcache.Open(filepath.Join(folder, "pages"), httpcache.Options{Policy: httpcache.Refresh})
	if err != nil {
		panic(err)
	}
	defer cache.Close()
	history, err := revisit.Open(folder, revisit.Options{SkipUnchanged: true})
	if err != nil {
		panic(err)
	}
	defer history.Close()
	parse := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
		fmt.Println("parsing", page.Request().Url[len(shop.URL):])
		if title := page.CSS("h1").Text(); title != "" {
			return out.Item(book{ISBN: title})
		}
		return out.FollowLinks()
	})
	for range 2 {
		engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", parse, shop.URL+"/")),
			tegenaria.EngineWithDownloaderLayers(cache.Layer), tegenaria.EngineWithQuiet(),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
			tegenaria.EngineWithPipelines(history.Changes(feed.JSONL(filepath.Join(folder, "changes.jsonl")))))
		if err := engine.Run(context.Background(), "books"); err != nil {
			panic(err)
		}
	}
	runs, err := history.Runs()
	if err != nil {
		panic(err)
	}
	fmt.Printf("of %d pages %d were skipped; %d item is unchanged\n", runs[1].Pages, runs[1].Skipped, runs[1].Unchanged)
	// Output:
	// parsing /
	// parsing /dune
	// 304 /
	// 304 /dune
	// of 2 pages 2 were skipped; 1 item is unchanged
}
