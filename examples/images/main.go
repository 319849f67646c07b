// Command images crawls books and downloads the pictures of their covers, with a thumbnail of each. The site is the demo site of this
// repository, served on loopback by the program itself. A second crawl finds the pictures in the folder, and requests none of them.
//
//	go run ./examples/images [FOLDER]
//
// The pictures are kept if a folder is named.
package main

import (
	"context"
	"fmt"
	"image"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/media"
)

type book struct {
	Title   string
	Cover   string `media:"image,into=Picture"`
	Picture media.Result
}

func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
	if cover := page.CSS("img.cover"); cover.Len() > 0 {
		return out.Item(book{Title: page.CSS("h1").Text(), Cover: cover.Attr("src")})
	}
	for _, link := range page.CSS("article.product_pod h2 a").All() {
		if err := out.Follow(link.Attr("href")); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	folder, err := os.MkdirTemp("", "images-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if len(args) > 0 {
		folder = args[0]
	}
	site := demosite.MustStart()
	defer site.Close()
	for _, name := range []string{"first", "second"} {
		before := len(site.Log())
		books, err := crawl(ctx, site.URL()+"/books/", folder)
		if err != nil {
			return err
		}
		for _, b := range books[:3] {
			p := b.Picture
			fmt.Fprintf(out, "%-32.32s %-10s %d × %d %.16s… %.24s…\n", b.Title, p.Status, p.Width, p.Height, p.Path, p.Thumbs["small"])
		}
		asked := 0
		for _, e := range site.Log()[before:] {
			if strings.HasPrefix(e.URL, "/covers/") {
				asked++
			}
		}
		if _, err := fmt.Fprintf(out, "%s crawl: %d books, %d pictures asked for\n", name, len(books), asked); err != nil {
			return err
		}
	}
	return nil
}

// crawl returns the books by title.
func crawl(ctx context.Context, url, folder string) ([]book, error) {
	pictures := media.New(media.Options{
		Dir:    folder,
		Images: true,
		Thumbs: map[string]image.Point{"small": {X: 20, Y: 20}},
	})
	var books []book
	spider := tegenaria.NewSpider("books", tegenaria.Handle(parse), url)
	for b, err := range tegenaria.Crawl[book](ctx, spider, tegenaria.EngineWithPipelines(pictures), tegenaria.EngineWithQuiet()) {
		if err != nil {
			return nil, err
		}
		books = append(books, b)
	}
	slices.SortFunc(books, func(a, b book) int { return strings.Compare(a.Title, b.Title) })
	return books, nil
}
