// Command sitecrawl crawls web sites and writes one line of JSON for each page:
//
//	go run ./examples/sitecrawl -url https://go.dev/doc/ -depth 2 -out pages.jsonl
//
//	{"url":"https://go.dev/doc/","final_url":"https://go.dev/doc/","status":200,"depth":0,
//	 "title":"Documentation - The Go Programming Language","words":820,"links":97}
//
// It follows a and area links, redirects and refreshes within the seeds' hosts, or -domains, and
// obeys robots.txt. There is a line for every URL that was fetched: not for those that failed, such as a
// 404, and not for a redirect to a page that already has a line. In a line
//
//   - url is the URL as it was found, before redirects, and final_url the one that answered,
//   - depth is the number of links from a seed; neither redirects nor refreshes count,
//   - title is that of the document, white space collapsed,
//   - words is the number of white-space separated words of the text that a reader sees in the body,
//   - links is the number of different http and https URLs that the page links to, fragments off.
//
// The ending of -out chooses another format with the same fields: .json, .csv and .xml, as .jsonl also packed with .gz or .zst, .parquet, and
// .db, an SQLite database with the table pages.
//
// The last three are empty or 0 for what is not HTML. What fails for a reason that may pass is tried again, up to
// three times. The exit code is 0 if the crawl was finished, 1 if it failed, and 3 if it was stopped before its end, by
// -max-pages or by an interrupt; stderr says why. The first interrupt lets requests in flight come to their end, the
// second one does not. If stderr is a terminal it shows how the crawl goes on.
//
// With -host-pages N at most N requests are sent to each host, redirects and retries included; the rest is filtered, and the
// crawl finishes. Unlike -max-pages, this keeps a host with endless pages from using the time of the others.
//
// With -sitemaps the crawl starts from the pages in the sites' sitemaps too: those that robots.txt names or, if it
// names none, /sitemap.xml. The sitemaps have no lines themselves.
//
// It logs in by Basic authentication with the user and password of a -url, at that URL's origin, and with those of -auth
// host=user:password, at the origins of the URLs with that host; an origin, as in -auth http://host:8080=user:password, may
// be of no -url. A login is sent to its origin and nowhere else. Neither passwords nor user names of URLs are in what is
// written, but for the directory of -job, which nobody else can read, and the archive of -warc.
//
// With -warc FILE all that is sent and received is recorded in a web archive beside. It must be a new file, or that of the -job; {start} in
// its name stands for the time. Logins are in it as they were sent.
//
// With -render auto Chromium makes those pages that look as if scripts have yet to make them, with -render always it makes all of them;
// the line of a page then tells of what a reader sees in the end. Chromium must be installed, and the program must not run as root. With
// -render never, the default, it is neither looked for nor started. A -job that was begun with auto goes on with auto or always.
//
// With -job DIR the crawl is kept in that directory. Whatever ends it, a kill -9 too, the same command line
// goes on where it was, and the file of -out has each line once all the same. The command line of a job that has
// finished does nothing and exits with 0; another crawl, one with other URLs, takes another directory, and is refused
// in this one. The other flags may change: they hold for what is fetched from then on. Stdout cannot be taken back: what is
// written there may be written again after a crash.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/warc"
)

// The exit codes.
const (
	exitFinished = 0
	exitFailed   = 1
	exitStopped  = 3
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parseOptions(args, stdout)
	if err == nil {
		for _, warning := range o.warnings {
			fmt.Fprintln(stderr, "sitecrawl: warning:", warning)
		}
		err = crawl(o, stdout, stderr)
	}
	var stopped *tegenaria.StoppedError
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return exitFinished
	case errors.As(err, &stopped):
		fmt.Fprintln(stderr, "sitecrawl: stopped before the end:", stopped.Reason)
		return exitStopped
	}
	fmt.Fprintln(stderr, "sitecrawl:", err)
	return exitFailed
}

// crawl runs the crawl and writes the summary, however it ended.
func crawl(o *options, stdout, stderr io.Writer) (err error) {
	// What fails is counted in the summary. A program that drives this one and reads no stderr must not
	// be held up by it, so there is nothing but what is wrong with the crawler itself.
	logger := logrus.New()
	logger.SetOutput(stderr)
	logger.SetLevel(logrus.ErrorLevel)

	var chromium *browser.Browser
	if o.render != "never" {
		if chromium, err = browser.Open(browser.Options{}); err != nil {
			return fmt.Errorf("-render %s: %w", o.render, err)
		}
	}
	options := o.engine()
	if o.job != "" {
		cache, err := disk.Open(o.job)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cache.Close()) }()
		options = append(options, tegenaria.EngineWithCache(cache))
	}
	if o.warc != "" {
		archive, err := warc.Create(o.warc, warc.Options{})
		if err != nil {
			return err
		}
		options = append(options, tegenaria.EngineWithDownloaderLayers(archive.Layer))
	}
	name := o.name()
	engine := tegenaria.NewSpiderEngine(append(options,
		tegenaria.EngineWithLogger(logger),
		tegenaria.EngineWithSpiders(o.spider()),
		tegenaria.EngineWithMiddlewares(o.middlewares()...),
		tegenaria.EngineWithPipelines(o.output(stdout)))...)

	if chromium != nil {
		engine.RegisterDownloader("browser", chromium)
	}

	if o.summary != "" {
		file, createErr := os.Create(o.summary)
		if createErr != nil {
			return fmt.Errorf("creating the summary: %w", createErr)
		}
		defer func() { err = errors.Join(err, writeSummary(file, engine.Summary())) }()
	}
	endProgress := showProgress(stderr, engine)
	err = engine.Execute(name)
	endProgress()
	var other *disk.MismatchError
	if errors.As(err, &other) && other.What == "spider" {
		return fmt.Errorf("the job in %s is that of %q, not of %q: give the same -url to resume it, or another -job", o.job, bareWords(other.Stored), name)
	}
	if err == nil && engine.Stats().Discovered == 0 {
		fmt.Fprintf(stderr, "sitecrawl: the job in %s is finished\n", o.job)
	}
	return err
}

// writeSummary writes the summary and closes the file.
func writeSummary(file *os.File, summary tegenaria.Summary) error {
	encoder := json.NewEncoder(file)
	encoder.SetIndent("", "  ")
	if err := errors.Join(encoder.Encode(summary), file.Close()); err != nil {
		return fmt.Errorf("writing the summary: %w", err)
	}
	return nil
}
