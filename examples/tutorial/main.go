// Command tutorial is a whole spider with everything it usually has: a struct with two parsers, a
// middleware, three pipelines and an ErrorHandler that tries again. It reads the shop of the demo site,
// which the program serves itself on loopback, and prints the books that are in stock as lines of JSON.
//
//	go run ./examples/tutorial
//
// spider.go says where to start and how to read the pages, middleware.go changes the requests on their
// way out, pipelines.go is what happens to a book once it is found, and main.go puts the parts together.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
)

func main() {
	site := demosite.MustStart()
	err := run(site.URL(), os.Stdout, os.Stderr)
	if err = errors.Join(err, site.Close()); err != nil {
		log.Fatal(err)
	}
}

// run crawls the site at that address. Books go to out, how it went to info.
func run(site string, out, info io.Writer) error {
	spider := newBookSpider(site)
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithConcurrency(8))
	engine.RegisterSpiders(spider)
	engine.RegisterParser("book", spider.ParseBook)
	engine.RegisterDownloadMiddlewares(&language{"en"})
	engine.RegisterPipelines(&validate{}, &enrich{}, &printer{w: out})
	if err := engine.Execute("books"); err != nil {
		return err
	}
	stats := engine.Stats()
	_, err := fmt.Fprintf(info, "%d pages read, %d books in stock, %d sold out, %d failures overcome\n",
		stats.Outcomes[tegenaria.Fetched], stats.ItemScraped, stats.ItemDropped, stats.ErrorCount)
	return err
}
