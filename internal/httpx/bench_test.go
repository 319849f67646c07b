package httpx_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"github.com/tegenaria/tegenaria/internal/httpx"
)

// BenchmarkPage decodes a page of 50 KB as the downloader does, into a buffer at hand. "peer" is
// compress/gzip alone: "new" makes a reader for each page, "reused" resets one.
func BenchmarkPage(b *testing.B) {
	data := page(50_000)
	scratch := make([]byte, 32<<10)
	drain := func(b *testing.B, r io.Reader) {
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, scratch)
		if err != nil || n != int64(len(data)) {
			b.Fatal(n, err)
		}
	}
	gzipped := gzipBest.encode(data)
	bodyOf := func(coded []byte) io.Reader { return struct{ io.Reader }{bytes.NewReader(coded)} }
	run := func(name string, f func(b *testing.B)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				f(b)
			}
		})
	}
	run("peer/gzip/new", func(b *testing.B) { drain(b, must(gzip.NewReader(bodyOf(gzipped)))) })
	var z gzip.Reader
	run("peer/gzip/reused", func(b *testing.B) {
		if err := z.Reset(bodyOf(gzipped)); err != nil {
			b.Fatal(err)
		}
		drain(b, &z)
	})
	var decoders httpx.Decoders
	for _, c := range []coder{gzipBest, zlibBest, flateBest, brotliBest, zstdPlain} {
		coded := c.encode(data)
		run("ours/"+c.name, func(b *testing.B) {
			r, err := decoders.NewReader([]string{c.coding}, bodyOf(coded), httpx.Limits{Decoded: 32 << 20})
			if err != nil {
				b.Fatal(err)
			}
			drain(b, r)
			r.Close()
		})
	}
}
