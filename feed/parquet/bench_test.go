package parquet_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	bare "github.com/parquet-go/parquet-go"

	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/feed/parquet"
)

// The feed, with its spool, its building and its reading back, against the library writing the same rows to one file and reading them.
// Building runs beside the crawl: use -cpu 1.
func BenchmarkWrite(b *testing.B) {
	const batches = 400
	products := feedtest.Products(0, batches*feedtest.Batch)
	perRow := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(products)), "ns/row")
	}
	b.Run("feed", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			f := parquet.New[feedtest.Product](filepath.Join(plainDir(b), "{part}.parquet"))
			feedtest.Restore(b, f, nil)
			for list := products; len(list) > 0; list = list[feedtest.Batch:] {
				var ids []string
				for i := range feedtest.Batch {
					if i%50 == 0 {
						ids = append(ids, fmt.Sprint("request ", i))
					}
					feedtest.Put(b, f, ids[len(ids)-1], &list[i])
				}
				feedtest.Prepare(b, f, ids...)
			}
			feedtest.End(b, f)
		}
		perRow(b)
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			file, err := os.Create(filepath.Join(b.TempDir(), "x.parquet"))
			if err != nil {
				b.Fatal(err)
			}
			w := bare.NewGenericWriter[product](file, bare.DictionaryMaxBytes(1<<20))
			rows := make([]product, feedtest.Batch)
			for list := products; len(list) > 0; list = list[feedtest.Batch:] {
				for i := range rows {
					rows[i] = product(list[i])
				}
				if _, err := w.Write(rows); err != nil {
					b.Fatal(err)
				}
			}
			if err := errors.Join(w.Close(), file.Sync()); err != nil {
				b.Fatal(err)
			}
			r := bare.NewGenericReader[product](file)
			for err == nil {
				_, err = r.Read(rows)
			}
			if err != io.EOF {
				b.Fatal(err)
			}
			if err := file.Close(); err != nil {
				b.Fatal(err)
			}
		}
		perRow(b)
	})
}
