//go:build unix

package feed_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
)

// BenchmarkFormats compares a feed with the bare encoder of the same items that writes to a file and syncs it after
// each batch. The sizes of packed files are compared with one stream of the same bytes.
func BenchmarkFormats(b *testing.B) {
	bare := func(b *testing.B, begin func(w io.Writer) (write func(p *feedtest.Product) error, flush func() error)) {
		file, err := os.Create(filepath.Join(b.TempDir(), "out"))
		if err != nil {
			b.Fatal(err)
		}
		defer file.Close()
		write, flush := begin(file)
		feedtest.Loop(b, 1<<30, func(list []feedtest.Product) {
			for i := range list {
				if err := write(&list[i]); err != nil {
					b.Fatal(err)
				}
			}
			if err := flush(); err != nil {
				b.Fatal(err)
			}
			if err := file.Sync(); err != nil {
				b.Fatal(err)
			}
		})
	}
	lines := func(w io.Writer) (func(p *feedtest.Product) error, func() error) {
		var buf bytes.Buffer
		e := json.NewEncoder(&buf)
		return func(p *feedtest.Product) error { return e.Encode(p) }, func() error {
			_, err := w.Write(buf.Bytes())
			buf.Reset()
			return err
		}
	}
	b.Run("jsonl/bare", func(b *testing.B) { bare(b, lines) })
	b.Run("jsonl/feed", func(b *testing.B) { feedtest.Bench(b, feed.JSONL(filepath.Join(b.TempDir(), "out.jsonl")), 1<<30) })
	b.Run("csv/bare", func(b *testing.B) {
		bare(b, func(w io.Writer) (func(p *feedtest.Product) error, func() error) {
			c := csv.NewWriter(w)
			row := make([]string, 10)
			return func(p *feedtest.Product) error {
					tags, err := json.Marshal(p.Tags)
					if err != nil {
						return err
					}
					row = append(row[:0], p.SKU, p.Title, p.Description, p.URL, strconv.FormatFloat(p.Price, 'f', -1, 64), strconv.Itoa(p.Stock),
						strconv.FormatFloat(p.Rating, 'f', -1, 64), strconv.FormatBool(p.New), p.Seen.Format("2006-01-02T15:04:05.999999999Z07:00"), string(tags))
					return c.Write(row)
				}, func() error {
					c.Flush()
					return c.Error()
				}
		})
	})
	b.Run("csv/feed", func(b *testing.B) { feedtest.Bench(b, feed.CSV(filepath.Join(b.TempDir(), "out.csv")), 1<<30) })
	b.Run("gzip/bare", func(b *testing.B) {
		bare(b, func(w io.Writer) (func(p *feedtest.Product) error, func() error) {
			z := gzip.NewWriter(w)
			e := json.NewEncoder(z)
			return func(p *feedtest.Product) error { return e.Encode(p) }, func() error { return nil }
		})
	})
	b.Run("gzip/feed", func(b *testing.B) { feedtest.Bench(b, feed.JSONL(filepath.Join(b.TempDir(), "out.jsonl.gz")), 1<<30) })
	b.Run("zstd/feed", func(b *testing.B) { feedtest.Bench(b, feed.JSONL(filepath.Join(b.TempDir(), "out.jsonl.zst")), 1<<30) })
	b.Run("json/feed", func(b *testing.B) { feedtest.Bench(b, feed.JSON(filepath.Join(b.TempDir(), "out.json")), 1<<30) })
	b.Run("xml/feed", func(b *testing.B) { feedtest.Bench(b, feed.XML(filepath.Join(b.TempDir(), "out.xml")), 1<<30) })
}

// Packed files are at most a twentieth larger than one stream of the same bytes, though they are flushed after each batch.
func TestPackedSize(t *testing.T) {
	t.Parallel()
	for _, pack := range []string{".gz", ".zst"} {
		sizes := make(map[string]int64)
		var text []byte
		for name, batch := range map[string]int{"small": 10, "one": 4_000} {
			path := filepath.Join(t.TempDir(), name+".jsonl"+pack)
			f := feed.JSONL(path)
			restore(t, f, nil)
			list := feedtest.Products(0, 4_000)
			for i := 0; i < len(list); i += batch {
				for _, p := range list[i : i+batch] {
					put(t, f, "a", p)
				}
				prepare(t, f, "a")
			}
			end(t, f)
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			sizes[name] = info.Size()
			if text == nil && pack == ".gz" {
				data, _ := os.ReadFile(path)
				z, err := gzip.NewReader(bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				if text, err = io.ReadAll(z); err != nil || strings.Count(string(text), "\n") != 4_000 {
					t.Fatal(err)
				}
			}
		}
		if sizes["small"]*100 > sizes["one"]*105 {
			t.Errorf("%s: %d bytes in batches of 10 items, %d in one", pack, sizes["small"], sizes["one"])
		}
	}
}
