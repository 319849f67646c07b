// Command newsfeed reads the feed of the demo site again and again, and prints each new entry once, with the stock of
// its book from another page. The feed is requested with the ETag of the last response, and most responses say that
// nothing has changed. The program serves the site itself, on loopback, and requests the feed every 50 milliseconds,
// where a real program would wait an hour; it ends after eight entries.
//
//	go run ./examples/newsfeed
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/records"
	"github.com/tegenaria/tegenaria/spiders"
)

// News is the item.
type News struct {
	Date  time.Time
	Title string
	Stock string
}

// parseEntry gets each entry of the feed once, and asks for the page of its book.
func parseEntry(_ context.Context, entry *records.Entry, out *tegenaria.Output[News]) error {
	return out.Follow(entry.URL, tegenaria.RequestWithParserName("book"), tegenaria.RequestWithData(News{entry.Published, entry.Title, ""}))
}

// parseBook reads the page.
func parseBook(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[News]) error {
	news, err := tegenaria.Data[News](page)
	if err != nil {
		return err
	}
	news.Stock = page.CSS(".availability").First().Text()
	return out.Item(news)
}

func main() {
	site := demosite.MustStart()
	err := run(context.Background(), site, os.Stdout)
	if err = errors.Join(err, site.Close()); err != nil {
		log.Fatal(err)
	}
}

// run prints the first eight entries.
func run(ctx context.Context, site *demosite.Site, w io.Writer) error {
	spider := spiders.NewFeed("news", parseEntry, site.URL()+"/news.xml").On("book", tegenaria.Handle(parseBook))
	spider.Every = 50 * time.Millisecond
	seen := 0
	for news, err := range tegenaria.Crawl[News](ctx, spider, tegenaria.EngineWithQuiet()) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s  %-34s %s\n", news.Date.Format(time.DateOnly), news.Title, news.Stock); err != nil {
			return err
		}
		if seen++; seen == 8 {
			break // stops the crawl
		}
	}
	asked := 0
	for _, e := range site.Log() {
		if e.URL == "/news.xml" {
			asked++
		}
	}
	_, err := fmt.Fprintf(w, "the feed was asked for %d times\n", asked)
	return err
}
