// Command rules crawls the books of the demo site with two rules: the link to the next page is followed to find more
// links, and the pages of books are parsed. It is what Scrapy calls a CrawlSpider. The program serves the site itself,
// on loopback.
//
//	go run ./examples/rules
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/spiders"
)

// Book is the item.
type Book struct{ Title, Price string }

func parseBook(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Book]) error {
	return out.Item(Book{page.CSS("h1").Text(), page.CSS(".price_color").First().Text()})
}

func main() {
	site := demosite.MustStart()
	err := run(context.Background(), site.URL(), os.Stdout)
	if err = errors.Join(err, site.Close()); err != nil {
		log.Fatal(err)
	}
}

// run crawls the site at that address and prints the books by title.
func run(ctx context.Context, site string, w io.Writer) error {
	spider := spiders.NewCrawl("books", nil, site+"/books/")
	spider.Rules = []spiders.LinkRule{
		{Links: []links.Option{links.CSS("article.product_pod")}, Parser: tegenaria.Handle(parseBook), Name: "book"},
		{Links: []links.Option{links.CSS("li.next")}, Follow: true, Name: "next page"},
	}
	var books []Book
	for book, err := range tegenaria.Crawl[Book](ctx, spider, tegenaria.EngineWithQuiet()) {
		if err != nil {
			return err
		}
		books = append(books, book)
	}
	slices.SortFunc(books, func(a, b Book) int { return strings.Compare(a.Title, b.Title) })
	for _, book := range books {
		if _, err := fmt.Fprintf(w, "%8s  %s\n", book.Price, book.Title); err != nil {
			return err
		}
	}
	return nil
}
