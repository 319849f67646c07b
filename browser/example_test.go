package browser_test

import (
	"context"
	"fmt"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/middleware"
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

// A list that a script fills: the page is taken as soon as it has an item.
func ExampleReadyWhen() {
	parser := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
		return out.Follow("/quotes/", tegenaria.RequestWithDownloader("browser"), browser.ReadyWhen(".quote"))
	})
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("quotes", parser, "https://example.com/")))
	if err := render(engine); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(engine.Execute("quotes"))
}

// A login that needs scripts, after which pages are downloaded without a browser.
func Example_login() {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("orders", tegenaria.Handle(login), "https://example.com/")))
	if err := render(engine); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(engine.Execute("orders"))
}

const password = "secret"

func login(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
	return out.Follow("/login", tegenaria.RequestWithDownloader("browser"), tegenaria.RequestWithParser(account), browser.Do(
		browser.Fill("#user", "ann"),
		browser.Fill("#password", password),
		browser.Click("button"),
		browser.WaitFor("#logged-in"),
	))
}

// account goes on from the page that the login has led to.
var account = tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
	return out.Follow("/orders") // by HTTP, with the cookies of the login
})

// Products that the scripts of a shop fetch as JSON.
func ExampleCapture() {
	parser := tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
		return out.Follow("/shop", tegenaria.RequestWithDownloader("browser"), tegenaria.RequestWithParser(products), browser.Capture("*/api/products*"))
	})
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(tegenaria.NewSpider("shop", parser, "https://example.com/")))
	if err := render(engine); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(engine.Execute("shop"))
}

type product struct {
	Name  string
	Price float64
}

// products sends what the page has fetched.
var products = tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
	for _, exchange := range browser.Captured(page) {
		var list []product
		if err := exchange.Decode(&list); err != nil {
			return err
		}
		for _, p := range list {
			if err := out.Item(p); err != nil {
				return err
			}
		}
	}
	return nil
})

// A search that is typed in, with a list that grows as one scrolls.
func ExampleDo() {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("search", tegenaria.Handle(search), "https://example.com/")))
	if err := render(engine); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(engine.Execute("search"))
}

// found reads what the search has found.
var found = tegenaria.Handle(read)

func search(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
	return out.Follow("/search", tegenaria.RequestWithDownloader("browser"), tegenaria.RequestWithParser(found), browser.Do(
		browser.Fill("#q", "spiders"),
		browser.Press("Enter"),
		browser.WaitFor("#results"),
		browser.ScrollUntil("#results li", 100).Within(time.Minute),
		browser.Evaluate("window.state.total", "total"),
		browser.Screenshot("picture", "#results"),
	))
}

func read(_ context.Context, page *tegenaria.Response, _ *tegenaria.Output[any]) error {
	total, err := browser.Result[int](page, "total")
	if err != nil {
		return err
	}
	picture, err := browser.Result[[]byte](page, "picture")
	if err != nil {
		return err
	}
	fmt.Println(total, len(picture))
	return nil
}

// A crawl that downloads what it can, and renders the rest. Pages without a price are not done, whatever they look like.
func ExampleAdaptive() {
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		if err := out.Item(page.CSS(".price").Text()); err != nil {
			return err
		}
		return out.FollowLinks()
	})
	adaptive := browser.Adaptive(browser.AdaptiveOptions{Requires: ".price, nav"})
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("shop", parser, "https://example.com/")),
		tegenaria.EngineWithMiddlewares(adaptive))
	if err := render(engine); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(engine.Execute("shop"))
	for _, shape := range adaptive.Learnt() {
		fmt.Println(shape.Host, shape.Path, shape.Browser)
	}
}
