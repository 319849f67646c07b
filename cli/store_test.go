package cli_test

import (
	"context"
	"errors"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
)

type book struct {
	Title string   `json:"title"`
	Price string   `json:"price"`
	Tags  []string `json:"tags,omitempty"`
}

// store is a program whose spiders have parsers of their own names, and whose pipeline must not see what parse and fetch look at.
func store(site string) *cli.App {
	list := tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[book]) error {
		for _, href := range resp.CSS("article.product_pod h2 a").Attrs("href") {
			if err := out.Follow(href, tegenaria.RequestWithParserName("detail"), tegenaria.RequestWithRequestMeta(map[string]any{"from": "list"})); err != nil {
				return err
			}
		}
		return out.Follow(resp.CSS("li.next a").Attr("href"))
	})
	detail := tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[book]) error {
		if resp.Request().Meta["fail"] == true {
			return errors.New("it was told to fail\x1b[2J")
		}
		if resp.Request().DataJSON() != nil {
			known, err := tegenaria.Data[struct{ N int }](resp)
			if err != nil {
				return err
			}
			known.N++
			return out.Follow("/next", tegenaria.RequestWithData(known))
		}
		if from, ok := resp.Request().Meta["number"].(int); ok && from > 1 {
			return out.Item(book{Title: "number"})
		}
		return out.Item(book{Title: resp.CSS("h1").Text(), Price: resp.CSS("p.price_color").First().Text()})
	})
	broken := tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[quote]) error {
		for _, ref := range []string{"/no-such-page?\x1bx", "/gone", "/quotes/page/2/"} {
			if err := out.Follow(ref); err != nil {
				return err
			}
		}
		return nil
	})
	app := cli.New(
		tegenaria.NewSpiderOf("books", list, tegenaria.NewRequest(site+"/books/", tegenaria.GET, nil)).On("detail", detail),
		tegenaria.NewSpiderOf("broken", broken, tegenaria.NewRequest(site+"/quotes/", tegenaria.GET, nil)),
	)
	app.Engine(func(run *cli.Run) ([]tegenaria.EngineOption, error) {
		options := []tegenaria.EngineOption{tegenaria.EngineWithMiddlewares(tegenaria.MiddlewareFuncs{Name: "agent", Request: func(ctx *tegenaria.Context) error {
			ctx.Request.Header["X-Store"] = run.Spider().GetName()
			return nil
		}})}
		if run.Job() == "" {
			options = append(options, tegenaria.EngineWithPipelines(untouched{}))
		}
		return options, nil
	})
	return app
}

// untouched is a pipeline that nothing may open.
type untouched struct{}

func (untouched) Open(context.Context, tegenaria.SpiderInterface) error {
	return errors.New("a pipeline was opened")
}

func (untouched) GetPriority() int { return 1 }

func (untouched) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return errors.New("a pipeline has got an item")
}
