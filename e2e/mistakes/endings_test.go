package mistakes_test

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// endings are crawls that get nowhere, or not to their end.
func endings() []mistake {
	seed := func(path string, opts ...tegenaria.EngineOption) func(w *world) error {
		return func(w *world) error { return crawl(shop(w.site+path), opts...) }
	}
	slowly := tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, Delay: time.Hour}) // so that a second page never comes
	return []mistake{
		{"robots.txt forbids everything", func(w *world) error { return crawl(shop(w.strict)) }, "robots.txt"},
		{"robots.txt forbids one of two", func(w *world) error { return crawl(shop(w.strict, w.site)) }, "robots.txt"},
		{"off the allowed domains", seed("/", tegenaria.EngineWithAllowedDomains("shop.example")), "EngineWithAllowedDomains"},
		{"403 alone", seed("/forbidden"), "Politeness.UserAgent"},
		{"404 alone", seed("/gone"), "status 404"},
		{"500 alone", seed("/broken"), "middleware.Standard()"},
		{"429, tried again", seed("/busy", tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 2}), tegenaria.EngineWithMiddlewares(middleware.Standard()...),
			tegenaria.EngineWithPoliteness(tegenaria.Politeness{MaxRetryAfter: time.Millisecond})), "429"},
		{"the login is refused", func(w *world) error {
			return crawl(tegenaria.NewSpider("shop", func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				if ctx.Response().Status == http.StatusUnauthorized {
					return tegenaria.CloseSpider("the login was refused")
				}
				return nil
			}, w.site+"/login"), tegenaria.EngineWithAllowStatusCode([]uint64{http.StatusUnauthorized}))
		}, "the login was refused"},
		{"a limit is reached", func(w *world) error {
			return crawl(shop(w.site, w.site+"/item/1", w.site+"/links"), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 1}), tegenaria.EngineWithConcurrency(1))
		}, "limit: pages"},
		{"a limit of errors is reached", func(w *world) error {
			return crawl(shop(w.site+"/gone", w.site+"/gone/2", w.site+"/gone/3"), tegenaria.EngineWithLimits(tegenaria.Limits{Errors: 1}), tegenaria.EngineWithConcurrency(1))
		}, "limit: errors"},
		{"the time is over", func(w *world) error {
			return crawl(handler(w.site, func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				return out.Follow("/item/1")
			}),
				tegenaria.EngineWithLimits(tegenaria.Limits{Time: 100 * time.Millisecond}), slowly)
		}, "limit: time"},
		{"the context is cancelled", func(w *world) error {
			ctx, cancel := context.WithCancel(context.Background())
			spider := handler(w.site, func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				cancel()
				return out.Follow("/item/1")
			})
			return tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithQuiet(), slowly).Run(ctx, "shop")
		}, "canceled"},
		{"the context's time is over", func(w *world) error {
			ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
			defer cancel()
			spider := handler(w.site, func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				<-ctx.Done()
				return out.Follow("/item/1")
			})
			return tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithQuiet(), slowly).Run(ctx, "shop")
		}, "deadline"},
		{"an engine runs twice at once", func(w *world) error {
			var again error
			var e *tegenaria.SpiderEngine
			e = tegenaria.NewSpiderEngine(tegenaria.EngineWithQuiet(), tegenaria.EngineWithSpiders(handler(w.site, func(ctx context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				again = e.Run(context.Background(), "shop")
				return out.Item(1)
			})))
			return errors.Join(e.Run(context.Background(), "shop"), again)
		}, "running"},
		{"an engine that is not running is paused", func(*world) error { return tegenaria.NewSpiderEngine().Pause() }, "running"},
		{"a start that fails", func(w *world) error {
			return crawl(starter{sending(), func(chan<- *tegenaria.Context) error { return errors.New("no list of URLs") }})
		}, "no list of URLs"},
		{"a start that panics", func(w *world) error {
			return crawl(starter{sending(), func(chan<- *tegenaria.Context) error { panic("no list of URLs") }})
		}, "no list of URLs"},
		{"a middleware that fails", seed("/", tegenaria.EngineWithMiddlewares(&custom{do: func(*tegenaria.Context) error { return errors.New("no key") }})), "no key"},
		{"a middleware that ignores everything", seed("/", tegenaria.EngineWithMiddlewares(&custom{do: func(*tegenaria.Context) error { return tegenaria.ErrIgnoreRequest }})), "ignored"},
		{"a downloader that sends no result", func(w *world) error {
			return crawl(sending(tegenaria.NewRequest(w.site, tegenaria.GET, nil, tegenaria.RequestWithTimeout(50*time.Millisecond))), tegenaria.EngineWithDownloader(mute{}), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
		}, "downloader"},
	}
}

// starter is a spider with a Start of its own.
type starter struct {
	*sender
	start func(req chan<- *tegenaria.Context) error
}

func (s starter) Start(_ context.Context, req chan<- *tegenaria.Context) error { return s.start(req) }

// custom is a middleware with a func of its own.
type custom struct {
	stamp
	do func(ctx *tegenaria.Context) error
}

func (m *custom) ProcessRequest(ctx *tegenaria.Context) error { return m.do(ctx) }

// mute is a downloader that sends no result.
type mute struct{}

func (mute) Download(*tegenaria.Context, chan<- *tegenaria.Context) {}
func (mute) CheckStatus(uint64, []uint64) bool                      { return true }
