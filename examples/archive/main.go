// Command archive crawls a site once, and parses its pages again without requesting them: it records the crawl in a web
// archive, packs the archive into one file (WACZ), replays that file with a better parser, and prints the differences.
// The site is the demo site of this repository, served on loopback by the program itself, and closed before the replay.
//
//	go run ./examples/archive [FILE.wacz]
//
// The file is kept if one is named.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/warc"
)

type quote struct{ text, author string }

// parse was written in a hurry: it takes the first word of a name.
func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
	for _, q := range page.CSS("div.quote").All() {
		var name string
		_, _ = fmt.Sscan(q.CSS("small.author").Text(), &name) // the page has a name
		if err := out.Item(quote{q.CSS("span.text").Text(), name}); err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}

// parseBetter takes the whole name.
func parseBetter(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[quote]) error {
	for _, q := range page.CSS("div.quote").All() {
		if err := out.Item(quote{q.CSS("span.text").Text(), q.CSS("small.author").Text()}); err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "archive:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	folder, err := os.MkdirTemp("", "archive-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	name := filepath.Join(folder, "quotes.wacz")
	if len(args) > 0 {
		name = args[0]
	}
	url, before, err := record(ctx, folder)
	if err != nil {
		return err
	}
	if _, err := warc.Pack(name, warc.PackOptions{Title: "Quotes", MainPage: url}, folder); err != nil {
		return err
	}
	after, err := replay(ctx, name, url)
	if err != nil {
		return err
	}
	changed := 0
	for _, text := range slices.Sorted(maps.Keys(after)) {
		if before[text] == after[text] {
			continue
		}
		if changed++; changed <= 3 {
			fmt.Fprintf(out, "%.40s…\n\t- %s\n\t+ %s\n", text, before[text], after[text])
		}
	}
	_, err = fmt.Fprintf(out, "%d quotes from the site, %d from the archive, %d differ\n", len(before), len(after), changed)
	return err
}

// record crawls the site and records what it sends. It returns where the crawl has begun, and the author of each quote.
func record(ctx context.Context, folder string) (url string, authors map[string]string, err error) {
	site := demosite.MustStart()
	defer site.Close()
	archive, err := warc.Create(filepath.Join(folder, "{spider}-{start}-{part}.warc.gz"), warc.Options{})
	if err != nil {
		return "", nil, err
	}
	url = site.URL() + "/quotes/"
	authors, err = crawl(ctx, url, parse, tegenaria.EngineWithDownloaderLayers(archive.Layer))
	return url, authors, err
}

// replay crawls the archive.
func replay(ctx context.Context, name, url string) (authors map[string]string, err error) {
	replay, err := warc.Open(name)
	if err != nil {
		return nil, err
	}
	return crawl(ctx, url, parseBetter, tegenaria.EngineWithDownloader(replay))
}

// crawl returns the author of each quote.
func crawl(ctx context.Context, url string, parse func(context.Context, *tegenaria.Response, *tegenaria.Output[quote]) error, opts ...tegenaria.EngineOption) (map[string]string, error) {
	authors := make(map[string]string)
	spider := tegenaria.NewSpider("quotes", tegenaria.Handle(parse), url)
	for q, err := range tegenaria.Crawl[quote](ctx, spider, append(opts, tegenaria.EngineWithQuiet())...) {
		if err != nil {
			return nil, err
		}
		authors[q.text] = q.author
	}
	return authors, nil
}
