// Command linksrus is a small search engine: it crawls web sites, stores which page links to which, ranks the pages
// by their links, and serves a page to search them and to submit links.
//
//	go -C examples/linksrus run .                          # a demo site that it serves itself
//	go -C examples/linksrus run . -url https://go.dev/doc/ -db "$PWD/search" -recrawl 1h
//
// It has a module of its own, so that no program which uses Tegenaria names what a search engine needs.
//
// It prints the address of its page, which is on loopback unless -listen says otherwise, and runs until it is
// interrupted. For each -url the whole host is crawled, for a submitted link only that page. With -db the graph (SQLite)
// and the index (bleve) are kept in a directory, and the next run uses them. With -recrawl everything is crawled again
// in this interval: changed pages are replaced, and links that no longer exist are removed from the graph.
// -q answers one query on stdout instead of serving the page.
//
// The application is Links 'R' Us of the book Hands-On Software Engineering with Golang (A. Anagnostopoulos, Packt
// 2020); package graph is the link graph, index the text index, crawl the crawler, rank PageRank, web the page.
//
// # Two ways to crawl
//
// The crawler is written twice: as a spider on the engine, which is the default, and, with -pipeline, as in the book:
// as a pipeline of package stage, whose source is the links in the graph. Both fill the same stores through the same
// functions. How they differ:
//
//	                     pipeline of stage                        spider on the engine
//	the program          four stages in a row, each a function    a handler and an item pipeline
//	what is found        goes through the graph: the next round   is queued at once
//	at the same time     pages of any hosts, up to a number       the same, but at most 8 pages of one host
//	robots.txt           ignored: only for your own sites         obeyed, with its Crawl-delay
//	429, 503, a reset    dropped; the next pass tries again       retried after the pause that the server asks for
//	redirects            inside the client, each hop guarded;     requests of their own; one page, one request
//	                     a target may be fetched twice
//	?a=1&b=2, ?b=2&a=1   two pages                                one page
//	spider traps         followed                                 ended (middleware.Standard)
//	no HTML              known before the body is read            known by the extension, or too late
//	order of storing     that of fetching, one page at a time     any, 16 pages at a time
//	kill -9              the next pass does it all again          the same; with cache/disk it goes on
//	time of a page       from source to sink, waiting included    from download to stores
//	statistics           this report                              Summary: every URL with its outcome
//
// So a pipeline is right for your own data that comes from a store and flows in one direction: it is small, and every
// stage can be tested alone. The engine is right for crawling web sites of others.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "linksrus:", err)
		os.Exit(1)
	}
}

// run does what the command line says. It returns nil when ctx was done, as that is how the server ends.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parseOptions(args, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(o.urls) == 0 {
		site, startErr := startDemo()
		if startErr != nil {
			return startErr
		}
		defer func() { err = errors.Join(err, site.close()) }()
		o.urls = []string{site.url}
		fmt.Fprintln(stderr, "crawling the demo site at", site.url)
	}
	s, err := open(ctx, o, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if o.query != "" {
		return s.answer(ctx, o.query, stdout)
	}
	return s.serve(ctx, o, stdout)
}
