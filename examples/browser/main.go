// Command browser crawls a shop that is made by scripts, in three ways: pages that a server has made are downloaded, pages that need
// JavaScript are rendered, and a list that grows as one scrolls is taken from the JSON that its script fetches. The program serves the
// shop itself, on loopback. It needs Chromium, and says so if there is none.
//
//	go run ./examples/browser
//	go run ./examples/browser -picture catalogue.png
//	go run ./examples/browser -without-sandbox        # as root, in a container: the pages are its own
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/links"
)

// product is the item.
type product struct {
	Name, Price string
	By          string // how the crawl has got it
}

// crawler is the spider's state.
type crawler struct {
	picture string // the file for the picture of the catalogue; "": none
}

// parse takes the product of a page, and follows its links. It sees pages in the form that a reader sees, downloaded or rendered.
func (c crawler) parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	if name := page.CSS("h1.product").Text(); name != "" {
		by := "downloaded"
		if page.Request().Downloader() == "browser" {
			by = "rendered"
		}
		if err := out.Item(product{name, page.CSS(".price").Text(), by}); err != nil {
			return err
		}
	}
	err := out.Follow(page.CSS("a.catalogue").Attr("href"),
		tegenaria.RequestWithDownloader("browser"),
		tegenaria.RequestWithParser(tegenaria.Handle(c.catalogue)),
		browser.Capture("*/api/products*"),
		browser.Do(browser.ScrollUntil("#products li", 0), browser.Screenshot("picture", "#products")))
	if err != nil {
		return err
	}
	return out.FollowLinks(links.CSS("a.product"))
}

// catalogue takes the products that the list has fetched while it was scrolled, and its picture.
func (c crawler) catalogue(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	for _, exchange := range browser.Captured(page) {
		var products []product
		if err := exchange.Decode(&products); err != nil {
			return err
		}
		for _, p := range products {
			p.By = "captured"
			if err := out.Item(p); err != nil {
				return err
			}
		}
	}
	picture, err := browser.Result[[]byte](page, "picture")
	if err != nil || c.picture == "" {
		return err
	}
	return os.WriteFile(c.picture, picture, 0o600)
}

// crawl crawls the shop, and prints its products.
func (c crawler) crawl(ctx context.Context, out io.Writer, options browser.Options) error {
	chromium, err := browser.Open(options)
	if err != nil {
		return err
	}
	shop := httptest.NewServer(newShop())
	defer shop.Close()
	spider := tegenaria.NewSpider("shop", tegenaria.Handle(c.parse), shop.URL)
	for p, err := range tegenaria.Crawl[product](ctx, spider,
		tegenaria.EngineWithQuiet(),
		func(e *tegenaria.SpiderEngine) { e.RegisterDownloader("browser", chromium) },
		tegenaria.EngineWithMiddlewares(browser.Adaptive(browser.AdaptiveOptions{}))) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%-10s  %-16s  %s\n", p.By, p.Name, p.Price); err != nil {
			return err
		}
	}
	return nil
}

// run is the program. That there is no Chromium to run is no failure of it.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("browser", flag.ContinueOnError)
	var c crawler
	var options browser.Options
	flags.StringVar(&c.picture, "picture", "", "the `file` for a picture of the catalogue, a PNG")
	flags.StringVar(&options.Path, "path", "", "the `program` of Chromium")
	flags.BoolVar(&options.DangerouslyWithoutSandbox, "without-sandbox", false, "run Chromium without its sandbox, which "+
		"does not work for root")
	if err := flags.Parse(args); err != nil {
		return err
	}
	err := c.crawl(ctx, out, options)
	_, missing := errors.AsType[*browser.NotInstalledError](err)
	_, root := errors.AsType[*browser.RootError](err)
	if missing || root {
		_, err = fmt.Fprintf(out, "%v\n", err)
	}
	return err
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}
