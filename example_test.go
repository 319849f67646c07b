package tegenaria_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria"
)

// offline answers every request from memory, so that the examples need no network.
type offline struct{}

func (offline) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	body := "<title>" + ctx.Request.Url + "</title>"
	if strings.HasSuffix(ctx.Request.Url, "/") {
		body += `<a href="one">1</a> <a href="two#top">2</a> <a href="one#again">1</a>`
	}
	header := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, header, []byte(body))}
	result <- ctx
}

func (offline) CheckStatus(code uint64, allowed []uint64) bool { return code < 400 }

func Example() {
	type page struct{ Title string }
	parse := func(ctx context.Context, r *tegenaria.Response, out *tegenaria.Output[page]) error {
		out.Item(page{r.CSS("title").Text()})
		return out.FollowLinks()
	}
	spider := tegenaria.NewSpider("site", tegenaria.Handle(parse), "http://example.com/")
	for p, err := range tegenaria.Crawl[page](context.Background(), spider,
		tegenaria.EngineWithDownloader(offline{}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})) {
		fmt.Println(p.Title, err)
	}
	// Unordered output:
	// http://example.com/ <nil>
	// http://example.com/one <nil>
	// http://example.com/two <nil>
}

func ExampleSpiderEngine_Run() {
	spider := tegenaria.NewSpider("failing", func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		return errors.New("nothing to see here")
	}, "http://example.com/one")
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithDownloader(offline{}),
		tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			fmt.Println(err.Stage, err.Err)
		}),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
	)
	engine.RegisterSpiders(spider)
	fmt.Println(engine.Run(context.Background(), "failing"))
	fmt.Println(engine.Stats().Outcomes[tegenaria.Failed])
	// Output:
	// parse nothing to see here
	// <nil>
	// 1
}

func ExamplePoliteness() {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{
			UserAgent: "mybot/1.0 (+https://example.com/bot)",
		}),
	)
	fmt.Println(engine.Status())
	// Output: uninitialized
}

func ExamplePoliteness_ignoreRobots() {
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
	)
	fmt.Println(engine.Status())
	// Output: uninitialized
}

// A parser needs no run to be tested: give it a Context with a response, and channels with room for what it sends.
func ExampleNewResponse() {
	type book struct{ Title string }
	parser := tegenaria.Handle(func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
		out.Item(book{page.CSS("h1").Text()})
		return out.Follow(page.CSS("a.next").Attr("href"))
	})

	request := tegenaria.NewRequest("https://books.example/1", tegenaria.GET, nil)
	header := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
	body := `<h1>Moby-Dick</h1> <a class="next" href="2">next</a>`
	ctx := tegenaria.NewContext(request)
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(request, 200, header, []byte(body))}
	items, requests := make(chan *tegenaria.ItemMeta, 10), make(chan *tegenaria.Context, 10)
	fmt.Println(parser(ctx, items, requests))
	fmt.Println((<-items).Item.(book).Title, len(items))
	fmt.Println((<-requests).Request.Url, len(requests))
	// Output:
	// <nil>
	// Moby-Dick 0
	// https://books.example/2 0
}

func ExamplePipelineFunc() {
	type price struct{ Cents int }
	positive := tegenaria.PipelineFunc(100, func(ctx context.Context, p price) (price, error) {
		if p.Cents <= 0 {
			return p, tegenaria.DropItem(errors.New("no price"))
		}
		return p, nil
	})
	item := &tegenaria.ItemMeta{Item: price{Cents: 0}}
	fmt.Println(positive.ProcessItem(nil, item))
	// Output: tegenaria: item dropped: no price
}

func ExampleRetry() {
	fmt.Println(tegenaria.Retry(0, errors.New("the page is empty")))
	// Output: tegenaria: retry after 0s: the page is empty
}
