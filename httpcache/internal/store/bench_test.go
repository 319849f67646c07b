package store_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/httpcache/internal/store"
)

const benchPages = 2000

// benchStore makes a store with pages of 20 KB, all in tables.
func benchStore(b *testing.B) *store.Store {
	b.Helper()
	s := open(b, b.TempDir(), store.Options{})
	for i := range benchPages {
		commit(b, s, page(b, s, benchKey(i), textOf(i+1, 20_000)))
	}
	if err := s.Compact(); err != nil {
		b.Fatal(err)
	}
	return s
}

func benchKey(i int) store.Key {
	return keyOf(fmt.Sprintf("https://site.example/catalogue/page-%d.html", i))
}

// BenchmarkHit finds an entry and reads its body.
func BenchmarkHit(b *testing.B) {
	s := benchStore(b)
	keys := make([]store.Key, benchPages)
	for i := range keys {
		keys[i] = benchKey(i)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		entries := s.Get(keys[i*7919%benchPages])
		if _, ok := s.Read(entries[0]); !ok {
			b.Fatal("no body")
		}
	}
}

// BenchmarkGet finds an entry.
func BenchmarkGet(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		if s.Get(benchKey(17)) == nil {
			b.Fatal("no entry")
		}
	}
}

// BenchmarkMiss looks for what is not stored.
func BenchmarkMiss(b *testing.B) {
	s := benchStore(b)
	key := keyOf("https://site.example/catalogue/page-10x.html")
	b.ReportAllocs()
	for b.Loop() {
		if s.Get(key) != nil {
			b.Fatal("an entry")
		}
	}
}

// BenchmarkStore writes and commits a page of 20 KB.
func BenchmarkStore(b *testing.B) {
	s := open(b, b.TempDir(), store.Options{})
	body := textOf(1, 20_000)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		copy(body, fmt.Sprintf("%020d", i)) // no two are the same
		commit(b, s, page(b, s, benchKey(i), body))
	}
}

// BenchmarkOpenMillion opens a store with a million entries, as a kill leaves it when the log is full.
func BenchmarkOpenMillion(b *testing.B) {
	folder := b.TempDir()
	s, err := store.Open(folder, store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	header := http.Header{"Content-Type": {"text/html; charset=utf-8"}, "Etag": {`"5f3c-61b2"`}, "Server": {"nginx"},
		"Date": {"Mon, 05 Jan 2026 10:00:00 GMT"}, "Last-Modified": {"Sun, 04 Jan 2026 10:00:00 GMT"}}
	for i := 0; i < 1_000_000; {
		var pages []*store.Pending
		for range 1000 {
			e := entry(benchKey(i))
			e.Header = header
			w := s.Create()
			fmt.Fprintf(w, "page %d", i)
			p, err := w.Finish(e)
			if err != nil {
				b.Fatal(err)
			}
			pages = append(pages, p)
			i++
		}
		commit(b, s, pages...)
	}
	closeStore(b, s)
	b.ResetTimer()
	var opening time.Duration
	for b.Loop() {
		began := time.Now()
		if s, err = store.Open(folder, store.Options{}); err != nil {
			b.Fatal(err)
		}
		opening += time.Since(began)
		if s.Stats().Entries != 1_000_000 || s.Get(benchKey(999_999)) == nil {
			b.Fatal("not all are there")
		}
		closeStore(b, s)
	}
	b.ReportMetric(float64(opening.Milliseconds())/float64(b.N), "open-ms")
}
