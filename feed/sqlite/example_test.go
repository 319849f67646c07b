package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed/sqlite"
)

// A crawl that writes what it finds to a table, where a page has one row however often it is crawled.
func ExampleNew() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<title>Spiders &amp; webs</title><p class="tag">silk</p><p class="tag">legs</p>`)
	}))
	defer site.Close()
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "pages.db")

	type page struct {
		Title string   `json:"title"`
		Tags  []string `json:"tags"`
	}
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[page]) error {
		return out.Item(page{resp.CSS("title").Text(), resp.CSS(".tag").Texts()})
	}
	for range 2 {
		engine := tegenaria.NewSpiderEngine(
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("pages", tegenaria.Handle(parse), site.URL)),
			tegenaria.EngineWithPipelines(sqlite.New[page](path, sqlite.Table("pages"), sqlite.Upsert("title"), sqlite.Append())),
		)
		if err := engine.Run(context.Background(), "pages"); err != nil {
			panic(err)
		}
	}

	db, err := sql.Open("sqlite", path)
	if err != nil {
		panic(err)
	}
	defer db.Close()
	var rows int
	var title, tag string
	err = db.QueryRow("SELECT count(*), title, tags ->> 0 FROM pages").Scan(&rows, &title, &tag)
	fmt.Println(rows, title, tag, err)
	// Output: 1 Spiders & webs silk <nil>
}
