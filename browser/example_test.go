package browser_test

import (
	"context"
	"fmt"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
)

// A spider whose list of quotes is made by a script, and whose first page is not.
func Example() {
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		for _, quote := range page.CSS(".quote").Texts() {
			if err := out.Item(quote); err != nil {
				return err
			}
		}
		return out.Follow("/quotes/", tegenaria.RequestWithDownloader("browser"))
	})
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("quotes", parser, "https://example.com/")))
	if err := render(engine); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(engine.Execute("quotes"))
}

func render(engine *tegenaria.SpiderEngine) error {
	chromium, err := browser.Open(browser.Options{})
	if err != nil {
		return err // it says what to install
	}
	engine.RegisterDownloader("browser", chromium)
	return nil
}
