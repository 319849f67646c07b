package transcripts_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// onePage is how hosts are treated unless a crawl says otherwise: the order of pages is that of their requests.
var onePage = tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 1})

func run(log tegenaria.EngineOption, spider tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) error {
	opts = append([]tegenaria.EngineOption{log, onePage, tegenaria.EngineWithSpiders(spider)}, opts...)
	return tegenaria.NewSpiderEngine(opts...).Run(context.Background(), "books")
}

func books(urls ...string) tegenaria.SpiderInterface {
	return tegenaria.NewSpider("books", tegenaria.Handle(parse), urls...)
}

// stocked is an item of which no page has the ISBN or the stock.
type stocked struct {
	Title string `css:"h1"`
	ISBN  string `css:".isbn"`
	Stock int    `css:".stock" default:"0"`
}

// firstTitle is what a user has written who forgot that a page may have no links.
func firstTitle(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
	links := page.CSS("table a").Attrs("href")
	return out.Item(book{links[0]})
}

// shelf is an item that one of the pipelines refuses.
type shelf struct{}

func (shelf) GetPriority() int { return 1 }

func (shelf) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	return errors.New("the database is away")
}

// TestFailures fails if the log of a crawl with one kind of failure differs from its golden file.
func TestFailures(t *testing.T) {
	w := newSites(t)
	names := w.names()
	patient := tegenaria.EngineWithPoliteness(tegenaria.Politeness{PerSlot: 1, MaxRetryAfter: time.Millisecond})
	standard := tegenaria.EngineWithMiddlewares(middleware.Standard()...)
	twice := tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 2})
	sends := func(opts ...tegenaria.RequestOption) func(string) tegenaria.SpiderInterface {
		return func(url string) tegenaria.SpiderInterface {
			return tegenaria.NewSpiderOf("books", tegenaria.Handle(parse), tegenaria.NewRequest(url, tegenaria.GET, nil, opts...))
		}
	}
	handles := func(parser tegenaria.Parser) func(string) tegenaria.SpiderInterface {
		return func(url string) tegenaria.SpiderInterface { return tegenaria.NewSpider("books", parser, url) }
	}
	oneParser := []tegenaria.EngineOption{tegenaria.EngineWithSchedulerNum(1)} // so that the page that the log names is the first one
	misspelt := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
		for _, title := range page.CSS("div.prodcut").Texts() {
			if err := out.Item(book{title}); err != nil {
				return err
			}
		}
		return nil
	})
	stock := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[stocked]) error {
		var b stocked
		if err := page.Unmarshal(&b); err != nil {
			return err
		}
		return out.Item(b)
	})
	for _, f := range []struct {
		name, url string
		spider    func(url string) tegenaria.SpiderInterface
		opts      []tegenaria.EngineOption
	}{
		{name: "unreachable", url: w.down},
		{name: "unknown host", url: "http://shop.invalid/"},
		{name: "timeout", url: w.shop + "/hang", spider: sends(tegenaria.RequestWithTimeout(50 * time.Millisecond))},
		{name: "connection broken", url: w.shop + "/cut"},
		{name: "connection broken after retries", url: w.shop + "/cut", opts: []tegenaria.EngineOption{standard, twice, patient}},
		{name: "certificate", url: w.secure},
		{name: "not TLS", url: strings.Replace(w.shop, "http:", "https:", 1)},
		{name: "dead proxy", url: w.shop, spider: sends(tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: strings.Replace(w.down, "//", "//me:s3cr3t@", 1)}))},
		{name: "dead proxy after retries", url: w.shop, spider: sends(tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: strings.Replace(w.down, "//", "//me:s3cr3t@", 1)})),
			opts: []tegenaria.EngineOption{standard, twice, patient}},
		{name: "status 403", url: w.shop + "/forbidden"},
		{name: "status 404", url: w.shop + "/links"},
		{name: "status 404 of a seed", url: w.shop + "/gone"},
		{name: "status 429", url: w.shop + "/busy"},
		{name: "status 503", url: w.shop + "/broken"},
		{name: "status 503 after retries", url: w.shop + "/broken", opts: []tegenaria.EngineOption{standard, twice, patient}},
		{name: "robots.txt", url: w.strict + "/private"},
		{name: "offsite", url: w.shop, opts: []tegenaria.EngineOption{tegenaria.EngineWithAllowedDomains("books.example")}},
		{name: "redirect loop", url: w.shop + "/circle"},
		{name: "redirect loop with cookies", url: w.shop + "/circle", opts: []tegenaria.EngineOption{standard}},
		{name: "body too large", url: w.shop + "/large", opts: []tegenaria.EngineOption{tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1000})}},
		{name: "panic", url: w.shop + "/books/1", spider: handles(tegenaria.Handle(firstTitle))},
		{name: "parser error", url: w.shop + "/books/1", spider: handles(tegenaria.Handle(func(context.Context, *tegenaria.Response, *tegenaria.Output[book]) error {
			return errors.New("the page has no price")
		}))},
		{name: "broken JSON", url: w.shop + "/json", spider: handles(tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
			var b book
			if err := page.Decode(&b); err != nil {
				return err
			}
			return out.Item(b)
		}))},
		{name: "broken JSON by Json", url: w.shop + "/json", spider: handles(func(ctx *tegenaria.Context, items chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			items <- tegenaria.NewItem(ctx, ctx.Response().Json())
			return nil
		})},
		{name: "no items", url: w.shop + "/books/1", spider: handles(tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
			for _, title := range page.CSS("h2.title").Texts() {
				if err := out.Item(book{title}); err != nil {
					return err
				}
			}
			return nil
		}))},
		{name: "no items on two pages", spider: func(string) tegenaria.SpiderInterface {
			return tegenaria.NewSpider("books", misspelt, w.shop, w.shop+"/2")
		}, opts: oneParser},
		{name: "fields filled on no item", spider: func(string) tegenaria.SpiderInterface {
			return tegenaria.NewSpider("books", stock, w.shop+"/books/1", w.shop+"/books/2")
		}, opts: oneParser},
		{name: "bad link", url: w.shop, spider: handles(tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[book]) error {
			return out.Follow("http://shop.example:99999/")
		}))},
		{name: "bad seed", url: "shop.example/books"},
		{name: "pipeline error", url: w.shop + "/books/1", opts: []tegenaria.EngineOption{tegenaria.EngineWithPipelines(shelf{})}},
		{name: "dropped item", url: w.shop + "/books/1", opts: []tegenaria.EngineOption{tegenaria.EngineWithPipelines(dropping{})}},
		{name: "start fails", spider: func(string) tegenaria.SpiderInterface {
			return &starting{&tegenaria.BaseSpider{Name: "books"}}
		}},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			if f.spider == nil {
				f.spider = func(url string) tegenaria.SpiderInterface { return books(url) }
			}
			record(t, strings.ReplaceAll(f.name, " ", "-"), names, func(t *testing.T, r recording) {
				if err := run(r.log, f.spider(f.url), f.opts...); err != nil {
					t.Log(err)
				}
			})
		})
	}
}

// dropping is a pipeline that drops all items.
type dropping struct{}

func (dropping) GetPriority() int { return 1 }

func (dropping) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return tegenaria.DropItem(errors.New("no price"))
}

// starting is a spider whose Start fails.
type starting struct{ *tegenaria.BaseSpider }

func (*starting) Parser(*tegenaria.Context, chan<- *tegenaria.ItemMeta, chan<- *tegenaria.Context) error {
	return nil
}

func (*starting) Start(context.Context, chan<- *tegenaria.Context) error {
	return errors.New("urls.txt: no such file or directory")
}
