//go:build unix

// Command everything is a durable crawl of ours with all parts switched on together: the standard middlewares, a login by a form, a
// sitemap, pages that Chromium renders, pictures of the items, a web archive, an HTTP cache, a history and an output.
// Everything lies beside the output of -out.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/ours"
	"github.com/tegenaria/tegenaria/bench/site"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/httpcache"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/media"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/revisit"
	"github.com/tegenaria/tegenaria/sitemap"
	"github.com/tegenaria/tegenaria/warc"
)

func main() { job.Main(run) }

// product is an item with its picture.
type product struct {
	site.Item
	Image   string       `json:"image" media:"image,into=Picture,required"`
	Picture media.Result `json:"picture"`
}

// scripted are the paths of pages that are made by a script.
const scripted = `/p/\d*7$`

var isScripted = regexp.MustCompile(scripted)

// changes is the file of what the history says is new.
const changes = "changes.jsonl"

// rendered are the options of a request for such a page.
var rendered = []tegenaria.RequestOption{tegenaria.RequestWithDownloader("browser"), browser.ReadyWhen("a[href]")}

func run(j job.Job) (err error) {
	options, err := ours.Options(j)
	if err != nil {
		return err
	}
	queue, err := disk.Open(j.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, queue.Close()) }()
	folder := filepath.Dir(j.Out)
	pages, err := httpcache.Open(filepath.Join(folder, "pages"), httpcache.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pages.Close()) }()
	archive, err := warc.Create(filepath.Join(folder, "archive-{part}.warc.gz"), warc.Options{})
	if err != nil {
		return err
	}
	history, err := revisit.Open(filepath.Join(folder, "history"), revisit.Options{KeyField: "sku"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, history.Close()) }()
	chromium, err := browser.Open(browser.Options{DangerouslyWithoutSandbox: os.Geteuid() == 0}) // the pages are our own
	if err != nil {
		return err
	}
	engine := tegenaria.NewSpiderEngine(append(options,
		tegenaria.EngineWithCache(queue),
		tegenaria.EngineWithSignals(),
		tegenaria.EngineWithSpiders(tegenaria.NewSpiderOf("race", tegenaria.Handle(parse),
			tegenaria.NewRequest(j.URL+"login/", tegenaria.GET, nil, tegenaria.RequestWithParserName("login")))),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithDownloaderLayers(pages.Layer, archive.Layer),
		tegenaria.EngineWithPipelines(media.New(media.Options{Dir: filepath.Join(folder, "pictures"), Images: true}), feed.JSONL(j.Out),
			history.Changes(feed.JSONL(filepath.Join(folder, changes)))))...)
	engine.RegisterDownloader("browser", chromium)
	engine.RegisterParser("login", tegenaria.Handle(login))
	engine.RegisterParser("list", tegenaria.Handle(list))
	return engine.Run(context.Background(), "race")
}

// login sends the form, and then asks for what members alone can see.
func login(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	form, err := page.Form("form[method=post]")
	if err != nil {
		return err
	}
	form.Set("user", "spider")
	form.Set("password", "web")
	request, err := form.Request()
	if err != nil {
		return err
	}
	answer, err := out.Fetch(request)
	if err != nil {
		return err
	}
	if answer.CSS("input[name=password]").Len() > 0 {
		return tegenaria.CloseSpider("the login was refused")
	}
	return errors.Join(
		out.Follow("/"),
		out.Follow("/sitemap.xml", tegenaria.RequestWithParserName("list")))
}

// list is the parser of the sitemap.
func list(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	for entry, err := range sitemap.Parse(bytes.NewReader(page.Bytes()), page.URL) {
		var how []tegenaria.RequestOption
		if isScripted.MatchString(entry.URL) {
			how = rendered
		}
		if err == nil {
			err = out.Follow(entry.URL, how...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// parse is the parser of the other pages.
func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	if page.CSS("input[name=password]").Len() > 0 {
		return fmt.Errorf("%s is the form of the login", page.URL)
	}
	if it, ok := ours.Item(page); ok {
		if err := out.Item(product{Item: it, Image: "/pictures/" + it.SKU + ".png"}); err != nil {
			return err
		}
	}
	return errors.Join(
		out.FollowLinks(links.Deny(scripted)),
		out.FollowLinks(links.Allow(scripted), rendered[0], rendered[1]))
}
