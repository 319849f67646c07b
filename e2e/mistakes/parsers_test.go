package mistakes_test

import (
	"context"
	"errors"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
)

// parsers are parsers and pipelines that fail.
func parsers() []mistake {
	type page = *tegenaria.Response
	type out = *tegenaria.Output[any]
	parser := func(path string, h func(page page, out out) error) func(w *world) error {
		return func(w *world) error {
			return crawl(handler(w.site+path, func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
				return h(page, out)
			}))
		}
	}
	return []mistake{
		{"a parser that panics", parser("/", func(page, out) error { panic("no price") }), "no price"},
		{"a nil pointer in a parser", parser("/", func(p page, o out) error {
			var found *product
			return o.Item(found.Name)
		}), "nil pointer"},
		{"a parser that fails", parser("/", func(page, out) error { return errors.New("no price") }), "no price"},
		{"a HandleError without a cause", parser("/", func(page, out) error { return tegenaria.NewError("", nil) }), "without a cause"},
		{"Retry without a reason", func(w *world) error {
			return crawl(handler(w.site, func(context.Context, *tegenaria.Response, *tegenaria.Output[any]) error {
				return tegenaria.Retry(0, nil)
			}),
				tegenaria.EngineWithLimits(tegenaria.Limits{Attempts: 2}))
		}, "retry"},
		{"GiveUp without a reason", parser("/", func(page, out) error { return tegenaria.GiveUp(nil) }), "gave up"},
		{"CloseSpider without a reason", parser("/", func(page, out) error { return tegenaria.CloseSpider("") }), "stopped"},
		{"a panic without a value", parser("/", func(page, out) error { panic(error(nil)) }), "panic"},
		{"Data of another type", func(w *world) error {
			spider := tegenaria.NewSpiderOf("shop", tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
				found, err := tegenaria.Data[*product](page)
				if err != nil {
					return err
				}
				return out.Item(found)
			}), tegenaria.NewRequest(w.site, tegenaria.GET, nil, tegenaria.RequestWithData(product{"one"})))
			return crawl(spider)
		}, "ask for the type that was sent"},
		{"Data that was not sent", parser("/", func(p page, o out) error {
			_, err := tegenaria.Data[product](p)
			return err
		}), "RequestWithData"},
		{"JSON of a page of HTML", parser("/", func(p page, o out) error { return o.Item(p.Json()["name"]) }), "Decode"},
		{"JSON that is cut off", parser("/broken.json", func(p page, o out) error {
			var found product
			return p.Decode(&found)
		}), "/broken.json"},
		{"a required field that the page lacks", func(w *world) error {
			type Book struct {
				Title string `css:"h1.title" required:"true"`
			}
			var lacking error
			err := crawl(handler(w.site, func(_ context.Context, page *tegenaria.Response, _ *tegenaria.Output[any]) error {
				lacking = page.Unmarshal(new(Book))
				return lacking
			}))
			return errors.Join(err, lacking)
		}, `css "h1.title"`},
		{"a wrong CSS selector", parser("/", func(p page, o out) error { return o.Item(p.CSS("h1[").Text()) }), "h1["},
		{"a wrong pseudo-element", parser("/", func(p page, o out) error { return o.Item(p.CSS("h1::txt").Get()) }), "::txt"},
		{"a wrong XPath", parser("/", func(p page, o out) error { return o.Item(p.XPath("//h1[").Text()) }), "//h1["},
		{"a selector that matches nothing", parser("/", func(p page, o out) error {
			for _, name := range p.CSS("div.prodcut").All() {
				if err := o.Item(name.Text()); err != nil {
					return err
				}
			}
			return nil
		}), "div.prodcut"},
		{"a parser that sends nothing", parser("/", func(page, out) error { return nil }), "item"},
		{"an item that is nil", parser("/", func(_ page, o out) error { return o.Item(nil) }), "nil"},
		{"an Output that is used later", func(w *world) error {
			var kept *tegenaria.Output[any]
			err := crawl(handler(w.site, func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				kept = out
				return out.Item(1)
			}))
			return errors.Join(err, kept.Item(2))
		}, "the handler has returned"},
		{"a link to another scheme", parser("/", func(_ page, o out) error {
			return o.Request(tegenaria.NewRequest("ftp://shop.example/", tegenaria.GET, nil))
		}), "use http or https"},
		{"a link to a page that is not there", parser("/links", func(_ page, o out) error { return o.Follow("/gone") }), "/links"},
		{"Fetch of a bad URL", parser("/", func(_ page, o out) error {
			_, err := o.Fetch(tegenaria.NewRequest("shop.example/", tegenaria.GET, nil))
			return err
		}), "shop.example/"},
		{"Fetch outside of a crawl", func(w *world) error {
			_, err := tegenaria.NewContext(tegenaria.NewRequest(w.site, tegenaria.GET, nil)).Fetch(tegenaria.NewRequest(w.site, tegenaria.GET, nil))
			return err
		}, "running crawl"},
		{"Fetch by the Context of what was fetched", func(w *world) error {
			return crawl(handler(w.site, func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				resp, err := out.Fetch(tegenaria.NewRequest(w.site+"/links", tegenaria.GET, nil))
				if err != nil {
					return err
				}
				_, err = resp.Context().Fetch(tegenaria.NewRequest(w.site+"/item/1", tegenaria.GET, nil))
				return err
			}))
		}, "the parser was given"},
		{"a middleware that fetches for what it fetches", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithMiddlewares(&custom{do: func(ctx *tegenaria.Context) error {
				_, err := ctx.Fetch(tegenaria.NewRequest(w.site+"/item/1", tegenaria.GET, nil))
				return err
			}}))
		}, "nested 8 deep"},
		{"a parser that does not end", func(w *world) error {
			return crawl(handler(w.site, func(ctx context.Context, _ *tegenaria.Response, _ *tegenaria.Output[any]) error {
				<-ctx.Done()
				return context.Cause(ctx)
			}), tegenaria.EngineWithLimits(tegenaria.Limits{Callback: 50 * time.Millisecond}))
		}, "Limits.Callback"},
	}
}

// pipelines are pipelines that fail.
func pipelines() []mistake {
	with := func(p tegenaria.PipelinesInterface) func(w *world) error {
		return func(w *world) error { return crawl(shop(w.site), tegenaria.EngineWithPipelines(p)) }
	}
	item := func(v any, opts ...feed.Option) func(w *world) error {
		return func(w *world) error {
			return crawl(handler(w.site, func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error { return out.Item(v) }),
				tegenaria.EngineWithPipelines(feed.JSONL(w.dir+"/items.jsonl", opts...)))
		}
	}
	return []mistake{
		{"a pipeline that fails", with(tegenaria.PipelineFunc(1, func(_ context.Context, p product) (product, error) { return p, errors.New("no database") })), "no database"},
		{"a pipeline that panics", with(tegenaria.PipelineFunc(1, func(context.Context, product) (product, error) { panic("no database") })), "no database"},
		{"a pipeline for pointers", with(tegenaria.PipelineFunc(1, func(_ context.Context, p *product) (*product, error) { return p, nil })), "pointer"},
		{"Crawl of another type", func(w *world) error {
			for _, err := range tegenaria.Crawl[*product](context.Background(), shop(w.site), tegenaria.EngineWithQuiet()) {
				return err
			}
			return nil
		}, "pointer"},
		{"a channel in a feed", item(struct{ Done chan int }{}), "chan int"},
		{"a func in a feed", item(func() {}), "func()"},
		{"an item that contains itself in a feed", item(circle()), "cycle"},
	}
}

type ring struct{ Next *ring }

// circle returns an item that contains itself.
func circle() *ring {
	r := new(ring)
	r.Next = r
	return r
}
