package mistakes_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/netip"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/middleware"
)

// wiring is what is put together wrong.
func wiring() []mistake {
	options := func(opts ...tegenaria.EngineOption) func(w *world) error {
		return func(w *world) error { return crawl(shop(w.site), opts...) }
	}
	politely := func(p tegenaria.Politeness) func(w *world) error { return options(tegenaria.EngineWithPoliteness(p)) }
	return []mistake{
		{"no spider", func(w *world) error {
			return tegenaria.NewSpiderEngine().Run(context.Background(), "shop")
		}, `no spider is called "shop"`},
		{"a nil spider", func(w *world) error { return crawl(nil) }, "RegisterSpiders: argument 1 is nil"},
		{"a nil spider for Crawl", func(w *world) error {
			for _, err := range tegenaria.Crawl[product](context.Background(), nil) {
				return err
			}
			return nil
		}, "RegisterSpiders: argument 1 is nil"},
		{"another name is run", func(w *world) error {
			return tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(shop(w.site))).Run(context.Background(), "shops")
		}, `"shops"`},
		{"a spider without a name", func(w *world) error {
			spider := tegenaria.NewSpider("", tegenaria.Handle(parse), w.site)
			return tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider)).Run(context.Background(), "")
		}, "name"},
		{"two spiders of one name", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithSpiders(shop(w.site)))
		}, `"shop"`},
		{"no parser", func(w *world) error { return crawl(tegenaria.NewSpider("shop", nil, w.site)) }, "parser"},
		{"a nil func for Handle", func(w *world) error {
			return crawl(tegenaria.NewSpider("shop", tegenaria.Handle[product](nil), w.site))
		}, "the parser is nil"},
		{"a spider without its BaseSpider", func(w *world) error { return crawl(&sender{}) }, "BaseSpider"},
		{"a nil option", options(nil), "option 3 is nil"},
		{"a nil middleware", options(tegenaria.EngineWithMiddlewares(nil)), "argument 1 is nil"},
		{"a nil pointer as a middleware", options(tegenaria.EngineWithMiddlewares((*stamp)(nil))), "argument 1 is nil"},
		{"a nil pipeline", options(tegenaria.EngineWithPipelines(nil)), "argument 1 is nil"},
		{"a nil func as a pipeline", options(tegenaria.EngineWithPipelines(tegenaria.PipelineFunc[product](1, nil))), "PipelineFunc"},
		{"numbers that make no sense", options(tegenaria.EngineWithConcurrency(0), tegenaria.EngineWithItemConcurrency(-1), tegenaria.EngineWithGrace(-time.Second)),
			"EngineWithConcurrency is 0"},
		{"limits that make no sense", options(tegenaria.EngineWithLimits(tegenaria.Limits{Pages: -1, Depth: -2})), "Limits.Pages"},
		{"a negative delay", politely(tegenaria.Politeness{Delay: -time.Second}), "Politeness.Delay"},
		{"a negative PerSlot", politely(tegenaria.Politeness{PerSlot: -1}), "Politeness.PerSlot"},
		{"a user agent of two lines", politely(tegenaria.Politeness{UserAgent: "shop\nX: y"}), "Politeness.UserAgent"},
		{"an override for a URL", politely(tegenaria.Politeness{Overrides: map[string]tegenaria.SlotPolicy{"http://shop.example/": {Delay: time.Second}}}), "http://shop.example/"},
		{"an empty prefix is allowed", politely(tegenaria.Politeness{AllowPrivate: []netip.Prefix{{}}}), "AllowPrivate"},
		{"a URL as an allowed domain", options(tegenaria.EngineWithAllowedDomains("https://shop.example/")), "EngineWithAllowedDomains"},
		{"a downloader without a name", options(func(e *tegenaria.SpiderEngine) { e.RegisterDownloader("", nil) }), "RegisterDownloader"},
		{"a client and a TLS config", options(tegenaria.EngineWithHTTPClient(http.DefaultClient), tegenaria.EngineWithTLSConfig(&tls.Config{})), "EngineWithTLSConfig"},
		{"a secret header that is none", options(tegenaria.EngineWithSecretHeaders("X Key")), `"X Key"`},
		{"two parsers of one name", options(func(e *tegenaria.SpiderEngine) {
			e.RegisterParser("detail", tegenaria.Handle(parse))
			e.RegisterParser("detail", tegenaria.Handle(parse))
		}), `"detail"`},
		{"Standard twice", options(tegenaria.EngineWithMiddlewares(middleware.Standard()...), tegenaria.EngineWithMiddlewares(middleware.Standard()...)), "middleware"},
		{"two middlewares of one name", options(tegenaria.EngineWithMiddlewares(&stamp{}, &stamp{})), `stamp`},
		{"two feeds for one file", func(w *world) error {
			path := w.dir + "/items.jsonl"
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL(path), feed.JSONL(path)))
		}, "items.jsonl"},
	}
}

// stamp is a middleware.
type stamp struct{}

func (*stamp) GetPriority() int                                                    { return 1 }
func (*stamp) GetName() string                                                     { return "stamp" }
func (*stamp) ProcessRequest(*tegenaria.Context) error                             { return nil }
func (*stamp) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }
