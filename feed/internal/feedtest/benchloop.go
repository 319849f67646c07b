//go:build unix

package feedtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// Bench measures a feed: ProcessItem and Prepare of batches of products, 20 requests each. keys bounds how many keys there are.
func Bench(b *testing.B, f Feed, keys int) {
	if err := f.Restore(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	if _, err := f.Prepare(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprint("request ", i))
	}
	Loop(b, keys, func(list []Product) {
		for i := range list {
			if err := f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: ids[i*len(ids)/len(list)], Item: &list[i]}); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := f.Prepare(b.Context(), ids); err != nil {
			b.Fatal(err)
		}
	})
	if err := f.Close(b.Context(), ""); err != nil {
		b.Fatal(err)
	}
}

// Loop measures write with batches of products, and reports what a row costs.
func Loop(b *testing.B, keys int, write func(list []Product)) {
	b.ReportAllocs()
	first := 0
	var used time.Duration // of the processor, the collector's too
	for b.Loop() {
		b.StopTimer()
		list := Products(first%keys, Batch)
		first += Batch
		b.StartTimer()
		begin := enginetest.CPUTime(b)
		write(list)
		used += enginetest.CPUTime(b) - begin
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*Batch), "ns/row")
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N*Batch), "cpu-ns/row")
}
