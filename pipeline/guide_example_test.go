package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"path/filepath"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/pipeline"
	"github.com/tegenaria/tegenaria/pipeline/schema"
)

// The code of docs/guides/item-processing.md.

type Book struct {
	Title   string           `json:"title" min:"1" max:"200"`
	Blurb   string           `json:"blurb" clean:"lines"`
	Price   float64          `json:"price" min:"0.01"`
	State   string           `json:"state" oneof:"new|used|like new"`
	ISBN    string           `json:"isbn,omitempty" match:"^97[89][0-9]{10}$"`
	Cover   string           `json:"cover,omitempty" url:"https"`
	Authors []string         `json:"authors" min:"1" match:"^\\pL"`
	Origin  *pipeline.Origin `json:"origin,omitempty"`
}

type Article struct {
	URL  string
	Text string
	Near *pipeline.NearDuplicate `json:",omitempty"`
}

const bookSchema = `{
	"required": ["title", "price"],
	"properties": {"title": {"minLength": 1}, "price": {"exclusiveMinimum": 0}}
}`

// processing are the pipelines of a job whose files are in dir.
func processing(dir string) tegenaria.EngineOption {
	return tegenaria.EngineWithPipelines(
		pipeline.Clean[Book](pipeline.CleanOptions{}),
		pipeline.Stamp[Book](pipeline.StampOptions{Job: "2026-05-03"}),
		pipeline.Validate[Book](pipeline.ValidateOptions{Drop: true}),
		pipeline.Budget(pipeline.BudgetOptions{Items: 1000, By: pipeline.ByHost, File: filepath.Join(dir, "budget")}),
	)
}

// near are the pipelines that mark articles like earlier ones.
func near(dir string) tegenaria.EngineOption {
	return tegenaria.EngineWithPipelines(
		pipeline.NearDuplicates(func(a Article) string { return a.Text }, pipeline.NearOptions{File: filepath.Join(dir, "near")}),
	)
}

// byAuthor lets ten items of each author pass.
func byAuthor() tegenaria.PipelinesInterface {
	return pipeline.Budget(pipeline.BudgetOptions{Items: 10, Name: "authors", By: func(page *tegenaria.Context, item any) string {
		if book, ok := item.(Book); ok && len(book.Authors) > 0 {
			return book.Authors[0]
		}
		return "" // not counted
	}})
}

// bySchema checks books by a JSON Schema.
func bySchema() tegenaria.PipelinesInterface {
	return schema.Validate[Book](bookSchema, schema.Options{})
}

// explain prints what is wrong with an item.
func explain(err error) {
	var invalid *pipeline.InvalidError
	if errors.As(err, &invalid) {
		for _, fault := range invalid.Faults {
			fmt.Printf("%s (%s): %s\n", fault.Field, fault.Rule, fault.Text)
		}
	}
}

func Example() {
	books := []Book{
		{Title: " The  Sea\u00a0", Blurb: "One.\r\n\r\nTwo. ", Price: 9.5, State: "used", Authors: []string{"Ann"}},
		{Title: "", Price: 0, State: "old", ISBN: "123", Cover: "/x.png", Authors: []string{"Bob", "?"}},
	}
	parse := func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[Book]) error {
		return errors.Join(out.Item(books[0]), out.Item(books[1]))
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", tegenaria.Handle(parse), "https://books.example/1")),
		processing(""),
		tegenaria.EngineWithPipelines(byAuthor(), bySchema()),
		tegenaria.EngineWithItemConcurrency(1),
		tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(r, 200, nil, nil), nil
		})),
		tegenaria.EngineWithEvents(tegenaria.Events{
			ItemScraped: func(item *tegenaria.ItemMeta) {
				book := item.Item.(Book)
				fmt.Printf("%q %q from %s by %s, depth %d\n", book.Title, book.Blurb, book.Origin.URL, book.Origin.Spider, book.Origin.Depth)
			},
			ItemDropped: func(err *tegenaria.HandleError) { explain(err) },
		}),
	)
	if err := engine.Run(context.Background(), "books"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// "The Sea" "One.\n\nTwo." from https://books.example/1 by books, depth 0
	// title (min): 0 characters, the least is 1
	// price (min): 0, the least is 0.01
	// state (oneof): "old" is none of new, used, like new
	// isbn (match): "123" does not match ^97[89][0-9]{10}$
	// cover (url): "/x.png" is no absolute URL of http or https
	// authors[1] (match): "?" does not match ^\pL
}

func ExampleNearDuplicates() {
	common := strings.Repeat("Sentences that many pages have in common, and some more. ", 20)
	parse := func(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[Article]) error {
		if err := out.Item(Article{URL: page.URL, Text: common + page.URL}); err != nil || strings.HasSuffix(page.URL, "print") {
			return err
		}
		return out.Follow("/print")
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("news", tegenaria.Handle(parse), "https://news.example/1")),
		near(""),
		tegenaria.EngineWithItemConcurrency(1), // the pages come in the order in which they are found
		tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(r, 200, nil, nil), nil
		})),
		tegenaria.EngineWithEvents(tegenaria.Events{ItemScraped: func(item *tegenaria.ItemMeta) {
			if article := item.Item.(Article); article.Near != nil {
				fmt.Printf("%s is like %s\n", article.URL, article.Near.URL)
			}
		}}),
	)
	if err := engine.Run(context.Background(), "news"); err != nil {
		log.Fatal(err)
	}
	// Output: https://news.example/print is like https://news.example/1
}

func ExampleCheckTags() {
	type Offer struct {
		Price float64 `min:"5" max:"4"`
		Shop  string  `mtach:"^[a-z]+$"`
	}
	fmt.Println(pipeline.CheckTags[Offer]())
	// Output:
	// pipeline: pipeline_test.Offer.Price: the tag max:"4": min 5 is greater than max 4
	// pipeline: pipeline_test.Offer.Shop: the tag mtach:"^[a-z]+$": there is no such word; is it match?
}

func ExampleCleanText() {
	fmt.Printf("%q\n", pipeline.CleanText(" Caf\u0065\u0301 \x00 \u00a0 au\r\nlait "))
	// Output: "Café au lait"
}
