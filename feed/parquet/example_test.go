package parquet_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	bare "github.com/parquet-go/parquet-go"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/parquet"
)

type shopOffer struct {
	Shop  string `json:"shop"`
	Price string `json:"price" parquet:"decimal(2:10)"`
}

// shopPage is what a page has.
type shopPage struct {
	Title  string      `json:"title"`
	Seen   time.Time   `json:"seen"`
	Offers []shopOffer `json:"offers"`
}

// A crawl that writes what it finds to Parquet files, of at most an hour each.
func ExampleNew() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<title>Spiders &amp; webs</title><p class="price">12.50</p>`)
	}))
	defer site.Close()
	dir, err := os.MkdirTemp("", "parquet")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)

	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[shopPage]) error {
		return out.Item(shopPage{resp.CSS("title").Text(), time.Now(), []shopOffer{{"shop", resp.CSS(".price").Text()}}})
	}
	lake := parquet.New[shopPage](filepath.Join(dir, "{spider}-{part}.parquet"), parquet.Rotate(feed.Rotation{Items: 1_000_000, Every: time.Hour}))
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("pages", tegenaria.Handle(parse), site.URL)),
		tegenaria.EngineWithPipelines(lake))
	if err := engine.Run(context.Background(), "pages"); err != nil {
		panic(err)
	}

	rows, err := bare.ReadFile[struct {
		Title string `parquet:"title"`
	}](filepath.Join(dir, "pages-0001.parquet"))
	fmt.Println(rows, err)
	// Output: [{Spiders & webs}] <nil>
}
