//go:build unix

package postgres_test

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/postgres"
)

var productColumns = []string{"sku", "title", "description", "url", "price", "stock", "rating", "new", "seen", "tags"}

const productTypes = "title text, description text, url text, price float8, stock bigint, rating float8, new boolean, seen timestamptz, tags jsonb"

func values(p *feedtest.Product) []any {
	return []any{p.SKU, p.Title, p.Description, p.URL, p.Price, p.Stock, p.Rating, p.New, p.Seen, p.Tags}
}

// The feed against a bare CopyFrom for each batch, into a table whose rows have a number too.
func BenchmarkInsert(b *testing.B) {
	b.Run("feed", func(b *testing.B) {
		feedtest.Bench(b, postgres.New[feedtest.Product](database(b), postgres.Rejects(filepath.Join(b.TempDir(), "rejects"))), math.MaxInt)
	})
	b.Run("bare", func(b *testing.B) {
		pool := database(b)
		run(b, pool, "CREATE TABLE product (id bigserial PRIMARY KEY, sku text, "+productTypes+")")
		feedtest.Loop(b, math.MaxInt, func(list []feedtest.Product) {
			_, err := pool.CopyFrom(b.Context(), pgx.Identifier{"product"}, productColumns, pgx.CopyFromSlice(len(list), func(i int) ([]any, error) { return values(&list[i]), nil }))
			if err != nil {
				b.Fatal(err)
			}
		})
	})
}

// The same with a key, against a batch of prepared statements, which is sent at once.
func BenchmarkUpsert(b *testing.B) {
	const keys = 20_000
	b.Run("feed", func(b *testing.B) {
		feedtest.Bench(b, postgres.New[feedtest.Product](database(b), postgres.Upsert("sku"), postgres.Rejects(filepath.Join(b.TempDir(), "rejects"))), keys)
	})
	const merge = " ON CONFLICT (sku) DO UPDATE SET title = excluded.title, description = excluded.description, url = excluded.url, price = excluded.price, stock = excluded.stock, rating = excluded.rating, new = excluded.new, seen = excluded.seen, tags = excluded.tags"
	b.Run("bare", func(b *testing.B) {
		pool := database(b)
		run(b, pool, "CREATE TABLE product (sku text PRIMARY KEY, "+productTypes+")")
		feedtest.Loop(b, keys, func(list []feedtest.Product) {
			var batch pgx.Batch
			for i := range list {
				batch.Queue("INSERT INTO product VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"+merge, values(&list[i])...)
			}
			if err := pool.SendBatch(b.Context(), &batch).Close(); err != nil {
				b.Fatal(err)
			}
		})
	})
	b.Run("barecopy", func(b *testing.B) {
		pool := database(b)
		run(b, pool, "CREATE TABLE product (sku text PRIMARY KEY, "+productTypes+")")
		conn, err := pool.Acquire(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		defer conn.Release()
		if _, err := conn.Exec(b.Context(), "CREATE TEMP TABLE new (LIKE product) ON COMMIT DELETE ROWS"); err != nil {
			b.Fatal(err)
		}
		feedtest.Loop(b, keys, func(list []feedtest.Product) {
			tx, err := conn.Begin(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if _, err := tx.CopyFrom(b.Context(), pgx.Identifier{"new"}, productColumns, pgx.CopyFromSlice(len(list), func(i int) ([]any, error) { return values(&list[i]), nil })); err != nil {
				b.Fatal(err)
			}
			if _, err := tx.Exec(b.Context(), "INSERT INTO product SELECT * FROM new"+merge); err != nil {
				b.Fatal(err)
			}
			if err := tx.Commit(b.Context()); err != nil {
				b.Fatal(err)
			}
		})
	})
}
