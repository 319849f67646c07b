package postgres_test

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed/postgres"
)

// A crawl that writes books to a table, where each has one row. It waits up to an hour for a database that is away.
func ExampleNew() {
	type book struct {
		SKU   string  `json:"sku"`
		Title string  `json:"title"`
		Price float64 `json:"price"`
	}
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[book]) error {
		return out.Item(book{SKU: resp.CSS(".sku").Text(), Title: resp.CSS("h1").Text()})
	}
	run := func(ctx context.Context) error {
		pool, err := pgxpool.New(ctx, "postgres:///shop")
		if err != nil {
			return err
		}
		defer pool.Close()
		return tegenaria.NewSpiderEngine(
			tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", tegenaria.Handle(parse), "https://shop.example/")),
			tegenaria.EngineWithPipelines(postgres.New[book](pool, postgres.Table("books"), postgres.Upsert("sku"), postgres.Append(), postgres.Patience(time.Hour))),
		).Run(ctx, "books")
	}
	_ = run
}
