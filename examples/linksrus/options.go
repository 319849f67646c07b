package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/tegenaria/tegenaria/examples/linksrus/crawl"
)

// options is the command line.
type options struct {
	urls     []string // normalized
	db       string
	listen   string
	recrawl  time.Duration
	pipeline bool
	workers  int
	query    string
}

// parseOptions reads the command line, and returns flag.ErrHelp when it has printed the help that was asked for.
func parseOptions(args []string, help io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("linksrus", flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Func("url", "`URL` of a site to crawl; may be given several times (default: a demo site)", func(s string) error {
		url, err := crawl.Normalize(s)
		if err == nil && !crawl.NewGuard(url).Permits(url) {
			err = errors.New("a private address; only those of this machine itself may be crawled")
		}
		o.urls = append(o.urls, url)
		return err
	})
	f.StringVar(&o.db, "db", "", "`directory` that keeps graph and index (default: memory)")
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "`address` of the search page; port 0 is a free one")
	f.DurationVar(&o.recrawl, "recrawl", 0, "`time` between two passes over everything; 0: one pass")
	f.BoolVar(&o.pipeline, "pipeline", false, "crawl with a pipeline of package stage, which asks for no robots.txt")
	f.IntVar(&o.workers, "c", 8, "`pages` that are fetched at the same time")
	f.StringVar(&o.query, "q", "", "crawl, print the first results for these `words`, and end")

	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintln(help, "usage: linksrus [flags]")
		f.SetOutput(help)
		f.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w; -h lists the flags", err)
	case f.NArg() > 0:
		return nil, fmt.Errorf("%q belongs to no flag; URLs are given as -url URL", f.Arg(0))
	case o.db != "" && len(o.urls) == 0:
		return nil, errors.New("-db needs a -url: the demo site has another address each time")
	case o.workers < 1:
		return nil, fmt.Errorf("-c is %d; it must be 1 or more", o.workers)
	case o.recrawl < 0:
		return nil, fmt.Errorf("-recrawl is %s; it must not be negative", o.recrawl)
	}
	return o, nil
}
