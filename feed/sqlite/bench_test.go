//go:build unix

package sqlite_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/sqlite"
)

// The feed against a bare loop over a prepared statement, in one transaction for each batch.
func BenchmarkInsert(b *testing.B) {
	b.Run("feed", func(b *testing.B) {
		feedtest.Bench(b, sqlite.New[feedtest.Product](filepath.Join(b.TempDir(), "x.db")), math.MaxInt)
	})
	b.Run("bare", func(b *testing.B) { bare(b, "INTEGER PRIMARY KEY", "", math.MaxInt) })
}

// The same with a key, which half of the rows have too.
func BenchmarkUpsert(b *testing.B) {
	const keys = 20_000
	b.Run("feed", func(b *testing.B) {
		feedtest.Bench(b, sqlite.New[feedtest.Product](filepath.Join(b.TempDir(), "x.db"), sqlite.Upsert("sku")), keys)
	})
	b.Run("bare", func(b *testing.B) {
		bare(b, "INTEGER", " ON CONFLICT (sku) DO UPDATE SET title = excluded.title, description = excluded.description, url = excluded.url, price = excluded.price, stock = excluded.stock, rating = excluded.rating, new = excluded.new, seen = excluded.seen, tags = excluded.tags", keys)
	})
}

func bare(b *testing.B, id, conflict string, keys int) {
	db := open(b, "file:"+filepath.Join(b.TempDir(), "x.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	key := "sku TEXT"
	if conflict != "" {
		key = "sku TEXT PRIMARY KEY"
	}
	if _, err := db.ExecContext(b.Context(), "CREATE TABLE product (id "+id+", "+key+", title TEXT, description TEXT, url TEXT, price REAL, stock INTEGER, rating REAL, new BOOLEAN, seen TEXT, tags TEXT)"); err != nil {
		b.Fatal(err)
	}
	insert, err := db.PrepareContext(b.Context(), "INSERT INTO product (sku, title, description, url, price, stock, rating, new, seen, tags) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"+conflict)
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	feedtest.Loop(b, keys, func(list []feedtest.Product) {
		tx, err := db.BeginTx(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		statement := tx.StmtContext(b.Context(), insert)
		for i := range list {
			p := &list[i]
			tags, err := json.Marshal(p.Tags)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := statement.ExecContext(b.Context(), p.SKU, p.Title, p.Description, p.URL, p.Price, p.Stock, p.Rating, p.New, p.Seen.Format("2006-01-02T15:04:05.000000000Z"), string(tags)); err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	})
}
